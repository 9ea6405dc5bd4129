/* SPDX-License-Identifier: MIT */
/* Threads that begin, are named and end, in whatever order their records come. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "traced.h"

static void test_thread_named_late(void **state)
{
	struct wire_thread thread = make_thread(1, 10, 12, TRACED_BEGIN + 5000, "worker");
	struct traced *t = *state;
	const struct model_thread *model;

	feed_span(t, 1, PATH_A, 2000, 100, 100);
	model = traced_row(t, 1, PATH_A)->thread;
	assert_string_equal(model->comm, "?");
	assert_int_equal(model->pid, 0);
	assert_int_equal(model->start_ns, TRACED_BEGIN);
	feed(t, &thread);
	assert_ptr_equal(traced_row(t, 1, PATH_A)->thread, model);
	assert_string_equal(model->comm, "worker");
	assert_int_equal(model->serial, 1);
	assert_int_equal(model->pid, 10);
	assert_int_equal(model->tid, 12);
	assert_int_equal(model->start_ns, TRACED_BEGIN + 5000);
	assert_int_equal(model->end_ns, 0);
}

/* A thread older than the trace was seen from the trace's beginning. */
static void test_thread_start(void **state)
{
	struct wire_thread thread = make_thread(1, 10, 12, TRACED_BEGIN - 5000, "old");
	struct traced *t = *state;

	feed(t, &thread);
	assert_int_equal(traced_thread(t, 1)->thread->start_ns, TRACED_BEGIN);
}

static void test_thread_end(void **state)
{
	struct traced *t = *state;
	const struct model_thread_row *row;

	feed_thread(t, 1, 10, 12, "young");
	feed_span(t, 1, PATH_A, 2000, 100, 100);
	feed_thread_end(t, 1, TRACED_BEGIN + 8000, 450, "renamed");
	row = traced_thread(t, 1);
	assert_string_equal(row->thread->comm, "renamed");
	assert_int_equal(row->thread->end_ns, TRACED_BEGIN + 8000);
	assert_int_equal(row->end_ns, TRACED_BEGIN + 8000);
	assert_int_equal(row->inside_ns, 450); /* what the kernel says, not the sum of what came */
	/* The end first and then the beginning: the later name stays. */
	feed_thread(t, 1, 10, 12, "young");
	feed_span(t, 1, PATH_A, 3000, 100, 100);
	row = traced_thread(t, 1);
	assert_string_equal(row->thread->comm, "renamed");
	assert_int_equal(row->inside_ns, 450);
	assert_int_equal(row->thread->pid, 10);
	/* An end without anything before it is a thread too. */
	feed_thread_end(t, 2, TRACED_BEGIN + 9000, 0, "brief");
	assert_string_equal(traced_thread(t, 2)->thread->comm, "brief");
}

static void test_thread_name_without_end(void **state)
{
	struct wire_thread thread = make_thread(1, 10, 12, 0, "");
	struct traced *t = *state;

	memset(thread.comm, 'x', sizeof(thread.comm));
	feed(t, &thread);
	assert_string_equal(traced_thread(t, 1)->thread->comm, "xxxxxxxxxxxxxxx");
	feed_thread(t, 1, 10, 12, "short");
	assert_string_equal(traced_thread(t, 1)->thread->comm, "short");
}

static void feed_in_order(struct traced *t, const struct wire_span *spans, size_t n, size_t step)
{
	size_t i;

	for (i = 0; i < n; i++)
		feed(t, &spans[i * step % n]);
}

/* Whichever ring is read first: the same records in any order give the same profile. */
static void test_order_does_not_matter(void **state)
{
	enum { N = 101 };
	static const u32 paths[] = {PATH_A, PATH_A_B, PATH_A_B_C, PATH_C};
	const struct model_row *ours, *theirs;
	struct wire_span spans[N];
	struct traced *t = *state;
	void *second = NULL;
	struct traced *u;
	size_t i;

	for (i = 0; i < N; i++) {
		spans[i] = make_span(1 + i % 3, paths[i % 4], 10 * i, 100 + i * i, 50 + i);
		spans[i].head.flags = i % 7 ? 0 : WIRE_OPEN;
		spans[i].usage.off_ns = i;
	}
	assert_int_equal(traced_setup(&second), 0);
	u = second;
	feed_in_order(t, spans, N, 1);
	feed_in_order(u, spans, N, 37);
	traced_profile(t);
	traced_profile(u);
	assert_int_equal(t->profile.nrows, 12);
	assert_int_equal(u->profile.nrows, 12);
	for (i = 0; i < 12; i++) {
		ours = &t->profile.rows[i];
		theirs = &u->profile.rows[i];
		assert_int_equal(ours->thread->serial, theirs->thread->serial);
		assert_int_equal(ours->path->id, theirs->path->id);
		assert_int_equal(ours->count, theirs->count);
		assert_int_equal(ours->open, theirs->open);
		assert_int_equal(ours->wall_ns, theirs->wall_ns);
		assert_int_equal(ours->self_ns, theirs->self_ns);
		assert_int_equal(ours->total.cpu_ns, theirs->total.cpu_ns);
		assert_int_equal(ours->min_ns, theirs->min_ns);
		assert_int_equal(ours->max_ns, theirs->max_ns);
		assert_int_equal(ours->mean_ns, theirs->mean_ns);
	}
	traced_teardown(&second);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, traced_setup, traced_teardown)

/* Beyond TRACE_THREADS_MAX no thread has rows of its own, and nothing is lost. */
static void test_more_than_there_is_room_for(void **state)
{
	struct traced *t = *state;
	const struct model_row *row;
	u32 i;

	for (i = 1; i <= TRACE_THREADS_MAX + 10; i++) {
		feed_thread(t, i, i, i, "short");
		feed_span(t, i, PATH_A, 2000, 100, 100);
		feed_thread_end(t, i, TRACED_BEGIN + 8000, 100, "short");
	}
	assert_int_equal(trace_folded_threads(t->trace), 10);
	row = traced_row(t, TRACE_THREADS_MAX, PATH_A);
	assert_int_equal(row->count, 1);
	assert_int_equal(row->thread->pid, TRACE_THREADS_MAX);
	row = traced_row(t, UINT32_MAX, PATH_A);
	assert_int_equal(row->count, 10);
	assert_string_equal(row->thread->comm, "(other threads)");
	assert_int_equal(row->thread->pid, 0);
	assert_int_equal(traced_thread(t, UINT32_MAX)->inside_ns, 1000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_thread_named_late),
		TEST(test_thread_start),
		TEST(test_thread_end),
		TEST(test_thread_name_without_end),
		TEST(test_order_does_not_matter),
		TEST(test_more_than_there_is_room_for),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
