/* SPDX-License-Identifier: MIT */
/* From wire records to rows: the loader's hot path. See trace.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "trace.h"
#include "trace_impl.h"

static void trace_fail(struct trace *trace, int err)
{
	if (err && !trace->error)
		trace->error = err;
}

/* The labels of SPAN that --by asks for, in its order; of two with one key the first. Returns how
 * many it has. */
static u32 trace_chosen(const struct trace *trace, const struct model_span *span,
			struct model_label chosen[MODEL_MAX_LABELS])
{
	u32 i, n = 0;
	size_t key;

	for (key = 0; key < trace->nby; key++)
		for (i = 0; i < span->nlabels; i++)
			if (strcmp(span->labels[i].key, trace->by[key]) == 0) {
				chosen[n++] = span->labels[i];
				break;
			}
	return n;
}

static bool trace_same_labels(const struct model_row *row, const struct model_label *labels, u32 n)
{
	u32 i;

	if (row->nlabels != n)
		return false;
	for (i = 0; i < n; i++) {
		const struct model_label *a = &row->labels[i], *b = &labels[i];

		if (strcmp(a->key, b->key) != 0 || !a->text != !b->text)
			return false;
		if (a->text ? strcmp(a->text, b->text) != 0 : a->number != b->number)
			return false;
	}
	return true;
}

/* A key for the row's labels too. Two sets of labels may get one key: then the next one is tried. */
static u64 trace_label_key(u64 key, const struct model_label *labels, u32 n)
{
	const char *c;
	u32 i;

	for (i = 0; i < n; i++) {
		u64 value = (u64)labels[i].number;

		for (c = labels[i].text; c && *c; c++)
			value = value * 31 + (unsigned char)*c;
		key = (key ^ value) * 0x9e3779b97f4a7c15ULL + i + 1;
	}
	return key;
}

/* The row of a span's thread, path and chosen labels, made if it is new. */
static struct trace_row *trace_row(struct trace *trace, const struct model_span *span)
{
	struct model_label chosen[MODEL_MAX_LABELS];
	u32 n = trace->nby && span->nlabels ? trace_chosen(trace, span, chosen) : 0;
	u64 key = trace_row_key(span->thread->serial, span->path->id);
	struct trace_row *row;
	void **found;

	key = trace_label_key(key, chosen, n);
	while ((found = intmap_find(&trace->rows, key))) {
		row = *found;
		if (row->model.path == span->path && row->model.thread == span->thread &&
		    trace_same_labels(&row->model, chosen, n))
			return row;
		key++;
	}
	row = calloc(1, sizeof(*row));
	if (!row)
		return NULL;
	row->model.thread = span->thread;
	row->model.path = span->path;
	row->model.min_ns = UINT64_MAX;
	row->model.nlabels = n;
	memcpy(row->model.labels, chosen, n * sizeof(chosen[0]));
	if (intmap_set(&trace->rows, key, row)) {
		free(row);
		return NULL;
	}
	return row;
}

static u64 minus(u64 a, u64 b)
{
	return a > b ? a - b : 0;
}

static u64 at_most(u64 value, u64 limit)
{
	return value < limit ? value : limit;
}

/* A span of BUSY time on the CPU, waiting and blocked: the parts add up to the whole. */
static void trace_usage(struct model_span *span, u64 off, u64 run_delay, u64 self_off,
			u64 self_run_delay)
{
	off = at_most(off, span->busy_ns);
	self_off = at_most(self_off, span->self_ns);
	span->total.cpu_ns = span->busy_ns - off;
	span->total.run_delay_ns = at_most(run_delay, off);
	span->self_cpu_ns = span->self_ns - self_off;
	span->self_run_delay_ns = at_most(self_run_delay, self_off);
}

/* Adds what ran on the span's own thread on its path. */
static void trace_add_work(struct trace_row *row, const struct model_span *span)
{
	row->model.work.busy_ns += span->self_ns;
	row->model.work.cpu_ns += span->self_cpu_ns;
	row->model.work.run_delay_ns += span->self_run_delay_ns;
}

