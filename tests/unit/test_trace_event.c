/* SPDX-License-Identifier: MIT */
/* Events, what is kept under no path of its own, and sinks that take single spans and events. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "traced.h"

static const struct model_event_row *event_row(struct traced *t, u32 thread, u32 def)
{
	const struct profile *profile = traced_profile(t);
	size_t i;

	for (i = 0; i < profile->nevents; i++)
		if (profile->events[i].thread->serial == thread &&
		    profile->events[i].def->id == def)
			return &profile->events[i];
	fail_msg("no events of thread %u and definition %u", thread, def);
	return NULL;
}

static void feed_value(struct traced *t, u32 thread, u32 path, s64 value)
{
	struct wire_event event = make_event(thread, path, 5000);

	event.head.flags = WIRE_VALUE;
	event.value = (u64)value;
	feed(t, &event);
}

static void test_events(void **state)
{
	struct wire_event plain = make_event(1, PATH_TICK, 5000);
	struct traced *t = *state;
	const struct model_event_row *row;
	struct trace_counts counts;

	plain.value = 12345; /* without WIRE_VALUE it is none */
	feed(t, &plain);
	feed(t, &plain);
	plain.path = PATH_A_TICK; /* the same event, elsewhere */
	feed(t, &plain);
	feed_value(t, 2, PATH_TICK, 40);
	feed_value(t, 2, PATH_A_TICK, -100);
	row = event_row(t, 1, DEF_TICK);
	assert_int_equal(row->count, 3);
	assert_int_equal(row->sum, 0);
	assert_false(row->has_sum);
	row = event_row(t, 2, DEF_TICK);
	assert_int_equal(row->count, 2);
	assert_true(row->has_sum);
	assert_int_equal(row->sum, -60);
	assert_int_equal(t->profile.nevents, 2);
	assert_int_equal(t->profile.nrows, 0);
	trace_counts(t->trace, &counts);
	assert_int_equal(counts.events, 5);
	assert_int_equal(counts.spans, 0);
}

static void test_event_sum_wraps(void **state)
{
	struct traced *t = *state;

	feed_value(t, 1, PATH_TICK, INT64_MAX);
	feed_value(t, 1, PATH_TICK, 1);
	assert_true(event_row(t, 1, DEF_TICK)->sum == INT64_MIN);
	feed_value(t, 1, PATH_TICK, INT64_MIN);
	assert_int_equal(event_row(t, 1, DEF_TICK)->sum, 0);
}

/* What found no path of its own is kept under one name, apart from all others. */
static void test_other_paths(void **state)
{
	struct wire_event event = make_event(1, PATH_OVERFLOW, 5000);
	struct wire_async job = make_async(1, PATH_OVERFLOW, 1, 1000, 2000);
	struct traced *t = *state;
	const struct model_row *row;

	feed_span(t, 1, PATH_OVERFLOW, 1000, 30, 30);
	feed(t, &job);
	feed(t, &event);
	event.path = PATH_TICK;
	feed(t, &event);
	feed(t, &event);
	row = traced_row(t, 1, PATH_OVERFLOW);
	assert_int_equal(row->count, 2);
	assert_int_equal(row->wall_ns, 1030);
	assert_string_equal(row->path->def->name, "(other paths)");
	assert_int_equal(event_row(t, 1, DEF_TICK)->count, 2);
	assert_int_equal(t->profile.nevents, 2);
	assert_string_equal(t->profile.events[1].def->name, "(other paths)");
	assert_int_equal(t->profile.events[1].count, 1);
	assert_int_equal(trace_damaged(t->trace), 0);
}

/* An event of definition 0 is not one of the other paths. */
static void test_other_paths_beside_the_first_definition(void **state)
{
	struct wire_event event = make_event(1, PATH_A, 5000);
	struct traced *t = *state;

	feed(t, &event);
	event.path = PATH_OVERFLOW;
	feed(t, &event);
	assert_int_equal(traced_profile(t)->nevents, 2);
}

/* What a sink was given; the paths and threads live as long as the trace. */
struct sunk {
	struct model_span spans[8];
	size_t nspans;
	struct model_event events[8];
	size_t nevents;
	int err; /* to be returned */
};

static int sink_span(void *context, const struct model_span *span)
{
	struct sunk *sunk = context;

	if (sunk->nspans < 8)
		sunk->spans[sunk->nspans] = *span;
	sunk->nspans++;
	return sunk->err;
}

static int sink_event(void *context, const struct model_event *event)
{
	struct sunk *sunk = context;

	if (sunk->nevents < 8)
		sunk->events[sunk->nevents] = *event;
	sunk->nevents++;
	return sunk->err;
}

