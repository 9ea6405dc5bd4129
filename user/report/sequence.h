/* SPDX-License-Identifier: MIT */
/* Runs that did the same things in the same order, compared stretch by stretch: a stretch is the time between two
 * neighbouring instants on a thread (a span's start or end, an event). Labels may differ from run to run.
 *
 *   each run ▸ its spans and events, by thread ▸ sequence_store
 *   sequence_compare: all runs of a thread from their ends, in step ▸ extremes
 *   sequence_describe: the first run once more, for the names of what is extreme
 */
#ifndef SPANTRACE_SEQUENCE_H
#define SPANTRACE_SEQUENCE_H

#include "../recording/replay.h"
#include "../trace/extremes.h"

struct sequence;

/* What came of it. */
struct sequence_result {
	u32 threads; /* of the first run */
	u32 same;    /* of those, which did the same in all runs */
	u32 more;    /* threads that the first run does not have */
	u64 stretches;
	u64 overlaps; /* of those, which end before they begin: siblings that overlap; they count as 0 */
	struct extremes durations,
		variances; /* of those: nanoseconds; most less least over the runs */
};

/* 0 or -errno. */
int sequence_new(struct sequence **out);
void sequence_free(struct sequence **sequence);
/* The sink for the trace of each run, which ends with sequence_end_run(). 0 or -errno. */
struct trace_sink sequence_sink(struct sequence *sequence);
int sequence_end_run(struct sequence *sequence);
/* After all runs. 0 or -errno. */
int sequence_compare(struct sequence *sequence);
const struct sequence_result *sequence_result(const struct sequence *sequence);
/* Reads the first run at PATH once more. 0 or -errno, with the message printed. */
int sequence_describe(struct sequence *sequence, const char *path,
		      const struct replay_filter *filter);
/* What a stretch is: "in `job()`, before `parse()`"; after sequence_describe(). Appends. */
struct text_buf;
void sequence_text(const struct sequence *sequence, const struct stretch *stretch,
		   struct text_buf *out);

#endif
