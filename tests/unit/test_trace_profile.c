/* SPDX-License-Identifier: MIT */
/* From rows to a profile: order, times, running threads, and as often as one likes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <cmocka.h>

#include "traced.h"

static void test_times(void **state)
{
	struct traced *t = *state;
	const struct profile *profile = traced_profile(t);

	assert_int_equal(profile->start_ns, TRACED_BEGIN);
	assert_int_equal(profile->end_ns, TRACED_END);
	assert_int_equal(profile->start_realtime_ns, TRACED_REALTIME);
	assert_int_equal(profile->metrics, METRIC_WALL | METRIC_CPU);
}

/* Only its own fields: the others are the session's. */
static void test_leaves_the_rest_alone(void **state)
{
	struct traced *t = *state;

	t->profile.version = "1";
	t->profile.target = "target";
	t->profile.nlosses = 3;
	t->profile.nrefused = 4;
	traced_profile(t);
	assert_string_equal(t->profile.version, "1");
	assert_string_equal(t->profile.target, "target");
	assert_int_equal(t->profile.nlosses, 3);
	assert_int_equal(t->profile.nrefused, 4);
}

static void check_order(const struct profile *profile, const u32 (*expected)[2], size_t n)
{
	size_t i;

	assert_int_equal(profile->nrows, n);
	for (i = 0; i < n; i++)
		if (profile->rows[i].thread->serial != expected[i][0] ||
		    profile->rows[i].path->id != expected[i][1])
			fail_msg("row %zu is of thread %u and path %u, not %u and %u", i,
				 profile->rows[i].thread->serial, profile->rows[i].path->id,
				 expected[i][0], expected[i][1]);
}

/* Parents before children, a subtree together, siblings in order of their first appearance. */
static void test_paths_in_order(void **state)
{
	/* A second c under a, seen last, still stands under a. */
	enum { A_C = TRACED_USED };
	static const u32 fed[] = {PATH_JOB_C, A_C, PATH_C, PATH_A_B_C, PATH_JOB, PATH_A, PATH_A_B};
	static const u32 expected[][2] = {
		{1, PATH_A}, {1, PATH_A_B}, {1, PATH_A_B_C}, {1, A_C},
		{1, PATH_C}, {1, PATH_JOB}, {1, PATH_JOB_C},
	};
	struct traced *t = *state;
	size_t i;

	traced_path(t, A_C, PATH_A, DEF_C);
	for (i = 0; i < 7; i++)
		feed_span(t, 1, fed[i], 1, 1, 1);
	check_order(traced_profile(t), expected, 7);
}

/* Parents may have no row of their own: their records were lost. */
static void test_order_without_parents(void **state)
{
	static const u32 expected[][2] = {{1, PATH_A_B_C}, {1, PATH_C}, {1, PATH_JOB_C}};
	struct traced *t = *state;

	feed_span(t, 1, PATH_JOB_C, 1, 1, 1);
	feed_span(t, 1, PATH_C, 1, 1, 1);
	feed_span(t, 1, PATH_A_B_C, 1, 1, 1);
	check_order(traced_profile(t), expected, 3);
}

/* By pid, then tid; a tid that was used twice by what came first. */
static void test_threads_in_order(void **state)
{
	static const u32 expected[][2] = {{5, PATH_A}, {2, PATH_A}, {4, PATH_A},
					  {4, PATH_C}, {3, PATH_A}, {1, PATH_A}};
	static const u32 serials[] = {5, 2, 4, 3, 1};
	struct traced *t = *state;
	size_t i;

	for (i = 1; i <= 5; i++)
		feed_span(t, (u32)i, PATH_A, 1, 1, 1);
	feed_span(t, 4, PATH_C, 1, 1, 1);
	feed_thread(t, 1, 3000, 5, "e");
	feed_thread(t, 2, 200, 300, "b");
	feed_thread(t, 3, 200, 1000, "d");
	feed_thread(t, 4, 200, 300, "c");
	feed_thread(t, 5, 30, 2000000000, "a");
	check_order(traced_profile(t), expected, 6);
	assert_int_equal(t->profile.nthreads, 5);
	for (i = 0; i < 5; i++)
		assert_int_equal(t->profile.threads[i].thread->serial, serials[i]);
}

