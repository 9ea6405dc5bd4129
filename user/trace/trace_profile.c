/* SPDX-License-Identifier: MIT */
/* From rows to a profile: totals in an order that does not depend on chance. See trace.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "trace.h"
#include "trace_impl.h"

static u64 minus(u64 a, u64 b)
{
	return a > b ? a - b : 0;
}

static int compare_threads(const struct model_thread *a, const struct model_thread *b)
{
	if (a->pid != b->pid)
		return a->pid < b->pid ? -1 : 1;
	if (a->tid != b->tid)
		return a->tid < b->tid ? -1 : 1;
	return (a->serial > b->serial) - (a->serial < b->serial);
}

/* Depth-first by first appearance: ids are given in that order, parents before children. */
static int compare_paths(const struct model_path *a, const struct model_path *b)
{
	if (a == b)
		return 0;
	while (a->depth > b->depth) {
		a = a->parent;
		if (a == b)
			return 1;
	}
	while (b->depth > a->depth) {
		b = b->parent;
		if (a == b)
			return -1;
	}
	while (a->parent != b->parent) {
		a = a->parent;
		b = b->parent;
	}
	return a->id < b->id ? -1 : 1;
}

/* By key, then numbers before texts: two sites may give one key either kind of value. */
static int compare_labels(const struct model_row *x, const struct model_row *y)
{
	u32 i;

	for (i = 0; i < x->nlabels && i < y->nlabels; i++) {
		const struct model_label *a = &x->labels[i], *b = &y->labels[i];
		int order = strcmp(a->key, b->key);

		if (!order && a->text && b->text)
			order = strcmp(a->text, b->text);
		else if (!order && (a->text || b->text))
			order = a->text ? 1 : -1;
		else if (!order)
			order = (a->number > b->number) - (a->number < b->number);
		if (order)
			return order;
	}
	return (x->nlabels > y->nlabels) - (x->nlabels < y->nlabels);
}

static int compare_rows(const void *a, const void *b)
{
	const struct model_row *x = a, *y = b;
	int order = compare_threads(x->thread, y->thread);

	if (!order)
		order = compare_paths(x->path, y->path);
	return order ? order : compare_labels(x, y);
}

static int compare_events(const void *a, const void *b)
{
	const struct model_event_row *x = a, *y = b;
	int order = compare_threads(x->thread, y->thread);

	if (!order)
		order = (x->def->id > y->def->id) - (x->def->id < y->def->id);
	return order ? order : strcmp(x->name ? x->name : "", y->name ? y->name : "");
}

static int compare_thread_rows(const void *a, const void *b)
{
	const struct model_thread_row *x = a, *y = b;

	return compare_threads(x->thread, y->thread);
}

/* Of the rows of one thread and path, of which the first is the one without labels if there is one: work.alloc_ is what
 * single spans told of themselves, which stands with their labels; alloc_ what was counted for all of them. Either may
 * have lost something: then the other knows more. */
static void settle_alloc(struct model_row *rows, size_t n)
{
	struct model_alloc labelled = {0};
	size_t i;

	for (i = 0; i < n; i++) {
		struct model_row *m = &rows[n - 1 - i];
		u64 objects = minus(m->alloc_objects, labelled.objects);
		u64 bytes = minus(m->alloc_bytes, labelled.bytes);

		labelled.objects += m->work.alloc_objects;
		labelled.bytes += m->work.alloc_bytes;
		if (objects > m->work.alloc_objects)
			m->work.alloc_objects = objects;
		if (bytes > m->work.alloc_bytes)
			m->work.alloc_bytes = bytes;
		m->alloc_objects = m->work.alloc_objects;
		m->alloc_bytes = m->work.alloc_bytes;
	}
}

static void settle_allocs(struct model_row *rows, size_t n)
{
	size_t i, first = 0;

	for (i = 1; i <= n; i++)
		if (i == n || rows[i].thread != rows[first].thread ||
		    rows[i].path != rows[first].path) {
			settle_alloc(rows + first, i - first);
			first = i;
		}
}

