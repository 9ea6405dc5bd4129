/* SPDX-License-Identifier: MIT */
/* Chrome's JSON, record by record. What engines make of it is tests/live/test_viewers.py's business. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "recorded.h"

static int setup(void **state)
{
	struct recorded *r = recorded_new();

	r->exporter.ops = exporter_by_name("chrome");
	assert_non_null(r->exporter.ops);
	*state = r;
	return 0;
}

#define ABOUT                                                                                               \
	"[\n{\"ph\":\"M\",\"pid\":0,\"tid\":0,\"name\":\"process_name\",\"args\":{\"name\":\"spantrace\"}}" \
	",\n{\"ph\":\"i\",\"pid\":0,\"tid\":0,\"ts\":1000000.000,\"s\":\"g\",\"cat\":\"spantrace\","        \
	"\"name\":\"spantrace\",\"args\":{\"version\":\"7.8.9\",\"kernel\":\"6.18.0-test\","                \
	"\"clock\":\"CLOCK_MONOTONIC\",\"target\":\"./app --quick\","                                       \
	"\"start_realtime_ns\":\"1700000000000000000\"}}"
#define PROCESS(pid, name)                              \
	",\n{\"ph\":\"M\",\"pid\":" pid ",\"tid\":" pid \
	",\"name\":\"process_name\",\"args\":{\"name\":\"" name "\"}}"
#define THREAD(pid, tid, name)                          \
	",\n{\"ph\":\"M\",\"pid\":" pid ",\"tid\":" tid \
	",\"name\":\"thread_name\",\"args\":{\"name\":\"" name "\"}}"
#define CPU(pid, ts, ns)                                              \
	",\n{\"ph\":\"C\",\"pid\":" pid ",\"tid\":" pid ",\"ts\":" ts \
	",\"name\":\"CPU of spans\",\"args\":{\"ns\":" ns "}}"
#define A ",\"name\":\"app:a\",\"cat\":\"app\""
#define B ",\"name\":\"lib:b of its own\",\"cat\":\"lib\""
#define J ",\"name\":\"app:job\",\"cat\":\"app\""
#define T ",\"name\":\"app:tick\",\"cat\":\"app\""

static void assert_text(struct recorded *r, const char *want)
{
	assert_int_equal(r->size, strlen(r->bytes));
	assert_string_equal(r->bytes, want);
}

static struct model_span at(struct recorded *r, int thread, int path, u64 start, u64 end, u64 self)
{
	return recorded_span(r, thread, path, REC_START + start, end - start, self);
}

static void test_spans(void **state)
{
	struct recorded *r = *state;
	struct model_span span = at(r, REC_ONE, REC_A_B, 20, 30, 10);

	record_begin(r);
	span.nlabels = 3;
	span.labels[0] = (struct model_label){.key = "user", .number = -42};
	span.labels[1] = (struct model_label){.key = "path", .text = "/\"\n\xff"};
	span.labels[2] = (struct model_label){.key = "big", .number = INT64_MIN};
	span.flags = MODEL_ABANDONED;
	record_span(r, &span);
	record_simple(r, REC_ONE, REC_A, REC_START, 1234567, 10);
	record_finish(r);
	assert_text(
		r,
		ABOUT PROCESS("10", "one") THREAD(
			"10", "10",
			"one") ",\n{\"ph\":\"X\",\"pid\":10,\"tid\":10,\"ts\":1000000.020,\"dur\":0.010,\"tdur\":0.010" B
			       ",\"args\":{\"user\":-42,\"path\":\"/\\\"\\n\xef\xbf\xbd\","
			       "\"big\":\"-9223372036854775808\",\"span:abandoned\":1}}" CPU(
				       "10", "1000000.030",
				       "10") ",\n{\"ph\":\"X\",\"pid\":10,\"tid\":10,\"ts\":1000000.000,\"dur\":1234.567,"
					     "\"tdur\":1234.567" A "}" THREAD("10", "11", "two")
						     PROCESS("20", "far") THREAD("20", "20", "far")
							     CPU("20", "9000000.000", "0")
								     CPU("10", "9000000.000",
									 "20") "\n]\n");
}

/* What a span allocated is told where nothing else is to be told of it; a span beside it has nothing. */
static void test_allocations(void **state)
{
	struct recorded *r = *state;
	struct model_span span = at(r, REC_ONE, REC_A, 10, 20, 10);

	record_begin(r);
	record_span(r, &span);
	span = at(r, REC_ONE, REC_A, 30, 40, 10);
	span.alloc.objects = 3;
	span.alloc.bytes = 500;
	span.self_alloc.bytes = 200;
	record_span(r, &span);
	record_tick(r, REC_START + 1000000000);
	record_cut(r);
	assert_text(
		r,
		ABOUT PROCESS("10", "one") THREAD(
			"10", "10",
			"one") ",\n{\"ph\":\"X\",\"pid\":10,\"tid\":10,\"ts\":1000000.010,\"dur\":0.010,\"tdur\":0.010" A
			       "}" CPU("10", "1000000.020",
				       "10") ",\n{\"ph\":\"X\",\"pid\":10,\"tid\":10,\"ts\":1000000.030,\"dur\":0.010,\"tdur\":0.010" A
					     ",\"args\":{\"span:alloc_objects\":3,\"span:alloc_bytes\":500,"
					     "\"span:self_alloc_bytes\":200}}");
}

