/* SPDX-License-Identifier: MIT */
/* See timeline.h: takes spans, merges them. timeline_lanes.c lays them out. */
#include <string.h>

#include "../user/util/grow.h"
#include "stacks.h"
#include "timeline_impl.h"

int timeline_new(const struct export_options *o, u64 room, struct timeline **out)
{
	CLEANUP(timeline_impl_free) struct timeline_impl *t = calloc(1, sizeof(*t));
	int err;

	if (!t)
		return -ENOMEM;
	t->options = *o;
	t->capacity = room;
	t->public.start_ns = UINT64_MAX;
	err = strtab_new(&t->labels);
	if (err)
		return err;
	*out = &TAKE_PTR(t)->public;
	return 0;
}

void timeline_impl_free(struct timeline_impl **timeline)
{
	struct timeline_impl *t = *timeline;

	if (!t)
		return;
	for (u32 i = 0; i < t->nrows; i++)
		free(t->rows[i].items);
	free(t->rows);
	free(t->tracks);
	for (u32 i = 0; i < t->nlanes; i++)
		if (t->lanes[i].owned)
			free(t->lanes[i].items);
	free(t->lanes);
	free(t->laid_out);
	strtab_free(&t->labels);
	text_buf_free(&t->scratch);
	pairmap_free(&t->row_of);
	pairmap_free(&t->label_of);
	pathmap_free(&t->labels_near);
	*timeline = NULL;
	free(t);
}

void timeline_free(struct timeline **timeline)
{
	struct timeline_impl *t = timeline_impl(*timeline);

	timeline_impl_free(&t);
	*timeline = NULL;
}

const char *timeline_label(const struct timeline *timeline, u32 label)
{
	return strtab_get(timeline_impl((struct timeline *)timeline)->labels, label);
}

u32 timeline_nlabels(const struct timeline *timeline)
{
	return strtab_count(timeline_impl((struct timeline *)timeline)->labels);
}

/* --- merging -------------------------------------------------------------------------------------- */

static u64 length(const struct timeline_item *item)
{
	return item->end_ns - item->start_ns;
}

static u64 add(u64 a, u64 b)
{
	u64 sum;

	return __builtin_add_overflow(a, b, &sum) ? UINT64_MAX : sum;
}

/* Whether INTO took ITEM, which starts no earlier. */
static bool merge(struct timeline_item *into, const struct timeline_item *item, u64 grain)
{
	if (length(into) >= grain || length(item) >= grain ||
	    (into->start_ns ^ item->start_ns) >= grain || /* another cell */
	    into->count > UINT32_MAX - item->count)
		return false;
	if (item->end_ns > into->end_ns)
		into->end_ns = item->end_ns;
	if (item->longest_ns > into->longest_ns) {
		into->longest_ns = item->longest_ns;
		into->label = item->label;
	}
	into->busy_ns = add(into->busy_ns, item->busy_ns);
	into->value = add(into->value, item->value);
	into->count += item->count;
	return true;
}

/* The outer one first, where a clock did not tell them apart. */
static int compare_items(const void *a, const void *b)
{
	const struct timeline_item *x = a, *y = b;

	if (x->start_ns != y->start_ns)
		return x->start_ns < y->start_ns ? -1 : 1;
	return (x->end_ns < y->end_ns) - (x->end_ns > y->end_ns);
}

void timeline_sort_row(struct timeline_row *row)
{
	if (row->unsorted)
		qsort(row->items, row->nitems, sizeof(*row->items), compare_items);
	row->unsorted = false;
}

static void merge_row(struct timeline_impl *t, struct timeline_row *row)
{
	u32 kept = 0;

	timeline_sort_row(row);
	for (u32 i = 0; i < row->nitems; i++) {
		if (!kept || !merge(&row->items[kept - 1], &row->items[i], t->public.grain_ns))
			row->items[kept++] = row->items[i];
	}
	t->public.nitems -= row->nitems - kept;
	row->nitems = kept;
}

void timeline_merge(struct timeline_impl *t, u64 limit)
{
	u64 span =
		t->public.end_ns > t->public.start_ns ? t->public.end_ns - t->public.start_ns : 0;
	u64 *grain = &t->public.grain_ns;

	/* With a grain beyond the whole there is an item left for each row, and no more to be merged. */
	while (t->public.nitems > limit && *grain <= span) {
		if (!*grain)
			for (*grain = 1; *grain < span >> 20;)
				*grain *= 2;
		*grain *= 2;
		for (u32 i = 0; i < t->nrows; i++)
			merge_row(t, &t->rows[i]);
	}
}

/* --- taking --------------------------------------------------------------------------------------- */

static int find_label(struct timeline_impl *t, const struct model_path *path, u32 *label)
{
	int err;

	if (pathmap_get(&t->labels_near, path, label))
		return 0;
	if (pairmap_get(&t->label_of, pairmap_key(path), 0, label)) {
		pathmap_put(&t->labels_near, path, *label);
		return 0;
	}
	text_cut(&t->scratch, 0);
	stacks_add_label(&t->scratch, path, &t->options);
	if (t->scratch.failed)
		return -ENOMEM;
	err = strtab_add(t->labels, t->scratch.data, t->scratch.len, label);
	return err ? err : pairmap_put(&t->label_of, pairmap_key(path), 0, *label);
}

