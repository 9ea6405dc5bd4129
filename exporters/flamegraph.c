/* SPDX-License-Identifier: MIT */
/* A flame graph: one SVG file that needs nothing else. Root at the top, so that a page opens where
 * the stacks begin however deep they are; a frame is as wide as its weight.
 *
 * The file is a plain picture of 1200 units, which <img> scales. Where a script may run,
 * flamegraph.js lays the same elements out for the window. The contract between the two: frames
 * stand depth first in g.graph, each `<g data-v="weight"><title>name NEWLINE figures</title><rect
 * y= …/>[<text>]</g>`.
 *
 * Frames narrower than MIN_WIDTH are not drawn: the narrow ones of a parent become one grey frame
 * after its other children, if together they are wide enough. So a file has at most some ten
 * thousand frames a level, whatever was traced.
 */
#include "formats.h"

#include <errno.h>
#include <string.h>

#include "figures.h"
#include "hash.h"
#include "stacks.h"
#include "svg.h"
#include "text.h"

#define WIDTH        1200
#define PAD          10
#define TOP          74 /* above the frames: title, subtitle, details */
#define FOOT         30 /* below them: the note */
#define ROW          18
#define FRAME_HEIGHT 17
#define MIN_WIDTH    0.1
#define GAP          0.6 /* between siblings wide enough to spare it */
#define COLUMN       7.2 /* what a character takes, for most fonts */
#define TEXT_INSET   3
#define MAX_NAME     1024 /* code points of a name in its tooltip */

#define HUES   12
#define SHADES 4

static const char script[] =
#include "exporters/flamegraph.js.h"
	;

static const char style[] =
#include "exporters/flamegraph.css.h"
	;

static const char *const default_titles[] = {
	[EXPORT_BUSY] = "Busy time by span",
	[EXPORT_WALL] = "Wall time by span",
	[EXPORT_CPU] = "CPU time by span",
	[EXPORT_CPU_USER] = "User CPU time by span",
	[EXPORT_CPU_SYSTEM] = "System CPU time by span",
	[EXPORT_RUN_DELAY] = "Time spent waiting for a CPU by span",
	[EXPORT_BLOCKED] = "Blocked time by span",
	[EXPORT_ALLOC_OBJECTS] = "Objects allocated by span",
	[EXPORT_ALLOC_SPACE] = "Bytes allocated by span",
	[EXPORT_INUSE_OBJECTS] = "Objects in use by span",
	[EXPORT_INUSE_SPACE] = "Bytes in use by span",
};

/* A frame whose children are being drawn. */
struct level {
	u64 filled;  /* where its next child begins, in weight from the left */
	u64 narrow;  /* weight of the children that were too narrow … */
	u32 nnarrow; /* … and the number of them and of all below */
};

struct graph {
	const struct stacks *stacks;
	enum export_value value;
	FILE *out;
	struct text_buf line;
	struct level *levels; /* by depth */
	u64 narrow;
	u32 nnarrow;
	u32 drawn_depth;
};

static double to_units(const struct graph *g, u64 weight)
{
	return (double)weight * (WIDTH - 2 * PAD) / (double)g->stacks->frames[0].total;
}

static void flush(struct graph *g)
{
	if (g->line.failed)
		return;
	fwrite(g->line.data, 1, g->line.len, g->out);
	text_cut(&g->line, 0);
}

/* One hue for each provider, so that what belongs together looks so; a shade of it for each
 * name. */
static void add_class(struct text_buf *b, const char *label)
{
	const char *colons = strstr(label, "::");
	size_t len = strlen(label);
	u64 hue = hash_bytes(label, colons ? (size_t)(colons - label) : len) % HUES;
	u64 shade = hash_bytes(label, len) % SHADES;

	text_add_str(b, "c");
	text_add_u64(b, hue * SHADES + shade);
}

static void add_palette(struct text_buf *b, unsigned saturation, unsigned lightness, unsigned step)
{
	for (unsigned i = 0; i < HUES * SHADES; i++) {
		text_add_str(b, ".spantrace .c");
		text_add_u64(b, i);
		text_add_str(b, "{fill:hsl(");
		text_add_u64(b, (i / SHADES * 360 / HUES + 20) % 360);
		text_add_str(b, ",");
		text_add_u64(b, saturation);
		text_add_str(b, "%,");
		text_add_u64(b, lightness + i % SHADES * step);
		text_add_str(b, "%)}\n");
	}
}

static void add_amount(struct graph *g, u64 weight)
{
	char buf[FIGURES_SIZE];

	text_add_str(&g->line, figures_value(buf, g->value, weight));
	text_add_str(&g->line, " (");
	text_add_str(&g->line, figures_share(buf, weight, g->stacks->frames[0].total));
	text_add_str(&g->line, ")");
}

/* A name without its provider, where the whole does not fit. */
static const char *short_label(const char *label, unsigned columns)
{
	const char *colons = strstr(label, "::");

	return colons && label[text_fit(label, columns)] ? colons + 2 : label;
}

