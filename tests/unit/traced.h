/* SPDX-License-Identifier: MIT */
/* A trace that is fed by hand: a small table of paths, makers of wire records, and a way to a row.
 * Comes behind <cmocka.h>.
 *
 *   root ▸ a ▸ b ▸ c         thread spans
 *        ▸ c
 *        ▸ job ▸ c           an async span, and a thread span under it
 *        ▸ tick              an event, also under a
 */
#ifndef SPANTRACE_TEST_TRACED_H
#define SPANTRACE_TEST_TRACED_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../user/trace/trace.h"

enum { DEF_A, DEF_B, DEF_C, DEF_JOB, DEF_TICK, TRACED_DEFS };

enum {
	PATH_A = PATHS_RESERVED,
	PATH_A_B,
	PATH_A_B_C,
	PATH_C,
	PATH_JOB,
	PATH_JOB_C,
	PATH_TICK,
	PATH_A_TICK,
	TRACED_USED, /* the first of those that stand for nothing */
	TRACED_PATHS = 32,
};

#define TRACED_BEGIN    1000000ull
#define TRACED_REALTIME 1700000000000000000ull
#define TRACED_END      9000000ull

struct traced {
	struct trace *trace;
	struct wire_path paths[TRACED_PATHS];
	struct profile profile;
};

static inline void traced_def(struct traced *t, enum model_kind kind, const char *name,
			      u32 expected)
{
	const struct model_def def = {.kind = kind, .provider = "app", .name = name};
	u32 id = UINT32_MAX;

	assert_int_equal(trace_add_def(t->trace, &def, &id), 0);
	assert_int_equal(id, expected);
}

static inline void traced_path(struct traced *t, u32 id, u32 parent, u32 def)
{
	t->paths[id] = (struct wire_path){.parent = parent, .def = def};
}

static inline int traced_setup(void **state)
{
	struct traced *t = calloc(1, sizeof(*t));
	u32 i;

	if (!t)
		return -1;
	*state = t;
	assert_int_equal(trace_new(t->paths, TRACED_PATHS, METRIC_WALL | METRIC_CPU, &t->trace), 0);
	traced_def(t, MODEL_THREAD_SPAN, "a", DEF_A);
	traced_def(t, MODEL_THREAD_SPAN, "b", DEF_B);
	traced_def(t, MODEL_THREAD_SPAN, "c", DEF_C);
	traced_def(t, MODEL_ASYNC_SPAN, "job", DEF_JOB);
	traced_def(t, MODEL_EVENT, "tick", DEF_TICK);
	for (i = 0; i < TRACED_PATHS; i++)
		traced_path(t, i, UINT32_MAX, UINT32_MAX);
	traced_path(t, PATH_A, PATH_ROOT, DEF_A);
	traced_path(t, PATH_A_B, PATH_A, DEF_B);
	traced_path(t, PATH_A_B_C, PATH_A_B, DEF_C);
	traced_path(t, PATH_C, PATH_ROOT, DEF_C);
	traced_path(t, PATH_JOB, PATH_ROOT, DEF_JOB);
	traced_path(t, PATH_JOB_C, PATH_JOB, DEF_C);
	traced_path(t, PATH_TICK, PATH_ROOT, DEF_TICK);
	traced_path(t, PATH_A_TICK, PATH_A, DEF_TICK);
	trace_begin(t->trace, TRACED_BEGIN, TRACED_REALTIME);
	return 0;
}

static inline int traced_teardown(void **state)
{
	struct traced *t = *state;

	trace_free(&t->trace);
	free(t);
	return 0;
}

/* Hands over SIZE bytes of RECORD from memory of exactly that size, so that the sanitizers see a
 * read beyond it. */
static inline void feed_bytes(struct traced *t, const void *record, size_t size)
{
	void *copy = malloc(size ? size : 1);

	assert_non_null(copy);
	memcpy(copy, record, size);
	trace_record(t->trace, copy, size);
	free(copy);
}