/* Async spans of a process share a row, since they overlap: lanes come once all are known. Events have no depth. */
static int search_row(struct timeline_impl *t, const struct model_thread *thread, bool async,
		      u32 depth, u32 *number)
{
	u64 key = async ? (u64)thread->pid | 1ull << 32 : thread->serial;
	u32 i;
	int err;

	if (!pairmap_get(&t->row_of, key, depth, &i)) {
		if (t->nrows >= UINT32_MAX - 1)
			return -ENOMEM;
		err = GROW(t->rows, t->nrows);
		if (!err)
			err = pairmap_put(&t->row_of, key, depth, t->nrows);
		if (err)
			return err;
		i = t->nrows++;
		t->rows[i] =
			(struct timeline_row){.thread = thread, .depth = depth, .async = async};
	}
	*number = i;
	return 0;
}

static int find_row(struct timeline_impl *t, const struct model_thread *thread, bool async,
		    u32 depth, struct timeline_row **out)
{
	struct timeline_near *near = &t->near[thread->serial % TIMELINE_NEAR_THREADS];
	bool close = !async && depth < TIMELINE_NEAR_DEPTHS;
	u32 number;
	int err;

	if (close && near->thread == thread && near->rows[depth]) {
		*out = &t->rows[near->rows[depth] - 1];
		return 0;
	}
	err = search_row(t, thread, async, depth, &number);
	if (err)
		return err;
	*out = &t->rows[number];
	if (!close)
		return 0;
	if (near->thread != thread)
		*near = (struct timeline_near){.thread = thread};
	near->rows[depth] = number + 1;
	return 0;
}

static u64 value_of(const struct model_span *span, enum export_value value)
{
	u64 on_cpu_or_ready = add(span->total.cpu_ns, span->total.run_delay_ns);

	switch (value) {
	case EXPORT_WALL:
		return span->end_ns - span->start_ns;
	case EXPORT_CPU:
		return span->total.cpu_ns;
	case EXPORT_RUN_DELAY:
		return span->total.run_delay_ns;
	case EXPORT_BLOCKED:
		return span->busy_ns > on_cpu_or_ready ? span->busy_ns - on_cpu_or_ready : 0;
	case EXPORT_BUSY:
		return span->busy_ns;
	default:
		/* Single spans know of no memory. */
		return 0;
	}
}

/* The item goes to the end of its row. 0 or -ENOMEM. */
static int put_item(struct timeline_impl *t, struct timeline_row *row,
		    const struct timeline_item *item)
{
	int err;

	if (item->start_ns < t->public.start_ns)
		t->public.start_ns = item->start_ns;
	if (item->end_ns > t->public.end_ns)
		t->public.end_ns = item->end_ns;
	if (row->nitems) {
		struct timeline_item *last = &row->items[row->nitems - 1];

		if (item->start_ns < last->start_ns)
			row->unsorted = true;
		else if (merge(last, item, t->public.grain_ns))
			return 0;
	}
	err = GROW(row->items, row->nitems);
	if (err)
		return err;
	row->items[row->nitems++] = *item;
	if (++t->public.nitems >= t->capacity) {
		timeline_merge(t, t->capacity / 4 * 3);
		/* More rows than that: paths times threads, which the trace keeps in any case. */
		if (t->public.nitems > t->capacity / 4 * 3)
			t->capacity = t->public.nitems * 2;
	}
	return 0;
}

int timeline_add(struct timeline *timeline, const struct model_span *span)
{
	struct timeline_impl *t = timeline_impl(timeline);
	struct timeline_item item = {.start_ns = span->start_ns, .count = 1};
	bool async = span->flags & MODEL_ASYNC;
	struct timeline_row *row;
	int err;

	if (!span->path->def || span->end_ns < span->start_ns)
		return 0;
	item.end_ns = span->end_ns;
	item.busy_ns = span->busy_ns;
	item.longest_ns = length(&item);
	item.value = value_of(span, t->options.value);
	err = find_label(t, span->path, &item.label);
	if (!err)
		err = find_row(t, span->thread, async, async ? 0 : span->path->depth, &row);
	if (err)
		return err;
	if (span->flags & MODEL_SEGMENT) {
		row->nsegments++;
	} else {
		t->public.nspans++;
		row->nspans++;
	}
	return put_item(t, row, &item);
}

int timeline_add_event(struct timeline *timeline, const struct model_event *event)
{
	struct timeline_impl *t = timeline_impl(timeline);
	struct timeline_item item = {
		.start_ns = event->time_ns,
		.end_ns = event->time_ns,
		.busy_ns = event->has_value,
		.value = (u64)event->value,
		.count = 1,
	};
	struct timeline_row *row;
	int err = event->path->def ? find_label(t, event->path, &item.label) : 0;

	if (!event->path->def)
		return 0;
	if (!err)
		err = find_row(t, event->thread, false, 0, &row);
	if (err)
		return err;
	t->public.nevents++;
	row->nevents++;
	return put_item(t, row, &item);
}
