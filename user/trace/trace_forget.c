/* SPDX-License-Identifier: MIT */
/* A trace of months, in which threads and processes come and go: what is known of those that have gone is given back once
 * it was told. See trace.h.
 *
 * So are rows with labels, of which there may be one for each span: ids of a trace.
 *
 * Nothing is taken out of the tables: they are made anew of what stays, because rows whose keys clash stand one behind the
 * other. That costs what a profile does.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../util/cleanup.h"
#include "trace.h"
#include "trace_impl.h"

/* Records of a thread can still wait in another CPU's ring when its end is read; and async spans that it made live on as
 * long as its process may. */
#define GRACE_ORPHANED_NS 2000000000ULL
#define GRACE_NS          60000000000ULL

void trace_may_forget(struct trace *trace)
{
	trace->forgets = true;
}

void trace_free_row(struct trace_row *row)
{
	histogram_clear(&row->durations);
	free(row->told);
	free(row);
}

void trace_image_ended(struct trace *trace, u32 image)
{
	/* Without memory its threads go by their time. 0 is the image of threads that nobody has named. */
	if (trace->forgets && image)
		(void)intmap_set(&trace->dead, image, trace);
}

static bool thread_is_over(const struct trace *trace, struct trace_thread *thread, u64 now_ns)
{
	if (!thread->orphaned && intmap_find(&trace->dead, thread->process))
		thread->orphaned = true;
	/* One without a name was given back before, and has had a late record. */
	if (!thread->ended && !thread->orphaned && thread->model.pid)
		return false;
	if (thread->model.serial == TRACE_OTHERS)
		return false;
	if (!thread->over_ns)
		thread->over_ns = now_ns;
	return now_ns - thread->over_ns >= (thread->orphaned ? GRACE_ORPHANED_NS : GRACE_NS);
}

/* Whether the row holds its thread back: it has not been told, or there are blocks that others will free. */
static bool row_holds(const struct trace_row *row, bool told)
{
	const struct trace_thread *thread = (const struct trace_thread *)row->model.thread;

	return (told && !trace_row_is_told(row)) || (!thread->orphaned && row->model.inuse_objects);
}

/* A row with labels may be of one span, whose id no other has. Where it gains more after all it is made again. */
static bool row_is_over(const struct trace_row *row, bool told)
{
	return told && row->model.nlabels && trace_row_is_told(row);
}

/* Marks the threads and rows that are to go; false: none. */
static bool mark(struct trace *trace, u64 now_ns, bool told)
{
	bool any = false, any_row = false;
	size_t i;

	for (i = 0; i < trace->threads.capacity; i++) {
		struct trace_thread *thread = trace->threads.slots[i].value;

		if (!thread)
			continue;
		thread->over = thread_is_over(trace, thread, now_ns);
		any |= thread->over;
	}
	intmap_free(&trace->dead);
	for (i = 0; i < trace->rows.capacity; i++) {
		struct trace_row *row = trace->rows.slots[i].value;

		if (!row)
			continue;
		if (any && row_holds(row, told))
			((struct trace_thread *)row->model.thread)->over = false;
		row->over = row_is_over(row, told);
		any_row |= row->over;
	}
	return any || any_row;
}

static u64 row_key(const void *item, bool *over)
{
	const struct trace_row *row = item;
	const struct model_row *m = &row->model;

	*over = row->over || ((const struct trace_thread *)m->thread)->over;
	return trace_label_key(trace_row_key(m->thread->serial, m->path->id), m->labels,
			       m->nlabels);
}

static u64 event_key(const void *item, bool *over)
{
	const struct model_event_row *row = item;

	*over = ((const struct trace_thread *)row->thread)->over;
	return trace_event_key(row->thread, row->def, row->name);
}

static u64 thread_key(const void *item, bool *over)
{
	const struct trace_thread *thread = item;

	*over = thread->over;
	return thread->model.serial;
}

/* What of a table stays, and what does not: in maps, that own nothing yet. */
struct sorted {
	struct intmap stays, goes;
};

static void sorted_free(struct sorted *sorted)
{
	intmap_free(&sorted->stays);
	intmap_free(&sorted->goes);
}

/* 0 or -ENOMEM. */
static int sort(const struct intmap *map, u64 (*key_of)(const void *item, bool *over),
		struct sorted *sorted)
{
	for (size_t i = 0; i < map->capacity; i++) {
		void *item = map->slots[i].value;
		struct intmap *into;
		bool over;
		u64 key;

		if (!item)
			continue;
		key = key_of(item, &over);
		into = over ? &sorted->goes : &sorted->stays;
		while (intmap_find(into, key))
			key++;
		if (intmap_set(into, key, item))
			return -ENOMEM;
	}
	return 0;
}

/* MAP becomes what stays. */
static void settle(struct intmap *map, struct sorted *sorted)
{
	intmap_free(map);
	*map = sorted->stays;
	sorted->stays = (struct intmap){0};
}

/* Histograms take as much as their pieces, which are bounded. */
static void count_pieces(struct trace *trace)
{
	trace->pieces = 0;
	for (size_t i = 0; i < trace->rows.capacity; i++) {
		const struct trace_row *row = trace->rows.slots[i].value;

		if (row)
			trace->pieces += row->durations.nblocks;
	}
}

static void forget_shortcuts(struct trace *trace)
{
	memset(trace->root.last, 0, sizeof(trace->root.last));
	for (size_t i = 0; i < trace->paths.capacity; i++) {
		struct trace_path *path = trace->paths.slots[i].value;

		if (path)
			memset(path->last, 0, sizeof(path->last));
	}
}

void trace_forget_ended(struct trace *trace, u64 now_ns, bool told)
{
	CLEANUP(sorted_free) struct sorted rows = {.stays = {0}};
	CLEANUP(sorted_free) struct sorted events = {.stays = {0}};
	CLEANUP(sorted_free) struct sorted threads = {.stays = {0}};
	size_t i;

	if (!mark(trace, now_ns, told))
		return;
	/* Without memory they stay until the next time. */
	if (sort(&trace->rows, row_key, &rows) || sort(&trace->events, event_key, &events) ||
	    sort(&trace->threads, thread_key, &threads))
		return;
	settle(&trace->rows, &rows);
	settle(&trace->events, &events);
	settle(&trace->threads, &threads);
	forget_shortcuts(trace);
	count_pieces(trace);
	trace_free_profile(trace);
	for (i = 0; i < rows.goes.capacity; i++)
		if (rows.goes.slots[i].value)
			trace_free_row(rows.goes.slots[i].value);
	for (i = 0; i < events.goes.capacity; i++)
		free(events.goes.slots[i].value);
	for (i = 0; i < threads.goes.capacity; i++)
		free(threads.goes.slots[i].value);
}
