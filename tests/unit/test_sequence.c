/* SPDX-License-Identifier: MIT */
/* Runs made by hand, compared stretch by stretch. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../../user/report/sequence.h"

static struct model_def defs[] = {
	{.kind = MODEL_THREAD_SPAN, .provider = "p", .name = "outer"},
	{.kind = MODEL_THREAD_SPAN, .provider = "p", .name = "inner"},
	{.kind = MODEL_EVENT, .provider = "p", .name = "tick"},
};
static struct model_path paths[] = {{.def = &defs[0]}, {.def = &defs[1]}, {.def = &defs[2]}};
enum { OUTER, INNER, TICK };

struct fixture {
	struct sequence *sequence;
	struct trace_sink sink;
};

static void make(struct fixture *f)
{
	assert_int_equal(sequence_new(&f->sequence), 0);
	f->sink = sequence_sink(f->sequence);
}

static void span(struct fixture *f, const struct model_thread *thread, int path, u64 start, u64 end)
{
	const struct model_span s = {
		.thread = thread, .path = &paths[path], .start_ns = start, .end_ns = end};

	assert_int_equal(f->sink.span(f->sink.context, &s), 0);
}

static void event(struct fixture *f, const struct model_thread *thread, u64 time, bool has_value)
{
	const struct model_event e = {
		.thread = thread, .path = &paths[TICK], .time_ns = time, .has_value = has_value};

	assert_int_equal(f->sink.event(f->sink.context, &e), 0);
}

/* outer 0 … 100 + MORE; in it tick at 10, inner 20 … 50 + MORE. The thread's number in the run is of no account. */
static void run(struct fixture *f, const struct model_thread *thread, u64 more)
{
	event(f, thread, 10, false);
	span(f, thread, INNER, 20, 50 + more);
	/* A value has no place in time, as measureme's integers have none. */
	event(f, thread, 60, true);
	span(f, thread, OUTER, 0, 100 + more);
}

static void test_stretches(void **state)
{
	const struct model_thread first = {.serial = 3, .tid = 100, .comm = "a"};
	const struct model_thread second = {.serial = 9, .tid = 200, .comm = "a"};
	const struct sequence_result *r;
	struct fixture f;

	(void)state;
	make(&f);
	run(&f, &first, 0);
	assert_int_equal(sequence_end_run(f.sequence), 0);
	run(&f, &second, 7);
	assert_int_equal(sequence_end_run(f.sequence), 0);
	assert_int_equal(sequence_compare(f.sequence), 0);
	r = sequence_result(f.sequence);
	assert_int_equal(r->threads, 1);
	assert_int_equal(r->same, 1);
	assert_int_equal(r->more, 0);
	/* 10 before the tick, 10 before inner, 30 or 37 in it, 50 after it */
	assert_int_equal(r->stretches, 4);
	assert_int_equal(r->durations.nsmallest, 3);
	assert_int_equal(r->durations.smallest[0].value, 10);
	assert_int_equal(r->durations.smallest[0].count, 2);
	assert_int_equal(r->durations.smallest[1].value, 30);
	assert_int_equal(r->durations.smallest[1].first.from.kind, STRETCH_START);
	assert_int_equal(r->durations.smallest[1].first.to.kind, STRETCH_END);
	assert_int_equal(r->durations.largest[1].value, 37);
	assert_int_equal(r->durations.largest[2].value, 50);
	assert_int_equal(r->variances.nlargest, 2);
	assert_int_equal(r->variances.largest[1].value, 7);
	assert_int_equal(r->variances.largest[1].count, 1);
	sequence_free(&f.sequence);
}

/* Threads of one name are told apart by their order, those without one by their number. */
static void test_threads(void **state)
{
	const struct model_thread one = {.serial = 1, .tid = 10, .comm = "w"};
	const struct model_thread two = {.serial = 2, .tid = 11, .comm = "w"};
	const struct model_thread nameless = {.serial = 3, .tid = 12};
	const struct model_thread later = {.serial = 7, .tid = 31, .comm = "w"};
	const struct model_thread latest = {.serial = 5, .tid = 32, .comm = "w"};
	const struct model_thread other = {.serial = 6, .tid = 13};
	const struct sequence_result *r;
	struct fixture f;

	(void)state;
	make(&f);
	run(&f, &one, 0);
	span(&f, &two, INNER, 5, 6);
	span(&f, &nameless, INNER, 5, 6);
	assert_int_equal(sequence_end_run(f.sequence), 0);
	span(&f, &latest, INNER, 5, 9);
	span(&f, &other, INNER, 5, 6);
	run(&f, &later, 1);
	assert_int_equal(sequence_end_run(f.sequence), 0);
	assert_int_equal(sequence_compare(f.sequence), 0);
	r = sequence_result(f.sequence);
	assert_int_equal(r->threads, 3);
	assert_int_equal(r->same, 2);
	assert_int_equal(r->more, 1);
	assert_int_equal(r->stretches, 5);
	sequence_free(&f.sequence);
}

static void test_differences(void **state)
{
	const struct model_thread thread = {.serial = 1, .tid = 1, .comm = "w"};
	struct fixture f;

	(void)state;
	for (int what = 0; what < 4; what++) {
		make(&f);
		span(&f, &thread, INNER, 20, 50);
		span(&f, &thread, OUTER, 0, 100);
		assert_int_equal(sequence_end_run(f.sequence), 0);
		/* Another name; another nesting; one more; one less. */
		span(&f, &thread, what ? INNER : OUTER, 20, 50);
		if (what < 3)
			span(&f, &thread, OUTER, what == 1 ? 60 : 0, 100);
		if (what == 2)
			event(&f, &thread, 120, false);
		assert_int_equal(sequence_end_run(f.sequence), 0);
		assert_int_equal(sequence_compare(f.sequence), 0);
		assert_int_equal(sequence_result(f.sequence)->same, 0);
		/* Nothing of a thread that turns out to differ counts. */
		assert_int_equal(sequence_result(f.sequence)->stretches, 0);
		sequence_free(&f.sequence);
	}
}

static void test_overlap(void **state)
{
	const struct model_thread thread = {.serial = 1, .tid = 1};
	const struct sequence_result *r;
	struct fixture f;

	(void)state;
	make(&f);
	for (int i = 0; i < 2; i++) {
		span(&f, &thread, INNER, 0, 10);
		span(&f, &thread, OUTER, 5, 15);
		assert_int_equal(sequence_end_run(f.sequence), 0);
	}
	assert_int_equal(sequence_compare(f.sequence), 0);
	r = sequence_result(f.sequence);
	assert_int_equal(r->same, 1);
	assert_int_equal(r->stretches, 3);
	assert_int_equal(r->overlaps, 2);
	assert_int_equal(r->durations.smallest[0].value, 0);
	sequence_free(&f.sequence);
}

static void test_nothing(void **state)
{
	struct fixture f;

	(void)state;
	make(&f);
	assert_int_equal(sequence_end_run(f.sequence), 0);
	assert_int_equal(sequence_end_run(f.sequence), 0);
	assert_int_equal(sequence_compare(f.sequence), 0);
	assert_int_equal(sequence_result(f.sequence)->threads, 0);
	sequence_free(&f.sequence);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_stretches),   cmocka_unit_test(test_threads),
		cmocka_unit_test(test_differences), cmocka_unit_test(test_overlap),
		cmocka_unit_test(test_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