/* By thread as rows are, then by definition. */
static void test_events_in_order(void **state)
{
	enum { A_TOCK = TRACED_USED };
	const struct model_def tock = {.kind = MODEL_EVENT, .provider = "app", .name = "tock"};
	struct traced *t = *state;
	struct wire_event event;
	const char *names[4];
	u32 id, serial;
	size_t i;

	assert_int_equal(trace_add_def(t->trace, &tock, &id), 0);
	traced_path(t, A_TOCK, PATH_A, id);
	for (serial = 1; serial <= 2; serial++) {
		event = make_event(serial, A_TOCK, 1);
		feed(t, &event);
		event = make_event(serial, PATH_TICK, 1);
		feed(t, &event);
	}
	feed_thread(t, 1, 10, 12, "second");
	feed_thread(t, 2, 10, 11, "first");
	traced_profile(t);
	assert_int_equal(t->profile.nevents, 4);
	for (i = 0; i < 4; i++) {
		assert_int_equal(t->profile.events[i].thread->serial, i < 2 ? 2 : 1);
		names[i] = t->profile.events[i].def->name;
	}
	assert_string_equal(names[0], "tick");
	assert_string_equal(names[1], "tock");
	assert_string_equal(names[2], "tick");
	assert_string_equal(names[3], "tock");
}

/* A running thread was inside spans for as long as its rows say; one that ended told it itself. */
static void test_inside(void **state)
{
	struct wire_span segment = make_span(1, PATH_JOB, 1000, 400, 300);
	struct wire_async job = make_async(2, PATH_JOB, 1, 1000, 9000);
	struct traced *t = *state;

	feed_span(t, 1, PATH_A_B, 1000, 200, 200);
	feed_span(t, 1, PATH_A, 1000, 1000, 800);
	segment.head.flags = WIRE_SEGMENT;
	feed(t, &segment);
	feed(t, &job); /* the wall of what was made on thread 2 is no time inside it */
	feed_span(t, 3, PATH_A, 1000, 5000, 5000);
	feed_thread_end(t, 3, TRACED_BEGIN + 7000, 4900, "gone");
	assert_int_equal(traced_thread(t, 1)->inside_ns, 200 + 800 + 300);
	assert_int_equal(traced_thread(t, 1)->end_ns, TRACED_END);
	assert_int_equal(traced_thread(t, 1)->thread->end_ns, 0);
	assert_int_equal(traced_thread(t, 2)->inside_ns, 0);
	assert_int_equal(traced_thread(t, 3)->inside_ns, 4900);
	assert_int_equal(traced_thread(t, 3)->end_ns, TRACED_BEGIN + 7000);
	/* Again, after more has come: not added up twice. */
	feed_span(t, 1, PATH_C, 5000, 50, 50);
	assert_int_equal(traced_thread(t, 1)->inside_ns, 1350);
	feed_thread_end(t, 1, TRACED_BEGIN + 8000, 1360, "gone");
	assert_int_equal(traced_thread(t, 1)->inside_ns, 1360);
}

/* A profile is a look at the trace as it stands, not its end. */
static void test_profile_again(void **state)
{
	struct traced *t = *state;
	const struct model_row *row;

	feed_span(t, 1, PATH_A, 1, 100, 100);
	row = traced_row(t, 1, PATH_A);
	assert_int_equal(row->mean_ns, 100);
	assert_int_equal(t->profile.nrows, 1);
	feed_span(t, 1, PATH_A, 1, 300, 300);
	feed_span(t, 1, PATH_C, 1, 1, 1);
	row = traced_row(t, 1, PATH_A);
	assert_int_equal(t->profile.nrows, 2);
	assert_int_equal(row->count, 2);
	assert_int_equal(row->mean_ns, 200);
	assert_int_equal(row->min_ns, 100);
	assert_int_equal(row->max_ns, 300);
}

