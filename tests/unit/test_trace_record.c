/* SPDX-License-Identifier: MIT */
/* Spans, from wire records to rows: every sum is known by construction. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "traced.h"

static void test_one_span(void **state)
{
	struct traced *t = *state;
	const struct model_row *row;

	feed_span(t, 1, PATH_A, 2000, 700, 500);
	row = traced_row(t, 1, PATH_A);
	assert_int_equal(row->count, 1);
	assert_int_equal(row->abandoned, 0);
	assert_int_equal(row->open, 0);
	assert_int_equal(row->wall_ns, 700);
	assert_int_equal(row->busy_ns, 700);
	assert_int_equal(row->self_ns, 500);
	/* Never off the CPU. */
	assert_int_equal(row->total.cpu_ns, 700);
	assert_int_equal(row->self_cpu_ns, 500);
	assert_int_equal(row->total.run_delay_ns, 0);
	assert_int_equal(row->min_ns, 700);
	assert_int_equal(row->max_ns, 700);
	assert_int_equal(row->mean_ns, 700);
	assert_int_equal(row->work.busy_ns, 500);
	assert_int_equal(row->work.cpu_ns, 500);
	assert_int_equal(row->work.idle_ns, 0);
	assert_int_equal(row->work.run_delay_ns, 0);
	assert_int_equal(row->nlabels, 0);
	assert_int_equal(traced_spans(t), 1);
}

static void test_sums(void **state)
{
	struct traced *t = *state;
	const struct model_row *row;
	u64 i;

	/* a of 1000 to 1009, each with a b of 300 inside: rows keep apart by path and by thread. */
	for (i = 0; i < 10; i++) {
		feed_span(t, 1, PATH_A_B, i * 5000 + 100, 300, 300);
		feed_span(t, 1, PATH_A, i * 5000, 1000 + i, 700 + i);
		feed_span(t, 2, PATH_A, i * 5000, 50, 50);
	}
	row = traced_row(t, 1, PATH_A);
	assert_int_equal(row->count, 10);
	assert_int_equal(row->wall_ns, 10045);
	assert_int_equal(row->busy_ns, 10045);
	assert_int_equal(row->self_ns, 7045);
	assert_int_equal(row->min_ns, 1000);
	assert_int_equal(row->max_ns, 1009);
	assert_int_equal(row->mean_ns, 1004);
	row = traced_row(t, 1, PATH_A_B);
	assert_int_equal(row->count, 10);
	assert_int_equal(row->wall_ns, 3000);
	assert_int_equal(row->self_ns, 3000);
	row = traced_row(t, 2, PATH_A);
	assert_int_equal(row->wall_ns, 500);
	assert_int_equal(row->work.busy_ns, 500);
	assert_int_equal(t->profile.nrows, 3);
	assert_int_equal(traced_spans(t), 30);
}

/* To 1 %, as the model promises. */
static void check_quantile(const struct model_row *row, double q, double expected)
{
	u64 got = model_quantile(row, q);

	if ((double)got < expected * 0.99 || (double)got > expected * 1.01)
		fail_msg("quantile %g is %llu, not %g", q, (unsigned long long)got, expected);
}

static void test_quantiles(void **state)
{
	struct traced *t = *state;
	const struct model_row *row;
	u64 i;

	for (i = 1; i <= 10000; i++)
		feed_span(t, 1, PATH_A, 5, (i * 7919 % 10000 + 1) * 1000, 0);
	/* Open ones have no length: they stay out. */
	for (i = 0; i < 5000; i++)
		feed_flagged(t, 1, PATH_A, 1, WIRE_OPEN);
	row = traced_row(t, 1, PATH_A);
	assert_int_equal(row->count, 10000);
	assert_int_equal(row->min_ns, 1000);
	assert_int_equal(row->max_ns, 10000000);
	assert_int_equal(row->mean_ns, 5000500);
	assert_non_null(row->durations);
	check_quantile(row, 0.5, 5e6);
	check_quantile(row, 0.9, 9e6);
	check_quantile(row, 0.99, 9.9e6);
	check_quantile(row, 0.999, 9.99e6);
}

