/* SPDX-License-Identifier: MIT */
/* From single spans and events to the totals of their rows, and on to the sinks. See trace.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "trace.h"
#include "trace_impl.h"

static u64 minus(u64 a, u64 b)
{
	return a > b ? a - b : 0;
}

static void trace_fail(struct trace *trace, int err)
{
	if (err && !trace->error)
		trace->error = err;
}

static const struct model_label *trace_find_label(const struct model_label *labels, u32 n,
						  const char *key)
{
	for (u32 i = 0; i < n; i++)
		if (strcmp(labels[i].key, key) == 0)
			return &labels[i];
	return NULL;
}

/* Whether rows may be split by what SPAN has. */
static bool trace_may_choose(const struct trace *trace, const struct model_span *span)
{
	return trace->nby && (span->nlabels || span->ninherited);
}

/* The labels of SPAN that --by asks for, in its order, its own before inherited ones; of two with one key the first.
 * Returns how many it has. */
static u32 trace_chosen(const struct trace *trace, const struct model_span *span,
			struct model_label chosen[MODEL_MAX_LABELS])
{
	u32 n = 0;

	for (size_t i = 0; i < trace->nby; i++) {
		const struct model_label *found =
			trace_find_label(span->labels, span->nlabels, trace->by[i]);

		if (!found)
			found = trace_find_label(span->inherited, span->ninherited, trace->by[i]);
		if (found)
			chosen[n++] = *found;
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
u64 trace_label_key(u64 key, const struct model_label *labels, u32 n)
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

/* Where the row that a span of these was added to last is kept. */
static struct trace_row **trace_last_row(const struct model_thread *thread,
					 const struct model_path *path)
{
	return &((struct trace_path *)path)->last[thread->serial % TRACE_PATH_LAST];
}

static struct trace_row *trace_find_row(struct trace *trace, const struct model_span *span);

/* The one row that stands for all that have no room. */
static struct trace_row *trace_folded_row(struct trace *trace)
{
	struct trace_thread *thread = trace_thread(trace, TRACE_OTHERS);
	void **found = intmap_find(&trace->paths, PATH_OVERFLOW);
	struct model_path *path = found ? *found
					: trace_new_path(trace, PATH_OVERFLOW, &trace->root.model,
							 &trace_other_paths);
	struct model_span span = {.path = path};

	if (!thread || !path)
		return NULL;
	trace->folded_rows++;
	span.thread = &thread->model;
	return trace_find_row(trace, &span);
}

static bool trace_is_folded(const struct model_span *span)
{
	return span->thread->serial == TRACE_OTHERS && span->path->id == PATH_OVERFLOW;
}

/* The row of a span's thread, path and chosen labels, made if it is new. */
static __attribute__((noinline)) struct trace_row *trace_find_row(struct trace *trace,
								  const struct model_span *span)
{
	struct model_label chosen[MODEL_MAX_LABELS];
	u32 n = trace_may_choose(trace, span) ? trace_chosen(trace, span, chosen) : 0;
	struct trace_row *row;
	void **found;
	u64 key;

	key = trace_row_key(span->thread->serial, span->path->id);
	key = trace_label_key(key, chosen, n);
	while ((found = intmap_find(&trace->rows, key))) {
		row = *found;
		if (row->model.path == span->path && row->model.thread == span->thread &&
		    trace_same_labels(&row->model, chosen, n))
			goto out;
		key++;
	}
	if (trace->rows.used >= trace->rows_max && (n || !trace_is_folded(span)))
		return trace_folded_row(trace);
	row = aligned_alloc(TRACE_LINE, sizeof(*row));
	if (!row)
		return NULL;
	*row = (struct trace_row){0};
	row->model.thread = span->thread;
	row->model.path = span->path;
	row->model.min_ns = UINT64_MAX;
	row->model.nlabels = n;
	memcpy(row->model.labels, chosen, n * sizeof(chosen[0]));
	if (intmap_set(&trace->rows, key, row)) {
		free(row);
		return NULL;
	}
out:
	if (!n)
		*trace_last_row(span->thread, span->path) = row;
	return row;
}

/* The same. A few threads, or one after the other, need no table. */
static struct trace_row *trace_row(struct trace *trace, const struct model_span *span)
{
	struct trace_row *row = *trace_last_row(span->thread, span->path);

	if (row && row->model.thread == span->thread && !trace_may_choose(trace, span))
		return row;
	return trace_find_row(trace, span);
}

/* Work counts where it ran: that of a thread span and of a segment on its thread. An async span has its idle time
 * where it was made. */
static void trace_add_work(struct trace_row *row, const struct model_span *span)
{
	if (span->flags & MODEL_ASYNC) {
		row->model.work.idle_ns +=
			minus(minus(span->end_ns, span->start_ns), span->busy_ns);
		return;
	}
	row->model.work.busy_ns += span->self_ns;
	row->model.work.cpu_ns += span->self_cpu_ns;
	row->model.work.cpu_system_ns += span->self_cpu_system_ns;
	row->model.work.run_delay_ns += span->self_run_delay_ns;
	if (span->self_alloc.objects | span->self_alloc.bytes) {
		row->of_spans.objects += span->self_alloc.objects;
		row->of_spans.bytes += span->self_alloc.bytes;
	}
}

/* Adds one whole span to the totals of its row. */
static int trace_add_span(struct trace *trace, struct trace_row *row, const struct model_span *span)
{
	struct model_row *m = &row->model;
	u8 pieces = row->durations.nblocks;
	int err;
	u64 wall = minus(span->end_ns, span->start_ns);

	m->wall_ns += wall;
	m->busy_ns += span->busy_ns;
	m->self_ns += span->self_ns;
	m->self_cpu_ns += span->self_cpu_ns;
	m->self_cpu_system_ns += span->self_cpu_system_ns;
	m->total.cpu_ns += span->total.cpu_ns;
	m->total.cpu_system_ns += span->total.cpu_system_ns;
	m->total.run_delay_ns += span->total.run_delay_ns;
	m->total.vol_switches += span->total.vol_switches;
	m->total.invol_switches += span->total.invol_switches;
	m->total.minor_faults += span->total.minor_faults;
	m->total.major_faults += span->total.major_faults;
	if (span->flags & MODEL_OPEN) {
		m->open++;
		row->open_wall_ns += wall;
		return 0;
	}
	m->count++;
	m->abandoned += !!(span->flags & MODEL_ABANDONED);
	if (wall < m->min_ns)
		m->min_ns = wall;
	if (wall > m->max_ns)
		m->max_ns = wall;
	if (trace->pieces >= trace->pieces_max)
		return -ENOMEM;
	err = histogram_add(&row->durations, wall);
	trace->pieces += row->durations.nblocks - pieces;
	return err;
}

void trace_expect_span(const struct model_thread *thread, const struct model_path *path)
{
	const char *row = (const char *)*trace_last_row(thread, path);
	size_t i;

	if (!row)
		return;
	for (i = 0; i < offsetof(struct trace_row, model.abandoned); i += TRACE_LINE)
		__builtin_prefetch(row + i, 1);
	__builtin_prefetch(row + offsetof(struct trace_row, durations), 1);
}

/* False: no memory. */
static bool trace_add_to_row(struct trace *trace, const struct model_span *span)
{
	struct trace_row *row = trace_row(trace, span);

	if (!row)
		return false;
	if (!(span->flags & MODEL_SEGMENT) && trace_add_span(trace, row, span))
		trace->no_memory++;
	trace_add_work(row, span);
	return true;
}

static void trace_add_rowless(const struct model_span *span)
{
	struct trace_thread *thread = (struct trace_thread *)span->thread;

	if (!(span->flags & MODEL_ASYNC))
		thread->rowless_ns += span->self_ns;
}

void trace_take_span(struct trace *trace, const struct model_span *span)
{
	size_t i;

	if (trace->rowless) {
		trace_add_rowless(span);
	} else if (!trace_add_to_row(trace, span)) {
		trace->no_memory++;
		return;
	}
	trace->spans += !(span->flags & MODEL_SEGMENT);
	for (i = 0; trace->want_spans && i < trace->nsinks; i++)
		if (trace->sinks[i].span)
			trace_fail(trace, trace->sinks[i].span(trace->sinks[i].context, span));
}

static int trace_add_gain(struct trace_row *row, const struct wire_row *gained,
			  const struct wire_octave *pieces, size_t n)
{
	struct model_row *m = &row->model;
	size_t i;

	m->count += gained->count;
	m->abandoned += gained->abandoned;
	m->open += gained->open;
	m->wall_ns += gained->wall_ns;
	m->busy_ns += gained->busy_ns;
	m->self_ns += gained->self_ns;
	m->self_cpu_ns += gained->self_ns - gained->self_off_ns;
	m->self_cpu_system_ns += gained->self_system_ns;
	m->total.cpu_ns += gained->busy_ns - gained->off_ns;
	m->total.cpu_system_ns += gained->system_ns;
	m->total.run_delay_ns += gained->run_delay_ns;
	m->total.vol_switches += gained->vol_switches;
	m->total.invol_switches += gained->invol_switches;
	m->total.minor_faults += gained->minor_faults;
	m->total.major_faults += gained->major_faults;
	m->work.busy_ns += gained->segment_ns;
	m->work.cpu_ns += gained->segment_ns - gained->segment_off_ns;
	m->work.cpu_system_ns += gained->segment_system_ns;
	m->work.run_delay_ns += gained->segment_run_delay_ns;
	if (gained->async) {
		m->work.idle_ns += minus(gained->wall_ns, gained->busy_ns);
	} else {
		m->work.busy_ns += gained->self_ns;
		m->work.cpu_ns += gained->self_ns - gained->self_off_ns;
		m->work.cpu_system_ns += gained->self_system_ns;
		m->work.run_delay_ns += gained->self_run_delay_ns;
	}
	row->open_wall_ns += gained->open_wall_ns;
	m->alloc_objects += gained->alloc_objects;
	m->alloc_bytes += gained->alloc_bytes;
	m->inuse_objects += gained->inuse_objects;
	m->inuse_bytes += gained->inuse_bytes;
	m->map_calls += gained->map_calls;
	m->map_bytes += gained->map_bytes;
	m->unmap_calls += gained->unmap_calls;
	m->unmap_bytes += gained->unmap_bytes;
	if (gained->least_ns && ~gained->least_ns < m->min_ns)
		m->min_ns = ~gained->least_ns;
	if (gained->most_ns > m->max_ns)
		m->max_ns = gained->most_ns;
	for (i = 0; i < n; i++)
		if (histogram_add_octave(&row->durations, pieces[i].octave, pieces[i].counts))
			return -ENOMEM;
	return 0;
}

u64 trace_event_key(const struct model_thread *thread, const struct model_def *def,
		    const char *name)
{
	u64 key = trace_row_key(thread->serial, def->id);

	/* Names are kept once each, so that pointers tell them apart. */
	return name ? (key ^ (u64)(uintptr_t)name) * 0x9e3779b97f4a7c15ULL : key;
}

static struct model_event_row *trace_event_row(struct trace *trace,
					       const struct model_event *event);

/* That of its definition on (other threads), whatever argument names it: of those there are no more than definitions. */
static struct model_event_row *trace_folded_event_row(struct trace *trace,
						      const struct model_event *event)
{
	struct trace_thread *thread = trace_thread(trace, TRACE_OTHERS);
	struct model_path path = {.def = event->path->def};
	struct model_event folded = {.path = &path};

	if (!thread)
		return NULL;
	trace->folded_rows++;
	folded.thread = &thread->model;
	return trace_event_row(trace, &folded);
}

static struct model_event_row *trace_event_row(struct trace *trace, const struct model_event *event)
{
	const char *name = event->path->name;
	u64 key = trace_event_key(event->thread, event->path->def, name);
	struct model_event_row *row;
	void **found;

	for (; (found = intmap_find(&trace->events, key)); key++) {
		row = *found;
		if (row->thread == event->thread && row->def == event->path->def &&
		    row->name == name)
			return row;
	}
	if (trace->events.used >= trace->rows_max && event->thread->serial != TRACE_OTHERS)
		return trace_folded_event_row(trace, event);
	row = calloc(1, sizeof(*row));
	if (!row || intmap_set(&trace->events, key, row)) {
		free(row);
		return NULL;
	}
	row->thread = event->thread;
	row->def = event->path->def;
	row->name = name;
	return row;
}

/* False: no memory. */
static bool trace_count_event(struct trace *trace, const struct model_event *event)
{
	struct model_event_row *row = trace_event_row(trace, event);

	if (!row)
		return false;
	row->count++;
	row->has_sum |= event->has_value;
	/* Sums may wrap, as the program's own would. */
	row->sum = (s64)((u64)row->sum + (event->has_value ? (u64)event->value : 0));
	return true;
}

void trace_take_event(struct trace *trace, const struct model_event *event)
{
	size_t i;

	if (!trace->rowless && !trace_count_event(trace, event)) {
		trace->no_memory++;
		return;
	}
	trace->nevents++;
	for (i = 0; trace->want_events && i < trace->nsinks; i++)
		if (trace->sinks[i].event)
			trace_fail(trace, trace->sinks[i].event(trace->sinks[i].context, event));
}

static void trace_tell_row(struct trace *trace, const struct model_path *path,
			   const struct wire_row *gained, const struct wire_octave *pieces,
			   size_t n)
{
	size_t i;

	for (i = 0; trace->want_rows && i < trace->nsinks; i++)
		if (trace->sinks[i].row)
			trace_fail(trace, trace->sinks[i].row(trace->sinks[i].context, path, gained,
							      pieces, n));
}

void trace_take_row(struct trace *trace, const struct wire_row *gained,
		    const struct wire_octave *pieces, size_t n)
{
	struct model_path *path = trace_path(trace, gained->path);
	struct trace_thread *thread = trace_thread(trace, gained->thread);
	struct model_event event = {.path = path, .has_value = gained->values};
	struct model_span span = {.path = path};
	struct model_event_row *events;
	struct trace_row *row;

	if (!path) {
		trace->damaged++;
		return;
	}
	if (!thread) {
		trace->no_memory++;
		return;
	}
	if (path->depth && path->def->kind == MODEL_EVENT) {
		event.thread = &thread->model;
		events = trace_event_row(trace, &event);
		if (!events) {
			trace->no_memory++;
			return;
		}
		events->count += gained->count;
		events->has_sum |= event.has_value;
		events->sum = (s64)((u64)events->sum + gained->wall_ns);
		trace->nevents += gained->count;
		trace_tell_row(trace, path, gained, pieces, n);
		return;
	}
	span.thread = &thread->model;
	row = trace_row(trace, &span);
	if (!row || trace_add_gain(row, gained, pieces, n)) {
		trace->no_memory++;
		return;
	}
	trace->spans += gained->count + gained->open;
	trace_tell_row(trace, path, gained, pieces, n);
}

/* The row without labels of a thread and path. NULL: no memory. */
static struct trace_row *trace_plain_row(struct trace *trace, const struct model_thread *thread,
					 const struct model_path *path)
{
	const struct model_span span = {
		.thread = thread,
		.path = path->def ? path : &trace->root.model,
	};

	return trace_row(trace, &span);
}

int trace_set_memory(struct trace *trace, const struct model_row *told)
{
	struct trace_row *row = trace_plain_row(trace, told->thread, told->path);
	struct model_row *m;

	if (!row)
		return -ENOMEM;
	m = &row->model;
	m->alloc_objects = told->alloc_objects;
	m->alloc_bytes = told->alloc_bytes;
	m->inuse_objects = told->inuse_objects;
	m->inuse_bytes = told->inuse_bytes;
	m->leak_objects = told->leak_objects;
	m->leak_bytes = told->leak_bytes;
	m->leak_oldest_ns = told->leak_oldest_ns;
	m->map_calls = told->map_calls;
	m->map_bytes = told->map_bytes;
	m->unmap_calls = told->unmap_calls;
	m->unmap_bytes = told->unmap_bytes;
	return 0;
}

void trace_take_leak(struct trace *trace, u32 thread_serial, u32 path_id, u64 objects, u64 bytes,
		     u64 age_ns)
{
	struct trace_thread *thread = trace_thread(trace, thread_serial);
	struct model_span span = {.path = trace_path(trace, path_id)};
	struct trace_row *row = NULL;

	if (thread && span.path) {
		span.thread = &thread->model;
		row = trace_row(trace, &span);
	}
	if (!row) {
		trace->no_memory++;
		return;
	}
	row->model.leak_objects += objects;
	row->model.leak_bytes += bytes;
	if (age_ns > row->model.leak_oldest_ns)
		row->model.leak_oldest_ns = age_ns;
}
