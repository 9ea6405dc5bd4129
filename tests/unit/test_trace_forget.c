/* SPDX-License-Identifier: MIT */
/* What has ended and was told is given back; what lives, or was not told, is not; and what comes late is still counted. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "../../user/trace/trace_impl.h"
#include "traced.h"

#define SECOND 1000000000ull
#define MINUTE (60 * SECOND)

static int setup(void **state)
{
	struct traced *t;
	int err = traced_setup(state);

	t = *state;
	trace_may_forget(t->trace);
	return err;
}

static void feed_life(struct traced *t, u8 kind, u32 process, u32 old)
{
	struct wire_life life = {
		.head = {.size = sizeof(life), .kind = kind},
		.process = process,
		.old_process = old,
	};

	feed(t, &life);
}

static u32 threads(const struct traced *t)
{
	struct trace_counts counts;

	trace_counts(t->trace, &counts);
	return counts.threads;
}

static void tell(struct traced *t)
{
	assert_int_equal(trace_profile_gained(t->trace, TRACED_END, &t->profile), 0);
}

/* Twice, the grace between them. */
static void forget(struct traced *t, u64 now, u64 grace)
{
	trace_forget_ended(t->trace, now, true);
	trace_forget_ended(t->trace, now + grace, true);
}

static void test_process_that_has_ended(void **state)
{
	struct traced *t = *state;

	for (u32 serial = 1; serial <= 3; serial++) {
		feed_thread(t, serial, serial, serial, "app"); /* image 100 + pid */
		feed_span(t, serial, PATH_A_B, 10, 5, 5);
	}
	feed_thread_end(t, 1, 20, 5, "app");
	feed_thread_end(t, 2, 20, 5, "app");
	feed_life(t, WIRE_EXIT, 101, 0);
	tell(t);
	forget(t, SECOND, 1);
	assert_int_equal(threads(t), 3); /* records of it may still be on their way */
	forget(t, SECOND, 3 * SECOND);
	assert_int_equal(threads(t), 2);
	tell(t);
	assert_int_equal(t->profile.nthreads, 2);
	assert_int_equal(traced_row(t, 2, PATH_A_B)->count, 1);
	assert_int_equal(traced_row(t, 3, PATH_A_B)->count, 1);
	/* 2 has ended in a process that lives. */
	forget(t, 5 * SECOND, MINUTE);
	assert_int_equal(threads(t), 1);
	assert_int_equal(traced_row(t, 3, PATH_A_B)->count, 1);
	/* The row that was used last is no shortcut any more. */
	feed_span(t, 1, PATH_A_B, 10, 7, 7);
	assert_int_equal(traced_row(t, 1, PATH_A_B)->wall_ns, 7);
	feed_span(t, 3, PATH_A_B, 10, 7, 7);
	assert_int_equal(traced_row(t, 3, PATH_A_B)->count, 2);
	assert_int_equal(traced_spans(t), 5);
}

static void test_what_was_not_told_stays(void **state)
{
	struct traced *t = *state;

	feed_thread(t, 1, 1, 1, "app");
	feed_span(t, 1, PATH_A, 10, 5, 5);
	tell(t);
	feed_span(t, 1, PATH_A, 20, 6, 6);
	feed_thread_end(t, 1, 30, 11, "app");
	feed_life(t, WIRE_EXIT, 101, 0);
	forget(t, SECOND, MINUTE);
	assert_int_equal(threads(t), 1);
	tell(t);
	assert_int_equal(t->profile.rows[0].wall_ns, 6);
	trace_forget_ended(t->trace, 2 * MINUTE, true);
	assert_int_equal(threads(t), 0);
}

static void test_without_intervals(void **state)
{
	struct traced *t = *state;

	feed_thread(t, 1, 1, 1, "app");
	feed_span(t, 1, PATH_A, 10, 5, 5);
	feed_life(t, WIRE_EXEC, 150,
		  101); /* the image is another; the end of its thread was lost */
	trace_forget_ended(t->trace, SECOND, false);
	trace_forget_ended(t->trace, 4 * SECOND, false);
	assert_int_equal(threads(t), 0);
}

