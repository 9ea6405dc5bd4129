/* SPDX-License-Identifier: MIT */
/* Single spans in bounded memory, on lanes that can be drawn as they are: what flame charts show.
 *
 *   span ─▶ row of its thread and depth, or of its process's async spans ─▶ timeline_finish ─▶ tracks of lanes
 *   event ─▶ the row of its thread's events, as what has no length
 *
 * Up to a limit every span stands for itself. Beyond it there is a grain: spans shorter than that, in one row and one
 * cell of so much time, become one item, which tells how many they are, how long they took together and the label of the
 * longest. The grain, a power of two, doubles whenever the limit is reached again, so that long spans always stay what
 * they are.
 */
#ifndef SPANTRACE_TIMELINE_H
#define SPANTRACE_TIMELINE_H

#include "exporter.h"

/* Lanes of one process's async spans: more at one time are counted, and left out. */
#define TIMELINE_ASYNC_LANES 256

struct timeline_item {
	u64 start_ns;
	u64 end_ns;
	u64 busy_ns; /* of all it stands for; of an event: 1 where it has a value */
	u64 value; /* of options.value, like busy_ns; deeper frames included; of an event: its own */
	u64 longest_ns; /* of the one that gave the label */
	u32 label;
	u32 count;
};

/* Items by start. They do not overlap, but for the oddest programs. */
struct timeline_lane {
	const struct timeline_item *items;
	u32 nitems;
	u32 depth; /* of its paths; async lanes: their number */
	bool events;
};

/* A thread, or the async spans of a process. */
struct timeline_track {
	const struct model_thread *thread; /* async: the one that made the first of them */
	bool async;
	u32 first; /* of the lanes */
	u32 nlanes;
	u64 nspans;    /* on all of them … */
	u64 nsegments; /* … and segments of async spans, which are no spans of their own */
	u64 nevents;   /* on the first, where there are any */
};

/* All of it belongs to the timeline; the arrays are there after timeline_finish(). */
struct timeline {
	const struct timeline_track *tracks; /* by process, threads first, in the profile's order */
	u32 ntracks;
	const struct timeline_lane *lanes;
	u32 nlanes;
	u64 start_ns,
		end_ns; /* of the chart: the trace's, or of its items where those reach further */
	u64 nspans;     /* all that came */
	u64 nevents;
	u64 nitems;
	u64 grain_ns; /* 0: every span stands for itself */
	u64 nomitted; /* async spans without a lane */
};

/* ROOM: items at one time, 48 bytes each in arrays that are up to twice as long; more where there are as many rows. */
int timeline_new(const struct export_options *o, u64 room, struct timeline **out);
void timeline_free(struct timeline **timeline);
/* 0 or -ENOMEM. */
int timeline_add(struct timeline *timeline, const struct model_span *span);
int timeline_add_event(struct timeline *timeline, const struct model_event *event);
/* Merges further until there are LIMIT items or less, as far as that goes, and lays them out. Once. 0; -ENODATA if
 * PROFILE lacks what options.value asks for; -ENOMEM. */
int timeline_finish(struct timeline *timeline, const struct profile *profile, u64 limit);
/* Safe text. */
const char *timeline_label(const struct timeline *timeline, u32 label);
u32 timeline_nlabels(const struct timeline *timeline);

#endif
