/* SPDX-License-Identifier: MIT */
/* Where intervals go in an event file, in which those of one thread id must lie beside or within each other: measureme's
 * tools take time away twice where they overlap, and end.
 *
 * A line is what a thread's spans, as they come in the order of their ends, make of a counter: for the clock they stand
 * where they were; for any other counter end is what all spans so far have used themselves, and start is where the first
 * child started, so that they nest by construction. Lanes take what fits on no line. */
#ifndef SPANTRACE_MMPROFDATA_LINE_H
#define SPANTRACE_MMPROFDATA_LINE_H

#include <stdbool.h>
#include <stddef.h>

#include "../include/types.h"

struct mmp_line {
	struct mmp_line_item *items; /* those that nothing encloses yet */
	u32 n, room;
	u64 counter; /* what all spans so far have used */
	bool forgot; /* the oldest items */
};

/* A span for a line, and its place there. */
struct mmp_place {
	u64 wall_start, wall_end; /* given */
	u64 total, self;          /* given: of the counter, where it is not the clock */
	bool clock;               /* given: the counter is the clock */
	bool outermost;           /* given: nothing that comes later began before it */
	u64 start, end;
	u64 nested; /* what lies in it: end - start - nested is its self time for whoever reads the file */
	bool overlaps; /* it fits on no line; START and END are those of the clock */
};

/* 0 or -ENOMEM. */
int mmp_line_add(struct mmp_line *line, struct mmp_place *place);
void mmp_line_free(struct mmp_line *line);

/* Lanes by the end of the last interval on each. */
struct mmp_lanes {
	struct mmp_lane *heap; /* the earliest on top */
	u32 n;
};

/* The number of a lane on which nothing ends after START, now taken until END. 0 or -ENOMEM. */
int mmp_lanes_take(struct mmp_lanes *lanes, u64 start, u64 end, u32 *lane);
void mmp_lanes_free(struct mmp_lanes *lanes);

#endif