/* Events go with their threads, and rows whose keys clash with those that go are still found. */
static void test_many(void **state)
{
	struct traced *t = *state;

	for (u32 serial = 1; serial <= 2000; serial++) {
		struct wire_event event = make_event(serial, PATH_TICK, 1);

		feed_thread(t, serial, serial, serial, "app");
		feed_span(t, serial, PATH_A, 10, serial, serial);
		feed_span(t, serial, PATH_C, 10, serial, serial);
		feed(t, &event);
		if (serial % 4)
			feed_life(t, WIRE_EXIT, 100 + serial, 0);
	}
	tell(t);
	forget(t, SECOND, MINUTE);
	assert_int_equal(threads(t), 500);
	for (u32 serial = 4; serial <= 2000; serial += 4)
		feed_span(t, serial, PATH_C, 10, 1, 1);
	traced_profile(t);
	assert_int_equal(t->profile.nrows, 1000);
	assert_int_equal(t->profile.nevents, 500);
	for (size_t i = 0; i < t->profile.nrows; i++) {
		const struct model_row *row = &t->profile.rows[i];
		bool is_c = row->path->id == PATH_C;

		assert_int_equal(row->thread->serial % 4, 0);
		assert_int_equal(row->count, is_c ? 2 : 1);
		assert_int_equal(row->wall_ns, row->thread->serial + is_c);
	}
}

/* Blocks that outlive their thread count where they were allocated until they are freed. */
static void test_blocks_in_use(void **state)
{
	struct traced *t = *state;
	struct wire_row row = {.thread = 1, .path = PATH_A, .count = 1, .inuse_objects = 1};

	feed_thread(t, 1, 1, 1, "app");
	trace_take_row(t->trace, &row, NULL, 0);
	feed_thread_end(t, 1, 30, 0, "app");
	tell(t);
	forget(t, SECOND, MINUTE);
	assert_int_equal(threads(t), 1);
	row.count = 0;
	row.inuse_objects = (u64)-1;
	trace_take_row(t->trace, &row, NULL, 0);
	tell(t);
	trace_forget_ended(t->trace, 2 * MINUTE, true);
	assert_int_equal(threads(t), 0);
}

/* Rows that ids split off go once they were told, of a thread that lives too; what has none stays, and nothing is told twice. */
static void test_rows_with_labels(void **state)
{
	static const char *const by[] = {"span_id"};
	struct wire_span span = make_span(1, PATH_A, 10, 5, 5);
	struct traced *t = *state;

	trace_split_by(t->trace, by, 1);
	feed_thread(t, 1, 1, 1, "app");
	feed_span(t, 1, PATH_A, 10, 5, 5);
	span.head.size = sizeof(span);
	span.ids.kinds = WIRE_ID(1);
	for (u32 round = 0; round < 3; round++) {
		for (span.ids.values[1] = 0; span.ids.values[1] < 1000; span.ids.values[1]++)
			feed(t, &span);
		/* What was not told yet stays. */
		trace_forget_ended(t->trace, SECOND, true);
		assert_int_equal(t->trace->rows.used, 1001);
		tell(t);
		assert_int_equal(t->profile.nrows, round ? 1000 : 1001);
		for (size_t i = 0; i < t->profile.nrows; i++)
			assert_int_equal(t->profile.rows[i].count, 1);
		trace_forget_ended(t->trace, SECOND, true);
		assert_int_equal(t->trace->rows.used, 1);
		assert_int_equal(threads(t), 1);
	}
	assert_int_equal(traced_row(t, 1, PATH_A)->count, 1);
}

/* Nobody asked: nothing is noted, nothing goes. */
static void test_others_keep_all(void **state)
{
	struct traced *t = *state;

	feed_thread(t, 1, 1, 1, "app");
	feed_span(t, 1, PATH_A, 10, 5, 5);
	feed_life(t, WIRE_EXIT, 101, 0);
	assert_int_equal(t->trace->dead.used, 0);
	assert_int_equal(traced_row(t, 1, PATH_A)->count, 1);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, traced_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_process_that_has_ended),
		TEST(test_what_was_not_told_stays),
		TEST(test_without_intervals),
		TEST(test_many),
		TEST(test_blocks_in_use),
		TEST(test_rows_with_labels),
		cmocka_unit_test_setup_teardown(test_others_keep_all, traced_setup,
						traced_teardown),
	};

	return cmocka_run_group_tests_name("trace_forget", tests, NULL, NULL);
}
