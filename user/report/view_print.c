/* SPDX-License-Identifier: MIT */
/* How a single span or event is printed: as a line, a block or an object of JSON. See view.h.
 *
 * Each is made in a buffer, with what could drive a terminal made harmless, and written at once. */
#include <errno.h>
#include <string.h>

#include "../../exporters/figures.h"
#include "../../exporters/jsonw_model.h"
#include "view.h"

/* What lines, blocks and objects are made of: a span, or an event as a span of no length. */
struct item {
	const struct model_span *span; /* NULL: an event */
	const struct model_event *event;
	const char *kind;
	const struct model_thread *thread;
	const struct model_path *path;
	const struct model_label *labels;
	u32 nlabels;
	u64 start_ns; /* since the start of the trace */
};

static u64 minus(u64 a, u64 b)
{
	return a > b ? a - b : 0;
}

static const char *kind_of(const struct model_span *span)
{
	if (span->flags & MODEL_SEGMENT)
		return "segment";
	return span->flags & MODEL_ASYNC ? "async" : "span";
}

/* --- parts --------------------------------------------------------------------------------------- */

static void add_left(struct text_buf *b, const char *text, unsigned width)
{
	unsigned columns = text_columns(text);

	text_add_str(b, text);
	for (; columns < width; columns++)
		text_add_str(b, " ");
}

static void add_right(struct text_buf *b, const char *text, unsigned width)
{
	unsigned columns;

	for (columns = text_columns(text); columns < width; columns++)
		text_add_str(b, " ");
	text_add_str(b, text);
}

static void add_s64(struct text_buf *b, s64 value)
{
	if (value < 0)
		text_add_str(b, "-");
	text_add_u64(b, value < 0 ? -(u64)value : (u64)value);
}

/* Seconds to the nanosecond, or plain counts. */
static void add_start(const struct view *view, struct text_buf *b, u64 start)
{
	char text[FIGURES_SIZE];

	if (view->counted)
		snprintf(text, sizeof(text), "%llu", (unsigned long long)start);
	else
		snprintf(text, sizeof(text), "%llu.%09llu",
			 (unsigned long long)(start / 1000000000),
			 (unsigned long long)(start % 1000000000));
	add_right(b, text, 14);
}

static void add_amount(const struct view *view, struct text_buf *b, u64 amount)
{
	char text[FIGURES_SIZE];

	add_right(b, view->counted ? figures_count(text, amount) : figures_time(text, amount), 10);
}

static void add_thread(struct text_buf *b, const struct model_thread *thread)
{
	char comm[MODEL_COMM_LEN + 1] = {0};

	memcpy(comm, thread->comm, MODEL_COMM_LEN);
	text_add_safe(b, comm[0] ? comm : "?");
	text_add_str(b, "-");
	text_add_u64(b, thread->tid);
}

static void add_frame(struct text_buf *b, const struct model_path *path)
{
	text_add_safe(b, path->def->provider);
	text_add_str(b, ":");
	text_add_safe(b, path->name ? path->name : path->def->name);
}

static int add_path(struct text_buf *b, struct chain *c, const struct model_path *path)
{
	bool inner = false;

	for (c->n = 0; path && path->def; path = path->parent)
		if (chain_push(c, path))
			return -ENOMEM;
	while ((path = chain_pop(c))) {
		if (inner)
			text_add_str(b, ";");
		inner = true;
		add_frame(b, path);
	}
	return 0;
}

static void add_label(struct text_buf *b, const struct model_label *label)
{
	text_add_safe(b, label->key);
	text_add_str(b, "=");
	if (!label->text) {
		add_s64(b, label->number);
		return;
	}
	text_add_str(b, "\"");
	text_add_safe(b, label->text);
	text_add_str(b, "\"");
}

/* --- a line -------------------------------------------------------------------------------------- */

#define THREAD_WIDTH 20

void view_head(struct view *view)
{
	if (view->form == VIEW_LINES)
		fprintf(view->out, "%14s %10s %10s%s%s  %-*s  kind     path\n", "start", "wall",
			"self", view->metrics & METRIC_CPU ? "        cpu" : "",
			view->metrics & METRIC_ALLOC ? "      alloc" : "", THREAD_WIDTH, "thread");
}

static void add_figures(struct view *view, const struct model_span *span)
{
	struct text_buf *b = &view->text;
	char text[FIGURES_SIZE];

	add_amount(view, b, span->end_ns - span->start_ns);
	text_add_str(b, " ");
	add_amount(view, b, span->self_ns);
	if (view->metrics & METRIC_CPU) {
		text_add_str(b, " ");
		add_amount(view, b, span->total.cpu_ns);
	}
	if (view->metrics & METRIC_ALLOC) {
		text_add_str(b, " ");
		add_right(b, figures_bytes(text, span->alloc.bytes), 10);
	}
}

