/* SPDX-License-Identifier: MIT */
/* What a trace gained between two looks at it: the parts add up to the whole, and each knows its time. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "../../user/trace/trace_impl.h"
#include "traced.h"

static const struct profile *gained(struct traced *t, u64 end_ns)
{
	assert_int_equal(trace_profile_gained(t->trace, end_ns, &t->profile), 0);
	return &t->profile;
}

static void test_first_is_all(void **state)
{
	struct traced *t = *state;
	const struct profile *profile;

	feed_span(t, 1, PATH_A_B, 10, 5, 5);
	feed_span(t, 1, PATH_A, 10, 9, 4);
	profile = gained(t, TRACED_BEGIN + 100);
	assert_int_equal(profile->nrows, 2);
	assert_int_equal(profile->rows[0].busy_ns, 9);
	assert_int_equal(profile->rows[0].work.busy_ns, 4);
	assert_int_equal(profile->rows[1].count, 1);
	assert_int_equal(profile->start_ns, TRACED_BEGIN);
	assert_int_equal(profile->end_ns, TRACED_BEGIN + 100);
	assert_int_equal(profile->start_realtime_ns, TRACED_REALTIME);
	assert_int_equal(profile->nthreads, 1);
}

static void test_then_what_is_new(void **state)
{
	struct traced *t = *state;
	const struct profile *profile;
	struct wire_event event = make_event(1, PATH_TICK, 1);

	feed_span(t, 1, PATH_A, 10, 9, 9);
	feed_span(t, 1, PATH_C, 10, 1, 1);
	feed(t, &event);
	gained(t, TRACED_BEGIN + 100);
	feed_span(t, 1, PATH_A, 20, 7, 7);
	feed_span(t, 2, PATH_A, 20, 3, 2);
	profile = gained(t, TRACED_BEGIN + 300);
	assert_int_equal(profile->nrows, 2); /* c gained nothing */
	assert_int_equal(profile->rows[0].thread->serial, 1);
	assert_int_equal(profile->rows[0].count, 1);
	assert_int_equal(profile->rows[0].wall_ns, 7);
	assert_int_equal(profile->rows[0].self_ns, 7);
	assert_int_equal(profile->rows[0].work.busy_ns, 7);
	assert_int_equal(profile->rows[1].thread->serial, 2);
	assert_int_equal(profile->rows[1].work.busy_ns, 2);
	assert_int_equal(profile->nevents, 0);
	assert_int_equal(profile->start_ns, TRACED_BEGIN + 100);
	assert_int_equal(profile->start_realtime_ns, TRACED_REALTIME + 100);
	/* An interval of nothing is one too. */
	profile = gained(t, TRACED_BEGIN + 400);
	assert_int_equal(profile->nrows, 0);
	assert_int_equal(profile->start_ns, TRACED_BEGIN + 300);
}

/* What is known of single spans only is not known of a part of them. */
static void test_no_extremes(void **state)
{
	struct traced *t = *state;
	const struct profile *profile;

	feed_span(t, 1, PATH_A, 10, 9, 9);
	profile = gained(t, TRACED_END);
	assert_int_equal(profile->rows[0].min_ns, 0);
	assert_int_equal(profile->rows[0].max_ns, 0);
	assert_int_equal(profile->rows[0].mean_ns, 0);
	assert_null(profile->rows[0].durations);
}

