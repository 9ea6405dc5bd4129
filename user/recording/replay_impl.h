/* SPDX-License-Identifier: MIT */
/* What replay.c and the readers of the formats share. A reader knows its format and nothing of filters, sinks or
 * totals: it names threads, definitions, paths and texts to the trace, and hands single spans to replay_take_span(). */
#ifndef SPANTRACE_REPLAY_IMPL_H
#define SPANTRACE_REPLAY_IMPL_H

#include "replay.h"

#define REPLAY_FIRST 16

/* A format. Each function returns 0 or -errno with the message printed; damage is no error: it is counted. */
struct replay_format {
	const char *name; /* as in replay_info */
	bool (*is)(const u8 *first, size_t n);
	/* Reads what stands before the first span: fills replay->info, calls replay_set_trace(), keeps what it needs in
	 * replay->state. */
	int (*open)(struct replay *replay);
	/* Reads the rest: replay->info but for its losses, spans and events in the order of their ends on each thread, ends
	 * of threads. Stops when trace_error(replay->trace) says so. */
	int (*run)(struct replay *replay);
	/* Releases replay->state, which is NULL when open() did not come that far. */
	void (*free)(struct replay *replay);
};

struct replay {
	const struct replay_format *format;
	void *state; /* the format's own */
	int fd;      /* where it stands: behind FIRST. The readers of regular files may seek. */
	u8 first[REPLAY_FIRST];
	size_t nfirst;
	struct trace *trace;
	struct replay_info info;
	/* By cause: what the file tells, and what reading it added. The sums end up in info.losses. */
	u64 told[REPLAY_LOSSES];
	u64 own[REPLAY_LOSSES];

	const struct replay_filter *filter; /* NULL: everything */
	u64 from_ns, to_ns;                 /* as times of the trace */
	u8 *paths;         /* by id: what the filter says of a path, once it was asked */
	bool memory_told;  /* what is in use and mapped is known */
	u64 snapshot_work; /* rows that were looked at for snapshots */
	replay_heap_fn heap;
	void *heap_context;
};

/* Makes replay->trace, for info.metrics, info.start_ns and info.start_realtime_ns as they are. 0 or -ENOMEM. */
int replay_set_trace(struct replay *replay);
/* As trace_set_thread(), in *OUT; NULL there when the filter leaves the thread out: its spans need not be made. 0 or
 * -ENOMEM. */
int replay_set_thread(struct replay *replay, const struct model_thread *values,
		      const struct model_thread **out);
bool replay_wants_thread(const struct replay *replay, const struct model_thread *values);
/* As trace_set_inside(); nothing where a filter makes another sum of it. */
int replay_set_inside(struct replay *replay, u32 serial, u64 inside_ns);

/* One single span or event, put through the filter. One that cannot be (it ends before it starts, or starts before the
 * trace does) is counted as damaged; busy and self are cut to what holds them. */
void replay_take_span(struct replay *replay, struct model_span *span);
void replay_take_event(struct replay *replay, struct model_event *event);

/* The memory of a thread and path, as trace_set_memory(), put through the filter. One that chooses by time leaves no sums:
 * then allocations are what the spans taken tell of themselves, and no more is known. 0 or -ENOMEM. */
int replay_take_memory(struct replay *replay, const struct model_row *told);
void replay_take_counting(struct replay *replay, const struct model_memory *memory);
/* The rows told so far are as of TIME_NS. */
void replay_take_snapshot(struct replay *replay, u64 time_ns);

extern const struct replay_format replay_recording;  /* recording_read.c */
extern const struct replay_format replay_mmprofdata; /* mmprofdata_read.c */

#endif