static void add_thread_column(struct text_buf *b, const struct model_thread *thread)
{
	size_t before = b->len;
	unsigned columns;

	add_thread(b, thread);
	if (b->failed)
		return;
	for (columns = text_columns(b->data + before); columns < THREAD_WIDTH; columns++)
		text_add_str(b, " ");
}

static void add_flags(struct text_buf *b, const char *before, u32 flags)
{
	if (flags & MODEL_ABANDONED) {
		text_add_str(b, before);
		text_add_str(b, "abandoned");
	}
	if (flags & MODEL_OPEN) {
		text_add_str(b, before);
		text_add_str(b, "open");
	}
}

static int add_line(struct view *view, const struct item *item)
{
	struct text_buf *b = &view->text;
	u32 i;

	add_start(view, b, item->start_ns);
	text_add_str(b, " ");
	if (item->span)
		add_figures(view, item->span);
	else
		add_right(b, "",
			  21u + (view->metrics & METRIC_CPU ? 11 : 0) +
				  (view->metrics & METRIC_ALLOC ? 11 : 0));
	text_add_str(b, "  ");
	add_thread_column(b, item->thread);
	text_add_str(b, "  ");
	add_left(b, item->kind, 7);
	text_add_str(b, "  ");
	if (add_path(b, &view->chain, item->path))
		return -ENOMEM;
	if (item->span && item->span->flags & (MODEL_ASYNC | MODEL_SEGMENT)) {
		text_add_str(b, "  id=");
		text_add_u64(b, item->span->id);
	}
	if (item->event && item->event->has_value) {
		text_add_str(b, "  value=");
		add_s64(b, item->event->value);
	}
	for (i = 0; i < item->nlabels; i++) {
		text_add_str(b, "  ");
		add_label(b, &item->labels[i]);
	}
	if (item->span)
		add_flags(b, "  ", item->span->flags);
	text_add_str(b, "\n");
	return 0;
}

/* --- a block ------------------------------------------------------------------------------------- */

static void add_key(struct text_buf *b, const char *key)
{
	text_add_str(b, "    ");
	text_add_str(b, key);
	text_add_str(b, ": ");
}

static void add_number(struct text_buf *b, const char *key, u64 value, const char *unit)
{
	add_key(b, key);
	text_add_u64(b, value);
	text_add_str(b, unit);
	text_add_str(b, "\n");
}

static void add_counters(struct view *view, const struct model_span *span, const char *ns)
{
	struct text_buf *b = &view->text;
	const struct model_counters *total = &span->total;

	add_number(b, "cpu", total->cpu_ns, ns);
	if (view->metrics & METRIC_CPU_SPLIT)
		add_number(b, "cpu_system", total->cpu_system_ns, ns);
	add_number(b, "self_cpu", span->self_cpu_ns, ns);
	if (view->metrics & METRIC_CPU_SPLIT)
		add_number(b, "self_cpu_system", span->self_cpu_system_ns, ns);
	add_number(b, "run_delay", total->run_delay_ns, ns);
	add_number(b, "blocked", minus(minus(span->busy_ns, total->cpu_ns), total->run_delay_ns),
		   ns);
	add_number(b, "vol_switches", total->vol_switches, "");
	add_number(b, "invol_switches", total->invol_switches, "");
	add_number(b, "minor_faults", total->minor_faults, "");
	add_number(b, "major_faults", total->major_faults, "");
}

static void add_span_block(struct view *view, const struct model_span *span)
{
	const char *ns = view->counted ? "" : " ns";
	struct text_buf *b = &view->text;

	add_number(b, "end", minus(span->end_ns, view->start_ns), ns);
	add_number(b, "wall", span->end_ns - span->start_ns, ns);
	add_number(b, "busy", span->busy_ns, ns);
	add_number(b, "self", span->self_ns, ns);
	if (view->metrics & METRIC_CPU)
		add_counters(view, span, ns);
	if (view->metrics & METRIC_ALLOC) {
		add_number(b, "alloc_objects", span->alloc.objects, "");
		add_number(b, "alloc_bytes", span->alloc.bytes, "");
		add_number(b, "self_alloc_objects", span->self_alloc.objects, "");
		add_number(b, "self_alloc_bytes", span->self_alloc.bytes, "");
	}
	if (span->flags & (MODEL_ASYNC | MODEL_SEGMENT))
		add_number(b, "id", span->id, "");
}

