/* SPDX-License-Identifier: MIT */
/* What the kernel added up becomes the same row as the records would have. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "../../user/trace/trace_impl.h"
#include "traced.h"

/* Two spans of 100 and 300 ns, off the CPU for 40 of the second; 10 of that waiting. */
static void test_a_row_is_the_sum_of_its_records(void **state)
{
	struct traced *t = *state;
	struct wire_row gained = {
		.thread = 2,
		.path = PATH_A_B,
		.count = 2,
		.abandoned = 1,
		.wall_ns = 400,
		.busy_ns = 400,
		.self_ns = 350,
		.off_ns = 40,
		.run_delay_ns = 10,
		.self_off_ns = 30,
		.self_run_delay_ns = 5,
		.system_ns = 120,
		.self_system_ns = 90,
		.vol_switches = 3,
		.minor_faults = 4,
		.least_ns = ~100ull,
		.most_ns = 300,
	};
	struct wire_octave pieces[] = {
		{.octave = 1, .counts = {[100 - 64] = 1}},
		{.octave = 3, .counts = {[(300 - 256) / 4] = 1}},
	};
	struct wire_span span = make_span(1, PATH_A_B, 5000, 100, 100);
	struct model_row added;
	const struct model_row *row, *other;
	u32 i;

	feed_thread(t, 1, 10, 10, "streamed");
	feed_thread(t, 2, 10, 11, "added");
	trace_take_row(t->trace, &gained, pieces, 2);
	span.head.flags = WIRE_ABANDONED;
	feed(t, &span);
	span = make_span(1, PATH_A_B, 6000, 300, 250);
	span.usage = (struct wire_usage){.off_ns = 40,
					 .run_delay_ns = 10,
					 .self_off_ns = 30,
					 .self_run_delay_ns = 5,
					 .system_ns = 120,
					 .self_system_ns = 90,
					 .vol_switches = 3,
					 .minor_faults = 4};
	feed(t, &span);
	added = *traced_row(t, 2, PATH_A_B); /* rows live until the next is asked for */
	row = &added;
	other = traced_row(t, 1, PATH_A_B);
	assert_int_equal(row->count, 2);
	assert_int_equal(row->abandoned, 1);
	assert_int_equal(row->wall_ns, 400);
	assert_int_equal(row->busy_ns, 400);
	assert_int_equal(row->self_ns, 350);
	assert_int_equal(row->self_cpu_ns, 320);
	assert_int_equal(row->total.cpu_ns, 360);
	assert_int_equal(row->total.cpu_system_ns, 120);
	assert_int_equal(row->self_cpu_system_ns, 90);
	assert_int_equal(row->work.cpu_system_ns, 90);
	assert_int_equal(row->total.run_delay_ns, 10);
	assert_int_equal(row->min_ns, 100);
	assert_int_equal(row->max_ns, 300);
	assert_int_equal(row->mean_ns, 200);
	assert_memory_equal(&row->total, &other->total, sizeof(row->total));
	assert_memory_equal(&row->work, &other->work, sizeof(row->work));
	assert_int_equal(row->self_cpu_ns, other->self_cpu_ns);
	assert_int_equal(row->self_cpu_system_ns, other->self_cpu_system_ns);
	for (i = 0; i <= 10; i++)
		assert_int_equal(model_quantile(row, i / 10.0), model_quantile(other, i / 10.0));
}

static void test_gains_add_up(void **state)
{
	struct traced *t = *state;
	struct wire_row gained = {.thread = 1,
				  .path = PATH_C,
				  .count = 1,
				  .open = 1,
				  .wall_ns = 70,
				  .open_wall_ns = 20,
				  .busy_ns = 70,
				  .self_ns = 70,
				  .least_ns = ~50ull,
				  .most_ns = 50};
	struct wire_octave piece = {.octave = 0, .counts = {[50] = 1}};
	struct trace_counts counts;
	const struct model_row *row;

	trace_take_row(t->trace, &gained, &piece, 1);
	trace_take_row(t->trace, &gained, &piece, 1);
	row = traced_row(t, 1, PATH_C);
	assert_int_equal(row->count, 2);
	assert_int_equal(row->open, 2);
	assert_int_equal(row->wall_ns, 140);
	assert_int_equal(row->mean_ns, 50);
	assert_int_equal(row->max_ns, 50);
	assert_int_equal(row->work.cpu_ns, 140);
	trace_counts(t->trace, &counts);
	assert_int_equal(counts.spans, 4);
}

