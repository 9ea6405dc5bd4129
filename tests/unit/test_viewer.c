/* SPDX-License-Identifier: MIT */
/* What formats for trace viewers are told, in which order: names of processes and threads, arrows, what overlaps, and the
 * counters of CPU and memory. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "../../exporters/viewer.h"
#include "recorded.h"

struct spy {
	struct viewer viewer; /* first, as in a format's state */
	struct text_buf told;
	struct recorded *r;
};

/* A line: what it is, and numbers. */
static int tell(struct viewer *v, const char *format, ...)
{
	struct spy *spy = (struct spy *)v;
	char line[128];
	va_list args;

	va_start(args, format);
	vsnprintf(line, sizeof(line), format, args);
	va_end(args);
	text_add_str(&spy->told, line);
	text_add_str(&spy->told, "\n");
	return 0;
}

static int spy_process(struct viewer *v, struct viewer_process *process)
{
	return tell(v, "process %u %s", process->pid, process->name);
}

static int spy_thread(struct viewer *v, struct viewer_thread *thread)
{
	return tell(v, "thread %u %s", thread->model->tid, thread->name);
}

static int spy_slice(struct viewer *v, struct viewer_thread *thread, const struct model_span *span,
		     const struct flow *flow)
{
	return tell(v, "slice %u +%llu from %u", thread->model->tid,
		    (unsigned long long)(span->start_ns - REC_START), flow ? flow->tid : 0);
}

static int spy_aside(struct viewer *v, struct viewer_thread *thread, const struct model_span *span)
{
	return tell(v, "aside %u +%llu", thread->model->tid,
		    (unsigned long long)(span->start_ns - REC_START));
}

static int spy_async(struct viewer *v, struct viewer_thread *thread, const struct model_span *span)
{
	return tell(v, "async %u +%llu", thread->model->tid,
		    (unsigned long long)(span->start_ns - REC_START));
}

static int spy_counter(struct viewer *v, struct viewer_process *process, enum viewer_counter which,
		       u64 time_ns)
{
	return tell(v, "%s of %u: %llu at +%llu", viewer_counter_names[which], process->pid,
		    (unsigned long long)process->values[which],
		    (unsigned long long)(time_ns - REC_START));
}

static const struct viewer_ops spy_ops = {
	.process = spy_process,
	.thread = spy_thread,
	.slice = spy_slice,
	.aside = spy_aside,
	.async = spy_async,
	.counter = spy_counter,
};

static int setup(void **state)
{
	struct spy *spy = calloc(1, sizeof(*spy));

	assert_non_null(spy);
	spy->r = recorded_new();
	*state = spy;
	return 0;
}

static int teardown(void **state)
{
	struct spy *spy = *state;

	viewer_free(&spy->viewer);
	text_buf_free(&spy->told);
	recorded_free(spy->r);
	free(spy);
	return 0;
}

static void begin(struct spy *spy, u32 metrics)
{
	spy->r->run.metrics = metrics;
	viewer_init(&spy->viewer, &spy_ops, &spy->r->exporter, &spy->r->run);
}

static void span(struct spy *spy, int thread, u64 start, u64 end)
{
	struct model_span span =
		recorded_span(spy->r, thread, REC_A, REC_START + start, end - start, end - start);

	assert_int_equal(viewer_span(&spy->viewer, &span), 0);
}

static void job(struct spy *spy, int thread, u64 start, u64 end, u32 flags)
{
	struct model_span span =
		recorded_span(spy->r, thread, REC_JOB, REC_START + start, end - start, end - start);

	span.id = 5;
	span.flags = flags;
	assert_int_equal(viewer_span(&spy->viewer, &span), 0);
}

/* All that was told since the last time. */
static void assert_told(struct spy *spy, const char *wanted)
{
	assert_string_equal(spy->told.data ? spy->told.data : "", wanted);
	text_cut(&spy->told, 0);
}

/* A process is called like its main thread, until that comes like another; what has a new name is told again. */
static void test_names(void **state)
{
	struct spy *spy = *state;

	begin(spy, METRIC_WALL);
	span(spy, REC_TWO, 0, 10);
	assert_told(spy, "process 10 two\nthread 11 two\nslice 11 +0 from 0\n");
	span(spy, REC_TWO, 20, 30);
	assert_told(spy, "slice 11 +20 from 0\n");
	span(spy, REC_ONE, 0, 10);
	assert_told(spy, "process 10 one\nthread 10 one\nslice 10 +0 from 0\n");
	memcpy(spy->r->threads[REC_TWO].comm, "new", 4);
	spy->r->run.threads = spy->r->rows;
	spy->r->run.nthreads = REC_THREADS;
	assert_int_equal(viewer_finish(&spy->viewer, &spy->r->run), 0);
	assert_told(spy, "thread 11 new\nprocess 20 far\nthread 20 far\n");
}

