/* SPDX-License-Identifier: MIT */
/* From wire records to single spans and events: the loader's hot path. See trace.h. */
#include <string.h>

#include "trace.h"
#include "trace_impl.h"

static u64 at_most(u64 value, u64 limit)
{
	return value < limit ? value : limit;
}

/* A span of BUSY time on the CPU, waiting and blocked: the parts add up to the whole. */
static void trace_usage(struct model_span *span, const struct wire_usage *usage)
{
	u64 off = at_most(usage->off_ns, span->busy_ns);
	u64 self_off = at_most(usage->self_off_ns, span->self_ns);

	span->total.cpu_ns = span->busy_ns - off;
	span->total.run_delay_ns = at_most(usage->run_delay_ns, off);
	span->total.cpu_system_ns = at_most(usage->system_ns, span->total.cpu_ns);
	span->self_cpu_ns = span->self_ns - self_off;
	span->self_run_delay_ns = at_most(usage->self_run_delay_ns, self_off);
	span->self_cpu_system_ns = at_most(usage->self_system_ns, span->self_cpu_ns);
}

/* Where a record belongs: fills SPAN's thread, path and labels (NULL: it has none). False, counted, when there is no
 * such path or no memory. */
static bool trace_place(struct trace *trace, const struct wire_head *head, u32 path, u32 site,
			const u64 *labels, struct model_span *span)
{
	struct trace_thread *thread;

	span->path = trace_path(trace, path);
	if (!span->path || span->path->depth == 0) {
		trace->damaged++;
		return false;
	}
	thread = trace_thread(trace, head->thread);
	if (!thread) {
		trace->no_memory++;
		return false;
	}
	span->thread = &thread->model;
	if (labels)
		span->nlabels = trace_labels(trace, site, labels, span->labels);
	return true;
}

/* What was allocated while it was on top is a part of what was while it was entered. */
static void trace_alloc(struct model_span *span, const struct wire_alloc_counts *total,
			const struct wire_alloc_counts *self)
{
	span->alloc = (struct model_alloc){total->objects, total->bytes};
	span->self_alloc.objects = at_most(self->objects, total->objects);
	span->self_alloc.bytes = at_most(self->bytes, total->bytes);
}

static void trace_span(struct trace *trace, const struct wire_span *record)
{
	struct model_label inherited[IDS];
	struct model_span span = {
		.start_ns = record->start_ns,
		.end_ns = record->start_ns + record->busy_ns,
		.busy_ns = record->busy_ns,
		.self_ns = at_most(record->self_ns, record->busy_ns),
		.flags = record->head.flags & (WIRE_ABANDONED | WIRE_OPEN | WIRE_SEGMENT),
	};

	if (!trace_place(trace, &record->head, record->path, record->site,
			 record->head.flags & WIRE_LABELS ? record->labels : NULL, &span))
		return;
	span.total.cpu_ns = span.busy_ns;
	span.self_cpu_ns = span.self_ns;
	if (record->head.size == WIRE_SPAN_SPLIT) {
		const struct wire_usage usage = {
			.system_ns = record->usage.system_ns,
			.self_system_ns = record->usage.self_system_ns,
		};

		trace_usage(&span, &usage);
	} else if (record->head.size > WIRE_SPAN_SHORT) {
		const struct wire_usage *u = &record->usage;

		trace_usage(&span, u);
		span.total.vol_switches = u->vol_switches;
		span.total.invol_switches = u->invol_switches;
		span.total.minor_faults = u->minor_faults;
		span.total.major_faults = u->major_faults;
		span.id = record->id;
	}
	if (record->head.size > WIRE_SPAN_LABELLED)
		trace_alloc(&span, &record->alloc, &record->self_alloc);
	if (record->head.size > WIRE_SPAN_ALLOC && record->ids.kinds) {
		span.inherited = inherited;
		span.ninherited = trace_inherited(trace, &record->ids, inherited);
	}
	trace_take_span(trace, &span);
}

