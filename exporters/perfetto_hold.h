/* SPDX-License-Identifier: MIT */
/* In a Perfetto trace a slice is a begin and an end, and of those at the same instant the first in the file counts as the
 * first. A span comes when it ends, those inside it before it: the begin of one whose parent may have begun in the same
 * nanosecond has to wait for that parent. That is at most one instant a level, as only the first child of an open span
 * can; most wait for nothing.
 *
 * Starts as zeroes. */
#ifndef SPANTRACE_PERFETTO_HOLD_H
#define SPANTRACE_PERFETTO_HOLD_H

#include "../include/model.h"

struct perfetto_begin {
	const struct model_span *span;
	u64 cpu_start, cpu_end;
	u64 flow;
	u32 depth;
};

struct perfetto_hold {
	struct perfetto_held *items; /* begins that wait; those of one instant behind each other */
	u32 n, room;
};

/* Writes what waits no more, in order; the end too of spans that end as they begin, which waits with their begin. */
typedef void (*perfetto_write)(void *context, const struct perfetto_begin *begin, bool begins);

/* BEGIN's span has ended. 0 or -ENOMEM. */
int perfetto_hold(struct perfetto_hold *hold, const struct perfetto_begin *begin, bool outermost,
		  perfetto_write write, void *context);
/* Nothing that could change their order comes any more. */
void perfetto_hold_flush(struct perfetto_hold *hold, perfetto_write write, void *context);
void perfetto_hold_free(struct perfetto_hold *hold);

#endif