static void test_abandoned_and_open(void **state)
{
	struct traced *t = *state;
	const struct model_row *row;

	feed_flagged(t, 1, PATH_A, 100, 0);
	feed_flagged(t, 1, PATH_A, 7000, WIRE_OPEN);
	feed_flagged(t, 1, PATH_A, 300, WIRE_ABANDONED);
	feed_flagged(t, 1, PATH_A, 1, WIRE_OPEN | WIRE_ABANDONED);
	feed_flagged(t, 1, PATH_C, 40, WIRE_OPEN);
	row = traced_row(t, 1, PATH_A);
	assert_int_equal(row->count, 2);
	assert_int_equal(row->abandoned, 1);
	assert_int_equal(row->open, 2);
	/* Sums hold both; min, max and mean the finished ones alone. */
	assert_int_equal(row->wall_ns, 7401);
	assert_int_equal(row->busy_ns, 7401);
	assert_int_equal(row->work.busy_ns, 7401);
	assert_int_equal(row->min_ns, 100);
	assert_int_equal(row->max_ns, 300);
	assert_int_equal(row->mean_ns, 200);
	row = traced_row(t, 1, PATH_C);
	assert_int_equal(row->count, 0);
	assert_int_equal(row->open, 1);
	assert_int_equal(row->wall_ns, 40);
	assert_int_equal(row->min_ns, 0);
	assert_int_equal(row->max_ns, 0);
	assert_int_equal(row->mean_ns, 0);
	assert_null(row->durations);
	assert_int_equal(model_quantile(row, 0.5), 0);
	assert_int_equal(traced_spans(t), 5);
}

static void test_usage(void **state)
{
	struct wire_span span = make_span(1, PATH_A, 50, 1000, 600);
	struct traced *t = *state;
	const struct model_row *row;

	span.usage = (struct wire_usage){
		.off_ns = 400,
		.run_delay_ns = 150,
		.self_off_ns = 250,
		.self_run_delay_ns = 100,
		.system_ns = 200,
		.self_system_ns = 60,
		.vol_switches = 3,
		.invol_switches = 2,
		.minor_faults = 7,
		.major_faults = 1,
	};
	feed(t, &span);
	feed(t, &span);
	feed_span(t, 1, PATH_A, 60, 10, 10);
	row = traced_row(t, 1, PATH_A);
	assert_int_equal(row->total.cpu_ns, 2 * 600 + 10);
	assert_int_equal(row->total.cpu_system_ns, 2 * 200);
	assert_int_equal(row->self_cpu_system_ns, 2 * 60);
	assert_int_equal(row->work.cpu_system_ns, 2 * 60);
	assert_int_equal(row->total.run_delay_ns, 2 * 150);
	assert_int_equal(row->busy_ns - row->total.cpu_ns - row->total.run_delay_ns, 2 * 250);
	assert_int_equal(row->self_cpu_ns, 2 * 350 + 10);
	assert_int_equal(row->work.busy_ns, 2 * 600 + 10);
	assert_int_equal(row->work.cpu_ns, 2 * 350 + 10);
	assert_int_equal(row->work.run_delay_ns, 2 * 100);
	assert_int_equal(row->total.vol_switches, 6);
	assert_int_equal(row->total.invol_switches, 4);
	assert_int_equal(row->total.minor_faults, 14);
	assert_int_equal(row->total.major_faults, 2);
}

/* The kernel's counters are read one after the other and so may disagree by a little; the parts
 * never add up to more than the whole. */
