/* SPDX-License-Identifier: MIT */
/* What a trace is once pairing is done: definitions, threads, paths, single spans and their totals.
 *
 * user/ makes these from wire records or from a recording; exporters/ turn them into bytes and know
 * nothing else. All pointers are borrowed from the one who made them and live until its end. All times
 * are CLOCK_MONOTONIC nanoseconds, all durations nanoseconds, all sizes bytes.
 *
 * The words are the vocabulary of the README: wall = close - new; busy = time entered; idle = wall -
 * busy; self = busy without what was entered on top of it; cpu = on-CPU time while entered; run_delay =
 * runnable, waiting for a CPU; blocked = busy - cpu - run_delay.
 */
#ifndef SPANTRACE_MODEL_H
#define SPANTRACE_MODEL_H

#include <stdbool.h>
#include <stddef.h>

#include "types.h"

#define MODEL_MAX_LABELS 4
#define MODEL_COMM_LEN   16

enum model_kind {
	MODEL_THREAD_SPAN = 1,
	MODEL_ASYNC_SPAN = 2,
	MODEL_EVENT = 3,
};

/* A span definition, or an event: one for each provider, name and kind. */
struct model_def {
	u32 id;
	enum model_kind kind;
	const char *provider;
	const char *name;
	const char *binary;      /* path of the (first) file it stands in; NULL if not known */
	const char *build_id;    /* of that file, lower-case hex; NULL if it has none */
	const char *source_file; /* of the first start site; NULL if the program does not say */
	u32 source_line;         /* 0 if not known */
};

struct model_thread {
	u32 serial; /* unique in a trace, also where the kernel uses a tid again */
	u32 pid;
	u32 tid;
	u32 nspid; /* the process's own number in its PID namespace; 0 or pid where there is no other */
	char comm[MODEL_COMM_LEN];
	char process_comm[MODEL_COMM_LEN]; /* of the process's first thread; empty: not known */
	u64 start_ns; /* when the trace began to see it: its start, or the attach */
	u64 end_ns;   /* its end, or the detach; 0 while it runs */
};

/* One node of the tree of span definitions; the root has no def and no parent. */
struct model_path {
	u32 id;
	u32 depth; /* root: 0 */
	const struct model_path *parent;
	const struct model_def *def;
	const char *
		name; /* the frame's own name where an argument names it; else NULL: the def's name */
};

/* A label of a span or an event: KEY is the def's, or "argN" where the program does not name it. */
struct model_label {
	const char *key;
	const char *text; /* NULL: it is a number */
	s64 number;
};

/* What the kernel counted for one span, inclusive of what ran inside it. */
struct model_counters {
	u64 cpu_ns;
	u64 cpu_system_ns; /* of cpu; the rest is user time */
	u64 run_delay_ns;
	u64 vol_switches;
	u64 invol_switches;
	u64 minor_faults;
	u64 major_faults;
};

/* What was allocated. */
struct model_alloc {
	u64 objects;
	u64 bytes;
};

#define MODEL_ABANDONED 0x1u /* it had no exit of its own */
#define MODEL_OPEN      0x2u /* it was still open when its thread, its process or the trace ended */
/* A thread's stretch inside an async span; the async span itself follows at its close, without it. */
#define MODEL_SEGMENT 0x4u
#define MODEL_ASYNC   0x8u /* an async span, at its close */

struct model_span {
	const struct model_thread
		*thread; /* async span: where it was made; segment: where it ran */
	const struct model_path *path;
	u64 id; /* async spans and their segments; else 0 */
	u64 parent_id; /* async spans whose path stands under an async span's: the id of that one; else 0 */
	u64 start_ns;
	u64 end_ns;
	u64 busy_ns;
	u64 self_ns;
	u64 self_cpu_ns;
	u64 self_cpu_system_ns;
	u64 self_run_delay_ns;
	struct model_counters total;
	struct model_alloc alloc;      /* METRIC_ALLOC: inclusive of what ran inside it … */
	struct model_alloc self_alloc; /* … and exclusive */
	u32 flags;
	u32 nlabels;
	struct model_label labels[MODEL_MAX_LABELS];
	u32 ninherited; /* labels that rows have of it where it has none of its own by that key */
	const struct model_label *inherited; /* borrowed for the call */
};

struct model_event {
	const struct model_thread *thread;
	const struct model_path *path; /* of the event's own def, under the span it happened in */
	u64 time_ns;
	s64 value;
	bool has_value;
	u32 nlabels;
	struct model_label labels[MODEL_MAX_LABELS];
};

/* Bits of profile.metrics: what was measured; what was not is left out of every output. */
#define METRIC_WALL      0x01u
#define METRIC_CPU       0x02u /* cpu, run_delay, blocked, switches, faults */
#define METRIC_CPU_SPLIT 0x04u /* user and system */
#define METRIC_ALLOC     0x08u
#define METRIC_HEAP      0x10u
#define METRIC_MMAP      0x20u
#define METRIC_CPU_EXACT 0x40u /* the split is by kernel entries and exits, not by ticks */

