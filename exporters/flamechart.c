/* SPDX-License-Identifier: MIT */
/* The format `flamechart`: single spans over time, one SVG file that needs nothing else. Each thread has a row for each
 * depth, each process lanes for its async spans, which overlap.
 *
 * At most ITEMS_MAX items are drawn, whatever was traced: timeline.h says what happens to short spans then.
 */
#include "formats.h"

#include <errno.h>
#include <math.h>

#include "figures.h"
#include "flamesvg.h"
#include "timeline.h"

#define ITEMS_MAX 40000
#define ROOM      (8ull * ITEMS_MAX) /* before the end is known */
#define MIN_WIDTH 0.5
#define AXIS_TEXT 80 /* width of a time */
#define AXIS      22 /* height of the line with the times */
#define SPACE     6  /* between tracks */
#define TICKS     8  /* about so many */

static const char *const default_titles[] = {
	[EXPORT_BUSY] = "Spans over time",
	[EXPORT_WALL] = "Spans over time",
	[EXPORT_CPU] = "Spans over time, by CPU time",
	[EXPORT_RUN_DELAY] = "Spans over time, by time spent waiting for a CPU",
	[EXPORT_BLOCKED] = "Spans over time, by blocked time",
	[EXPORT_ALLOC_OBJECTS] = "Spans over time, by objects allocated",
	[EXPORT_ALLOC_SPACE] = "Spans over time, by bytes allocated",
	[EXPORT_INUSE_OBJECTS] = "Spans over time, by objects in use",
	[EXPORT_INUSE_SPACE] = "Spans over time, by bytes in use",
};

struct chart {
	const struct timeline *timeline;
	enum export_value value;
	FILE *out;
	struct text_buf line;
	u64 length_ns;
	double per_ns;  /* units */
	u64 most_value; /* of one span */
	struct flamesvg_providers providers;
};

static void flush(struct chart *c)
{
	if (c->line.failed)
		return;
	fwrite(c->line.data, 1, c->line.len, c->out);
	text_cut(&c->line, 0);
}

static double chart_x(const struct chart *c, u64 ns)
{
	return FLAMESVG_PAD + (double)(ns - c->timeline->start_ns) * c->per_ns;
}

/* Whether the colours say how much of a value there is, in place of the names. */
static bool is_heat(const struct chart *c)
{
	return c->value != EXPORT_BUSY && c->value != EXPORT_WALL;
}

static bool is_time(const struct chart *c)
{
	return export_value_unit(c->value)[0] == 'n';
}

/* Times by the share of the busy time, sizes by their order of magnitude. */
static unsigned heat_of(const struct chart *c, const struct timeline_item *item)
{
	double whole = (double)item->busy_ns, part = (double)item->value, share;

	if (!is_time(c)) {
		part = log1p(part / item->count);
		whole = log1p((double)c->most_value);
	}
	share = whole > 0 ? part / whole : 0;
	return share < 1 ? (unsigned)(share * (FLAMESVG_HEATS - 1) + 0.5) : FLAMESVG_HEATS - 1;
}

static void add_value(struct chart *c, const struct timeline_item *item)
{
	char buf[FIGURES_SIZE];

	if (c->value == EXPORT_WALL ||
	    (c->value == EXPORT_BUSY && item->busy_ns == item->longest_ns))
		return;
	text_add_str(&c->line, ", ");
	text_add_str(&c->line, export_value_name(c->value));
	text_add_str(&c->line, " ");
	text_add_str(&c->line, figures_value(buf, c->value, item->value));
	if (is_time(c)) {
		text_add_str(&c->line, " (");
		text_add_str(&c->line, figures_share(buf, item->value,
						     c->value == EXPORT_BUSY ? item->longest_ns
									     : item->busy_ns));
		text_add_str(&c->line, ")");
	} else {
		text_add_str(&c->line, " on average of its kind");
	}
}

/* Of several spans together: paler where they leave more of the time between them. */
static double opacity(const struct timeline_item *item)
{
	double length = (double)(item->end_ns - item->start_ns);
	double filled = length > 0 ? (double)item->busy_ns / length : 1;

	return 0.4 + 0.5 * (filled < 1 ? filled : 1);
}