/* An async span's busy time ran elsewhere: here it leaves its idle time, and what of it ran here. */
static void test_async_rows(void **state)
{
	struct traced *t = *state;
	struct wire_row gained = {.thread = 1,
				  .path = PATH_JOB,
				  .count = 1,
				  .wall_ns = 1000,
				  .busy_ns = 400,
				  .self_ns = 300,
				  .segment_ns = 120,
				  .segment_off_ns = 20,
				  .segment_run_delay_ns = 5,
				  .system_ns = 90,
				  .self_system_ns = 80,
				  .segment_system_ns = 30,
				  .least_ns = ~1000ull,
				  .most_ns = 1000,
				  .async = 1};
	const struct model_row *row;

	trace_take_row(t->trace, &gained, NULL, 0);
	row = traced_row(t, 1, PATH_JOB);
	assert_int_equal(row->work.idle_ns, 600);
	assert_int_equal(row->work.busy_ns, 120);
	assert_int_equal(row->work.cpu_ns, 100);
	assert_int_equal(row->work.run_delay_ns, 5);
	assert_int_equal(row->work.cpu_system_ns, 30);
	assert_int_equal(row->total.cpu_system_ns, 90);
	assert_int_equal(row->self_cpu_system_ns, 80);
	assert_int_equal(row->self_ns, 300);
}

static void test_event_rows(void **state)
{
	struct traced *t = *state;
	struct wire_row gained = {
		.thread = 1, .path = PATH_TICK, .count = 3, .wall_ns = (u64)-7, .values = 1};
	const struct profile *profile;

	trace_take_row(t->trace, &gained, NULL, 0);
	gained.path = PATH_A_TICK; /* the same event, under another path: one row */
	trace_take_row(t->trace, &gained, NULL, 0);
	profile = traced_profile(t);
	assert_int_equal(profile->nevents, 1);
	assert_int_equal(profile->events[0].count, 6);
	assert_int_equal(profile->events[0].sum, -14);
	assert_true(profile->events[0].has_sum);
}

static void test_rows_of_no_path(void **state)
{
	struct traced *t = *state;
	struct wire_row gained = {.thread = 1, .path = TRACED_USED, .count = 1};

	trace_take_row(t->trace, &gained, NULL, 0);
	assert_int_equal(trace_damaged(t->trace), 1);
	assert_int_equal(traced_profile(t)->nrows, 0);
}

static int count_span(void *context, const struct model_span *span)
{
	*(u64 *)context += span->busy_ns;
	return 0;
}

/* Nothing is added up but what threads were inside spans; sinks see all. */
static void test_no_rows(void **state)
{
	struct traced *t = *state;
	u64 busy_ns = 0;
	const struct trace_sink sink = {.context = &busy_ns, .span = count_span};
	const struct profile *profile;
	struct trace_counts counts;

	trace_leave_rows(t->trace);
	assert_int_equal(trace_add_sink(t->trace, &sink), 0);
	feed_thread(t, 1, 10, 10, "one");
	feed_span(t, 1, PATH_A_B, 5000, 100, 100);
	feed_span(t, 1, PATH_A, 4900, 300, 200);
	profile = traced_profile(t);
	assert_int_equal(busy_ns, 400);
	assert_int_equal(profile->nrows, 0);
	assert_int_equal(profile->nthreads, 1);
	assert_int_equal(profile->threads[0].inside_ns, 300);
	trace_counts(t->trace, &counts);
	assert_int_equal(counts.spans, 2);
	assert_int_equal(trace_no_memory(t->trace), 0);
}

/* What was allocated outside every span stands in the row of the root; suspects stand with what they are of. */
static void test_rows_of_memory(void **state)
{
	struct traced *t = *state;
	struct wire_row gained = {.thread = 1,
				  .path = PATH_ROOT,
				  .alloc_objects = 3,
				  .alloc_bytes = 300,
				  .inuse_objects = 1,
				  .inuse_bytes = 100,
				  .map_calls = 2,
				  .map_bytes = 8192,
				  .unmap_calls = 1,
				  .unmap_bytes = 4096};
	const struct profile *profile;
	const struct model_row *row;

	trace_take_row(t->trace, &gained, NULL, 0);
	/* All is freed: two's complement. */
	gained = (struct wire_row){
		.thread = 1, .path = PATH_ROOT, .inuse_objects = (u64)-1, .inuse_bytes = (u64)-100};
	trace_take_row(t->trace, &gained, NULL, 0);
	trace_take_leak(t->trace, 1, PATH_ROOT, 1, 40, 500);
	trace_take_leak(t->trace, 1, PATH_ROOT, 2, 60, 300);
	trace_take_leak(t->trace, 1, TRACED_USED, 1, 1, 1); /* of no path */
	profile = traced_profile(t);
	assert_int_equal(profile->nrows, 1);
	row = &profile->rows[0];
	assert_int_equal(row->path->depth, 0);
	assert_int_equal(row->alloc_objects, 3);
	assert_int_equal(row->work.alloc_bytes, 300);
	assert_int_equal(row->inuse_objects + row->inuse_bytes, 0);
	assert_int_equal(row->map_bytes - row->unmap_bytes, 4096);
	assert_int_equal(row->map_calls + row->unmap_calls, 3);
	assert_int_equal(row->leak_objects, 3);
	assert_int_equal(row->leak_bytes, 100);
	assert_int_equal(row->leak_oldest_ns, 500);
	assert_int_equal(trace_no_memory(t->trace), 1);
}

