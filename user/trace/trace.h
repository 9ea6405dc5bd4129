/* SPDX-License-Identifier: MIT */
/* A trace in the loader: definitions, threads, paths and totals, built from wire records.
 *
 *   record ▸ trace_record: thread and path found or made ▸ struct model_span
 *   (a recording ▸ replay: the same, from a file)        ▸ trace_take_span: the row of its thread and path,
 *                                                          then each sink that wants single spans
 *   trace_profile: rows sorted ▸ struct profile ▸ exporters
 *
 * Records may come in any order: a span names its path and its thread by number, and its self time is
 * settled before it is sent. So it does not matter which CPU's ring is read first.
 */
#ifndef SPANTRACE_TRACE_H
#define SPANTRACE_TRACE_H

#include <stdbool.h>

#include "../../include/model.h"
#include "../../include/wire.h"

struct trace;

/* Threads that have rows of their own; later ones share those of one. */
#define TRACE_THREADS_MAX (1u << 17)
/* Rows of spans, and as many of events; what finds none is added to that of (other threads) and (other paths). And pieces
 * of histograms in all rows: a span beyond them is in every number of its row but the percentiles. */
#define TRACE_ROWS_MAX   (1u << 19)
#define TRACE_PIECES_MAX (1u << 20)

/* Takes single spans and events as they come, and what rows gain that the kernel adds up. They return 0 or -errno, which ends up in trace_error(). */
struct trace_sink {
	void *context;
	int (*span)(void *context, const struct model_span *span);    /* may be NULL */
	int (*event)(void *context, const struct model_event *event); /* may be NULL */
	/* Aggregated mode; a span or event is told by this or by the others. May be NULL. */
	int (*row)(void *context, const struct model_path *path, const struct wire_row *gained,
		   const struct wire_octave *pieces, size_t n);
};

/* How far the trace has come, for the status line. */
struct trace_counts {
	u64 spans;
	u64 events;
	u32 threads;
	size_t rows;
};

/* PATHS is the path table, at most NPATHS nodes, borrowed; it may grow while the trace runs. NULL: the trace keeps its
 * own, see trace_add_path(). */
int trace_new(const struct wire_path *paths, u32 npaths, u32 metrics, struct trace **out);
void trace_free(struct trace **trace);

/* Adds a definition, or finds the one with the same provider, name and kind. Copies the strings; *ID is its
 * number on the wire. 0, -ENOMEM, or -ENOSPC beyond DEFS_MAX. */
int trace_add_def(struct trace *trace, const struct model_def *def, u32 *id);
/* What the labels of a site of the plan are: N keys, copied, and which of them are strings (bit I). 0 or -ENOMEM. */
int trace_add_site(struct trace *trace, u32 site, const char *const *keys, u32 n, u32 strings);
/* Spans of DEF that an argument names are called PREFIX and that; copied. 0 or -ENOMEM. */
int trace_name_def(struct trace *trace, u32 def, const char *prefix);
/* Rows are split by the values of these labels; borrowed. At most MODEL_MAX_LABELS. */
void trace_split_by(struct trace *trace, const char *const *keys, size_t n);
/* A span may come before the text of its label, which is on another ring: MORE is called to have what waits there
 * given to trace_record() now. */
void trace_ask_more(struct trace *trace, void (*more)(void *context), void *context);
/* Spans and events go to the sinks alone: profiles have no rows and no events, threads their time inside spans. */
void trace_leave_rows(struct trace *trace);
/* Borrows the sink, for good. 0 or -ENOMEM. */
int trace_add_sink(struct trace *trace, const struct trace_sink *sink);
/* Before the first record: trace_forget_ended() will be called. Nobody may keep a thread of such a trace. */
void trace_may_forget(struct trace *trace);
/* Gives back threads, with their rows, that ended some time before NOW_NS, so that memory stays flat where they come and go
 * for months. No profile holds them any more. TOLD: only those whose rows trace_profile_gained() has told, and of any
 * thread the rows with labels that were. */
void trace_forget_ended(struct trace *trace, u64 now_ns, bool told);
/* The number among wire_ids of the label KEY, plus 1; 0: it is not one that spans inherit. */
u8 trace_id_number(const char *key);
/* The trace begins: all probes stand. */
void trace_begin(struct trace *trace, u64 now_ns, u64 realtime_ns);

/* Takes one record of SIZE bytes. One that is too short for its kind, of no known kind, or that names
 * what cannot be is counted as damaged; those for which there is no memory are counted too. */