/* A whole record, as long as its head says. */
static inline void feed(struct traced *t, const void *record)
{
	feed_bytes(t, record, ((const struct wire_head *)record)->size);
}

static inline struct wire_span make_span(u32 thread, u32 path, u64 start, u64 busy, u64 self)
{
	return (struct wire_span){
		.head = {.size = WIRE_SPAN_WHOLE, .kind = WIRE_SPAN, .thread = thread},
		.path = path,
		.start_ns = start,
		.busy_ns = busy,
		.self_ns = self,
	};
}

/* A span that was never off the CPU, in the short form. */
static inline void feed_span(struct traced *t, u32 thread, u32 path, u64 start, u64 busy, u64 self)
{
	struct wire_span span = make_span(thread, path, start, busy, self);

	span.head.size = WIRE_SPAN_SHORT;
	feed(t, &span);
}

static inline void feed_flagged(struct traced *t, u32 thread, u32 path, u64 busy, u8 flags)
{
	struct wire_span span = make_span(thread, path, TRACED_BEGIN, busy, busy);

	span.head.flags = flags;
	feed(t, &span);
}

static inline struct wire_async make_async(u32 thread, u32 path, u64 id, u64 start, u64 end)
{
	return (struct wire_async){
		.head = {.size = sizeof(struct wire_async), .kind = WIRE_ASYNC, .thread = thread},
		.path = path,
		.id = id,
		.start_ns = start,
		.end_ns = end,
	};
}

static inline struct wire_event make_event(u32 thread, u32 path, u64 time)
{
	return (struct wire_event){
		.head = {.size = WIRE_EVENT_SHORT, .kind = WIRE_EVENT, .thread = thread},
		.path = path,
		.time_ns = time,
	};
}

static inline struct wire_thread make_thread(u32 serial, u32 pid, u32 tid, u64 start,
					     const char *comm)
{
	struct wire_thread thread = {
		.head = {.size = sizeof(thread), .kind = WIRE_THREAD, .thread = serial},
		.process = 100 + pid,
		.pid = pid,
		.tid = tid,
		.start_ns = start,
	};

	snprintf(thread.comm, sizeof(thread.comm), "%s", comm);
	return thread;
}

static inline void feed_thread(struct traced *t, u32 serial, u32 pid, u32 tid, const char *comm)
{
	struct wire_thread thread = make_thread(serial, pid, tid, 0, comm);

	feed(t, &thread);
}

static inline void feed_thread_end(struct traced *t, u32 serial, u64 time, u64 inside,
				   const char *comm)
{
	struct wire_thread_end end = {
		.head = {.size = sizeof(end), .kind = WIRE_THREAD_END, .thread = serial},
		.time_ns = time,
		.inside_ns = inside,
	};

	snprintf(end.comm, sizeof(end.comm), "%s", comm);
	feed(t, &end);
}

static inline const struct profile *traced_profile(struct traced *t)
{
	assert_int_equal(trace_profile(t->trace, TRACED_END, &t->profile), 0);
	return &t->profile;
}

/* Adds up, and finds the row; fails when there is none. */
static inline const struct model_row *traced_row(struct traced *t, u32 thread, u32 path)
{
	const struct profile *profile = traced_profile(t);
	size_t i;

	for (i = 0; i < profile->nrows; i++)
		if (profile->rows[i].thread->serial == thread && profile->rows[i].path->id == path)
			return &profile->rows[i];
	fail_msg("no row of thread %u and path %u", thread, path);
	return NULL;
}

static inline const struct model_thread_row *traced_thread(struct traced *t, u32 serial)
{
	const struct profile *profile = traced_profile(t);
	size_t i;

	for (i = 0; i < profile->nthreads; i++)
		if (profile->threads[i].thread->serial == serial)
			return &profile->threads[i];
	fail_msg("no thread %u", serial);
	return NULL;
}

static inline u64 traced_spans(const struct traced *t)
{
	struct trace_counts counts;

	trace_counts(t->trace, &counts);
	return counts.spans;
}

#endif
