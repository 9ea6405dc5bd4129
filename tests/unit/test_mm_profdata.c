/* SPDX-License-Identifier: MIT */
/* Event files as they are written: what the format can hold comes back from our own reader as it was, and no two
 * intervals of one thread id overlap. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../../user/util/log.h"
#include "eventread.h"
#include "recorded.h"

static int setup(void **state)
{
	struct recorded *r = recorded_new();

	r->exporter.ops = exporter_by_name("mm_profdata");
	assert_non_null(r->exporter.ops);
	*state = r;
	return 0;
}

/* What the reader makes of it. */
static void assert_back(struct recorded *r, const char *want)
{
	struct eventfile_read read;

	eventfile_read_bytes(&read, r->bytes, r->size);
	assert_int_equal(read.err, 0);
	assert_string_equal(read.said.text, "");
	assert_string_equal(read.text.data, want);
	assert_true(read.finished);
	assert_string_equal(read.target, "./app --quick");
	assert_int_equal(read.start_ns, REC_START);
	eventfile_read_end(&read);
}

/* At REC_START + START. */
static struct model_span at(struct recorded *r, int thread, int path, u64 start, u64 end, u64 self)
{
	return recorded_span(r, thread, path, REC_START + start, end - start, self);
}

static void write_at(struct recorded *r, int thread, int path, u64 start, u64 end, u64 self)
{
	struct model_span span = at(r, thread, path, start, end, self);

	record_span(r, &span);
}

#define THREADS                                      \
	"thread 10/10 'one' 0-8000000000 inside 0\n" \
	"thread 10/11 'two' 0-8000000000 inside 0\n" \
	"thread 20/20 'far' 0-8000000000 inside 0\n"

static void test_thread_spans(void **state)
{
	struct recorded *r = *state;
	struct model_span span;

	record_begin(r);
	write_at(r, REC_ONE, REC_A_B, 20, 30, 10);
	span = at(r, REC_ONE, REC_A_B, 40, 90, 50);
	span.flags = MODEL_ABANDONED;
	record_span(r, &span);
	write_at(r, REC_ONE, REC_A, 10, 90, 20);
	write_at(r, REC_FAR, REC_A, 15, 100, 85);
	span = at(r, REC_TWO, REC_A, 95, 100, 5);
	span.flags = MODEL_OPEN;
	record_span(r, &span);
	record_finish(r);
	assert_back(r, "10 app:a;lib:b of its own 20-30 self 10\n"
		       "10 app:a;lib:b of its own 40-90 self 50 abandoned\n"
		       "10 app:a 10-90 self 20\n"
		       "20 app:a 15-100 self 85\n"
		       "11 app:a 95-100 self 5 open\n" THREADS);
}

/* A child that is not in the file leaves the self time as it was; one without length stays where it belongs. */
static void test_self_and_path(void **state)
{
	struct recorded *r = *state;

	record_begin(r);
	write_at(r, REC_ONE, REC_A, 10, 50, 33);
	write_at(r, REC_ONE, REC_A_B, 60, 60, 0);
	write_at(r, REC_ONE, REC_A, 50, 60, 10);
	write_at(r, REC_ONE, REC_A, 60, 60, 0);
	write_at(r, REC_ONE, REC_A, 60, 70, 10);
	record_finish(r);
	assert_back(r, "10 app:a 10-50 self 33\n"
		       "10 app:a;lib:b of its own 60-60 self 0\n"
		       "10 app:a 50-60 self 10\n"
		       "10 app:a 60-60 self 0\n"
		       "10 app:a 60-70 self 10\n" THREADS);
}

static void test_labels(void **state)
{
	struct recorded *r = *state;
	struct model_span span;

	record_begin(r);
	span = at(r, REC_ONE, REC_A, 0, 1, 1);
	span.nlabels = 4;
	span.labels[0] = (struct model_label){.key = "user", .number = -42};
	span.labels[1] = (struct model_label){.key = "path", .text = "/a=b\tä \"x\""};
	span.labels[2] = (struct model_label){.key = "number", .text = "17"};
	span.labels[3] = (struct model_label){.key = "quoted", .text = "\"\""};
	record_span(r, &span);
	span = at(r, REC_ONE, REC_A, 1, 2, 1);
	span.nlabels = 4;
	span.labels[0] = (struct model_label){.key = "arg0", .text = "bare"};
	span.labels[1] = (struct model_label){.key = "arg1", .text = "a=b"};
	span.labels[2] = (struct model_label){.key = "empty", .text = ""};
	span.labels[3] = (struct model_label){.key = "bad", .text = "\x1e\x80\x1b"};
	record_span(r, &span);
	record_finish(r);
	assert_back(r,
		    "10 app:a 0-1 self 1 user=-42 path='/a=b\tä \"x\"' number='17' quoted='\"\"'\n"
		    "10 app:a 1-2 self 1 arg0='bare' arg1='a=b' empty='' bad='���'\n" THREADS);
}

