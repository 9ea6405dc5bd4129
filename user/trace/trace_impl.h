/* SPDX-License-Identifier: MIT */
/* What the files of the trace share: trace.c (definitions, threads, paths), trace_record.c (records to single
 * spans), trace_replay.c (the same tables, fed from a file), trace_rows.c (spans to rows and sinks), trace_profile.c
 * (rows to a profile), trace_gain.c (what a row gained between two profiles). */
#ifndef SPANTRACE_TRACE_IMPL_H
#define SPANTRACE_TRACE_IMPL_H

#include "../util/histogram.h"
#include "../util/intmap.h"
#include "../util/strpool.h"
#include "trace.h"

struct trace_thread {
	struct model_thread model; /* first: a model_thread of the trace is one of these */
	u32 process;               /* serial of its image */
	u64 inside_ns;
	u64 rowless_ns; /* … of which no row tells */
	bool ended;     /* inside_ns is final */
	bool orphaned;  /* its process has ended too */
	bool over;      /* of trace_forget_ended() … */
	u64 over_ns;    /* … which could do so from here on; 0: not yet */
};

/* The labels of one site. */
struct trace_site {
	const char *keys[LABELS_MAX];
	u32 n;
	u32 strings;
};

/* What every span adds to is in as few lines of the processor's caches as can be: rows are too many for the near ones. */
#define TRACE_LINE 64
struct trace_row {
	struct model_row model;
	_Alignas(TRACE_LINE) struct histogram durations;
	u64 open_wall_ns;            /* of open spans, which the mean leaves out */
	struct trace_told *told;     /* trace_gain.c */
	struct model_alloc of_spans; /* what single spans told of themselves: a part of alloc_* */
	bool over;                   /* of trace_forget_ended() */
};

/* Every path of a trace stands in one of these. */
#define TRACE_PATH_LAST 8
struct trace_path {
	struct model_path model;
	/* The row that was added to last, of those without labels, by thread's serial modulo the number. */
	struct trace_row *last[TRACE_PATH_LAST];
};

struct trace {
	struct strpool *strings;
	const struct wire_path *table;
	u32 ntable;
	u32 metrics;
	u64 begin_ns;
	u64 begin_realtime_ns;
	u64 told_ns; /* end of the last trace_profile_gained(); 0: there was none */

	struct model_def **defs;
	size_t ndefs;
	struct intmap defs_by_name; /* hash of kind, provider and name ▸ struct model_def */
	struct intmap threads;      /* serial ▸ struct trace_thread */
	struct intmap paths;        /* id ▸ struct trace_path, which begins with its model_path */
	struct intmap
		paths_by_key; /* of a replay: hash of parent, def and name ▸ struct model_path */
	u32 npaths;           /* of a replay: made so far */
	struct intmap rows;   /* row_key ▸ struct trace_row */
	struct intmap events; /* row_key of thread and def ▸ struct model_event_row */
	struct trace_path root; /* allocations outside every span have a row too */
	struct intmap sites;    /* number ▸ struct trace_site */
	struct intmap texts;    /* name of a string ▸ const char */
	struct intmap prefixes; /* definition ▸ const char, what stands before names of its spans */
	struct intmap kept;     /* hash ▸ const char, of trace_keep_text() */
	void (*more)(void *context);
	void *more_context;
	const char *const *by; /* keys that split rows */
	size_t nby;

	struct trace_sink *sinks;
	size_t nsinks;
	bool want_spans;
	bool want_events;
	bool want_rows;
	bool forgets;
	struct intmap dead; /* images that have ended since the last trace_forget_ended() */
	bool rowless;       /* trace_leave_rows() */
	bool intervals;     /* trace_begin_interval() */
	int error;
	u64 spans;
	u64 nevents;
	u64 damaged;
	u64 no_memory;
	u64 folded_threads;     /* that share the row of TRACE_OTHERS */
	u64 folded_rows;        /* spans and events in a row that is not theirs */
	size_t rows_max;        /* TRACE_ROWS_MAX */
	u64 pieces, pieces_max; /* of histograms; TRACE_PIECES_MAX */

	/* the last profile's arrays */
	struct model_row *profile_rows;
	struct model_event_row *profile_events;
	struct model_thread_row *profile_threads;
};

/* The serial of the thread that stands for all beyond TRACE_THREADS_MAX; the kernel side gives lower ones. */
#define TRACE_OTHERS UINT32_MAX

/* The thread with this serial, made if it is new: its name may come later than its first span. NULL: no
 * memory. */
struct trace_thread *trace_thread(struct trace *trace, u32 serial);
/* The path with this id; NULL when the table has none that makes sense, or there is no memory. */
struct model_path *trace_path(struct trace *trace, u32 id);

/* Makes the node ID of DEF under PARENT. NULL: no memory. */
struct model_path *trace_new_path(struct trace *trace, u32 id, const struct model_path *parent,
				  const struct model_def *def);
extern const struct model_def trace_other_paths;

/* Fills LABELS from the values on the wire of a record of SITE. Returns how many there are. */
u32 trace_labels(struct trace *trace, u32 site, const u64 values[LABELS_MAX],
		 struct model_label labels[MODEL_MAX_LABELS]);
/* Fills LABELS from the ids on the wire. Returns how many there are. */
u32 trace_inherited(struct trace *trace, const struct wire_ids *ids,
		    struct model_label labels[IDS]);
/* The text of a string's name on the wire. Not NULL. */
const char *trace_text(struct trace *trace, u64 name);
/* What a span of DEF is called by the string NAME; the same pointer for the same text. NULL: no memory. */
const char *trace_own_name(struct trace *trace, u32 def, u64 name);
/* Keeps the text of a label's string. */
void trace_add_text(struct trace *trace, const struct wire_string *record);

/* KEY, of a thread and a path, with a row's labels. Where that is taken by another, the next that is not. */
u64 trace_label_key(u64 key, const struct model_label *labels, u32 n);
u64 trace_event_key(const struct model_thread *thread, const struct model_def *def,
		    const char *name);
void trace_free_row(struct trace_row *row);
void trace_free_profile(struct trace *trace);
/* A process image has ended. */
void trace_image_ended(struct trace *trace, u32 image);

/* The row with all its sums. */
void trace_row_now(const struct trace_row *row, struct model_row *out);
/* Whether it has gained nothing since the last trace_row_gain(). */
bool trace_row_is_told(const struct trace_row *row);
/* Makes of GAIN, which is the row by now, what it gained since the last call; in INTERVALS the row's durations are those.
 * *ANY is whether there is something in it. 0 or -ENOMEM. */
int trace_row_gain(struct trace_row *row, bool intervals, struct model_row *gain, bool *any);

static inline u64 trace_row_key(u32 thread, u32 other)
{
	return (u64)thread << 32 | other;
}

#endif
