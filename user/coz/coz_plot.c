/* SPDX-License-Identifier: MIT */
/* A profile as a picture: a panel for each point, where the way to the right is how much less time a line takes, and the
 * way up how much less a visit does. Dots are measured, larger ones by more experiments; the straight lines are the fits
 * of coz_estimate.c. No script: what a dot says is its tooltip. */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "../../exporters/svg.h"
#include "coz_report.h"

#define WIDTH    900
#define LEFT     70
#define RIGHT    20
#define TOP      70 /* above the first panel */
#define HEAD     34 /* of a panel: its title */
#define PLOT     240
#define FOOT     44
#define LEGEND   18 /* a line of it */
#define INNER    (WIDTH - LEFT - RIGHT)
#define LINES    8 /* in one panel: as many colours */
#define NAME_MAX 110

static const char *const colours[LINES] = {"#1f6feb", "#d1242f", "#1a7f37", "#9a6700",
					   "#8250df", "#0a7d91", "#bf3989", "#57606a"};

/* What a panel shows. */
struct panel {
	const struct coz_cell **cells;
	size_t n;
	double low, high; /* of the gains */
	double top;       /* on the page */
};

static double x_of(double speedup)
{
	return LEFT + speedup * INNER;
}

static double y_of(const struct panel *panel, double gain)
{
	return panel->top + HEAD + (panel->high - gain) / (panel->high - panel->low) * PLOT;
}

static double panel_height(const struct panel *panel)
{
	return HEAD + PLOT + FOOT + LEGEND * (double)panel->n;
}

static void add_mark(struct text_buf *b, double x, double y, const char *anchor, double percent)
{
	svg_add_number(b, "<text x=\"", x);
	svg_add_number(b, "\" y=\"", y);
	text_add_str(b, "\" text-anchor=\"");
	text_add_str(b, anchor);
	text_add_str(b, percent < -0.5 ? "\">-" : "\">");
	text_add_u64(b, (u64)(fabs(percent) + 0.5));
	text_add_str(b, " %</text>\n");
}

static void add_rule(struct text_buf *b, double x1, double y1, double x2, double y2,
		     const char *colour, unsigned width)
{
	svg_add_number(b, "<line x1=\"", x1);
	svg_add_number(b, "\" y1=\"", y1);
	svg_add_number(b, "\" x2=\"", x2);
	svg_add_number(b, "\" y2=\"", y2);
	text_add_str(b, "\" stroke=\"");
	text_add_str(b, colour);
	text_add_str(b, "\" stroke-width=\"");
	text_add_u64(b, width);
	text_add_str(b, "\"/>\n");
}

/* The step of the scale that gives at most six marks. */
static double scale_step(double range)
{
	static const double steps[] = {0.01, 0.02, 0.05, 0.1, 0.2, 0.25, 0.5, 1};
	size_t i;

	for (i = 0; i < sizeof(steps) / sizeof(steps[0]) - 1; i++)
		if (range / steps[i] <= 6)
			break;
	return steps[i];
}

static void add_scales(struct text_buf *b, const struct panel *panel)
{
	double step = scale_step(panel->high - panel->low);
	int first = (int)ceil(panel->low / step), last = (int)floor(panel->high / step), i;

	for (i = first; i <= last; i++) {
		double y = y_of(panel, i * step);

		add_rule(b, LEFT, y, LEFT + INNER, y, i ? "#d0d7de" : "#57606a", 1);
		add_mark(b, LEFT - 8, y + 4, "end", 100 * i * step);
	}
	for (i = 0; i <= 4; i++)
		add_mark(b, x_of(i / 4.0), panel->top + HEAD + PLOT + 18, "middle", 25.0 * i);
	svg_add_number(b, "<text text-anchor=\"middle\" x=\"", LEFT + INNER / 2.0);
	svg_add_number(b, "\" y=\"", panel->top + HEAD + PLOT + 36);
	text_add_str(b, "\">less time for the line</text>\n");
}

static void add_dot(struct text_buf *b, const struct panel *panel, const struct coz_bin *bin,
		    u32 step, double gain, const char *colour)
{
	double radius = 2 + 1.5 * sqrt((double)bin->n);

	svg_add_number(b, "<circle cx=\"", x_of(step / 100.0));
	svg_add_number(b, "\" cy=\"", y_of(panel, gain));
	svg_add_number(b, "\" r=\"", radius < 12 ? radius : 12);
	text_add_str(b, "\" fill-opacity=\".55\" fill=\"");
	text_add_str(b, colour);
	text_add_str(b, "\"><title>");
	text_add_u64(b, step);
	text_add_str(b, gain < 0 ? " % less: -" : " % less: ");
	svg_add_number(b, "", 100 * fabs(gain));
	text_add_str(b, " %, ");
	text_add_u64(b, bin->n);
	text_add_str(b, bin->n == 1 ? " experiment" : " experiments");
	text_add_str(b, "</title></circle>\n");
}