/* What is measured where nothing else is asked for. */
#define METRICS_DEFAULT (METRIC_WALL | METRIC_CPU | METRIC_CPU_SPLIT)

struct histogram; /* user/histogram.h; exporters read it through model_quantile() */

/* Totals of all spans of one path on one thread. Sums hold finished and open spans alike; min, max, mean
 * and quantiles are of the wall time of finished ones. What every span adds to stands together in front. What was
 * allocated outside every span stands in a row whose path is the root. */
struct model_row {
	const struct model_thread *thread;
	const struct model_path *path;
	const struct histogram *durations; /* NULL when nothing is in it */
	u64 count;                         /* finished */
	u64 wall_ns;
	u64 busy_ns;
	u64 self_ns;
	u64 self_cpu_ns;
	u64 self_cpu_system_ns;
	struct model_counters total;
	u64 min_ns;
	u64 max_ns;

	/* Work that ran on this thread on this path, exclusive of deeper frames. The same as the self_* sums
	 * above for thread spans; for async spans the work stands where it ran, the span where it was made.
	 * Flame graphs and folded stacks use these: over a thread they add up to its time inside spans. */
	struct {
		u64 busy_ns;
		u64 cpu_ns;
		u64 cpu_system_ns;
		u64 run_delay_ns;
		u64 idle_ns; /* of the async spans made here */
		u64 alloc_objects;
		u64 alloc_bytes;
		u64 inuse_objects;
		u64 inuse_bytes;
	} work;

	u64 abandoned; /* of count, those without an exit of their own */
	u64 open;      /* not in count */
	u64 mean_ns;
	u64 alloc_objects; /* while this path was the thread's innermost; not those of deeper paths */
	u64 alloc_bytes;
	u64 inuse_objects; /* of those, not yet freed */
	u64 inuse_bytes;
	u64 leak_objects; /* of those, suspects of --leaks */
	u64 leak_bytes;
	u64 leak_oldest_ns; /* age of the oldest */
	u64 map_calls;      /* like alloc_objects: mmap and its like */
	u64 map_bytes;
	u64 unmap_calls;
	u64 unmap_bytes;
	u32 nlabels; /* those of --by */
	struct model_label labels[MODEL_MAX_LABELS];
};

struct model_event_row {
	const struct model_thread *thread;
	const struct model_def *def;
	const char *name; /* as in model_path */
	u64 count;
	s64 sum;
	bool has_sum; /* the event carries a value */
};

/* A thread of the profile, with the time it spent inside any span while the trace saw it. */
struct model_thread_row {
	const struct model_thread *thread;
	u64 inside_ns;
	u64 end_ns; /* like thread->end_ns, and never 0: the end of the trace for a running thread */
};

struct model_loss {
	const char *name; /* stable, as in the JSON: "ring_full" */
	const char *text; /* what it means and what to do about it, one line */
	u64 count;
};

struct model_refused {
	const char *marker; /* provider:name at 0xADDRESS of FILE */
	const char *why;
};

/* How allocations were counted. */
struct model_memory {
	u64 processes; /* whose allocators are probed */
	u64 functions; /* that are probed, in all of them */
	u64 markers;   /* sites of otel_memory's that are probed instead */
	u64 late; /* of the processes, those probed after their fork: what came before is not counted */
	u64 entries; /* of the processes, those whose allocations count at their entry, failed ones too */
	u64 sample;   /* bytes between samples, on average; 0: every allocation counts */
	u64 leaks_ns; /* suspects are blocks older than that; 0: none are looked for */
};

#define PPB 1000000000u

/* A finished trace, in totals. Rows are sorted by pid, tid, then path in depth-first order of first
 * appearance, so that the same trace gives the same bytes. */
struct profile {
	const char *version;
	const char *kernel; /* uname -r */
	const char *clock;  /* name of the clock that times are of */
	const char
		*target; /* what was traced, for people: "pid 123 (postgres)" or a command line */
	u64 start_ns;    /* attach */
	u64 end_ns;      /* detach */
	u64 start_realtime_ns; /* start_ns on the wall clock, since 1970 */
	u64 suspended_ns; /* CLOCK_BOOTTIME is that much later than CLOCK_MONOTONIC; 0 also where that is not known */
	u32 metrics; /* METRIC_* */
	u32 sample_ppb; /* of root spans so many in a thousand million were kept, by chance; 0: all. No number is scaled */
	bool is_part; /* start, end and losses are those of one of several files; inside_ns of threads is not */

	struct model_memory memory; /* METRIC_ALLOC, METRIC_HEAP, METRIC_MMAP */

	const struct model_row *rows;
	size_t nrows;
	const struct model_event_row *events;
	size_t nevents;
	const struct model_thread_row *threads;
	size_t nthreads;
	const struct model_loss *losses; /* every cause, also those at 0 */
	size_t nlosses;
	const struct model_refused *refused;
	size_t nrefused;
};

/* Wall time below which a fraction q (0 to 1) of the row's finished spans lie, to 1 %. 0 if count is 0. */
u64 model_quantile(const struct model_row *row, double q);

#endif
