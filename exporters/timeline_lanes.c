/* SPDX-License-Identifier: MIT */
/* See timeline.h: rows become tracks of lanes. */
#include <errno.h>
#include <string.h>

#include "../user/util/grow.h"
#include "timeline_impl.h"

/* --- order ---------------------------------------------------------------------------------------- */

/* Where a row goes: the process's place, then threads before async spans, then the thread's place and the depth. */
struct place {
	u32 process;
	u32 thread;
	u32 depth;
	u32 row;
};

static int compare_u32(u32 a, u32 b)
{
	return (a > b) - (a < b);
}

static int compare_places(const void *a, const void *b)
{
	const struct place *x = a, *y = b;
	int order = compare_u32(x->process, y->process);

	if (!order)
		order = compare_u32(x->thread, y->thread);
	if (!order)
		order = compare_u32(x->depth, y->depth);
	return order ? order : compare_u32(x->row, y->row);
}

/* The number of KEY: that which it has, or NEXT from now on. */
static int number(struct pairmap *m, u64 key, u32 next, u32 *out)
{
	if (pairmap_get(m, key, 0, out))
		return 0;
	*out = next;
	return pairmap_put(m, key, 0, next);
}

/* Threads that the profile does not list come last. */
static int rank(const struct timeline_impl *t, const struct profile *profile, struct place *places)
{
	CLEANUP(pairmap_free) struct pairmap processes = {0};
	CLEANUP(pairmap_free) struct pairmap threads = {0};
	u32 unused;
	int err = 0;

	for (size_t i = 0; i < profile->nthreads && !err; i++) {
		const struct model_thread *thread = profile->threads[i].thread;

		err = number(&processes, thread->pid, (u32)processes.count, &unused);
		if (!err)
			err = number(&threads, thread->serial, (u32)threads.count, &unused);
	}
	for (u32 i = 0; i < t->nrows && !err; i++) {
		const struct timeline_row *row = &t->rows[i];
		struct place *place = &places[i];

		*place = (struct place){.thread = UINT32_MAX, .depth = row->depth, .row = i};
		err = number(&processes, row->thread->pid, (u32)processes.count, &place->process);
		if (!err && !row->async)
			err = number(&threads, row->thread->serial, (u32)threads.count,
				     &place->thread);
	}
	if (!err)
		qsort(places, t->nrows, sizeof(*places), compare_places);
	return err;
}

/* --- lanes ---------------------------------------------------------------------------------------- */

static int add_lane(struct timeline_impl *t, struct timeline_track *track, u32 depth)
{
	int err = t->nlanes < UINT32_MAX ? GROW(t->lanes, t->nlanes) : -ENOMEM;

	if (err)
		return err;
	t->lanes[t->nlanes++] = (struct timeline_draft){.depth = depth};
	track->nlanes++;
	return 0;
}

/* Each item on the first lane that is free: what starts first stands above, so parents are above their children. */
static int spread(struct timeline_impl *t, struct timeline_track *track,
		  const struct timeline_row *row)
{
	u64 ends[TIMELINE_ASYNC_LANES] = {0};

	for (u32 i = 0; i < row->nitems; i++) {
		const struct timeline_item *item = &row->items[i];
		struct timeline_draft *lane;
		u32 at = 0;
		int err;

		while (at < track->nlanes && ends[at] > item->start_ns)
			at++;
		if (at == TIMELINE_ASYNC_LANES) {
			t->public.nomitted += item->count;
			continue;
		}
		if (at == track->nlanes) {
			err = add_lane(t, track, at);
			if (err)
				return err;
			t->lanes[track->first + at].owned = true;
		}
		ends[at] = item->end_ns;
		lane = &t->lanes[track->first + at];
		err = GROW(lane->items, lane->nitems);
		if (err)
			return err;
		lane->items[lane->nitems++] = *item;
	}
	return 0;
}

/* The track that ROW belongs to: the last, or a new one. */
static int find_track(struct timeline_impl *t, const struct timeline_row *row,
		      struct timeline_track **out)
{
	int err;