/* Made on one thread, worked on by two, overlapping another; segments out of order on one thread. */
static void test_async(void **state)
{
	struct recorded *r = *state;
	struct model_span span;

	record_begin(r);
	span = at(r, REC_ONE, REC_JOB, 10, 20, 10);
	span.flags = MODEL_SEGMENT;
	span.id = 7;
	record_span(r, &span);
	span = at(r, REC_ONE, REC_JOB, 15, 30, 10);
	span.flags = MODEL_SEGMENT;
	span.id = UINT64_MAX;
	record_span(r, &span);
	span = at(r, REC_TWO, REC_JOB, 25, 35, 10);
	span.flags = MODEL_SEGMENT | MODEL_ABANDONED;
	span.id = 7;
	record_span(r, &span);
	span = at(r, REC_ONE, REC_JOB, 5, 40, 20);
	span.flags = MODEL_ASYNC;
	span.id = 7;
	span.busy_ns = 20;
	record_span(r, &span);
	span = at(r, REC_FAR, REC_JOB, 6, 50, 9);
	span.flags = MODEL_ASYNC | MODEL_OPEN;
	span.id = UINT64_MAX;
	span.busy_ns = 15;
	span.nlabels = 1;
	span.labels[0] = (struct model_label){.key = "user", .number = 5};
	record_span(r, &span);
	record_finish(r);
	assert_back(
		r,
		"10 @app:job 10-20 self 10 segment 7 busy 10\n"
		"10 @app:job 15-30 self 10 segment 18446744073709551615 busy 15\n"
		"11 @app:job 25-35 self 10 segment 7 busy 10 abandoned\n"
		"10 @app:job 5-40 self 20 async 7 busy 20\n"
		"20 @app:job 6-50 self 9 async 18446744073709551615 busy 15 open user=5\n" THREADS);
}

/* The path of an async span has nothing to do with where it stands. */
static void test_async_under(void **state)
{
	struct recorded *r = *state;
	struct model_def odd = {.id = 9, .kind = MODEL_ASYNC_SPAN, .provider = "p"};
	struct model_path inner = {.id = 50, .parent = &r->paths[REC_A_B], .depth = 3};
	struct model_path innermost = {.id = 51, .parent = &inner, .depth = 4};
	struct model_span span;

	odd.name = "a;b@c\\d";
	inner.def = &odd;
	innermost.def = &r->job;
	record_begin(r);
	span = at(r, REC_ONE, REC_JOB, 10, 20, 10);
	span.path = &innermost;
	span.flags = MODEL_SEGMENT;
	span.id = 1;
	record_span(r, &span);
	write_at(r, REC_ONE, REC_A, 10, 30, 10);
	record_finish(r);
	assert_back(
		r,
		"10 app:a;lib:b of its own;@p:a;b@c\\d;@app:job 10-20 self 10 segment 1 busy 10\n"
		"10 app:a 10-30 self 10\n" THREADS);
}

static void test_events(void **state)
{
	static const s64 values[] = {0, -1, (s64)MMP_VALUE_MAX, (s64)MMP_VALUE_MAX + 1, INT64_MIN};
	struct recorded *r = *state;
	struct model_event event = {
		.thread = &r->threads[REC_ONE],
		.path = &r->paths[REC_A_TICK],
		.time_ns = REC_START + 15,
		.nlabels = 1,
		.labels = {{.key = "value", .number = 3}},
	};

	record_begin(r);
	record_event(r, &event);
	event.path = &r->paths[REC_TICK];
	event.nlabels = 0;
	event.has_value = true;
	write_at(r, REC_ONE, REC_A, 10, 20, 10);
	for (size_t i = 0; i < sizeof(values) / sizeof(*values); i++) {
		event.time_ns = REC_START + 30 + i;
		event.value = values[i];
		record_event(r, &event);
	}
	record_finish(r);
	assert_back(r, "10 app:a;app:tick 15 value=3\n"
		       "10 app:a 10-20 self 10\n"
		       "10 app:tick 30 value 0\n"
		       "10 app:tick 31 value -1\n"
		       "10 app:tick 32 value 281474976710655\n"
		       "10 app:tick 33 value 281474976710656\n"
		       "10 app:tick 34 value -9223372036854775808\n" THREADS);
}

