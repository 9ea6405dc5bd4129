/* SPDX-License-Identifier: MIT */
/* Records that make no sense: counted, and nothing else. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "traced.h"

/* Nothing of the record is in the trace, and it was counted once. */
static void check_damaged(struct traced *t, const void *record, size_t size)
{
	const u64 before = trace_damaged(t->trace);
	struct trace_counts counts;

	feed_bytes(t, record, size);
	assert_int_equal(trace_damaged(t->trace), before + 1);
	trace_counts(t->trace, &counts);
	assert_int_equal(counts.spans, 0);
	assert_int_equal(counts.events, 0);
	assert_int_equal(counts.threads, 0);
	assert_int_equal(traced_profile(t)->nrows, 0);
	assert_int_equal(t->profile.nevents, 0);
}

static void test_cut_records(void **state)
{
	struct wire_span span = make_span(1, PATH_A, 1, 2, 2);
	struct traced *t = *state;
	size_t size;

	for (size = 0; size < span.head.size; size++)
		check_damaged(t, &span, size);
	feed(t, &span);
	assert_int_equal(traced_row(t, 1, PATH_A)->count, 1);
}

/* Every size that a record of each kind may claim, in memory that holds it: only its own pass. */
static void test_sizes(void **state)
{
	static const struct {
		u8 kind;
		u16 good[6];
	} kinds[] = {
		{WIRE_SPAN,
		 {WIRE_SPAN_SHORT, WIRE_SPAN_SPLIT, WIRE_SPAN_WHOLE, WIRE_SPAN_LABELLED,
		  WIRE_SPAN_ALLOC, sizeof(struct wire_span)}},
		{WIRE_ASYNC, {sizeof(struct wire_async)}},
		{WIRE_EVENT, {WIRE_EVENT_SHORT, sizeof(struct wire_event)}},
		{WIRE_THREAD, {sizeof(struct wire_thread)}},
		{WIRE_THREAD_END, {sizeof(struct wire_thread_end)}},
		{WIRE_STRING, {sizeof(struct wire_string)}},
		{WIRE_FORK, {sizeof(struct wire_life)}},
		{WIRE_EXEC, {sizeof(struct wire_life)}},
		{WIRE_EXIT, {sizeof(struct wire_life)}},
	};
	union {
		struct wire_span span;
		u8 bytes[2 * sizeof(struct wire_string)];
	} record = {.bytes = {0}};
	struct traced *t = *state;
	size_t i, j;
	u32 size;

	for (i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		for (size = 0; size < sizeof(record); size++) {
			record.span.head =
				(struct wire_head){.size = (u16)size, .kind = kinds[i].kind};
			for (j = 0; j < 6 && (!size || size != kinds[i].good[j]); j++)
				;
			if (j == 6)
				check_damaged(t, &record, size < 8 ? 8 : size);
		}
	record.span.path = PATH_A;
	for (i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		for (j = 0; j < 6 && kinds[i].good[j]; j++) {
			const u64 before = trace_damaged(t->trace);

			record.span.head =
				(struct wire_head){.size = kinds[i].good[j], .kind = kinds[i].kind};
			feed(t, &record);
			assert_int_equal(trace_damaged(t->trace), before);
		}
}

/* A record that says it has labels is as long as one. */
static void test_labels_without_room(void **state)
{
	static const u16 span_sizes[] = {WIRE_SPAN_SHORT, WIRE_SPAN_SPLIT, WIRE_SPAN_WHOLE};
	struct wire_event event = make_event(1, PATH_TICK, 1);
	struct wire_span span = make_span(1, PATH_A, 1, 2, 2);
	struct traced *t = *state;
	size_t i;

	span.head.flags = WIRE_LABELS;
	for (i = 0; i < 3; i++) {
		span.head.size = span_sizes[i];
		check_damaged(t, &span, sizeof(span));
	}
	event.head.flags = WIRE_LABELS;
	check_damaged(t, &event, sizeof(event));
}

/* A ring rounds sizes up: what stands behind a record is not looked at. */
static void test_longer_than_it_says(void **state)
{
	struct wire_span span = make_span(1, PATH_A, 10, 20, 20);
	struct traced *t = *state;
	const struct model_row *row;

	memset(&span.usage, 0xff, sizeof(span) - offsetof(struct wire_span, usage));
	span.head.size = WIRE_SPAN_SHORT;
	feed_bytes(t, &span, sizeof(span));
	row = traced_row(t, 1, PATH_A);
	assert_int_equal(row->total.cpu_ns, 20);
	assert_int_equal(row->total.vol_switches, 0);
	assert_int_equal(row->total.cpu_system_ns, 0);

	span.head.size = WIRE_SPAN_SPLIT;
	span.usage.system_ns = 7;
	span.usage.self_system_ns = 6;
	feed_bytes(t, &span, sizeof(span));
	row = traced_row(t, 1, PATH_A);
	assert_int_equal(row->total.cpu_ns, 40);
	assert_int_equal(row->total.cpu_system_ns, 7);
	assert_int_equal(row->self_cpu_system_ns, 6);
	assert_int_equal(row->total.run_delay_ns, 0);
}

static void test_kinds(void **state)
{
	struct wire_span span = make_span(1, PATH_A, 1, 2, 2);
	struct traced *t = *state;
	u32 kind;

	for (kind = 0; kind < 256; kind++) {
		if (kind == WIRE_SPAN)
			continue; /* the one whose size this is */
		span.head.kind = (u8)kind;
		check_damaged(t, &span, sizeof(span));
	}
}

/* Flags of no meaning are dropped, not handed on. */
static void test_flags(void **state)
{
	struct traced *t = *state;
	const struct model_row *row;

	feed_flagged(t, 1, PATH_A, 10, 0xe8);
	row = traced_row(t, 1, PATH_A);
	assert_int_equal(row->count, 1);
	assert_int_equal(row->abandoned, 0);
	assert_int_equal(row->open, 0);
}

static void test_paths(void **state)
{
	static const u32 paths[] = {PATH_ROOT, TRACED_USED, TRACED_PATHS, UINT32_MAX};
	struct traced *t = *state;
	size_t i;

	for (i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
		struct wire_span span = make_span(1, paths[i], 1, 2, 2);
		struct wire_async job = make_async(1, paths[i], 1, 1, 2);
		struct wire_event event = make_event(1, paths[i], 1);

		check_damaged(t, &span, sizeof(span));
		check_damaged(t, &job, sizeof(job));
		check_damaged(t, &event, sizeof(event));
	}
	assert_int_equal(trace_no_memory(t->trace), 0);
}

/* Times that cannot be make sums that make no sense, but no crash and no undefined behaviour. */
static void test_times(void **state)
{
	struct wire_span span = make_span(1, PATH_A, UINT64_MAX - 1, UINT64_MAX, UINT64_MAX);
	struct wire_async job = make_async(1, PATH_JOB, 1, UINT64_MAX, 0);
	struct wire_thread thread = make_thread(1, UINT32_MAX, UINT32_MAX, UINT64_MAX, "t");
	struct traced *t = *state;

	memset(&span.usage, 0xff, sizeof(span.usage));
	feed(t, &span);
	feed(t, &span);
	memset(&job.busy_ns, 0xff, sizeof(job) - offsetof(struct wire_async, busy_ns));
	feed(t, &job);
	feed(t, &thread);
	feed_thread_end(t, 1, 0, UINT64_MAX, "t");
	feed_thread(t, UINT32_MAX, 1, 1, "last");
	assert_int_equal(traced_row(t, 1, PATH_A)->count, 2);
	assert_int_equal(traced_row(t, 1, PATH_JOB)->count, 1);
	assert_int_equal(t->profile.nthreads, 2);
	assert_int_equal(trace_damaged(t->trace), 0);
}

/* Any bytes at all. The generator is xorshift, so that a failure can be had again. */
static void test_noise(void **state)
{
	struct traced *t = *state;
	u64 random = 88172645463325252ull;
	union {
		struct wire_span span;
		u8 bytes[512];
	} record;
	size_t i, round;

	for (round = 0; round < 200000; round++) {
		for (i = 0; i < sizeof(record); i += 8) {
			random ^= random << 13;
			random ^= random >> 7;
			random ^= random << 17;
			memcpy(record.bytes + i, &random, 8);
		}
		record.span.head.kind &= 0x17;
		record.span.head.size &= 0xff;
		record.span.head.thread &= 0xff;
		record.span.path &= 0x3f; /* often one that is there */
		feed_bytes(t, &record, random % (sizeof(record) + 1));
	}
	traced_profile(t);
	assert_true(trace_damaged(t->trace) > 0);
	assert_int_equal(trace_no_memory(t->trace), 0);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, traced_setup, traced_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_cut_records),
		TEST(test_sizes),
		TEST(test_labels_without_room),
		TEST(test_longer_than_it_says),
		TEST(test_kinds),
		TEST(test_flags),
		TEST(test_paths),
		TEST(test_times),
		TEST(test_noise),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