static int profile_rows(struct trace *trace, bool gained, struct profile *out)
{
	bool any = true;
	size_t i, n = 0;

	trace->profile_rows = calloc(trace->rows.used + 1, sizeof(*trace->profile_rows));
	if (!trace->profile_rows)
		return -ENOMEM;
	for (i = 0; i < trace->rows.capacity; i++) {
		struct trace_row *row = trace->rows.slots[i].value;
		struct model_row *m;

		if (!row)
			continue;
		m = &trace->profile_rows[n];
		trace_row_now(row, m);
		if (!gained) {
			m->work.alloc_objects = row->of_spans.objects;
			m->work.alloc_bytes = row->of_spans.bytes;
		}
		if (gained) {
			if (trace_row_gain(row, trace->intervals, m, &any))
				return -ENOMEM;
			n += any;
			continue;
		}
		n++;
		if (!m->count) {
			m->min_ns = 0;
			continue;
		}
		if (histogram_count(&row->durations))
			m->durations = &row->durations;
		m->mean_ns = (m->wall_ns - row->open_wall_ns) / m->count;
	}
	qsort(trace->profile_rows, n, sizeof(*trace->profile_rows), compare_rows);
	if (!gained)
		settle_allocs(trace->profile_rows, n);
	out->rows = trace->profile_rows;
	out->nrows = n;
	return 0;
}

static int profile_events(struct trace *trace, struct profile *out)
{
	size_t i, n = 0;

	trace->profile_events = calloc(trace->events.used + 1, sizeof(*trace->profile_events));
	if (!trace->profile_events)
		return -ENOMEM;
	for (i = 0; i < trace->events.capacity; i++) {
		struct model_event_row *row = trace->events.slots[i].value;

		if (row)
			trace->profile_events[n++] = *row;
	}
	qsort(trace->profile_events, n, sizeof(*trace->profile_events), compare_events);
	out->events = trace->profile_events;
	out->nevents = n;
	return 0;
}

static int profile_threads(struct trace *trace, u64 end_ns, struct profile *out)
{
	size_t i, n = 0;

	trace->profile_threads = calloc(trace->threads.used + 1, sizeof(*trace->profile_threads));
	if (!trace->profile_threads)
		return -ENOMEM;
	for (i = 0; i < trace->threads.capacity; i++) {
		struct trace_thread *thread = trace->threads.slots[i].value;
		struct model_thread_row *row;

		if (!thread)
			continue;
		row = &trace->profile_threads[n++];
		row->thread = &thread->model;
		row->inside_ns = thread->inside_ns;
		row->end_ns = thread->model.end_ns ? thread->model.end_ns : end_ns;
	}
	qsort(trace->profile_threads, n, sizeof(*trace->profile_threads), compare_thread_rows);
	out->threads = trace->profile_threads;
	out->nthreads = n;
	return 0;
}

/* A thread whose end was not told (it runs, or the record was lost) was inside spans for at least what
 * its rows add up to. */
static void profile_running_threads(struct trace *trace)
{
	size_t i;

	for (i = 0; i < trace->threads.capacity; i++) {
		struct trace_thread *thread = trace->threads.slots[i].value;

		if (thread && !thread->ended)
			thread->inside_ns = thread->rowless_ns;
	}
	for (i = 0; i < trace->rows.capacity; i++) {
		struct trace_row *row = trace->rows.slots[i].value;
		struct trace_thread *thread;

		if (!row)
			continue;
		thread = trace_thread(trace, row->model.thread->serial);
		if (!thread->ended)
			thread->inside_ns += row->model.work.busy_ns;
	}
}

int trace_thread_rows(struct trace *trace, u64 end_ns, struct profile *out)
{
	free(trace->profile_threads);
	trace->profile_threads = NULL;
	return profile_threads(trace, end_ns, out);
}

void trace_free_profile(struct trace *trace)
{
	free(trace->profile_rows);
	free(trace->profile_events);
	free(trace->profile_threads);
	trace->profile_rows = NULL;
	trace->profile_events = NULL;
	trace->profile_threads = NULL;
}

static int make_profile(struct trace *trace, u64 end_ns, bool gained, struct profile *out)
{
	trace_free_profile(trace);
	profile_running_threads(trace);
	if (profile_rows(trace, gained, out) || profile_events(trace, out) ||
	    profile_threads(trace, end_ns, out))
		return -ENOMEM;
	out->start_ns = trace->begin_ns;
	out->end_ns = end_ns;
	out->start_realtime_ns = trace->begin_realtime_ns;
	out->metrics = trace->metrics;
	return 0;
}

int trace_profile(struct trace *trace, u64 end_ns, struct profile *out)
{
	return make_profile(trace, end_ns, false, out);
}

int trace_profile_gained(struct trace *trace, u64 end_ns, struct profile *out)
{
	int err = make_profile(trace, end_ns, true, out);

	if (err)
		return err;
	out->nevents = 0;
	if (trace->told_ns) {
		out->start_ns = trace->told_ns;
		out->start_realtime_ns += trace->told_ns - trace->begin_ns;
	}
	trace->told_ns = end_ns;
	return 0;
}
