/* SPDX-License-Identifier: MIT */
/* A recording made by hand in memory, and what a replay of it gives. Comes behind <cmocka.h>.
 *
 *   root ▸ a ▸ b             thread spans; b has a name of its own
 *        ▸ job               an async span
 *        ▸ tick              an event, also under a
 *   threads: one (pid 10, tid 10), two (pid 10, tid 11), far (pid 20, tid 20)
 */
#ifndef SPANTRACE_TEST_RECORDED_H
#define SPANTRACE_TEST_RECORDED_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../../exporters/exporter.h"
#include "../../include/recording.h"
#include "../../user/recording/replay.h"
#include "captured.h"

#define REC_START    1000000000ull
#define REC_END      9000000000ull
#define REC_REALTIME 1700000000000000000ull
#define REC_MS       1000000ull
#define REC_MAX      4096

enum { REC_ROOT, REC_A, REC_A_B, REC_JOB, REC_TICK, REC_A_TICK, REC_PATHS };
enum { REC_ONE, REC_TWO, REC_FAR, REC_THREADS };

struct recorded {
	struct model_def a, b, job, tick;
	struct model_path paths[REC_PATHS];
	struct model_thread threads[REC_THREADS];
	struct model_thread_row rows[REC_THREADS];
	struct model_loss losses[2];
	struct model_refused refused[1];
	struct profile run; /* as at begin() and tick(), but for its end */
	struct exporter exporter;
	char *bytes; /* once the file is closed */
	size_t size;

	struct replay *replay;
	struct replay_filter filter;
	struct profile profile;
	struct model_span spans[REC_MAX];
	struct model_event events[REC_MAX];
	size_t nspans, nevents;
	struct captured said; /* while it was replayed */
};

static inline void recorded_path(struct recorded *r, int at, int parent,
				 const struct model_def *def)
{
	r->paths[at] = (struct model_path){
		.id = PATHS_RESERVED + (u32)at,
		.parent = &r->paths[parent],
		.depth = r->paths[parent].depth + 1,
		.def = def,
	};
}

static inline void recorded_thread(struct recorded *r, int at, u32 pid, u32 tid, const char *comm)
{
	r->threads[at] = (struct model_thread){.serial = 100 + (u32)at, .pid = pid, .tid = tid};
	memcpy(r->threads[at].comm, comm, strlen(comm));
	r->threads[at].start_ns = REC_START;
	r->rows[at] = (struct model_thread_row){.thread = &r->threads[at], .end_ns = REC_END};
}

static inline struct recorded *recorded_new(void)
{
	struct recorded *r = calloc(1, sizeof(*r));

	assert_non_null(r);
	r->a = (struct model_def){.id = 0, .kind = MODEL_THREAD_SPAN, .provider = "app"};
	r->a.name = "a";
	r->a.binary = "/bin/app";
	r->a.build_id = "c0ffee";
	r->a.source_file = "src/app.c";
	r->a.source_line = 42;
	r->b = (struct model_def){.id = 1, .kind = MODEL_THREAD_SPAN, .provider = "lib"};
	r->b.name = "b";
	r->job = (struct model_def){.id = 2, .kind = MODEL_ASYNC_SPAN, .provider = "app"};
	r->job.name = "job";
	r->tick = (struct model_def){.id = 3, .kind = MODEL_EVENT, .provider = "app"};
	r->tick.name = "tick";
	recorded_path(r, REC_A, REC_ROOT, &r->a);
	recorded_path(r, REC_A_B, REC_A, &r->b);
	r->paths[REC_A_B].name = "b of its own";
	recorded_path(r, REC_JOB, REC_ROOT, &r->job);
	recorded_path(r, REC_TICK, REC_ROOT, &r->tick);
	recorded_path(r, REC_A_TICK, REC_A, &r->tick);
	recorded_thread(r, REC_ONE, 10, 10, "one");
	recorded_thread(r, REC_TWO, 10, 11, "two");
	recorded_thread(r, REC_FAR, 20, 20, "far");
	r->losses[0] = (struct model_loss){.name = "ring_full"};
	r->losses[1] = (struct model_loss){.name = "orphan_exit"};
	r->refused[0] = (struct model_refused){"app:bad at 0x10 of ./app", "not a nop"};
	r->run = (struct profile){
		.version = "7.8.9",
		.kernel = "6.18.0-test",
		.clock = "CLOCK_MONOTONIC",
		.target = "./app --quick",
		.start_ns = REC_START,
		.end_ns = REC_START,
		.start_realtime_ns = REC_REALTIME,
		.suspended_ns = 12345,
		.metrics = METRICS_DEFAULT,
		.losses = r->losses,
		.nlosses = 2,
	};
	r->exporter.ops = exporter_by_name("recording");
	assert_non_null(r->exporter.ops);
	r->exporter.options = EXPORT_OPTIONS_DEFAULT;
	return r;
}

static inline void recorded_free(struct recorded *r)
{
	replay_free(&r->replay);
	r->exporter.ops->free(&r->exporter);
	free(r->bytes);
	free(r);
}

static inline int recorded_setup(void **state)
{
	*state = recorded_new();
	return 0;
}

static inline int recorded_teardown(void **state)
{
	recorded_free(*state);
	return 0;
}

/* --- writing -------------------------------------------------------------------------------------- */