	if (t->ntracks && !row->async) {
		struct timeline_track *last = &t->tracks[t->ntracks - 1];

		*out = last;
		if (!last->async && last->thread->serial == row->thread->serial)
			return 0;
	}
	err = GROW(t->tracks, t->ntracks);
	if (err)
		return err;
	t->tracks[t->ntracks] = (struct timeline_track){
		.thread = row->thread, .async = row->async, .first = t->nlanes};
	*out = &t->tracks[t->ntracks++];
	return 0;
}

static int lay_row(struct timeline_impl *t, struct timeline_row *row)
{
	struct timeline_track *track = NULL;
	int err = find_track(t, row, &track);

	if (err)
		return err;
	timeline_sort_row(row);
	track->nspans += row->nspans;
	track->nsegments += row->nsegments;
	track->nevents += row->nevents;
	if (row->async)
		return spread(t, track, row);
	err = add_lane(t, track, row->depth);
	if (err)
		return err;
	t->lanes[t->nlanes - 1].events = row->nevents;
	t->lanes[t->nlanes - 1].items = row->items;
	t->lanes[t->nlanes - 1].nitems = row->nitems;
	return 0;
}

static int lay_out(struct timeline_impl *t, const struct place *places)
{
	for (u32 i = 0; i < t->nrows; i++) {
		struct timeline_row *row = &t->rows[places[i].row];
		int err = lay_row(t, row);

		if (err)
			return err;
		/* Its items stand on lanes now. */
		if (row->async) {
			free(row->items);
			row->items = NULL;
			row->nitems = 0;
		}
	}
	t->laid_out = calloc((size_t)t->nlanes + 1, sizeof(*t->laid_out));
	if (!t->laid_out)
		return -ENOMEM;
	for (u32 i = 0; i < t->nlanes; i++)
		t->laid_out[i] = (struct timeline_lane){
			.items = t->lanes[i].items,
			.nitems = t->lanes[i].nitems,
			.depth = t->lanes[i].depth,
			.events = t->lanes[i].events,
		};
	return 0;
}

/* --- memory --------------------------------------------------------------------------------------- */

/* What the spans of a label did, all together. */
struct sum {
	u64 value;
	u64 spans;
};

static void set_average(struct timeline_item *item, const struct sum *sum)
{
	item->value = sum->spans ? (u64)((double)sum->value / (double)sum->spans * item->count) : 0;
}

/* Single spans know of no memory: each gets the average of those of its label, from the rows. */
static int add_memory(struct timeline_impl *t, const struct profile *profile)
{
	AUTO_FREE struct sum *sums = calloc((size_t)strtab_count(t->labels) + 1, sizeof(*sums));

	if (!sums)
		return -ENOMEM;
	for (size_t i = 0; i < profile->nrows; i++) {
		const struct model_row *row = &profile->rows[i];
		u32 label;

		if (!pairmap_get(&t->label_of, pairmap_key(row->path), 0, &label))
			continue;
		sums[label].value += export_value_of(row, t->options.value);
		sums[label].spans += row->count + row->open;
	}
	for (u32 r = 0; r < t->nrows; r++) {
		struct timeline_row *row = &t->rows[r];

		if (row->nevents)
			continue;
		for (u32 i = 0; i < row->nitems; i++)
			set_average(&row->items[i], &sums[row->items[i].label]);
	}
	return 0;
}

int timeline_finish(struct timeline *timeline, const struct profile *profile, u64 limit)
{
	struct timeline_impl *t = timeline_impl(timeline);
	AUTO_FREE struct place *places = NULL;
	int err = 0;

	if (!export_value_measured(profile->metrics, t->options.value))
		return -ENODATA;
	if (profile->start_ns < t->public.start_ns)
		t->public.start_ns = profile->start_ns;
	if (profile->end_ns > t->public.end_ns)
		t->public.end_ns = profile->end_ns;
	timeline_merge(t, limit);
	places = calloc((size_t)t->nrows + 1, sizeof(*places));
	if (!places)
		return -ENOMEM;
	if (export_value_unit(t->options.value)[0] != 'n')
		err = add_memory(t, profile);
	if (!err)
		err = rank(t, profile, places);
	if (!err)
		err = lay_out(t, places);
	timeline->lanes = t->laid_out;
	timeline->nlanes = t->nlanes;
	timeline->tracks = t->tracks;
	timeline->ntracks = t->ntracks;
	return err;
}