static void draw_event(struct chart *c, const struct timeline_item *item, double y)
{
	const char *label = timeline_label(c->timeline, item->label);
	u64 start = item->start_ns - c->timeline->start_ns, length = item->end_ns - item->start_ns;
	struct text_buf *b = &c->line;
	char buf[FIGURES_SIZE];

	text_add_str(b, "<g data-s=\"");
	text_add_u64(b, start);
	text_add_str(b, "\" data-v=\"");
	text_add_u64(b, length);
	text_add_str(b, "\"><title>");
	svg_add_text(b, label, FLAMESVG_MAX_NAME);
	text_add_str(b, "\n");
	if (item->count > 1) {
		text_add_str(b, figures_count(buf, item->count));
		text_add_str(b, " events from ");
	} else {
		text_add_str(b, "event at ");
	}
	text_add_str(b, figures_time(buf, start));
	if (item->count == 1 && item->busy_ns) {
		text_add_str(b, (s64)item->value < 0 ? ", value -" : ", value ");
		text_add_str(b,
			     figures_count(buf, (s64)item->value < 0 ? -item->value : item->value));
	}
	text_add_str(b, "</title>");
	flamesvg_box(b, label, NULL, &c->providers, chart_x(c, item->start_ns), y,
		     fmax(MIN_WIDTH, (double)length * c->per_ns));
	text_add_str(b, "</g>\n");
	flush(c);
}

static void draw_item(struct chart *c, const struct timeline_item *item, double y)
{
	const char *label = timeline_label(c->timeline, item->label);
	u64 start = item->start_ns - c->timeline->start_ns, length = item->end_ns - item->start_ns;
	struct text_buf *b = &c->line;
	char buf[FIGURES_SIZE], class[16];

	text_add_str(b, "<g");
	if (item->count > 1) {
		text_add_str(b, " data-n=\"");
		text_add_u64(b, item->count);
		svg_add_number(b, "\" opacity=\"", opacity(item));
		text_add_str(b, "\"");
	}
	text_add_str(b, " data-s=\"");
	text_add_u64(b, start);
	text_add_str(b, "\" data-v=\"");
	text_add_u64(b, length);
	text_add_str(b, "\"><title>");
	svg_add_text(b, label, FLAMESVG_MAX_NAME);
	text_add_str(b, "\n");
	if (item->count > 1) {
		text_add_str(b, figures_count(buf, item->count));
		text_add_str(b, " spans, this the longest with ");
		text_add_str(b, figures_time(buf, item->longest_ns));
		text_add_str(b, ", busy ");
		text_add_str(b, figures_time(buf, item->busy_ns));
		text_add_str(b, " together");
	} else {
		text_add_str(b, figures_time(buf, length));
	}
	text_add_str(b, ", at ");
	text_add_str(b, figures_time(buf, start));
	if (item->count == 1 || is_heat(c))
		add_value(c, item);
	text_add_str(b, "</title>");
	snprintf(class, sizeof(class), "h%u", heat_of(c, item));
	flamesvg_box(b, label, is_heat(c) ? class : NULL, &c->providers, chart_x(c, item->start_ns),
		     y, fmax(MIN_WIDTH, (double)length * c->per_ns));
	text_add_str(b, "</g>\n");
	flush(c);
}

static void draw_track_head(struct chart *c, const struct timeline_track *track, double y)
{
	char comm[MODEL_COMM_LEN + 1] = {0}, buf[FIGURES_SIZE];
	struct text_buf *b = &c->line;

	for (size_t i = 0; i < MODEL_COMM_LEN; i++)
		comm[i] = track->thread->comm[i];
	svg_add_number(b, "<text class=\"track\" x=\"", FLAMESVG_PAD);
	svg_add_number(b, "\" y=\"", y + 13);
	text_add_str(b, "\">");
	if (track->async) {
		text_add_str(b, "async spans of process ");
		text_add_u64(b, track->thread->pid);
	} else {
		svg_add_text(b, comm[0] ? comm : "?", MODEL_COMM_LEN);
		text_add_str(b, "-");
		text_add_u64(b, track->thread->tid);
	}
	text_add_str(b, " · ");
	text_add_str(b, figures_count(buf, track->nspans));
	text_add_str(b, track->nspans == 1 ? " span" : " spans");
	if (track->nevents) {
		text_add_str(b, ", ");
		text_add_str(b, figures_count(buf, track->nevents));
		text_add_str(b, track->nevents == 1 ? " event" : " events");
	}
	if (track->nsegments) {
		text_add_str(b, ", ");
		text_add_str(b, figures_count(buf, track->nsegments));
		text_add_str(b, track->nsegments == 1 ? " stretch of an async span"
						      : " stretches of async spans");
	}
	text_add_str(b, "</text>\n");
}

