/* SPDX-License-Identifier: MIT */
/* A file that holds a trace, read into one: recordings and measureme's event files, told apart by their first bytes.
 *
 *   replay_open ▸ the reader of the format ▸ each span and event ▸ the filter ▸ trace_take_span ▸ rows, sinks
 *   replay_profile: rows ▸ struct profile, as if the trace had just ended
 *
 * What cannot be read is counted, told by a warning that names the file, and left out; what can is used.
 */
#ifndef SPANTRACE_REPLAY_H
#define SPANTRACE_REPLAY_H

#include <sys/types.h>

#include "../session/losses.h"
#include "../trace/trace.h"

/* Which single spans and events to take. Zero: all. Totals are those of what is taken; self times and paths stay what
 * they were. Arrays are borrowed. */
struct replay_filter {
	const pid_t *pids, *tids;
	size_t npids, ntids;
	const char **providers; /* globs */
	size_t nproviders;
	const char **spans; /* globs of "provider:name" or of the name alone, of spans and events */
	size_t nspans;
	u64 min_ns;  /* wall of a span, of a segment its own; events have none and stay */
	u64 from_ns; /* since the start of the trace: what ends before it is left out */
	u64 to_ns;   /* … what starts after it; 0: the end */
};

struct replay;

/* The losses of a replay: those that the file tells, and its own, which stand after them. */
enum {
	REPLAY_DAMAGED_BLOCKS = LOSS_CAUSES, /* blocks that were cut, damaged or missing */
	REPLAY_UNKNOWN_NAMES,                /* records whose names stood in those */
	REPLAY_OUT_OF_ORDER,                 /* events too far out of the order of their ends */
	REPLAY_SQUEEZED,                     /* what a flight recorder had no memory for */
	REPLAY_LOSSES,
};

struct replay_info {
	const char *path;
	const char *format; /* "recording", "mm_profdata" */
	char *version;      /* of the writer; owned, as the texts that follow */
	char *kernel;
	char *clock;
	char *target;
	char *counter; /* NULL: times are of the clock; else the name of what they count */
	u64 start_ns, end_ns, start_realtime_ns;
	u64 suspended_ns; /* as in struct profile */
	u32 metrics;
	struct model_memory memory; /* how allocations were counted */
	u32 sample_ppb;             /* as in struct profile */
	bool finished;              /* the file was ended by its writer */
	struct model_loss losses[REPLAY_LOSSES];
	struct model_refused *refused; /* owned, with its strings */
	size_t nrefused;
};

/* Opens PATH ("-" is no file) and reads what stands before the first span. 0, or -errno with the message printed:
 * -ENOENT, -EACCES, …, -EINVAL for a file of no known format. */
int replay_open(const char *path, struct replay **out);
void replay_free(struct replay **replay);
/* A trace made for this file, to which sinks can be added before replay_run(); it belongs to the replay. */
struct trace *replay_trace(struct replay *replay);
/* Called for each snapshot of the live heap that the file holds, when replay_profile() tells what was in use at TIME_NS.
 * Before replay_run(). */
typedef void (*replay_heap_fn)(void *context, u64 time_ns);
void replay_on_heap(struct replay *replay, replay_heap_fn fn, void *context);
/* Known after replay_open() but for end_ns, memory, finished, losses and refused, which are known after replay_run(). */
const struct replay_info *replay_info(const struct replay *replay);
/* Reads the whole file, once. 0, or -errno with the message printed. Damage is no error. */
int replay_run(struct replay *replay, const struct replay_filter *filter);
/* After replay_run(): the totals. Borrowed from the replay. 0 or -ENOMEM. */
int replay_profile(struct replay *replay, struct profile *out);

#endif