/* An arrow goes from the stretch that began first, whichever came first; none after the close. */
static void test_async(void **state)
{
	struct recorded *r = *state;
	struct model_span span;
	r->run.metrics = METRIC_WALL;
	r->exporter.options.args = false;
	record_begin(r);
	span = at(r, REC_ONE, REC_JOB, 20, 30, 5);
	span.flags = MODEL_SEGMENT;
	span.id = UINT64_MAX;
	record_span(r, &span);
	span = at(r, REC_TWO, REC_JOB, 10, 15, 5);
	span.flags = MODEL_SEGMENT;
	span.id = UINT64_MAX;
	record_span(r, &span);
	span = at(r, REC_ONE, REC_JOB, 5, 35, 0);
	span.flags = MODEL_ASYNC;
	span.id = UINT64_MAX;
	record_span(r, &span);
	span = at(r, REC_TWO, REC_JOB, 40, 50, 5);
	span.flags = MODEL_SEGMENT;
	span.id = UINT64_MAX;
	record_span(r, &span);
	record_tick(r, REC_START + 2000000000);
	record_cut(r);
	assert_text(
		r,
		ABOUT PROCESS("10", "one") THREAD(
			"10", "10",
			"one") ",\n{\"ph\":\"X\",\"pid\":10,\"tid\":10,\"ts\":1000000.020,\"dur\":0.010" J
			       "}" THREAD(
				       "10", "11",
				       "two") ",\n{\"ph\":\"X\",\"pid\":10,\"tid\":11,\"ts\":1000000.010,\"dur\":0.005" J
					      "}"
					      ",\n{\"ph\":\"f\",\"pid\":10,\"tid\":10,\"ts\":1000000.020,\"bp\":\"e\",\"id\":1" J
					      "}"
					      ",\n{\"ph\":\"s\",\"pid\":10,\"tid\":11,\"ts\":1000000.010,\"id\":1" J
					      "}"
					      ",\n{\"ph\":\"b\",\"pid\":10,\"tid\":10,\"ts\":1000000.005,\"id2\":{\"local\":\"1\"}" J
					      "}"
					      ",\n{\"ph\":\"e\",\"pid\":10,\"tid\":10,\"ts\":1000000.035,\"id2\":{\"local\":\"1\"}" J
					      "}"
					      ",\n{\"ph\":\"X\",\"pid\":10,\"tid\":11,\"ts\":1000000.040,\"dur\":0.010" J
					      "}");
}

/* What overlaps on a thread stands beside it. */
static void test_overlap(void **state)
{
	struct recorded *r = *state;

	r->run.metrics = METRIC_WALL;
	record_begin(r);
	record_simple(r, REC_ONE, REC_A, REC_START + 10, 20, 20);
	record_simple(r, REC_ONE, REC_A, REC_START + 20, 30, 30);
	record_simple(r, REC_ONE, REC_A, REC_START + 50, 10, 10);
	record_tick(r, REC_START + 1000000000);
	record_cut(r);
	assert_text(
		r,
		ABOUT PROCESS("10", "one") THREAD(
			"10", "10",
			"one") ",\n{\"ph\":\"X\",\"pid\":10,\"tid\":10,\"ts\":1000000.010,\"dur\":0.020" A
			       "}"
			       ",\n{\"ph\":\"b\",\"pid\":10,\"tid\":10,\"ts\":1000000.020,\"id2\":{\"local\":\"1\"}" A
			       "}"
			       ",\n{\"ph\":\"e\",\"pid\":10,\"tid\":10,\"ts\":1000000.050,\"id2\":{\"local\":\"1\"}" A
			       "}"
			       ",\n{\"ph\":\"X\",\"pid\":10,\"tid\":10,\"ts\":1000000.050,\"dur\":0.010" A
			       "}");
}