void trace_record(struct trace *trace, const void *record, size_t size);
/* The same for an async span that lives no more because its process or the trace has ended. */
void trace_open_async(struct trace *trace, const struct wire_async *span, u64 now_ns);

/* Aggregated mode: takes what a row of the kernel has gained, with N pieces of its histogram. */
void trace_take_row(struct trace *trace, const struct wire_row *gained,
		    const struct wire_octave *pieces, size_t n);
/* A block of OBJECTS and BYTES that the row of THREAD and PATH still held after AGE: it is added to that row's suspects. */
void trace_take_leak(struct trace *trace, u32 thread, u32 path, u64 objects, u64 bytes, u64 age_ns);
/* What a record became, or what a replay read from a file: THREAD and PATH are this trace's. Counts it in its row and
 * hands it to the sinks. */
void trace_take_span(struct trace *trace, const struct model_span *span);
void trace_take_event(struct trace *trace, const struct model_event *event);
/* A span of these will be taken some spans later: asks for the memory of its row. Changes nothing. */
void trace_expect_span(const struct model_thread *thread, const struct model_path *path);

/* For replays, whose trace_new() got no path table: the path of DEF under PARENT (NULL: outside every span), with a
 * NAME of its own or NULL; found, or made and copied. Beyond PATHS_MAX it is the one of "(other paths)" and *FULL is
 * set. NULL: no memory, or there is no such definition. */
const struct model_path *trace_add_path(struct trace *trace, const struct model_path *parent,
					u32 def, const char *name, bool *full);
/* For replays: the thread with the serial of VALUES, made if it is new, with those values. NULL: no memory. */
const struct model_thread *trace_set_thread(struct trace *trace, const struct model_thread *values);
/* For replays: a thread that is one of the (other threads) from the start. NULL: no memory. */
const struct model_thread *trace_fold_thread(struct trace *trace);
/* For replays: how long the thread was inside spans, where the file says. 0 or -ENOMEM. */
int trace_set_inside(struct trace *trace, u32 serial, u64 inside_ns);
/* For replays: the memory of a thread and path (the root: outside every span) is that of TOLD, whatever was told of it
 * before. 0 or -ENOMEM. */
int trace_set_memory(struct trace *trace, const struct model_row *told);
/* The path outside every span. */
const struct model_path *trace_root(const struct trace *trace);
/* A copy of TEXT that lives as long as the trace, the same for the same text; NULL: no memory. */
const char *trace_keep_text(struct trace *trace, const char *text, size_t length);
/* That copy where there is one, else NULL; and how many there are. */
const char *trace_find_text(const struct trace *trace, const char *text, size_t length);
size_t trace_kept_texts(const struct trace *trace);

/* The definition with number ID; NULL: there are not so many. */
const struct model_def *trace_def(const struct trace *trace, u32 id);
/* The process image of a thread, by number; 0 where it is not known. */
u32 trace_process_of(const struct trace *trace, u32 thread);
/* The definition of a path, by number; DEFS_MAX where it is none that was added. */
u32 trace_def_of(struct trace *trace, u32 path);

/* First error that a sink returned, or 0. */
int trace_error(const struct trace *trace);
void trace_counts(const struct trace *trace, struct trace_counts *out);
/* What the loader itself had to drop: records that were damaged, records without memory. */
u64 trace_damaged(const struct trace *trace);
u64 trace_no_memory(const struct trace *trace);
/* Threads beyond TRACE_THREADS_MAX, whose spans are kept under one called (other threads). */
u64 trace_folded_threads(const struct trace *trace);
/* Spans and events beyond TRACE_ROWS_MAX rows. */
u64 trace_folded_rows(const struct trace *trace);

/* The trace in totals, as it stands. END_NS is the time of the detach. Fills rows, events, threads, times
 * and metrics of OUT; the arrays belong to the trace and live until the next call or its end. */
int trace_profile(struct trace *trace, u64 end_ns, struct profile *out);

/* The same for what was gained since the last call of this (or the trace's begin), start_ns and start_realtime_ns being of
 * that time: rows that gained nothing and hold no memory in use are left out. What is in use is so at the end; extremes,
 * means and durations are not known but of intervals, and events are left out. */
int trace_profile_gained(struct trace *trace, u64 end_ns, struct profile *out);
/* An interval begins, and the profile of the one before is used no more. Durations and what is told of them, extremes to
 * 1 %, are from now on those of spans that end in an interval, in all profiles. */
void trace_begin_interval(struct trace *trace);

/* The threads alone, as trace_profile() does; without the time inside spans of those that run. */
int trace_thread_rows(struct trace *trace, u64 end_ns, struct profile *out);

#endif