/* Adds one whole span to the totals of its row. */
static int trace_add_span(struct trace_row *row, const struct model_span *span)
{
	struct model_row *m = &row->model;
	u64 wall = minus(span->end_ns, span->start_ns);

	m->wall_ns += wall;
	m->busy_ns += span->busy_ns;
	m->self_ns += span->self_ns;
	m->self_cpu_ns += span->self_cpu_ns;
	m->total.cpu_ns += span->total.cpu_ns;
	m->total.run_delay_ns += span->total.run_delay_ns;
	m->total.vol_switches += span->total.vol_switches;
	m->total.invol_switches += span->total.invol_switches;
	m->total.minor_faults += span->total.minor_faults;
	m->total.major_faults += span->total.major_faults;
	if (span->flags & MODEL_OPEN) {
		m->open++;
		return 0;
	}
	m->count++;
	m->abandoned += !!(span->flags & MODEL_ABANDONED);
	row->finished_wall_ns += wall;
	if (wall < m->min_ns)
		m->min_ns = wall;
	if (wall > m->max_ns)
		m->max_ns = wall;
	if (!row->durations && histogram_new(&row->durations))
		return -ENOMEM;
	return histogram_add(row->durations, wall);
}

static void trace_deliver(struct trace *trace, const struct model_span *span)
{
	size_t i;

	trace->spans += !(span->flags & MODEL_SEGMENT);
	if (!trace->want_spans)
		return;
	for (i = 0; i < trace->nsinks; i++)
		if (trace->sinks[i].span)
			trace_fail(trace, trace->sinks[i].span(trace->sinks[i].context, span));
}

/* Where a record belongs: fills SPAN's thread, path and labels (NULL: it has none) and returns its row; NULL, counted,
 * when there is no such path or no memory. */
static struct trace_row *trace_place(struct trace *trace, const struct wire_head *head, u32 path,
				     u32 site, const u64 *labels, struct model_span *span)
{
	struct trace_thread *thread;
	struct trace_row *row;

	span->path = trace_path(trace, path);
	if (!span->path || span->path->depth == 0) {
		trace->damaged++;
		return NULL;
	}
	thread = trace_thread(trace, head->thread);
	if (!thread) {
		trace->no_memory++;
		return NULL;
	}
	span->thread = &thread->model;
	if (labels)
		span->nlabels = trace_labels(trace, site, labels, span->labels);
	row = trace_row(trace, span);
	if (!row)
		trace->no_memory++;
	return row;
}

static void trace_span(struct trace *trace, const struct wire_span *record)
{
	struct model_span span = {
		.start_ns = record->start_ns,
		.end_ns = record->start_ns + record->busy_ns,
		.busy_ns = record->busy_ns,
		.self_ns = at_most(record->self_ns, record->busy_ns),
		.flags = record->head.flags & (WIRE_ABANDONED | WIRE_OPEN | WIRE_SEGMENT),
	};
	struct trace_row *row;

	row = trace_place(trace, &record->head, record->path, record->site,
			  record->head.flags & WIRE_LABELS ? record->labels : NULL, &span);
	if (!row)
		return;
	span.total.cpu_ns = span.busy_ns;
	span.self_cpu_ns = span.self_ns;
	if (record->head.size > WIRE_SPAN_SHORT) {
		const struct wire_usage *u = &record->usage;

		trace_usage(&span, u->off_ns, u->run_delay_ns, u->self_off_ns,
			    u->self_run_delay_ns);
		span.total.vol_switches = u->vol_switches;
		span.total.invol_switches = u->invol_switches;
		span.total.minor_faults = u->minor_faults;
		span.total.major_faults = u->major_faults;
		span.id = record->id;
	}
	trace_add_work(row, &span);
	if (!(span.flags & MODEL_SEGMENT) && trace_add_span(row, &span))
		trace->no_memory++;
	trace_deliver(trace, &span);
}

static void trace_async(struct trace *trace, const struct wire_async *record)
{
	struct model_span span = {
		.id = record->id,
		.start_ns = record->start_ns,
		.end_ns = record->end_ns,
		.busy_ns = record->busy_ns,
		.self_ns = at_most(record->self_ns, record->busy_ns),
		.flags = record->head.flags & (WIRE_ABANDONED | WIRE_OPEN),
	};
	struct trace_row *row;

	row = trace_place(trace, &record->head, record->path, record->site,
			  record->head.flags & WIRE_LABELS ? record->labels : NULL, &span);
	if (!row)
		return;
	trace_usage(&span, record->off_ns, record->run_delay_ns, record->self_off_ns,
		    record->self_run_delay_ns);
	span.total.vol_switches = record->vol_switches;
	span.total.invol_switches = record->invol_switches;
	span.total.minor_faults = record->minor_faults;
	span.total.major_faults = record->major_faults;
	row->model.work.idle_ns += minus(minus(span.end_ns, span.start_ns), span.busy_ns);
	if (trace_add_span(row, &span))
		trace->no_memory++;
	trace_deliver(trace, &span);
}

