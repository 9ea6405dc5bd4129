/* SPDX-License-Identifier: MIT */
/* A flame graph: one SVG file that needs nothing else. Root at the top, so that a page opens where
 * the stacks begin however deep they are; a frame is as wide as its weight.
 *
 * The file is a plain picture of 1200 units, which <img> scales. Where a script may run,
 * flamegraph.js lays the same elements out for the window.
 *
 * Frames narrower than MIN_WIDTH are not drawn: the narrow ones of a parent become one grey frame
 * after its other children, if together they are wide enough. So a file has at most some ten
 * thousand frames a level, whatever was traced.
 */
#include "flamegraph_draw.h"

#include <errno.h>

#include "figures.h"
#include "flamesvg.h"

#define MIN_WIDTH 0.1

/* A frame whose children are being drawn. */
struct level {
	u64 filled;  /* where its next child begins, in weight from the left */
	u64 narrow;  /* weight of the children that were too narrow … */
	u32 nnarrow; /* … and the number of them and of all below */
};

struct graph {
	const struct flamegraph *asked;
	const struct stacks *stacks;
	FILE *out;
	struct text_buf line;
	struct level *levels; /* by depth */
	u64 narrow;
	u32 nnarrow;
	u32 drawn_depth;
	struct flamesvg_providers providers;
};

static double to_units(const struct graph *g, u64 weight)
{
	return (double)weight * FLAMESVG_INNER / (double)g->stacks->frames[0].total;
}

static void flush(struct graph *g)
{
	if (g->line.failed)
		return;
	fwrite(g->line.data, 1, g->line.len, g->out);
	text_cut(&g->line, 0);
}

static void add_amount(struct graph *g, u64 weight)
{
	char buf[FIGURES_SIZE];

	text_add_str(&g->line, figures_value(buf, g->asked->value, weight));
	text_add_str(&g->line, " (");
	text_add_str(&g->line, figures_share(buf, weight, g->stacks->frames[0].total));
	text_add_str(&g->line, ")");
}

static void add_change(struct graph *g, const char *what, u64 weight, u64 other)
{
	u64 before = g->asked->is_base ? weight : other, after = g->asked->is_base ? other : weight;
	char buf[FIGURES_SIZE];

	text_add_str(&g->line, what);
	text_add_str(&g->line, figures_value(buf, g->asked->value, before));
	text_add_str(&g->line, " → ");
	text_add_str(&g->line, figures_value(buf, g->asked->value, after));
	if (!before) {
		text_add_str(&g->line, " (new)");
	} else if (!after) {
		text_add_str(&g->line, " (gone)");
	} else {
		text_add_str(&g->line, after < before ? " (−" : " (+");
		text_add_str(&g->line,
			     figures_share(buf, after < before ? before - after : after - before,
					   before));
		text_add_str(&g->line, ")");
	}
}

static void add_figures(struct graph *g, const struct stacks_frame *frame,
			const struct flamegraph_other *other)
{
	if (other) {
		add_change(g, "", frame->total, other->total);
		if (frame->self != frame->total || other->self != other->total)
			add_change(g, ", self ", frame->self, other->self);
		return;
	}
	add_amount(g, frame->total);
	if (frame->self && frame->self != frame->total) {
		text_add_str(&g->line, ", self ");
		add_amount(g, frame->self);
	}
}

/* The step of a change, by how much of the larger side it is: up to 2 % is none, then up to 10, 25, 50, more. */
static void change_class(const struct graph *g, char class[8], u64 weight, u64 other)
{
	static const double steps[] = {0.02, 0.1, 0.25, 0.5};
	double before = (double)(g->asked->is_base ? weight : other);
	double after = (double)(g->asked->is_base ? other : weight);
	double larger = before > after ? before : after,
	       part = larger ? (after - before) / larger : 0;
	int step = 0;

	for (size_t i = 0; i < sizeof(steps) / sizeof(*steps); i++)
		step += (part < 0 ? -part : part) > steps[i];
	snprintf(class, 8, "d%d", FLAMESVG_CHANGES / 2 + (part < 0 ? -step : step));
}

/* KIND is the class of the rectangle; NULL: the label's colour. */
static void draw_frame(struct graph *g, const char *label, const char *kind, u32 depth, u64 start,
		       const struct stacks_frame *frame, const struct flamegraph_other *other)
{
	struct text_buf *b = &g->line;
	char change[8];

	text_add_str(b, "<g data-v=\"");
	text_add_u64(b, frame->total);
	text_add_str(b, "\"><title>");
	svg_add_text(b, label, FLAMESVG_MAX_NAME);
	text_add_str(b, "\n");
	add_figures(g, frame, other);
	text_add_str(b, "</title>");
	if (other) {
		change_class(g, change, frame->total, other->total);
		kind = change;
	}
	flamesvg_box(b, label, kind, &g->providers, FLAMESVG_PAD + to_units(g, start),
		     FLAMESVG_TOP + (double)depth * FLAMESVG_ROW, to_units(g, frame->total));
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
	draw_frame(g, label, "o", depth + 1, level->filled, &rest, NULL);
}

static const struct flamegraph_other *other_of(const struct graph *g, u32 i)
{
	return g->asked->others ? &g->asked->others[i] : NULL;
}

static void draw_frames(struct graph *g)
{
	const struct stacks *s = g->stacks;
	u32 open = 0; /* depth of the innermost frame whose children are being drawn */

	g->levels[0] = (struct level){0};
	draw_frame(g, "all", "t", 0, 0, &s->frames[0], other_of(g, 0));
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
			   parent->filled, frame, other_of(g, i));
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

static void draw_note(struct graph *g)
{
	struct text_buf *b = &g->line;
	char buf[FIGURES_SIZE];

	text_add_str(b, g->asked->note);
	if (*g->asked->note && g->nnarrow)
		text_add_str(b, " · ");
	if (!g->stacks->frames[0].total) {
		text_add_str(b, "Nothing to show: the trace holds no ");
		text_add_str(b, export_value_name(g->asked->value));
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

static void graph_free(struct graph *g)
{
	text_buf_free(&g->line);
	free(g->levels);
}

int flamegraph_draw(const struct flamegraph *graph, FILE *out)
{
	CLEANUP(graph_free)
	struct graph g = {.asked = graph, .stacks = graph->stacks, .out = out};
	struct flamesvg_page page = {.title = graph->title,
				     .subtitle = graph->subtitle,
				     .attributes = "",
				     .top = FLAMESVG_TOP,
				     .height = FLAMESVG_TOP + FLAMESVG_FOOT};

	for (u32 i = 1; i < g.stacks->nframes; i++)
		if (g.stacks->frames[i].depth > 1) /* no thread */
			flamesvg_see(&g.providers, g.stacks->frames[i].label);
	g.levels = calloc((size_t)g.stacks->max_depth + 1, sizeof(*g.levels));
	if (!g.levels)
		return -ENOMEM;
	if (g.stacks->frames[0].total)
		page.height += ((double)depth_to_draw(&g) + 1) * FLAMESVG_ROW;
	flamesvg_open(&g.line, &page);
	flush(&g);
	if (g.stacks->frames[0].total)
		draw_frames(&g);
	flamesvg_open_note(&g.line, &page);
	draw_note(&g);
	flamesvg_close(&g.line, &page);
	flush(&g);
	return g.line.failed ? -ENOMEM : 0;
}