static void test_sink_gets_thread_spans(void **state)
{
	struct wire_span wire = make_span(1, PATH_A_B, 5000, 1000, 800);
	struct sunk sunk = {0};
	const struct trace_sink sink = {.context = &sunk, .span = sink_span};
	struct traced *t = *state;
	const struct model_span *span = &sunk.spans[0];

	assert_int_equal(trace_add_sink(t->trace, &sink), 0);
	wire.head.flags = WIRE_ABANDONED;
	wire.usage = (struct wire_usage){80, 70, 300, 100, 250, 90, 4, 3, 2, 1};
	feed(t, &wire);
	assert_int_equal(sunk.nspans, 1);
	assert_int_equal(span->thread->serial, 1);
	assert_int_equal(span->path->id, PATH_A_B);
	assert_int_equal(span->id, 0);
	assert_int_equal(span->start_ns, 5000);
	assert_int_equal(span->end_ns, 6000);
	assert_int_equal(span->busy_ns, 1000);
	assert_int_equal(span->self_ns, 800);
	assert_int_equal(span->self_cpu_ns, 550);
	assert_int_equal(span->self_run_delay_ns, 90);
	assert_int_equal(span->total.cpu_ns, 700);
	assert_int_equal(span->total.cpu_system_ns, 80);
	assert_int_equal(span->self_cpu_system_ns, 70);
	assert_int_equal(span->total.run_delay_ns, 100);
	assert_int_equal(span->total.vol_switches, 4);
	assert_int_equal(span->total.invol_switches, 3);
	assert_int_equal(span->total.minor_faults, 2);
	assert_int_equal(span->total.major_faults, 1);
	assert_int_equal(span->flags, MODEL_ABANDONED);
	assert_int_equal(span->nlabels, 0);
	/* The short form: what it leaves out is zero, and it was on the CPU throughout. */
	feed_span(t, 1, PATH_A, 7000, 20, 10);
	span = &sunk.spans[1];
	assert_int_equal(span->total.cpu_ns, 20);
	assert_int_equal(span->self_cpu_ns, 10);
	assert_int_equal(span->total.vol_switches, 0);
	assert_int_equal(span->flags, 0);
	/* An event goes nowhere here. */
	feed_value(t, 1, PATH_TICK, 1);
	assert_int_equal(sunk.nevents, 0);
	assert_int_equal(trace_error(t->trace), 0);
}

static void test_sink_gets_async_spans_and_segments(void **state)
{
	struct wire_async job = make_async(1, PATH_JOB, 77, 1000, 9000);
	struct wire_span segment = make_span(2, PATH_JOB, 2000, 500, 400);
	struct sunk sunk = {0};
	const struct trace_sink sink = {.context = &sunk, .span = sink_span};
	struct traced *t = *state;

	assert_int_equal(trace_add_sink(t->trace, &sink), 0);
	segment.head.flags = WIRE_SEGMENT;
	segment.id = 77;
	feed(t, &segment);
	job.busy_ns = 500;
	job.self_ns = 400;
	feed(t, &job);
	job.id = 78;
	trace_open_async(t->trace, &job, 20000);
	assert_int_equal(sunk.nspans, 3);
	assert_int_equal(sunk.spans[0].flags, MODEL_SEGMENT);
	assert_int_equal(sunk.spans[0].id, 77);
	assert_int_equal(sunk.spans[0].thread->serial, 2);
	assert_int_equal(sunk.spans[0].start_ns, 2000);
	assert_int_equal(sunk.spans[0].end_ns, 2500);
	assert_int_equal(sunk.spans[1].flags, MODEL_ASYNC);
	assert_int_equal(sunk.spans[1].id, 77);
	assert_int_equal(sunk.spans[1].thread->serial, 1);
	assert_int_equal(sunk.spans[1].end_ns, 9000);
	assert_int_equal(sunk.spans[1].busy_ns, 500);
	assert_int_equal(sunk.spans[2].flags, MODEL_OPEN | MODEL_ASYNC);
	assert_int_equal(sunk.spans[2].id, 78);
	assert_int_equal(sunk.spans[2].end_ns, 20000);
}

static void test_sink_gets_events(void **state)
{
	struct wire_event plain = make_event(1, PATH_TICK, 4000);
	struct sunk sunk = {0}, other = {0};
	const struct trace_sink sink = {.context = &sunk, .event = sink_event};
	const struct trace_sink both = {.context = &other, .span = sink_span, .event = sink_event};
	struct traced *t = *state;

	assert_int_equal(trace_add_sink(t->trace, &sink), 0);
	assert_int_equal(trace_add_sink(t->trace, &both), 0);
	feed(t, &plain);
	feed_value(t, 2, PATH_A_TICK, -7);
	feed_span(t, 1, PATH_A, 1, 1, 1);
	assert_int_equal(sunk.nevents, 2);
	assert_int_equal(sunk.events[0].thread->serial, 1);
	assert_int_equal(sunk.events[0].path->id, PATH_TICK);
	assert_int_equal(sunk.events[0].time_ns, 4000);
	assert_false(sunk.events[0].has_value);
	assert_int_equal(sunk.events[1].path->parent->id, PATH_A);
	assert_true(sunk.events[1].has_value);
	assert_int_equal(sunk.events[1].value, -7);
	assert_int_equal(sunk.nspans, 0);
	assert_int_equal(other.nevents, 2);
	assert_int_equal(other.nspans, 1);
}

/* The first error stays, and a trace that cannot be written still adds up. */
static void test_sink_fails(void **state)
{
	struct sunk full = {.err = -ENOSPC}, broken = {.err = -EIO};
	const struct trace_sink first = {.context = &full, .span = sink_span};
	const struct trace_sink second = {
		.context = &broken, .span = sink_span, .event = sink_event};
	struct traced *t = *state;

	assert_int_equal(trace_add_sink(t->trace, &first), 0);
	assert_int_equal(trace_add_sink(t->trace, &second), 0);
	assert_int_equal(trace_error(t->trace), 0);
	feed_span(t, 1, PATH_A, 1, 1, 1);
	assert_int_equal(trace_error(t->trace), -ENOSPC);
	feed_value(t, 1, PATH_TICK, 1);
	assert_int_equal(trace_error(t->trace), -ENOSPC);
	feed_span(t, 1, PATH_A, 1, 1, 1);
	assert_int_equal(traced_row(t, 1, PATH_A)->count, 2);
	assert_int_equal(event_row(t, 1, DEF_TICK)->count, 1);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, traced_setup, traced_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_events),
		TEST(test_event_sum_wraps),
		TEST(test_other_paths),
		TEST(test_other_paths_beside_the_first_definition),
		TEST(test_sink_gets_thread_spans),
		TEST(test_sink_gets_async_spans_and_segments),
		TEST(test_sink_gets_events),
		TEST(test_sink_fails),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