void trace_open_async(struct trace *trace, const struct wire_async *span, u64 now_ns)
{
	struct wire_async closed = *span;

	closed.end_ns = now_ns;
	closed.head.flags |= WIRE_OPEN;
	trace_async(trace, &closed);
}

static void trace_event(struct trace *trace, const struct wire_event *record)
{
	struct model_path *path = trace_path(trace, record->path);
	struct trace_thread *thread;
	struct model_event event = {
		.time_ns = record->time_ns,
		.value = (s64)record->value,
		.has_value = record->head.flags & WIRE_VALUE,
	};
	struct model_event_row *row;
	void **found;
	size_t i;
	u64 key;

	if (!path || path->depth == 0) {
		trace->damaged++;
		return;
	}
	thread = trace_thread(trace, record->head.thread);
	if (!thread) {
		trace->no_memory++;
		return;
	}
	key = trace_row_key(thread->model.serial, path->def->id);
	found = intmap_find(&trace->events, key);
	if (found) {
		row = *found;
	} else {
		row = calloc(1, sizeof(*row));
		if (!row || intmap_set(&trace->events, key, row)) {
			free(row);
			trace->no_memory++;
			return;
		}
		row->thread = &thread->model;
		row->def = path->def;
	}
	row->count++;
	row->has_sum |= event.has_value;
	/* Sums may wrap, as the program's own would. */
	row->sum = (s64)((u64)row->sum + (event.has_value ? record->value : 0));
	trace->nevents++;
	event.thread = &thread->model;
	event.path = path;
	if (trace->want_events && record->head.flags & WIRE_LABELS)
		event.nlabels = trace_labels(trace, record->site, record->labels, event.labels);
	for (i = 0; trace->want_events && i < trace->nsinks; i++)
		if (trace->sinks[i].event)
			trace_fail(trace, trace->sinks[i].event(trace->sinks[i].context, &event));
}

static void trace_thread_begins(struct trace *trace, const struct wire_thread *record)
{
	struct trace_thread *thread = trace_thread(trace, record->head.thread);

	if (!thread) {
		trace->no_memory++;
		return;
	}
	thread->process = record->process;
	thread->model.pid = record->pid;
	thread->model.tid = record->tid;
	if (record->start_ns > trace->begin_ns)
		thread->model.start_ns = record->start_ns;
	if (!thread->ended) /* the name at the end is the newer one, whichever comes first */
		memcpy(thread->model.comm, record->comm, MODEL_COMM_LEN - 1);
}

static void trace_thread_ends(struct trace *trace, const struct wire_thread_end *record)
{
	struct trace_thread *thread = trace_thread(trace, record->head.thread);

	if (!thread) {
		trace->no_memory++;
		return;
	}
	thread->model.end_ns = record->time_ns;
	thread->inside_ns = record->inside_ns;
	thread->ended = true;
	/* A thread may have named itself since its first span. */
	memcpy(thread->model.comm, record->comm, MODEL_COMM_LEN - 1);
}

void trace_record(struct trace *trace, const void *data, size_t size)
{
	const struct wire_head *head = data;

	if (size < sizeof(*head) || head->size > size)
		goto damaged;
	switch (head->kind) {
	case WIRE_SPAN:
		if (head->size != WIRE_SPAN_SHORT && head->size != WIRE_SPAN_WHOLE &&
		    head->size != sizeof(struct wire_span))
			goto damaged;
		if (head->flags & WIRE_LABELS && head->size != sizeof(struct wire_span))
			goto damaged;
		trace_span(trace, data);
		return;
	case WIRE_ASYNC:
		if (head->size != sizeof(struct wire_async))
			goto damaged;
		trace_async(trace, data);
		return;
	case WIRE_EVENT:
		if (head->size != WIRE_EVENT_SHORT && head->size != sizeof(struct wire_event))
			goto damaged;
		if (head->flags & WIRE_LABELS && head->size != sizeof(struct wire_event))
			goto damaged;
		trace_event(trace, data);
		return;
	case WIRE_THREAD:
		if (head->size != sizeof(struct wire_thread))
			goto damaged;
		trace_thread_begins(trace, data);
		return;
	case WIRE_THREAD_END:
		if (head->size != sizeof(struct wire_thread_end))
			goto damaged;
		trace_thread_ends(trace, data);
		return;
	case WIRE_STRING:
		if (head->size != sizeof(struct wire_string))
			goto damaged;
		trace_add_text(trace, data);
		return;
	case WIRE_FORK:
	case WIRE_EXEC:
	case WIRE_EXIT:
		if (head->size != sizeof(struct wire_life))
			goto damaged;
		return;
	}
damaged:
	trace->damaged++;
}