static void test_events(void **state)
{
	struct recorded *r = *state;
	struct model_event event = {
		.thread = &r->threads[REC_TWO],
		.path = &r->paths[REC_A_TICK],
		.time_ns = REC_START + 15,
		.nlabels = 1,
		.labels = {{.key = "n", .number = 3}},
	};

	record_begin(r);
	record_event(r, &event);
	event.nlabels = 0;
	event.has_value = true;
	event.value = -7;
	record_event(r, &event);
	record_tick(r, REC_START + 1000000000);
	record_cut(r);
	assert_text(
		r,
		ABOUT PROCESS("10", "two") THREAD(
			"10", "11",
			"two") ",\n{\"ph\":\"i\",\"pid\":10,\"tid\":11,\"ts\":1000000.015,\"s\":\"t\"" T
			       ",\"args\":{\"n\":3}}"
			       ",\n{\"ph\":\"i\",\"pid\":10,\"tid\":11,\"ts\":1000000.015,\"s\":\"t\"" T
			       ",\"args\":{\"event:value\":-7}}"
			       ",\n{\"ph\":\"C\",\"pid\":10,\"tid\":10,\"ts\":1000000.015" T
			       ",\"args\":{\"value\":-7}}");
}

/* Losses; memory, which only the totals have; another file begins anew. */
static void test_end(void **state)
{
	struct recorded *r = *state;
	struct model_row rows[] = {
		{.thread = &r->threads[REC_ONE], .path = &r->paths[REC_A]},
		{.thread = &r->threads[REC_TWO], .path = &r->paths[REC_A]},
		{.thread = &r->threads[REC_TWO], .path = &r->paths[REC_ROOT]},
	};

	for (int i = 0; i < 3; i++) {
		rows[i].work.alloc_bytes = 100;
		rows[i].work.inuse_bytes = 10;
	}
	r->run.metrics = METRIC_WALL | METRIC_ALLOC | METRIC_HEAP;
	r->run.rows = rows;
	r->run.nrows = 3;
	r->losses[1].count = 5;
	for (int i = 0; i < 2; i++) {
		record_begin(r);
		record_simple(r, REC_ONE, REC_A, REC_START, 1000, 1000);
		record_finish(r);
		assert_non_null(strstr(
			r->bytes, ",\"name\":\"allocated in spans\",\"args\":{\"bytes\":200}}"));
		assert_non_null(
			strstr(r->bytes, ",\"name\":\"heap of spans\",\"args\":{\"bytes\":0}}"));
		assert_non_null(
			strstr(r->bytes, ",\"name\":\"heap of spans\",\"args\":{\"bytes\":20}}"));
		assert_non_null(strstr(r->bytes, "\"name\":\"spantrace losses\","
						 "\"args\":{\"orphan_exit\":5}}\n]\n"));
		assert_non_null(
			strstr(r->bytes, "\"name\":\"process_name\",\"args\":{\"name\":\"one\"}}"));
	}
}

static void test_full_disk(void **state)
{
	struct recorded *r = *state;

	r->exporter.out = fopen("/dev/full", "w");
	assert_non_null(r->exporter.out);
	assert_int_equal(r->exporter.ops->begin(&r->exporter, &r->run), 0);
	r->run.end_ns = REC_END;
	assert_int_equal(r->exporter.ops->tick(&r->exporter, &r->run), -ENOSPC);
	fclose(r->exporter.out);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, recorded_teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_spans), TEST(test_async),     TEST(test_overlap),     TEST(test_events),
		TEST(test_end),   TEST(test_full_disk), TEST(test_allocations),
	};

	return cmocka_run_group_tests_name("chrome", tests, NULL, NULL);
}
