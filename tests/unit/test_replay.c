/* SPDX-License-Identifier: MIT */
/* The filter of a replay: which spans, events and threads of a file become part of the trace. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "recorded.h"

/* Three threads; on each, a with b in it, 10 and 4 ms; a job and ticks on the first. */
static void make(struct recorded *r)
{
	struct model_event tick = {.thread = &r->threads[REC_ONE], .path = &r->paths[REC_A_TICK]};
	struct model_span job;

	record_begin(r);
	for (int thread = REC_ONE; thread <= REC_FAR; thread++) {
		u64 now = REC_START + (u64)thread * 1000 * REC_MS;

		record_simple(r, thread, REC_A_B, now + 5 * REC_MS, 4 * REC_MS, 4 * REC_MS);
		record_simple(r, thread, REC_A, now, 10 * REC_MS, 6 * REC_MS);
		r->rows[thread].inside_ns = 10 * REC_MS + 1; /* as only the file can know */
	}
	job = recorded_span(r, REC_ONE, REC_JOB, REC_START, 1000 * REC_MS, 5);
	job.flags = MODEL_ASYNC;
	record_span(r, &job);
	tick.time_ns = REC_START + 6 * REC_MS;
	record_event(r, &tick);
	tick.path = &r->paths[REC_TICK];
	tick.time_ns = REC_START + 3000 * REC_MS;
	record_event(r, &tick);
	record_finish(r);
}

static void check_counts(struct recorded *r, size_t spans, size_t events, size_t threads)
{
	replay_all(r);
	assert_int_equal(r->nspans, spans);
	assert_int_equal(r->nevents, events);
	assert_int_equal(r->profile.nthreads, threads);
}

static void test_everything(void **state)
{
	struct recorded *r = *state;

	make(r);
	check_counts(r, 7, 2, 3);
	assert_int_equal(r->profile.threads[0].inside_ns, 10 * REC_MS + 1);
}

static void test_by_process(void **state)
{
	const pid_t ten[] = {10}, both[] = {20, 10}, none[] = {5};
	struct recorded *r = *state;

	make(r);
	r->filter = (struct replay_filter){.pids = ten, .npids = 1};
	check_counts(r, 5, 2, 2);
	assert_int_equal(r->profile.threads[0].inside_ns, 10 * REC_MS + 1);
	r->filter.pids = both;
	r->filter.npids = 2;
	check_counts(r, 7, 2, 3);
	r->filter.pids = none;
	r->filter.npids = 1;
	check_counts(r, 0, 0, 0);
	assert_int_equal(replay_loss(r, "unknown_names"), 0);
}

static void test_by_thread(void **state)
{
	const pid_t tids[] = {11, 20}, ten[] = {10};
	struct recorded *r = *state;

	make(r);
	r->filter = (struct replay_filter){.tids = tids, .ntids = 2};
	check_counts(r, 4, 0, 2);
	r->filter.pids = ten;
	r->filter.npids = 1;
	check_counts(r, 2, 0, 1);
	assert_string_equal(r->profile.threads[0].thread->comm, "two");
}

static void test_by_provider(void **state)
{
	const char *lib[] = {"li?"}, *two[] = {"none", "a*"};
	struct recorded *r = *state;

	make(r);
	r->filter = (struct replay_filter){.providers = lib, .nproviders = 1};
	check_counts(r, 3, 0, 3);
	/* Its path and its self time are what they were; the thread was inside what is left. */
	assert_int_equal(r->profile.rows[0].path->depth, 2);
	assert_int_equal(r->profile.threads[0].inside_ns, 4 * REC_MS);
	r->filter.providers = two;
	r->filter.nproviders = 2;
	check_counts(r, 4, 2, 3);
	assert_int_equal(r->profile.rows[0].self_ns, 6 * REC_MS);
}

static void test_by_name(void **state)
{
	const char *globs[][1] = {{"b"},     {"lib:b"},    {"b of*"}, {"lib:b of its own"},
				  {"app:b"}, {"app:tick"}, {"[aj]*"}};
	const size_t spans[] = {3, 3, 3, 3, 0, 0, 4}, events[] = {0, 0, 0, 0, 0, 2, 0};
	struct recorded *r = *state;

	make(r);
	for (size_t i = 0; i < 7; i++) {
		r->filter = (struct replay_filter){.spans = globs[i], .nspans = 1};
		check_counts(r, spans[i], events[i], 3);
	}
}

static void test_by_duration(void **state)
{
	struct recorded *r = *state;

	make(r);
	r->filter = (struct replay_filter){.min_ns = 10 * REC_MS};
	check_counts(r, 4, 2, 3);
	r->filter.min_ns++;
	check_counts(r, 1, 2, 3);
}

/* The times are those since the start; what reaches into them is taken whole. */
static void test_by_time(void **state)
{
	struct recorded *r = *state;

	make(r);
	r->filter = (struct replay_filter){.from_ns = 9 * REC_MS + 1};
	check_counts(r, 6, 1, 3);
	r->filter = (struct replay_filter){.from_ns = 9 * REC_MS};
	check_counts(r, 7, 1, 3);
	r->filter = (struct replay_filter){.to_ns = 6 * REC_MS};
	check_counts(r, 3, 1, 3);
	r->filter = (struct replay_filter){.from_ns = 1000 * REC_MS + 1, .to_ns = 1999 * REC_MS};
	check_counts(r, 2, 0, 3);
	assert_int_equal(r->spans[1].end_ns, REC_START + 1010 * REC_MS);
	r->filter = (struct replay_filter){.from_ns = UINT64_MAX, .to_ns = UINT64_MAX};
	check_counts(r, 0, 0, 3);
}

/* A span that starts before the trace, or ends before it starts, is none. */
static void test_what_cannot_be(void **state)
{
	struct recorded *r = *state;
	struct model_event tick = {.thread = &r->threads[REC_ONE], .path = &r->paths[REC_TICK]};

	tick.time_ns = REC_START - 1;
	record_begin(r);
	record_simple(r, REC_ONE, REC_A, REC_START - 1, 10, 10);
	record_simple(r, REC_ONE, REC_A, REC_START, 10, 10);
	record_simple(r, REC_ONE, REC_A, (u64)-5, 10, 10);
	record_event(r, &tick);
	record_finish(r);
	check_counts(r, 1, 0, 3);
	assert_int_equal(replay_loss(r, "damaged"), 3);
}

static int refuse(void *context, const struct model_span *span)
{
	(void)context;
	(void)span;
	return -EDQUOT;
}

static void test_a_sink_that_fails(void **state)
{
	const struct trace_sink sink = {.span = refuse};
	struct recorded *r = *state;
	char path[] = "/tmp/test_replay.XXXXXX";
	int fd = mkstemp(path);

	make(r);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, r->bytes, r->size), r->size);
	close(fd);
	assert_int_equal(replay_open(path, &r->replay), 0);
	unlink(path);
	assert_int_equal(trace_add_sink(replay_trace(r->replay), &sink), 0);
	captured_begin(&r->said, STDERR_FILENO);
	fd = replay_run(r->replay, NULL);
	captured_end(&r->said);
	assert_int_equal(fd, -EDQUOT);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, recorded_setup, recorded_teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_everything),  TEST(test_by_process),     TEST(test_by_thread),
		TEST(test_by_provider), TEST(test_by_name),        TEST(test_by_duration),
		TEST(test_by_time),     TEST(test_what_cannot_be), TEST(test_a_sink_that_fails),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