static void test_deep_rows(void **state)
{
	enum { DEPTH = 10000, STEP = 7919 };
	struct wire_path *table = calloc(DEPTH + PATHS_RESERVED, sizeof(*table));
	const struct model_def def = {.kind = MODEL_THREAD_SPAN, .provider = "app", .name = "deep"};
	struct traced t = {0};
	u32 i, id;

	(void)state;
	assert_non_null(table);
	assert_int_equal(trace_new(table, DEPTH + PATHS_RESERVED, METRIC_WALL, &t.trace), 0);
	assert_int_equal(trace_add_def(t.trace, &def, &id), 0);
	for (i = 1; i < DEPTH; i++)
		table[PATHS_RESERVED + i].parent = PATHS_RESERVED + i - 1;
	/* A row for every hundredth; the path of each is as long as it is deep. */
	for (i = 0; i < DEPTH; i++)
		if (i * STEP % DEPTH % 100 == 0)
			feed_span(&t, 1, PATHS_RESERVED + i * STEP % DEPTH, 1, 1, 1);
	traced_profile(&t);
	assert_int_equal(t.profile.nrows, 100);
	for (i = 0; i < 100; i++)
		assert_int_equal(t.profile.rows[i].path->depth, i * 100 + 1);
	trace_free(&t.trace);
	free(table);
}

static double seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* 100 threads of 1,000 paths each, ten spans in every row. The limit is generous, for a loaded
 * machine and the sanitizers; a table that degrades takes minutes. */
static void test_many_rows(void **state)
{
	enum { THREADS = 100, PATHS = 1000, TIMES = 10 };
	struct wire_path *table = calloc(PATHS + PATHS_RESERVED, sizeof(*table));
	struct trace *trace = NULL;
	struct profile profile = {0};
	struct wire_span span = make_span(0, 0, 1000, 50, 50);
	const double begin = seconds();
	char name[16];
	u32 i, id, path, thread, time;

	(void)state;
	assert_non_null(table);
	assert_int_equal(trace_new(table, PATHS + PATHS_RESERVED, METRIC_WALL, &trace), 0);
	for (i = 0; i < PATHS; i++) {
		struct model_def def = {.kind = MODEL_THREAD_SPAN, .provider = "app", .name = name};

		snprintf(name, sizeof(name), "n%u", i);
		assert_int_equal(trace_add_def(trace, &def, &id), 0);
		/* Chains of ten. */
		table[PATHS_RESERVED + i].parent = i % 10 ? PATHS_RESERVED + i - 1 : PATH_ROOT;
		table[PATHS_RESERVED + i].def = id;
	}
	span.head.size = WIRE_SPAN_SHORT;
	for (time = 0; time < TIMES; time++)
		for (path = 0; path < PATHS; path++)
			for (thread = 1; thread <= THREADS; thread++) {
				span.head.thread = thread;
				span.path = PATHS_RESERVED + path;
				trace_record(trace, &span, span.head.size);
			}
	assert_int_equal(trace_profile(trace, 2000, &profile), 0);
	assert_int_equal(profile.nrows, THREADS * PATHS);
	assert_int_equal(profile.nthreads, THREADS);
	for (i = 0; i < profile.nrows; i++)
		if (profile.rows[i].thread->serial != 1 + i / PATHS ||
		    profile.rows[i].path->id != PATHS_RESERVED + i % PATHS ||
		    profile.rows[i].count != TIMES || profile.rows[i].wall_ns != 50 * TIMES)
			fail_msg("row %u is not what it should be", i);
	assert_int_equal(profile.threads[0].inside_ns, 50 * TIMES * PATHS);
	trace_free(&trace);
	free(table);
	assert_true(seconds() - begin < 20);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, traced_setup, traced_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_times),
		TEST(test_leaves_the_rest_alone),
		TEST(test_paths_in_order),
		TEST(test_order_without_parents),
		TEST(test_threads_in_order),
		TEST(test_events_in_order),
		TEST(test_inside),
		TEST(test_profile_again),
		cmocka_unit_test(test_deep_rows),
		cmocka_unit_test(test_many_rows),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
