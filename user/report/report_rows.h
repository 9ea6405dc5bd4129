/* SPDX-License-Identifier: MIT */
/* The totals of a report by key, over one input or many. What is kept is a row for each key, however many spans.
 *
 *   replay ─▶ profile ─▶ report_rows_add ─▶ items (spans by key), events, artifact sizes, losses
 *
 * Figures that hold what ran inside (total, wall, cpu, run_delay, blocked) count the outermost span of a key only: the
 * inner ones of a recursion are in it already. An async span always counts: what it did may have run elsewhere.
 */
#ifndef SPANTRACE_REPORT_ROWS_H
#define SPANTRACE_REPORT_ROWS_H

#include "../recording/replay.h"
#include "report_keys.h"

/* What adds up. */
enum report_value {
	REPORT_SELF,
	REPORT_TOTAL, /* busy */
	REPORT_WALL,
	REPORT_COUNT, /* finished */
	REPORT_ABANDONED,
	REPORT_OPEN,
	REPORT_CPU,
	REPORT_CPU_USER,
	REPORT_CPU_SYSTEM,
	REPORT_SELF_CPU,
	REPORT_RUN_DELAY,
	REPORT_BLOCKED,
	REPORT_ALLOC_OBJECTS,
	REPORT_ALLOC_BYTES,
	REPORT_INUSE_OBJECTS,
	REPORT_INUSE_BYTES,
	/* measureme's, by the kinds of its events */
	REPORT_CACHE_HITS,
	REPORT_CACHE_MISSES,
	REPORT_BLOCKED_TIME,
	REPORT_LOAD_TIME,
	REPORT_HASHING_TIME,
	REPORT_VALUES,
};

struct report_item {
	u64 v[REPORT_VALUES];
	bool seen;
	/* Of the wall time of finished spans, recursive ones too. */
	u64 nwalls;
	unsigned __int128 walls_ns;
	u64 min_ns, max_ns;
	struct histogram *durations; /* NULL where there is none */
};

struct report_sum {
	u64 count;
	s64 sum;
	bool has_sum;
};

struct report_rows {
	struct report_keys *keys;  /* borrowed; may be shared by several */
	struct report_item *items; /* by key */
	u32 nitems;
	struct report_sum *events, *artifacts; /* by number in keys->events */
	u32 nevents, nartifacts;
	u64 total_ns; /* over threads: from the start of their first span to the end of their last */
	u32 metrics;  /* that all inputs measured */
	u64 ninputs;
	struct model_loss losses[REPLAY_LOSSES]; /* names and texts are static */
	size_t nlosses;
	bool durations; /* percentiles are wanted */
};

/* Whose profile it is. */
struct report_source {
	enum report_naming naming;
	bool kinds; /* providers are measureme's kinds */
	u64 total_ns;
};

/* Starts as zeroes but for keys and durations. */
void report_rows_free(struct report_rows *rows);
/* Forgets spans and events, for the next run; metrics and losses are those of all that was added. */
void report_rows_clear(struct report_rows *rows);
/* 0 or -ENOMEM. */
int report_rows_add(struct report_rows *rows, const struct profile *profile,
		    const struct report_source *source);

/* What there is of a key, an event, an artifact; zeroes where this input has none. */
const struct report_item *report_item(const struct report_rows *rows, u32 key);
const struct report_sum *report_event(const struct report_rows *rows, u32 event);
const struct report_sum *report_artifact(const struct report_rows *rows, u32 event);

#endif