/* KIND is the class of the rectangle; NULL: the label's colour. */
static void draw_frame(struct graph *g, const char *label, const char *kind, u32 depth, u64 start,
		       const struct stacks_frame *frame)
{
	struct text_buf *b = &g->line;
	double x = PAD + to_units(g, start), width = to_units(g, frame->total);
	unsigned columns =
		width > 2 * TEXT_INSET ? (unsigned)((width - 2 * TEXT_INSET) / COLUMN) : 0;

	text_add_str(b, "<g data-v=\"");
	text_add_u64(b, frame->total);
	text_add_str(b, "\"><title>");
	svg_add_text(b, label, MAX_NAME);
	text_add_str(b, "\n");
	add_amount(g, frame->total);
	if (frame->self && frame->self != frame->total) {
		text_add_str(b, ", self ");
		add_amount(g, frame->self);
	}
	text_add_str(b, "</title><rect class=\"");
	if (kind)
		text_add_str(b, kind);
	else
		add_class(b, label);
	svg_add_number(b, "\" x=\"", x);
	svg_add_number(b, "\" y=\"", TOP + (double)depth * ROW);
	svg_add_number(b, "\" width=\"", width > 4 * GAP ? width - GAP : width);
	svg_add_number(b, "\" height=\"", FRAME_HEIGHT);
	text_add_str(b, "\"/>");
	if (columns >= 3) {
		svg_add_number(b, "<text x=\"", x + TEXT_INSET);
		svg_add_number(b, "\" y=\"", TOP + (double)depth * ROW + 13);
		text_add_str(b, "\">");
		svg_add_cut(b, short_label(label, columns), columns);
		text_add_str(b, "</text>");
	}
	text_add_str(b, "</g>\n");
	if (depth > g->drawn_depth)
		g->drawn_depth = depth;
	flush(g);
}

/* All children of the frame at DEPTH are drawn: what was too narrow of them comes last. */
static void close_level(struct graph *g, u32 depth)
{
	const struct level *level = &g->levels[depth];
	struct stacks_frame rest = {.total = level->narrow};
	char label[FIGURES_SIZE + 40], count[FIGURES_SIZE];

	if (to_units(g, level->narrow) < MIN_WIDTH)
		return;
	snprintf(label, sizeof(label), "(%s frame%s too narrow to draw)",
		 figures_count(count, level->nnarrow), level->nnarrow == 1 ? "" : "s");
	draw_frame(g, label, "o", depth + 1, level->filled, &rest);
}

static void draw_frames(struct graph *g)
{
	const struct stacks *s = g->stacks;
	u32 open = 0; /* depth of the innermost frame whose children are being drawn */

	g->levels[0] = (struct level){0};
	draw_frame(g, "all", "t", 0, 0, &s->frames[0]);
	for (u32 i = 1; i < s->nframes;) {
		const struct stacks_frame *frame = &s->frames[i];
		struct level *parent;

		while (open >= frame->depth)
			close_level(g, open--);
		parent = &g->levels[open];
		if (to_units(g, frame->total) < MIN_WIDTH) {
			parent->narrow += frame->total;
			parent->nnarrow += frame->end - i;
			g->narrow += frame->total;
			g->nnarrow += frame->end - i;
			i = frame->end;
			continue;
		}
		draw_frame(g, frame->label, frame->depth == 1 ? "t" : NULL, frame->depth,
			   parent->filled, frame);
		g->levels[++open] = (struct level){.filled = parent->filled};
		parent->filled += frame->total;
		i++;
	}
	for (;; open--) {
		close_level(g, open);
		if (!open)
			return;
	}
}

/* The picture's height comes before its frames: how deep are those that will be drawn? */
static u32 depth_to_draw(const struct graph *g)
{
	const struct stacks *s = g->stacks;
	u32 deepest = 0;

	for (u32 i = 1; i < s->nframes;) {
		/* A narrow one may be drawn too, as part of its siblings' rest. */
		if (s->frames[i].depth > deepest)
			deepest = s->frames[i].depth;
		i = to_units(g, s->frames[i].total) < MIN_WIDTH ? s->frames[i].end : i + 1;
	}
	return deepest;
}

static void add_subtitle(struct text_buf *b, const struct graph *g, const struct profile *profile)
{
	u64 ns = profile->end_ns > profile->start_ns ? profile->end_ns - profile->start_ns : 0;
	char buf[FIGURES_SIZE];

	text_add_safe(b, profile->target ? profile->target : "unknown target");
	text_add_str(b, " · traced for ");
	text_add_str(b, figures_time(buf, ns));
	text_add_str(b, " · ");
	text_add_str(b, figures_count(buf, profile->nthreads));
	text_add_str(b, profile->nthreads == 1 ? " thread · " : " threads · ");
	text_add_str(b, export_value_name(g->value));
	text_add_str(b, " in ");
	text_add_str(b, export_value_unit(g->value));
	text_add_str(b, ", ");
	text_add_str(b, figures_value(buf, g->value, g->stacks->frames[0].total));
	text_add_str(b, " in all");
}