static double track_height(const struct timeline_track *track)
{
	return (double)(track->nlanes + 1) * FLAMESVG_ROW + SPACE;
}

static void draw_tracks(struct chart *c, double y)
{
	for (u32 i = 0; i < c->timeline->ntracks; i++) {
		const struct timeline_track *track = &c->timeline->tracks[i];

		draw_track_head(c, track, y);
		for (u32 l = 0; l < track->nlanes; l++) {
			const struct timeline_lane *lane = &c->timeline->lanes[track->first + l];

			for (u32 n = 0; n < lane->nitems; n++)
				(lane->events ? draw_event : draw_item)(
					c, &lane->items[n], y + (l + 1.0) * FLAMESVG_ROW);
		}
		y += track_height(track);
	}
}

/* 1, 2 or 5 times a power of ten. */
static u64 tick_step(u64 length_ns)
{
	u64 step = 1, factor = 2;

	while (length_ns / step > TICKS && step < UINT64_MAX / 10) {
		step = factor == 5 ? step / 2 * 5 : step * 2;
		factor = factor == 2 ? 5 : factor == 5 ? 10 : 2;
	}
	return step;
}

/* Above the frames; the script draws it anew when the range changes. */
static void draw_axis(struct chart *c, double height)
{
	u64 step = tick_step(c->length_ns);
	char buf[FIGURES_SIZE];

	text_add_str(&c->line, "</g>\n<g class=\"axis\">\n");
	for (u64 at = 0; at <= c->length_ns && step; at += step) {
		double x = FLAMESVG_PAD + (double)at * c->per_ns;

		svg_add_number(&c->line, "<line x1=\"", x);
		svg_add_number(&c->line, "\" x2=\"", x);
		svg_add_number(&c->line, "\" y1=\"", FLAMESVG_TOP);
		svg_add_number(&c->line, "\" y2=\"", height - FLAMESVG_FOOT);
		text_add_str(&c->line, "\"/>");
		/* No text beyond the edge. */
		if (x > FLAMESVG_WIDTH - AXIS_TEXT)
			break;
		svg_add_number(&c->line, "<text x=\"", x + 3);
		svg_add_number(&c->line, "\" y=\"", FLAMESVG_TOP + 12);
		text_add_str(&c->line, "\">");
		text_add_str(&c->line, figures_time(buf, at));
		text_add_str(&c->line, "</text>\n");
		if (at > UINT64_MAX - step)
			break;
	}
}

static void draw_note(struct chart *c)
{
	struct text_buf *b = &c->line;
	char buf[FIGURES_SIZE];

	if (!c->timeline->nitems) {
		text_add_str(b, "Nothing to show: the trace holds no spans.");
		return;
	}
	if (is_heat(c)) {
		text_add_str(b, "colour: ");
		text_add_str(b, export_value_name(c->value));
		text_add_str(b, is_time(c) ? ", from none to all of the span's busy time"
					   : ", from none to the most of one span");
	}
	if (c->timeline->grain_ns) {
		text_add_str(b, is_heat(c) ? " · " : "");
		text_add_str(b, "spans shorter than ");
		text_add_str(b, figures_time(buf, c->timeline->grain_ns));
		text_add_str(b, " are drawn together, paler");
	}
	if (c->timeline->nomitted) {
		text_add_str(b, is_heat(c) || c->timeline->grain_ns ? " · " : "");
		text_add_str(b, figures_count(buf, c->timeline->nomitted));
		text_add_str(b, " async spans left out: more than 256 at one time");
	}
}

