/* SPDX-License-Identifier: MIT */
/* What timeline.c (takes spans, merges them) and timeline_lanes.c (lays them out) share. */
#ifndef SPANTRACE_TIMELINE_IMPL_H
#define SPANTRACE_TIMELINE_IMPL_H

#include "pairmap.h"
#include "pathmap.h"
#include "strtab.h"
#include "text.h"
#include "timeline.h"

/* Of one thread and depth, or of the async spans of one process. */
struct timeline_row {
	const struct model_thread *thread;
	u32 depth;
	bool async;
	bool unsorted;
	struct timeline_item *items;
	u32 nitems;
	u64 nspans, nsegments, nevents;
};

/* Threads that are found without a search, and depths on them. */
#define TIMELINE_NEAR_THREADS 16
#define TIMELINE_NEAR_DEPTHS  32

/* A lane under construction; async ones own their items. */
struct timeline_draft {
	struct timeline_item *items;
	u32 nitems;
	u32 depth;
	bool owned, events;
};

/* The rows of a thread whose spans came lately, by depth; 1 more than their number. */
struct timeline_near {
	const struct model_thread *thread;
	u32 rows[TIMELINE_NEAR_DEPTHS];
};

struct timeline_impl {
	struct timeline public;
	struct export_options options;
	struct strtab *labels;
	struct text_buf scratch;
	struct pairmap label_of; /* (path, 0) → label */
	struct pathmap labels_near;
	struct timeline_near near[TIMELINE_NEAR_THREADS];
	struct pairmap row_of; /* (thread's serial, depth), (pid and a bit, 0) → row */
	struct timeline_row *rows;
	u32 nrows;
	u64 capacity;

	struct timeline_draft *lanes;
	u32 nlanes;
	struct timeline_lane *laid_out;
	struct timeline_track *tracks;
	u32 ntracks;
};

/* The public part is the first member. */
static inline struct timeline_impl *timeline_impl(struct timeline *timeline)
{
	return (struct timeline_impl *)timeline;
}

void timeline_impl_free(struct timeline_impl **timeline);
void timeline_sort_row(struct timeline_row *row);
/* Doubles the grain until there are LIMIT items or less, as far as that goes. */
void timeline_merge(struct timeline_impl *t, u64 limit);

#endif