static void draw_top(struct graph *g, const char *title, double height)
{
	struct text_buf *b = &g->line;

	text_add_str(b, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
	text_add_str(b, "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"spantrace\"");
	svg_add_number(b, " viewBox=\"0 0 ", WIDTH);
	svg_add_number(b, " ", height);
	svg_add_number(b, "\" width=\"", WIDTH);
	svg_add_number(b, "\" height=\"", height);
	svg_add_number(b, "\" data-pad=\"", PAD);
	svg_add_number(b, "\" data-row=\"", ROW);
	svg_add_number(b, "\" data-top=\"", TOP);
	svg_add_number(b, "\" data-foot=\"", FOOT);
	text_add_str(b, "\">\n<title>");
	svg_add_text(b, title, MAX_NAME);
	text_add_str(b, "</title>\n<style>\n");
	text_add_str(b, style);
	add_palette(b, 66, 70, 4);
	text_add_str(b, "@media (prefers-color-scheme: dark) {\n");
	add_palette(b, 38, 26, 3);
	text_add_str(b, "}\n</style>\n<rect class=\"bg\" width=\"100%\" height=\"100%\"/>\n");
	text_add_str(b, "<g class=\"graph\">\n");
	flush(g);
}

static void draw_note(struct graph *g, double height)
{
	struct text_buf *b = &g->line;
	char buf[FIGURES_SIZE];

	text_add_str(b, "</g>\n");
	svg_add_number(b, "<text class=\"note\" x=\"", PAD);
	svg_add_number(b, "\" y=\"", height - 10);
	text_add_str(b, "\">");
	if (!g->stacks->frames[0].total) {
		text_add_str(b, "Nothing to show: the trace holds no ");
		text_add_str(b, export_value_name(g->value));
		text_add_str(b, " of any span.");
	} else if (g->nnarrow) {
		text_add_str(b, figures_count(buf, g->nnarrow));
		text_add_str(b, g->nnarrow == 1 ? " frame" : " frames");
		text_add_str(b, " narrower than 0.1 px not drawn one by one: ");
		text_add_str(b, figures_share(buf, g->narrow, g->stacks->frames[0].total));
		text_add_str(b, " of the width");
	}
	text_add_str(b, "</text>\n");
}

static void draw_bottom(struct graph *g, const char *title, const char *subtitle, double height)
{
	struct text_buf *b = &g->line;
	unsigned columns = (unsigned)((WIDTH - 2 * PAD) / COLUMN);

	draw_note(g, height);
	text_add_str(b, "<g class=\"head\">\n<rect class=\"bg\" width=\"100%\"");
	svg_add_number(b, " height=\"", TOP - 4);
	svg_add_number(b, "\"/>\n<text class=\"title\" x=\"", PAD);
	text_add_str(b, "\" y=\"28\">");
	svg_add_cut(b, title, columns * 12 / 17);
	svg_add_number(b, "</text>\n<text class=\"sub\" x=\"", PAD);
	text_add_str(b, "\" y=\"48\">");
	svg_add_cut(b, subtitle, columns);
	svg_add_number(b, "</text>\n<text class=\"detail\" x=\"", PAD);
	text_add_str(b, "\" y=\"66\"></text>\n</g>\n<script><![CDATA[\n");
	text_add_str(b, script);
	text_add_str(b, "]]></script>\n</svg>\n");
	flush(g);
}

static void graph_free(struct graph *g)
{
	text_buf_free(&g->line);
	free(g->levels);
}

static int flamegraph_finish(struct exporter *e, const struct profile *profile)
{
	CLEANUP(stacks_free) struct stacks *s = NULL;
	CLEANUP(graph_free) struct graph g = {.value = e->options.value, .out = e->out};
	AUTO_TEXT title = {0};
	AUTO_TEXT subtitle = {0};
	double height;
	int err;

	err = stacks_new(profile, &e->options, STACKS_PLAIN, &s);
	if (err)
		return err;
	g.stacks = s;
	g.levels = calloc((size_t)s->max_depth + 1, sizeof(*g.levels));
	text_add_safe(&title, *e->options.title ? e->options.title : default_titles[g.value]);
	add_subtitle(&subtitle, &g, profile);
	if (!g.levels || title.failed || subtitle.failed)
		return -ENOMEM;
	height = TOP + FOOT;
	if (s->frames[0].total)
		height += ((double)depth_to_draw(&g) + 1) * ROW;
	draw_top(&g, title.data, height);
	if (s->frames[0].total)
		draw_frames(&g);
	draw_bottom(&g, title.data, subtitle.data, height);
	return g.line.failed ? -ENOMEM : 0;
}

static const char *const flamegraph_keys[] = {
	"empty_samples",
	"threads_collapsed",
	"module_path",
	"file_and_line",
	"value",
	"title",
	NULL,
};

const struct exporter_ops exporter_flamegraph = {
	.name = "flamegraph",
	.extension = ".svg",
	.keys = flamegraph_keys,
	.finish = flamegraph_finish,
};