/* The kernel uses a tid again; a thread has no name; another is known by its end alone. */
static void test_threads(void **state)
{
	struct recorded *r = *state;

	r->threads[REC_TWO].tid = 10;
	r->threads[REC_TWO].start_ns = REC_START + 50;
	r->threads[REC_TWO].end_ns = REC_START + 90;
	r->rows[REC_TWO].end_ns = REC_START + 90;
	r->rows[REC_TWO].inside_ns = 17;
	memset(r->threads[REC_ONE].comm, 0, MODEL_COMM_LEN);
	record_begin(r);
	write_at(r, REC_ONE, REC_A, 10, 40, 30);
	write_at(r, REC_TWO, REC_A, 60, 70, 10);
	record_finish(r);
	assert_back(r, "10 app:a 10-40 self 30\n"
		       "10 app:a 60-70 self 10\n"
		       "thread 10/10 '' 0-8000000000 inside 0\n"
		       "thread 10/10 'two' 50-90 inside 17\n"
		       "thread 20/20 'far' 0-8000000000 inside 0\n");
}

/* Losses are told, also those that the program had; an unfinished file says so and gives what was flushed. */
static void test_losses_and_cut(void **state)
{
	struct recorded *r = *state;
	struct eventfile_read read;

	r->losses[0].count = 5;
	record_begin(r);
	write_at(r, REC_ONE, REC_A, 10, 40, 30);
	record_finish(r);
	assert_back(r, "10 app:a 10-40 self 30\n" THREADS "loss ring_full 5\n");

	r->exporter.ops->free(&r->exporter);
	record_begin(r);
	write_at(r, REC_ONE, REC_A, 10, 40, 30);
	record_tick(r, REC_START + 2000000000);
	write_at(r, REC_ONE, REC_A, 50, 60, 10);
	record_cut(r);
	eventfile_read_bytes(&read, r->bytes, r->size);
	assert_int_equal(read.err, 0);
	assert_false(read.finished);
	assert_non_null(strstr(read.said.text, "is not whole"));
	assert_string_equal(read.text.data, "10 app:a 10-40 self 30\n"
					    "thread 10/10 'one' 10-40 inside 30\n");
	eventfile_read_end(&read);
}

/* 48 bits of ns: the last that fits, and the first that does not. */
static void test_beyond(void **state)
{
	struct recorded *r = *state;
	struct captured said;
	struct eventfile_read read;

	record_begin(r);
	write_at(r, REC_ONE, REC_A, 10, MMP_TIME_MAX, MMP_TIME_MAX - 10);
	write_at(r, REC_TWO, REC_A, 10, MMP_TIME_MAX + 1, MMP_TIME_MAX - 9);
	captured_begin(&said, STDERR_FILENO);
	record_finish(r);
	captured_end(&said);
	assert_non_null(strstr(said.text, "1 spans and events are left out"));
	eventfile_read_bytes(&read, r->bytes, r->size);
	assert_non_null(strstr(read.text.data, "10 app:a 10-281474976710653 self 281474976710643\n"
					       "thread 10/10 'one' "));
	eventfile_read_end(&read);
}

/* A line of CPU time: ends are what was used so far, starts are where the first child started. */
static void test_counter(void **state)
{
	struct recorded *r = *state;
	struct eventfile_read read;
	struct model_span span;

	r->exporter.options.counter = EXPORT_COUNTER_CPU_TIME;
	record_begin(r);
	span = at(r, REC_ONE, REC_A_B, 20, 30, 10);
	span.self_cpu_ns = span.total.cpu_ns = 4;
	record_span(r, &span);
	span = at(r, REC_ONE, REC_A_B, 40, 90, 50);
	span.self_cpu_ns = span.total.cpu_ns = 0;
	record_span(r, &span);
	span = at(r, REC_ONE, REC_A, 10, 100, 30);
	span.self_cpu_ns = 3;
	span.total.cpu_ns = 7;
	record_span(r, &span);
	span = at(r, REC_ONE, REC_A, 110, 120, 30);
	span.self_cpu_ns = span.total.cpu_ns = 5;
	record_span(r, &span);
	span = at(r, REC_ONE, REC_JOB, 115, 130, 15); /* overlaps the one before */
	span.self_cpu_ns = span.total.cpu_ns = 6;
	span.flags = MODEL_SEGMENT;
	record_span(r, &span);
	span = at(r, REC_ONE, REC_JOB, 105, 140, 15);
	span.flags = MODEL_ASYNC; /* what it did stands in its segments */
	record_span(r, &span);
	record_finish(r);
	eventfile_read_bytes(&read, r->bytes, r->size);
	assert_string_equal(read.counter, "cpu-time");
	assert_string_equal(read.text.data, "10 app:a;lib:b of its own 0-4 self 4\n"
					    "10 app:a;lib:b of its own 4-4 self 0\n"
					    "10 app:a 0-7 self 3\n"
					    "10 app:a 7-12 self 5\n"
					    "10 @app:job 12-18 self 6 segment 0 busy 6\n"
					    "thread 10/10 'one' 0-18 inside 18\n"
					    "thread 10/11 'two' 0-0 inside 0\n"
					    "thread 20/20 'far' 0-0 inside 0\n");
	eventfile_read_end(&read);
}