static inline void record_open(struct recorded *r)
{
	free(r->bytes);
	r->bytes = NULL;
	r->exporter.out = open_memstream(&r->bytes, &r->size);
	assert_non_null(r->exporter.out);
}

static inline void record_begin(struct recorded *r)
{
	record_open(r);
	assert_int_equal(r->exporter.ops->begin(&r->exporter, &r->run), 0);
}

static inline struct model_span recorded_span(struct recorded *r, int thread, int path, u64 start,
					      u64 busy, u64 self)
{
	return (struct model_span){
		.thread = &r->threads[thread],
		.path = &r->paths[path],
		.start_ns = start,
		.end_ns = start + busy,
		.busy_ns = busy,
		.self_ns = self,
		.self_cpu_ns = self,
		.total = {.cpu_ns = busy},
	};
}

static inline void record_span(struct recorded *r, const struct model_span *span)
{
	assert_int_equal(r->exporter.ops->span(&r->exporter, span), 0);
}

static inline void record_simple(struct recorded *r, int thread, int path, u64 start, u64 busy,
				 u64 self)
{
	struct model_span span = recorded_span(r, thread, path, start, busy, self);

	record_span(r, &span);
}

static inline void record_event(struct recorded *r, const struct model_event *event)
{
	assert_int_equal(r->exporter.ops->event(&r->exporter, event), 0);
}

/* The time is NOW. */
static inline void record_tick(struct recorded *r, u64 now)
{
	r->run.end_ns = now;
	assert_int_equal(r->exporter.ops->tick(&r->exporter, &r->run), 0);
}

static inline void record_finish(struct recorded *r)
{
	struct profile profile = r->run;

	profile.end_ns = REC_END;
	profile.threads = r->rows;
	profile.nthreads = REC_THREADS;
	profile.refused = r->refused;
	profile.nrefused = 1;
	assert_int_equal(r->exporter.ops->finish(&r->exporter, &profile), 0);
	assert_int_equal(fclose(r->exporter.out), 0);
	r->exporter.out = NULL;
}

/* What is there by now, without an end. */
static inline void record_cut(struct recorded *r)
{
	assert_int_equal(fclose(r->exporter.out), 0);
	r->exporter.out = NULL;
}

/* --- replaying ------------------------------------------------------------------------------------ */

static inline int keep_span(void *context, const struct model_span *span)
{
	struct recorded *r = context;

	if (r->nspans < REC_MAX)
		r->spans[r->nspans] = *span;
	r->nspans++;
	return 0;
}

static inline int keep_event(void *context, const struct model_event *event)
{
	struct recorded *r = context;

	if (r->nevents < REC_MAX)
		r->events[r->nevents] = *event;
	r->nevents++;
	return 0;
}

/* Opens SIZE bytes of R as a file; what is said on stderr is in r->said. */
static inline int replay_try(struct recorded *r, size_t size)
{
	const struct trace_sink sink = {.context = r, .span = keep_span, .event = keep_event};
	int fd = memfd_create("recorded", MFD_CLOEXEC), err;
	char path[32];

	replay_free(&r->replay);
	r->nspans = r->nevents = 0;
	assert_true(fd >= 0);
	assert_int_equal(write(fd, r->bytes, size), size);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	captured_begin(&r->said, STDERR_FILENO);
	err = replay_open(path, &r->replay);
	if (!err)
		err = trace_add_sink(replay_trace(r->replay), &sink);
	if (!err)
		err = replay_run(r->replay, &r->filter);
	if (!err)
		err = replay_profile(r->replay, &r->profile);
	captured_end(&r->said);
	close(fd);
	return err;
}

static inline void replay_all(struct recorded *r)
{
	int err = replay_try(r, r->size);

	if (err)
		fail_msg("replay: %d (%s)", err, r->said.text);
}

static inline u64 replay_loss(const struct recorded *r, const char *name)
{
	size_t i;

	for (i = 0; i < r->profile.nlosses; i++)
		if (strcmp(r->profile.losses[i].name, name) == 0)
			return r->profile.losses[i].count;
	fail_msg("no loss is called %s", name);
	return 0;
}

/* --- the file's bytes ----------------------------------------------------------------------------- */

/* Where block N stands; fails when there are not so many. */
static inline size_t block_at(const struct recorded *r, size_t n)
{
	size_t at = sizeof(struct recording_file_header);
	struct recording_block_header header;

	for (;; n--) {
		if (at + sizeof(header) > r->size)
			fail_msg("there is no such block");
		memcpy(&header, r->bytes + at, sizeof(header));
		assert_int_equal(header.magic, RECORDING_BLOCK_MAGIC);
		if (!n)
			return at;
		at += sizeof(header) + header.length;
	}
}

static inline struct recording_block_header block_header(const struct recorded *r, size_t n)
{
	struct recording_block_header header;

	memcpy(&header, r->bytes + block_at(r, n), sizeof(header));
	return header;
}

static inline size_t block_count(const struct recorded *r)
{
	size_t at = sizeof(struct recording_file_header), n = 0;
	struct recording_block_header header;

	for (; at + sizeof(header) <= r->size; n++) {
		memcpy(&header, r->bytes + at, sizeof(header));
		at += sizeof(header) + header.length;
	}
	return n;
}

#endif