/* What has no room is in one row, and counted; sums stay what they are. */
static void test_rows_are_bounded(void **state)
{
	struct traced *t = *state;
	const struct profile *profile;
	const struct model_row *folded = NULL;
	u64 count = 0, busy = 0;

	t->trace->rows_max = 3;
	for (u32 thread = 1; thread <= 10; thread++)
		feed_span(t, thread, PATH_A, TRACED_BEGIN, 100, 100);
	feed_span(t, 2, PATH_A, TRACED_BEGIN, 100, 100);
	profile = traced_profile(t);
	assert_int_equal(profile->nrows, 4);
	for (size_t i = 0; i < profile->nrows; i++) {
		count += profile->rows[i].count;
		busy += profile->rows[i].busy_ns;
		if (profile->rows[i].path->id == PATH_OVERFLOW)
			folded = &profile->rows[i];
	}
	assert_int_equal(count, 11);
	assert_int_equal(busy, 1100);
	assert_non_null(folded);
	assert_int_equal(folded->count, 7);
	assert_int_equal(trace_folded_rows(t->trace), 7);
	assert_int_equal(trace_no_memory(t->trace), 0);
}

/* Beyond so many pieces of histograms a span is in every number but the percentiles. */
static void test_pieces_are_bounded(void **state)
{
	struct traced *t = *state;
	const struct model_row *row;

	t->trace->pieces_max = 0;
	feed_span(t, 1, PATH_A, TRACED_BEGIN, 1000, 1000);
	row = traced_row(t, 1, PATH_A);
	assert_int_equal(row->count, 1);
	assert_int_equal(row->max_ns, 1000);
	assert_null(row->durations);
	assert_int_equal(trace_no_memory(t->trace), 1);
}

/* Of two spans of a path that labels tell apart each has what it allocated itself; what else was counted for the path stands
 * without labels. */
static void test_allocations_by_label(void **state)
{
	static const char *const keys[] = {"user"};
	struct traced *t = *state;
	struct wire_span span = make_span(1, PATH_A, 50, 1000, 600);
	struct wire_row gained = {
		.thread = 1, .path = PATH_A, .alloc_objects = 9, .alloc_bytes = 900};
	const struct profile *profile;

	assert_int_equal(trace_add_site(t->trace, 7, keys, 1, 0), 0);
	trace_split_by(t->trace, keys, 1);
	span.head.size = sizeof(span);
	span.head.flags = WIRE_LABELS;
	span.site = 7;
	for (u64 user = 1; user <= 2; user++) {
		span.labels[0] = user;
		span.alloc = (struct wire_alloc_counts){user + 5, user * 100 + 50};
		span.self_alloc = (struct wire_alloc_counts){user, user * 100};
		feed(t, &span);
	}
	trace_take_row(t->trace, &gained, NULL, 0);
	profile = traced_profile(t);
	assert_int_equal(profile->nrows, 3);
	assert_int_equal(profile->rows[0].nlabels, 0);
	assert_int_equal(profile->rows[0].alloc_objects, 9 - 1 - 2);
	assert_int_equal(profile->rows[0].alloc_bytes, 900 - 100 - 200);
	assert_int_equal(profile->rows[1].alloc_objects, 1);
	assert_int_equal(profile->rows[1].work.alloc_bytes, 100);
	assert_int_equal(profile->rows[2].alloc_objects, 2);
	assert_int_equal(profile->rows[2].alloc_bytes, 200);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_a_row_is_the_sum_of_its_records, traced_setup,
						traced_teardown),
		cmocka_unit_test_setup_teardown(test_gains_add_up, traced_setup, traced_teardown),
		cmocka_unit_test_setup_teardown(test_async_rows, traced_setup, traced_teardown),
		cmocka_unit_test_setup_teardown(test_event_rows, traced_setup, traced_teardown),
		cmocka_unit_test_setup_teardown(test_rows_of_memory, traced_setup, traced_teardown),
		cmocka_unit_test_setup_teardown(test_rows_are_bounded, traced_setup,
						traced_teardown),
		cmocka_unit_test_setup_teardown(test_pieces_are_bounded, traced_setup,
						traced_teardown),
		cmocka_unit_test_setup_teardown(test_allocations_by_label, traced_setup,
						traced_teardown),
		cmocka_unit_test_setup_teardown(test_rows_of_no_path, traced_setup,
						traced_teardown),
		cmocka_unit_test_setup_teardown(test_no_rows, traced_setup, traced_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