static void test_usage_is_clamped(void **state)
{
	struct wire_span span = make_span(1, PATH_A, 50, 1000, 600);
	struct traced *t = *state;
	const struct model_row *row;

	span.usage = (struct wire_usage){
		.off_ns = 1001,
		.run_delay_ns = 5000,
		.self_off_ns = UINT64_MAX,
		.self_run_delay_ns = UINT64_MAX,
		.system_ns = 1,
		.self_system_ns = UINT64_MAX,
	};
	feed(t, &span);
	row = traced_row(t, 1, PATH_A);
	assert_int_equal(row->total.cpu_ns, 0);
	assert_int_equal(row->total.cpu_system_ns, 0);
	assert_int_equal(row->self_cpu_system_ns, 0);
	assert_int_equal(row->total.run_delay_ns, 1000);
	assert_int_equal(row->self_cpu_ns, 0);
	assert_int_equal(row->work.run_delay_ns, 600);

	span = make_span(2, PATH_A, 50, 1000, 600);
	span.usage = (struct wire_usage){
		.off_ns = 300, .run_delay_ns = 301, .system_ns = 701, .self_system_ns = 601};
	feed(t, &span);
	row = traced_row(t, 2, PATH_A);
	assert_int_equal(row->total.cpu_ns, 700);
	assert_int_equal(row->total.cpu_system_ns, 700);
	assert_int_equal(row->self_cpu_system_ns, 600);
	assert_int_equal(row->total.run_delay_ns, 300); /* all of the time off the CPU */
	assert_int_equal(row->busy_ns - row->total.cpu_ns - row->total.run_delay_ns, 0);

	span = make_span(3, PATH_A, 50, 1000, 1001); /* more self than busy */
	feed(t, &span);
	row = traced_row(t, 3, PATH_A);
	assert_int_equal(row->self_ns, 1000);
	assert_int_equal(row->self_cpu_ns, 1000);
}

/* A job that was made on thread 1 and worked on by threads 2 and 3. */
static void feed_job(struct traced *t)
{
	struct wire_async job = make_async(1, PATH_JOB, 77, 1000, 11000);
	struct wire_span on_2 = make_span(2, PATH_JOB, 2000, 3000, 2000);
	struct wire_span on_3 = make_span(3, PATH_JOB, 6000, 1000, 1000);

	on_2.head.flags = WIRE_SEGMENT;
	on_2.id = 77;
	on_2.usage.off_ns = 500;
	on_2.usage.self_off_ns = 400;
	on_2.usage.self_run_delay_ns = 50;
	on_3.head.flags = WIRE_SEGMENT;
	on_3.id = 77;
	job.busy_ns = 4000;
	job.self_ns = 3000;
	job.off_ns = 500;
	job.run_delay_ns = 60;
	job.self_off_ns = 400;
	job.self_run_delay_ns = 50;
	job.vol_switches = 9;
	job.invol_switches = 8;
	job.minor_faults = 7;
	job.major_faults = 6;
	feed(t, &on_2);
	feed_span(t, 2, PATH_JOB_C, 2500, 1000, 1000);
	feed(t, &on_3);
	feed(t, &job);
}

static void check_totals_are_zero(const struct model_row *row)
{
	assert_int_equal(row->count, 0);
	assert_int_equal(row->open, 0);
	assert_int_equal(row->wall_ns, 0);
	assert_int_equal(row->busy_ns, 0);
	assert_int_equal(row->self_ns, 0);
	assert_int_equal(row->total.cpu_ns, 0);
	assert_int_equal(row->total.vol_switches, 0);
	assert_int_equal(row->min_ns, 0);
	assert_null(row->durations);
}