static int add_block(struct view *view, const struct item *item)
{
	struct text_buf *b = &view->text;
	u32 i;

	add_frame(b, item->path);
	text_add_str(b, " {\n");
	add_key(b, "kind");
	text_add_str(b, item->kind);
	if (item->span)
		add_flags(b, ", ", item->span->flags);
	text_add_str(b, "\n");
	add_key(b, "path");
	if (add_path(b, &view->chain, item->path))
		return -ENOMEM;
	text_add_str(b, "\n");
	add_key(b, "thread");
	add_thread(b, item->thread);
	text_add_str(b, "\n");
	add_number(b, "pid", item->thread->pid, "");
	add_number(b, item->span ? "start" : "time", item->start_ns, view->counted ? "" : " ns");
	if (item->span)
		add_span_block(view, item->span);
	if (item->event && item->event->has_value) {
		add_key(b, "value");
		add_s64(b, item->event->value);
		text_add_str(b, "\n");
	}
	for (i = 0; i < item->nlabels; i++) {
		add_key(b, "label");
		add_label(b, &item->labels[i]);
		text_add_str(b, "\n");
	}
	text_add_str(b, "}\n");
	return 0;
}

/* --- an object of JSON --------------------------------------------------------------------------- */

static void put_span(struct jsonw *w, const struct view *view, const struct model_span *span)
{
	const struct model_counters *total = &span->total;

	jsonw_u64(w, "end_ns", minus(span->end_ns, view->start_ns));
	jsonw_u64(w, "wall_ns", span->end_ns - span->start_ns);
	jsonw_u64(w, "busy_ns", span->busy_ns);
	jsonw_u64(w, "self_ns", span->self_ns);
	if (view->metrics & METRIC_CPU) {
		jsonw_u64(w, "cpu_ns", total->cpu_ns);
		if (view->metrics & METRIC_CPU_SPLIT)
			jsonw_u64(w, "cpu_system_ns", total->cpu_system_ns);
		jsonw_u64(w, "self_cpu_ns", span->self_cpu_ns);
		if (view->metrics & METRIC_CPU_SPLIT)
			jsonw_u64(w, "self_cpu_system_ns", span->self_cpu_system_ns);
		jsonw_u64(w, "run_delay_ns", total->run_delay_ns);
		jsonw_u64(w, "blocked_ns",
			  minus(minus(span->busy_ns, total->cpu_ns), total->run_delay_ns));
		jsonw_u64(w, "vol_switches", total->vol_switches);
		jsonw_u64(w, "invol_switches", total->invol_switches);
		jsonw_u64(w, "minor_faults", total->minor_faults);
		jsonw_u64(w, "major_faults", total->major_faults);
	}
	if (view->metrics & METRIC_ALLOC) {
		jsonw_u64(w, "alloc_objects", span->alloc.objects);
		jsonw_u64(w, "alloc_bytes", span->alloc.bytes);
		jsonw_u64(w, "self_alloc_objects", span->self_alloc.objects);
		jsonw_u64(w, "self_alloc_bytes", span->self_alloc.bytes);
	}
	if (span->flags & (MODEL_ASYNC | MODEL_SEGMENT))
		jsonw_u64(w, "id", span->id);
	jsonw_u64(w, "abandoned", !!(span->flags & MODEL_ABANDONED));
	jsonw_u64(w, "open", !!(span->flags & MODEL_OPEN));
}

static int put_json(struct view *view, const struct item *item)
{
	struct jsonw w = {.out = view->out};

	jsonw_object(&w, NULL, JSONW_INLINE);
	jsonw_string(&w, "kind", item->kind);
	jsonw_thread(&w, item->thread);
	if (jsonw_path(&w, &view->chain, item->path))
		return -ENOMEM;
	jsonw_labels(&w, item->labels, item->nlabels);
	jsonw_u64(&w, item->span ? "start_ns" : "time_ns", item->start_ns);
	if (item->span)
		put_span(&w, view, item->span);
	else if (item->event->has_value)
		jsonw_s64(&w, "value", item->event->value);
	jsonw_end(&w);
	return ferror(view->out) ? -EIO : 0;
}

/* --- the sink ------------------------------------------------------------------------------------ */

static int print(struct view *view, const struct item *item)
{
	struct text_buf *b = &view->text;
	int err;

	if (view->form == VIEW_JSON)
		return put_json(view, item);
	text_cut(b, 0);
	err = view->form == VIEW_BLOCK ? add_block(view, item) : add_line(view, item);
	if (err || b->failed)
		return -ENOMEM;
	return fwrite(b->data, 1, b->len, view->out) == b->len ? 0 : -EIO;
}

int view_span(void *context, const struct model_span *span)
{
	struct view *view = context;
	const struct item item = {
		.span = span,
		.kind = kind_of(span),
		.thread = span->thread,
		.path = span->path,
		.labels = span->labels,
		.nlabels = span->nlabels,
		.start_ns = minus(span->start_ns, view->start_ns),
	};

	return print(view, &item);
}

int view_event(void *context, const struct model_event *event)
{
	struct view *view = context;
	const struct item item = {
		.event = event,
		.kind = "event",
		.thread = event->thread,
		.path = event->path,
		.labels = event->labels,
		.nlabels = event->nlabels,
		.start_ns = minus(event->time_ns, view->start_ns),
	};

	return print(view, &item);
}

void view_free(struct view *view)
{
	text_buf_free(&view->text);
	chain_free(&view->chain);
}
