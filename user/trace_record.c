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

static struct trace_row *trace_row(struct trace *trace, struct trace_thread *thread,
				   const struct model_path *path)
{
	u64 key = trace_row_key(thread->model.serial, path->id);
	void **found = intmap_find(&trace->rows, key);
	struct trace_row *row;

	if (found)
		return *found;
	row = calloc(1, sizeof(*row));
	if (!row)
		return NULL;
	row->model.thread = &thread->model;
	row->model.path = path;
	row->model.min_ns = UINT64_MAX;
	if (intmap_set(&trace->rows, key, row)) {
		free(row);
		return NULL;
	}
	return row;
}

/* The row of a thread and a path by their numbers. Where there is none the cause is counted; a path
 * that cannot be makes no thread. */
static struct trace_row *trace_row_of(struct trace *trace, u32 thread_serial, u32 path_id)
{
	const struct model_path *path = trace_path(trace, path_id);
	struct trace_thread *thread;
	struct trace_row *row;

	if (!path || path->depth == 0) {
		trace->damaged++;
		return NULL;
	}
	thread = trace_thread(trace, thread_serial);
	row = thread ? trace_row(trace, thread, path) : NULL;
	if (!row)
		trace->no_memory++;
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

static void trace_span(struct trace *trace, const struct wire_span *record)
{
	struct trace_row *row = trace_row_of(trace, record->head.thread, record->path);
	struct model_span span = {
		.start_ns = record->start_ns,
		.end_ns = record->start_ns + record->busy_ns,
		.busy_ns = record->busy_ns,
		.self_ns = at_most(record->self_ns, record->busy_ns),
		.flags = record->head.flags & (WIRE_ABANDONED | WIRE_OPEN | WIRE_SEGMENT),
	};

	if (!row)
		return;
	span.thread = row->model.thread;
	span.path = row->model.path;
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
	struct trace_row *row = trace_row_of(trace, record->head.thread, record->path);
	struct model_span span = {
		.id = record->id,
		.start_ns = record->start_ns,
		.end_ns = record->end_ns,
		.busy_ns = record->busy_ns,
		.self_ns = at_most(record->self_ns, record->busy_ns),
		.flags = record->head.flags & (WIRE_ABANDONED | WIRE_OPEN),
	};

	if (!row)
		return;
	span.thread = row->model.thread;
	span.path = row->model.path;
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
	closed.head.flags = WIRE_OPEN;
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
		if (head->size != WIRE_SPAN_SHORT && head->size != sizeof(struct wire_span))
			goto damaged;
		trace_span(trace, data);
		return;
	case WIRE_ASYNC:
		if (head->size != sizeof(struct wire_async))
			goto damaged;
		trace_async(trace, data);
		return;
	case WIRE_EVENT:
		if (head->size != sizeof(struct wire_event))
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