static void test_async(void **state)
{
	struct traced *t = *state;
	const struct model_row *row;

	feed_job(t);
	/* The span stands where it was made … */
	row = traced_row(t, 1, PATH_JOB);
	assert_int_equal(row->count, 1);
	assert_int_equal(row->wall_ns, 10000);
	assert_int_equal(row->busy_ns, 4000);
	assert_int_equal(row->self_ns, 3000);
	assert_int_equal(row->total.cpu_ns, 3500);
	assert_int_equal(row->total.run_delay_ns, 60);
	assert_int_equal(row->self_cpu_ns, 2600);
	assert_int_equal(row->total.vol_switches, 9);
	assert_int_equal(row->total.invol_switches, 8);
	assert_int_equal(row->total.minor_faults, 7);
	assert_int_equal(row->total.major_faults, 6);
	assert_int_equal(row->min_ns, 10000);
	assert_int_equal(row->max_ns, 10000);
	assert_int_equal(row->work.busy_ns, 0);
	assert_int_equal(row->work.cpu_ns, 0);
	assert_int_equal(row->work.idle_ns, 6000);
	/* … and the work where it ran. */
	row = traced_row(t, 2, PATH_JOB);
	check_totals_are_zero(row);
	assert_int_equal(row->work.busy_ns, 2000);
	assert_int_equal(row->work.cpu_ns, 1600);
	assert_int_equal(row->work.run_delay_ns, 50);
	assert_int_equal(row->work.idle_ns, 0);
	row = traced_row(t, 3, PATH_JOB);
	check_totals_are_zero(row);
	assert_int_equal(row->work.busy_ns, 1000);
	assert_int_equal(row->work.cpu_ns, 1000);
	row = traced_row(t, 2, PATH_JOB_C);
	assert_int_equal(row->count, 1);
	assert_int_equal(row->work.busy_ns, 1000);
	/* Segments are parts of spans. */
	assert_int_equal(traced_spans(t), 2);
}

/* Overlap of one definition's spans: walls add up to more than the trace, as they should. */
static void test_async_overlap(void **state)
{
	struct traced *t = *state;
	const struct model_row *row;
	u64 id;

	for (id = 1; id <= 100; id++) {
		struct wire_async job = make_async(1, PATH_JOB, id, 1000 + id, 51000 + id);

		job.busy_ns = 100;
		job.self_ns = 100;
		job.head.flags = id % 10 ? 0 : WIRE_ABANDONED;
		feed(t, &job);
	}
	row = traced_row(t, 1, PATH_JOB);
	assert_int_equal(row->count, 100);
	assert_int_equal(row->abandoned, 10);
	assert_int_equal(row->wall_ns, 5000000);
	assert_int_equal(row->work.idle_ns, 4990000);
}

/* Busy on two threads at once is more than wall; a clock of another CPU may be behind. */
static void test_async_clamps(void **state)
{
	struct wire_async job = make_async(1, PATH_JOB, 1, 5000, 6000);
	struct traced *t = *state;
	const struct model_row *row;

	job.busy_ns = 1900;
	job.self_ns = 2000;
	job.off_ns = 2000;
	feed(t, &job);
	row = traced_row(t, 1, PATH_JOB);
	assert_int_equal(row->wall_ns, 1000);
	assert_int_equal(row->busy_ns, 1900);
	assert_int_equal(row->self_ns, 1900);
	assert_int_equal(row->total.cpu_ns, 0);
	assert_int_equal(row->work.idle_ns, 0);

	job = make_async(2, PATH_JOB, 2, 5000, 4999);
	feed(t, &job);
	row = traced_row(t, 2, PATH_JOB);
	assert_int_equal(row->wall_ns, 0);
	assert_int_equal(row->count, 1);
	assert_int_equal(row->max_ns, 0);
}

/* An async span that lives at the end: the kernel's table has no end for it. */
static void test_open_async(void **state)
{
	struct wire_async job = make_async(1, PATH_JOB, 5, 4000, 0);
	struct traced *t = *state;
	const struct model_row *row;

	job.busy_ns = 300;
	job.self_ns = 300;
	trace_open_async(t->trace, &job, 9000);
	row = traced_row(t, 1, PATH_JOB);
	assert_int_equal(row->count, 0);
	assert_int_equal(row->open, 1);
	assert_int_equal(row->wall_ns, 5000);
	assert_int_equal(row->busy_ns, 300);
	assert_int_equal(row->work.idle_ns, 4700);
	assert_int_equal(job.end_ns, 0);
	job.path = TRACED_USED;
	trace_open_async(t->trace, &job, 9000);
	assert_int_equal(trace_damaged(t->trace), 1);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, traced_setup, traced_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_one_span),     TEST(test_sums),
		TEST(test_quantiles),    TEST(test_abandoned_and_open),
		TEST(test_usage),        TEST(test_usage_is_clamped),
		TEST(test_async),        TEST(test_async_overlap),
		TEST(test_async_clamps), TEST(test_open_async),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