/* With intervals they are: of spans that ended in it, and of no others. */
static void test_intervals(void **state)
{
	struct traced *t = *state;
	const struct model_row *row;

	trace_begin_interval(t->trace);
	feed_span(t, 1, PATH_A, 100, 40, 40);
	feed_span(t, 1, PATH_A, 200, 60, 60);
	feed_span(t, 1, PATH_C, 200, 5, 5);
	row = &gained(t, TRACED_BEGIN + 300)->rows[0];
	assert_int_equal(row->count, 2);
	assert_int_equal(row->min_ns, 40);
	assert_int_equal(row->max_ns, 60);
	assert_int_equal(row->mean_ns, 50);
	assert_int_equal(histogram_count(row->durations), 2);
	trace_begin_interval(t->trace);
	feed_span(t, 1, PATH_A, 400, 7, 7);
	row = &gained(t, TRACED_BEGIN + 500)->rows[0];
	assert_int_equal(t->profile.nrows, 1);
	assert_int_equal(row->count, 1);
	assert_int_equal(row->min_ns, 7);
	assert_int_equal(row->max_ns, 7);
	assert_int_equal(row->mean_ns, 7);
	assert_int_equal(model_quantile(row, 0.5), 7);
	trace_begin_interval(t->trace);
	/* Sums go on. */
	assert_int_equal(traced_row(t, 1, PATH_A)->count, 3);
	assert_int_equal(traced_row(t, 1, PATH_A)->wall_ns, 107);
}

/* Totals are the same whether somebody takes parts or not. */
static void test_totals_stay(void **state)
{
	struct traced *t = *state;
	const struct model_row *row;

	feed_span(t, 1, PATH_A, 10, 9, 9);
	gained(t, TRACED_BEGIN + 100);
	feed_span(t, 1, PATH_A, 20, 7, 7);
	row = traced_row(t, 1, PATH_A);
	assert_int_equal(row->count, 2);
	assert_int_equal(row->wall_ns, 16);
	assert_int_equal(row->max_ns, 9);
	assert_int_equal(t->profile.start_ns, TRACED_BEGIN);
	assert_int_equal(gained(t, TRACED_END)->rows[0].wall_ns, 7);
}

/* Each number is a sum, but for extremes, which are not known, and memory in use: of that there is so much. */
static void test_every_field(void **state)
{
	enum { AT = offsetof(struct model_row, count), END = offsetof(struct model_row, nlabels) };
	struct trace_row row = {0};
	struct model_row gain;
	bool any;

	(void)state;
	for (u64 round = 1; round <= 2; round++) {
		for (size_t at = AT; at < END; at += sizeof(u64)) {
			u64 sum;

			memcpy(&sum, (char *)&row.model + at, sizeof(sum));
			sum += round * 1000 + at;
			memcpy((char *)&row.model + at, &sum, sizeof(sum));
		}
		gain = row.model;
		assert_int_equal(trace_row_gain(&row, false, &gain, &any), 0);
		assert_true(any);
		for (size_t at = AT; at < END; at += sizeof(u64)) {
			u64 got, want = round * 1000 + at;

			memcpy(&got, (char *)&gain + at, sizeof(got));
			if (at == offsetof(struct model_row, min_ns) ||
			    at == offsetof(struct model_row, max_ns) ||
			    at == offsetof(struct model_row, mean_ns))
				want = 0;
			if (at == offsetof(struct model_row, inuse_objects) ||
			    at == offsetof(struct model_row, inuse_bytes) ||
			    at == offsetof(struct model_row, leak_objects) ||
			    at == offsetof(struct model_row, leak_bytes) ||
			    at == offsetof(struct model_row, leak_oldest_ns) ||
			    at == offsetof(struct model_row, work.inuse_objects) ||
			    at == offsetof(struct model_row, work.inuse_bytes))
				memcpy(&want, (char *)&row.model + at, sizeof(want));
			assert_int_equal(got, want);
		}
	}
	gain = row.model;
	assert_int_equal(trace_row_gain(&row, false, &gain, &any), 0);
	assert_true(any); /* something is in use */
	row.model.inuse_objects = row.model.inuse_bytes = 0;
	gain = row.model;
	assert_int_equal(trace_row_gain(&row, false, &gain, &any), 0);
	assert_true(any); /* something was */
	gain = row.model;
	assert_int_equal(trace_row_gain(&row, false, &gain, &any), 0);
	assert_false(any);
	free(row.told);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, traced_setup, traced_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_first_is_all), TEST(test_then_what_is_new), TEST(test_no_extremes),
		TEST(test_intervals),    TEST(test_totals_stay),      TEST(test_every_field),
	};

	return cmocka_run_group_tests_name("trace_gain", tests, NULL, NULL);
}