static void trace_async(struct trace *trace, const struct wire_async *record)
{
	struct model_label inherited[IDS];
	struct model_span span = {
		.id = record->id,
		.parent_id = record->parent,
		.start_ns = record->start_ns,
		.end_ns = record->end_ns,
		.busy_ns = record->busy_ns,
		.self_ns = at_most(record->self_ns, record->busy_ns),
		.flags = MODEL_ASYNC | (record->head.flags & (WIRE_ABANDONED | WIRE_OPEN)),
	};
	const struct wire_usage usage = {
		.off_ns = record->off_ns,
		.run_delay_ns = record->run_delay_ns,
		.self_off_ns = record->self_off_ns,
		.self_run_delay_ns = record->self_run_delay_ns,
		.system_ns = record->system_ns,
		.self_system_ns = record->self_system_ns,
	};

	if (!trace_place(trace, &record->head, record->path, record->site,
			 record->head.flags & WIRE_LABELS ? record->labels : NULL, &span))
		return;
	trace_usage(&span, &usage);
	span.total.vol_switches = record->vol_switches;
	span.total.invol_switches = record->invol_switches;
	span.total.minor_faults = record->minor_faults;
	span.total.major_faults = record->major_faults;
	trace_alloc(&span, &record->alloc, &record->self_alloc);
	if (record->ids.kinds) {
		span.inherited = inherited;
		span.ninherited = trace_inherited(trace, &record->ids, inherited);
	}
	trace_take_span(trace, &span);
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

	if (!path || path->depth == 0) {
		trace->damaged++;
		return;
	}
	thread = trace_thread(trace, record->head.thread);
	if (!thread) {
		trace->no_memory++;
		return;
	}
	event.thread = &thread->model;
	event.path = path;
	if (trace->want_events && record->head.flags & WIRE_LABELS)
		event.nlabels = trace_labels(trace, record->site, record->labels, event.labels);
	trace_take_event(trace, &event);
}

static void trace_thread_begins(struct trace *trace, const struct wire_thread *record)
{
	struct trace_thread *thread = trace_thread(trace, record->head.thread);

	if (!thread) {
		trace->no_memory++;
		return;
	}
	if (thread->model.serial == TRACE_OTHERS) {
		trace->folded_threads++;
		return;
	}
	thread->process = record->process;
	thread->model.pid = record->pid;
	thread->model.tid = record->tid;
	thread->model.nspid = record->nspid;
	memcpy(thread->model.process_comm, record->process_comm, MODEL_COMM_LEN - 1);
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
	if (thread->model.serial ==
	    TRACE_OTHERS) /* what they were inside is the sum of their rows */
		return;
	thread->model.end_ns = record->time_ns;
	thread->inside_ns = record->inside_ns;
	thread->ended = true;
	/* A thread may have named itself since its first span. */
	memcpy(thread->model.comm, record->comm, MODEL_COMM_LEN - 1);
}

static void trace_life(struct trace *trace, const struct wire_life *record)
{
	if (record->head.kind == WIRE_EXEC)
		trace_image_ended(trace, record->old_process);
	else if (record->head.kind == WIRE_EXIT)
		trace_image_ended(trace, record->process);
}

void trace_record(struct trace *trace, const void *data, size_t size)
{
	const struct wire_head *head = data;

	if (size < sizeof(*head) || head->size > size)
		goto damaged;
	switch (head->kind) {
	case WIRE_SPAN:
		if (head->size != WIRE_SPAN_SHORT && head->size != WIRE_SPAN_SPLIT &&
		    head->size != WIRE_SPAN_WHOLE && head->size != WIRE_SPAN_LABELLED &&
		    head->size != WIRE_SPAN_ALLOC && head->size != sizeof(struct wire_span))
			goto damaged;
		if (head->flags & WIRE_LABELS && head->size < WIRE_SPAN_LABELLED)
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
		trace_life(trace, data);
		return;
	}
damaged:
	trace->damaged++;
}