/* Arrows from one stretch to the next end with the async span; what overlaps is no slice. */
static void test_order(void **state)
{
	struct spy *spy = *state;

	begin(spy, METRIC_WALL);
	job(spy, REC_ONE, 0, 10, MODEL_SEGMENT);
	job(spy, REC_TWO, 20, 30, MODEL_SEGMENT);
	job(spy, REC_ONE, 0, 40, MODEL_ASYNC);
	job(spy, REC_TWO, 50, 60, MODEL_SEGMENT);
	span(spy, REC_TWO, 55, 70);
	assert_told(spy, "process 10 one\nthread 10 one\nslice 10 +0 from 0\n"
			 "thread 11 two\nslice 11 +20 from 10\n"
			 "async 10 +0\nslice 11 +50 from 0\naside 11 +55\n");
}

/* The CPU time of a process's spans: the first, then one in 10 ms at most, and at the end. */
static void test_cpu(void **state)
{
	struct spy *spy = *state;

	begin(spy, METRIC_WALL | METRIC_CPU);
	span(spy, REC_FAR, 0, REC_MS);
	span(spy, REC_FAR, 2 * REC_MS, 3 * REC_MS);
	span(spy, REC_FAR, 11 * REC_MS, 12 * REC_MS);
	spy->r->run.end_ns = REC_START + 50 * REC_MS;
	assert_int_equal(viewer_finish(&spy->viewer, &spy->r->run), 0);
	assert_told(spy, "process 20 far\nthread 20 far\n"
			 "slice 20 +0 from 0\nCPU of spans of 20: 1000000 at +1000000\n"
			 "slice 20 +2000000 from 0\n"
			 "slice 20 +11000000 from 0\nCPU of spans of 20: 3000000 at +12000000\n"
			 "CPU of spans of 20: 3000000 at +50000000\n");
}

/* Each snapshot is a point of each process's heap, which may fall; time outside spans is none of it. */
static void test_heap(void **state)
{
	struct spy *spy = *state;
	struct recorded *r = spy->r;
	struct model_row rows[] = {
		{.thread = &r->threads[REC_ONE], .path = &r->paths[REC_A]},
		{.thread = &r->threads[REC_TWO], .path = &r->paths[REC_A_B]},
		{.thread = &r->threads[REC_FAR], .path = &r->paths[REC_A]},
		{.thread = &r->threads[REC_FAR], .path = &r->paths[REC_ROOT]},
	};
	struct profile snapshot;

	begin(spy, METRIC_WALL | METRIC_ALLOC | METRIC_HEAP);
	for (int i = 0; i < 4; i++) {
		rows[i].work.inuse_bytes = 100 << i;
		rows[i].work.alloc_bytes = 1000 << i;
	}
	snapshot = r->run;
	snapshot.rows = rows;
	snapshot.nrows = 4;
	snapshot.end_ns = REC_START + 7;
	assert_int_equal(viewer_heap(&spy->viewer, &snapshot), 0);
	assert_non_null(spy->told.data);
	assert_non_null(strstr(spy->told.data, "heap of spans of 10: 300 at +7\n"));
	assert_non_null(strstr(spy->told.data, "heap of spans of 20: 400 at +7\n"));
	text_cut(&spy->told, 0);
	rows[0].work.inuse_bytes = 0;
	snapshot.nrows = 1;
	snapshot.end_ns = REC_START + 9;
	assert_int_equal(viewer_heap(&spy->viewer, &snapshot), 0);
	assert_non_null(strstr(spy->told.data, "heap of spans of 10: 0 at +9\n"));
	assert_non_null(strstr(spy->told.data, "heap of spans of 20: 0 at +9\n"));
	text_cut(&spy->told, 0);
	/* At the end also that there was none at the start. */
	snapshot.nrows = 3;
	snapshot.end_ns = REC_START + 20;
	assert_int_equal(viewer_finish(&spy->viewer, &snapshot), 0);
	assert_non_null(strstr(spy->told.data, "heap of spans of 20: 0 at +0\n"));
	assert_non_null(strstr(spy->told.data, "heap of spans of 20: 400 at +20\n"));
	assert_non_null(strstr(spy->told.data, "heap of spans of 10: 200 at +20\n"));
	assert_non_null(strstr(spy->told.data, "allocated in spans of 10: 0 at +0\n"));
	assert_non_null(strstr(spy->told.data, "allocated in spans of 10: 3000 at +20\n"));
	assert_non_null(strstr(spy->told.data, "allocated in spans of 20: 4000 at +20\n"));
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_names),
		TEST(test_order),
		TEST(test_cpu),
		TEST(test_heap),
	};

	return cmocka_run_group_tests_name("viewer", tests, NULL, NULL);
}