static void add_subtitle(struct text_buf *b, const struct chart *c, const struct profile *profile)
{
	char buf[FIGURES_SIZE];

	text_add_safe(b, profile->target ? profile->target : "unknown target");
	text_add_str(b, " · ");
	text_add_str(b, figures_time(buf, c->length_ns));
	text_add_str(b, " · ");
	text_add_str(b, figures_count(buf, c->timeline->nspans));
	text_add_str(b, c->timeline->nspans == 1 ? " span" : " spans");
	if (!profile->sample_ppb)
		return;
	text_add_str(b, " · ");
	text_add_str(b, figures_sample(buf, profile->sample_ppb));
	text_add_str(b, " of root spans");
}

/* The greatest value of one span, where colours need it. */
static void find_most(struct chart *c)
{
	for (u32 l = 0; l < c->timeline->nlanes; l++) {
		const struct timeline_lane *lane = &c->timeline->lanes[l];

		for (u32 i = 0; i < lane->nitems && !lane->events; i++) {
			u64 value = lane->items[i].value / lane->items[i].count;

			if (value > c->most_value)
				c->most_value = value;
		}
	}
}

static int flamechart_draw(struct chart *c, const char *title, const char *subtitle)
{
	struct flamesvg_page page = {.title = title, .subtitle = subtitle};
	AUTO_TEXT attributes = {0};

	page.top = FLAMESVG_TOP + AXIS;
	page.height = page.top + FLAMESVG_FOOT;
	for (u32 i = 0; i < c->timeline->ntracks; i++)
		page.height += track_height(&c->timeline->tracks[i]);
	text_add_str(&attributes, " data-chart=\"");
	text_add_u64(&attributes, c->length_ns);
	text_add_str(&attributes, "\"");
	if (attributes.failed)
		return -ENOMEM;
	page.attributes = attributes.data;
	flamesvg_open(&c->line, &page);
	draw_tracks(c, page.top);
	draw_axis(c, page.height);
	flamesvg_open_note(&c->line, &page);
	draw_note(c);
	text_add_str(&c->line, "</text>\n");
	flamesvg_close(&c->line, &page);
	flush(c);
	return c->line.failed ? -ENOMEM : 0;
}

static void chart_free(struct chart *c)
{
	text_buf_free(&c->line);
}

static int flamechart_begin(struct exporter *e, const struct profile *run)
{
	struct timeline *timeline;
	int err = timeline_new(&e->options, ROOM, &timeline);

	(void)run;
	if (!err)
		e->state = timeline;
	return err;
}

static int flamechart_span(struct exporter *e, const struct model_span *span)
{
	return timeline_add(e->state, span);
}

static int flamechart_event(struct exporter *e, const struct model_event *event)
{
	return timeline_add_event(e->state, event);
}

static int flamechart_finish(struct exporter *e, const struct profile *profile)
{
	CLEANUP(chart_free)
	struct chart c = {.timeline = e->state, .value = e->options.value, .out = e->out};
	AUTO_TEXT title = {0};
	AUTO_TEXT subtitle = {0};
	int err = timeline_finish(e->state, profile, ITEMS_MAX);

	if (err)
		return err;
	c.length_ns = c.timeline->end_ns - c.timeline->start_ns;
	c.per_ns = c.length_ns ? (double)FLAMESVG_INNER / (double)c.length_ns : 0;
	find_most(&c);
	for (u32 i = 0; i < timeline_nlabels(c.timeline); i++)
		flamesvg_see(&c.providers, timeline_label(c.timeline, i));
	text_add_safe(&title, *e->options.title ? e->options.title : default_titles[c.value]);
	add_subtitle(&subtitle, &c, profile);
	if (title.failed || subtitle.failed)
		return -ENOMEM;
	return flamechart_draw(&c, title.data, subtitle.data);
}

static void flamechart_free(struct exporter *e)
{
	struct timeline *timeline = e->state;

	if (timeline)
		timeline_free(&timeline);
	e->state = NULL;
}

static const char *const flamechart_keys[] = {
	"module_path", "file_and_line", "value", "title", NULL,
};

const struct exporter_ops exporter_flamechart = {
	.name = "flamechart",
	.times_of_spans = true,
	.extension = "chart.svg",
	.keys = flamechart_keys,
	.begin = flamechart_begin,
	.span = flamechart_span,
	.event = flamechart_event,
	.finish = flamechart_finish,
	.free = flamechart_free,
};