static void add_cell(struct text_buf *b, const struct coz_profile *profile,
		     const struct panel *panel, size_t i)
{
	const struct coz_cell *cell = panel->cells[i];
	double y = panel->top + HEAD + PLOT + FOOT + LEGEND * (double)i + 12;
	struct coz_estimate e;
	double gain, end = 1;
	u32 step;

	coz_estimate(cell, &e);
	for (step = 0; step < COZ_STEPS; step++)
		if (coz_measured(cell, step, &gain) && gain >= panel->low && gain <= panel->high)
			add_dot(b, panel, &cell->bins[step], step, gain, colours[i]);
	if (e.known) {
		/* Not beyond the panel. */
		if (e.gain > panel->high)
			end = panel->high / e.gain;
		else if (e.gain < panel->low)
			end = panel->low / e.gain;
		add_rule(b, x_of(0), y_of(panel, 0), x_of(end), y_of(panel, end * e.gain),
			 colours[i], 2);
	}
	svg_add_number(b, "<rect width=\"10\" height=\"10\" x=\"", LEFT);
	svg_add_number(b, "\" y=\"", y - 9);
	text_add_str(b, "\" fill=\"");
	text_add_str(b, colours[i]);
	svg_add_number(b, "\"/><text x=\"", LEFT + 16);
	svg_add_number(b, "\" y=\"", y);
	text_add_str(b, "\">");
	svg_add_text(b, profile->lines[cell->line].name, NAME_MAX);
	text_add_str(b, "</text>\n");
}

/* Room for what was measured and for the fits, and always for some way up; what is wild is cut off. */
static void panel_scale(struct panel *panel)
{
	double gain;
	size_t i;
	u32 step;

	panel->low = -0.05;
	panel->high = 0.1;
	for (i = 0; i < panel->n; i++) {
		struct coz_estimate e;

		coz_estimate(panel->cells[i], &e);
		if (e.known && e.gain > panel->high)
			panel->high = e.gain;
		for (step = 1; step < COZ_STEPS; step++) {
			if (!coz_measured(panel->cells[i], step, &gain))
				continue;
			panel->high = gain > panel->high ? gain : panel->high;
			panel->low = gain < panel->low ? gain : panel->low;
		}
	}
	panel->high = panel->high > 1 ? 1 : panel->high;
	panel->low = panel->low < -0.5 ? -0.5 : panel->low;
}

static int add_panel(struct text_buf *b, const struct coz_profile *profile, u32 point, u64 top,
		     double *at)
{
	AUTO_FREE const struct coz_cell **cells = NULL;
	struct panel panel = {.top = *at};
	size_t i;

	cells = coz_profile_ranked(profile, point, &panel.n);
	if (!cells)
		return -ENOMEM;
	if (!panel.n)
		return 0;
	if (top && panel.n > top)
		panel.n = (size_t)top;
	if (panel.n > LINES)
		panel.n = LINES;
	panel.cells = cells;
	panel_scale(&panel);
	svg_add_number(b, "<text class=\"name\" x=\"", LEFT);
	svg_add_number(b, "\" y=\"", panel.top + 20);
	text_add_str(b, "\">less time for a visit: ");
	text_add_str(b, coz_point_kind_name(profile->points[point].kind));
	text_add_str(b, " of ");
	svg_add_text(b, profile->points[point].name, NAME_MAX);
	text_add_str(b, "</text>\n");
	add_scales(b, &panel);
	for (i = 0; i < panel.n; i++)
		add_cell(b, profile, &panel, i);
	*at += panel_height(&panel);
	return 0;
}

static int draw_svg(const struct coz_profile *profile, u64 top, FILE *out)
{
	AUTO_TEXT head = {0};
	AUTO_TEXT body = {0};
	double at = TOP;
	int err = 0;
	u32 i;

	for (i = 0; i < profile->npoints && !err; i++)
		err = add_panel(&body, profile, i, top, &at);
	if (err)
		return err;
	svg_add_number(&head, "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"", WIDTH);
	svg_add_number(&head, "\" height=\"", at);
	svg_add_number(&head, "\" viewBox=\"0 0 ", WIDTH);
	svg_add_number(&head, " ", at);
	text_add_str(
		&head,
		"\" font-family=\"sans-serif\" font-size=\"12\" fill=\"#24292f\">\n<style>.name{font-size:14px;font-weight:bold}</style>\n<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n<text x=\"20\" y=\"30\" font-size=\"18\">What would be faster if a line were</text>\n<text x=\"20\" y=\"52\">");
	text_add_u64(&head, profile->experiments);
	text_add_str(
		&head,
		" experiments of coz, each a dot or part of one; lines by what is certain of their gain</text>\n");
	text_add_str(&body, "</svg>\n");
	if (head.failed || body.failed)
		return -ENOMEM;
	fputs(head.data, out);
	fputs(body.data, out);
	return 0;
}

static int print_table(const struct coz_profile *profile, u64 top, FILE *out)
{
	AUTO_FREE char *text = NULL;
	AUTO_TEXT escaped = {0};
	size_t size;
	FILE *memory = open_memstream(&text, &size);
	const char *at;
	int err;

	if (!memory)
		return -ENOMEM;
	err = coz_print(profile, top, memory);
	if (fclose(memory))
		err = -ENOMEM;
	/* By lines: svg_add_text() takes line ends for blanks. */
	for (at = text; !err && at && *at;) {
		char *end = strchrnul(at, '\n');
		bool more = *end;

		*end = '\0';
		svg_add_text(&escaped, at, SIZE_MAX);
		text_add_str(&escaped, "\n");
		at = end + more;
	}
	if (err || escaped.failed)
		return -ENOMEM;
	fprintf(out, "<pre>%s</pre>\n", escaped.data ? escaped.data : "");
	return 0;
}

int coz_draw(const struct coz_profile *profile, u64 top, bool html, FILE *out)
{
	int err;

	if (!html)
		return draw_svg(profile, top, out);
	fputs("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
	      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n"
	      "<title>coz: what would be faster</title>\n"
	      "<style>body{margin:20px;font-family:sans-serif}pre{font-size:13px;overflow-x:auto}</style>\n"
	      "</head>\n<body>\n",
	      out);
	err = draw_svg(profile, top, out);
	if (!err)
		err = print_table(profile, top, out);
	fputs("</body>\n</html>\n", out);
	return err;
}