static void test_not_measured(void **state)
{
	struct recorded *r = *state;

	r->exporter.options.counter = EXPORT_COUNTER_RUN_DELAY;
	r->run.metrics = METRIC_WALL;
	record_begin(r);
	write_at(r, REC_ONE, REC_A, 10, 40, 30);
	assert_int_equal(r->exporter.ops->finish(&r->exporter, &r->run), -ENODATA);
	record_cut(r);
	assert_int_equal(r->size, 0);
}

/* Every interval of every thread id of the file, whatever was done to it: none overlaps an earlier one. */
static void test_no_overlap(void **state)
{
	struct recorded *r = *state;
	struct mmp_event events[2048];
	size_t n = 0, at_byte = MMP_HEADER_SIZE, lanes = 0;
	u64 seed = 1, now = 0;

	record_begin(r);
	for (int i = 0; i < 300; i++) {
		struct model_span span;
		u64 length;

		seed = seed * 6364136223846793005ull + 1442695040888963407ull;
		now += seed >> 60;
		length = (seed >> 40) % 64;
		length = length > now ? now : length;
		span = at(r, REC_ONE, REC_JOB, now - length, now, length);
		span.flags = seed >> 39 & 1 ? MODEL_SEGMENT : MODEL_ASYNC;
		record_span(r, &span);
	}
	record_finish(r);
	for (size_t page = 0; at_byte < r->size; at_byte += MMP_PAGE_HEADER + page) {
		const u8 *bytes = (const u8 *)r->bytes + at_byte;

		page = mmp_get32(bytes + 1);
		for (size_t i = MMP_HEADER_SIZE; bytes[0] == MMP_EVENTS && i < page; i += 32) {
			mmp_event_get(bytes + MMP_PAGE_HEADER + i, false, &events[n]);
			n += mmp_is_interval(&events[n]);
		}
	}
	assert_int_equal(n, 300);
	for (size_t i = 0; i < n; i++) {
		lanes += events[i].thread >= MMP_LANE_FIRST;
		for (size_t j = 0; j < i; j++)
			if (events[j].thread == events[i].thread)
				assert_true(events[j].value2 <= events[i].value1 ||
					    (events[j].value1 >= events[i].value1 &&
					     events[j].value2 <= events[i].value2));
	}
	assert_in_range(lanes, 150, 299);
}

/* More labels than are remembered to stand in the file already: they are written again, and nothing is mixed up. */
static void test_many_labels(void **state)
{
	struct recorded *r = *state;
	struct eventfile_read read;
	char text[64], want[128];

	record_begin(r);
	for (u64 i = 0; i < 40000; i++) {
		struct model_span span = at(r, REC_ONE, REC_A, i * 10, i * 10 + 5, 5);

		snprintf(text, sizeof(text), "request %" PRIu64, i);
		span.nlabels = 1;
		span.labels[0] = (struct model_label){.key = "path", .text = text};
		record_span(r, &span);
	}
	record_finish(r);
	eventfile_read_bytes(&read, r->bytes, r->size);
	for (u64 i = 0; i < 40000; i += 1111) {
		snprintf(want, sizeof(want),
			 "10 app:a %" PRIu64 "-%" PRIu64 " self 5 path='request %" PRIu64 "'\n",
			 i * 10, i * 10 + 5, i);
		assert_non_null(strstr(read.text.data, want));
	}
	eventfile_read_end(&read);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, recorded_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_thread_spans), TEST(test_self_and_path),  TEST(test_labels),
		TEST(test_async),        TEST(test_async_under),    TEST(test_events),
		TEST(test_threads),      TEST(test_losses_and_cut), TEST(test_beyond),
		TEST(test_counter),      TEST(test_not_measured),   TEST(test_no_overlap),
		TEST(test_many_labels),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
