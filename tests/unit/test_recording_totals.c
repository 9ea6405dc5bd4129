/* SPDX-License-Identifier: MIT */
/* What a recording tells beside its spans: memory by thread and path, and that it comes back the same. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "../../include/limits.h"
#include "recorded.h"

#define ALL_METRICS (METRICS_DEFAULT | METRIC_ALLOC | METRIC_HEAP | METRIC_MMAP)

/* A row of memory with numbers that tell which it is: N * 1000 and some. */
static struct model_row memory_row(struct recorded *r, int thread, int path, u64 n)
{
	return (struct model_row){
		.thread = &r->threads[thread],
		.path = &r->paths[path],
		.alloc_objects = n * 1000 + 1,
		.alloc_bytes = n * 1000 + 2,
		.inuse_objects = n * 1000 + 3,
		.inuse_bytes = n * 1000 + 4,
		.map_calls = n * 1000 + 5,
		.map_bytes = n * 1000 + 6,
		.unmap_calls = n * 1000 + 7,
		.unmap_bytes = n * 1000 + 8,
		.leak_objects = n * 1000 + 9,
		.leak_bytes = n * 1000 + 10,
		.leak_oldest_ns = n * 1000 + 11,
	};
}

static struct profile memory_profile(struct recorded *r, const struct model_row *rows, size_t n)
{
	struct profile profile = r->run;

	profile.end_ns = REC_END;
	profile.threads = r->rows;
	profile.nthreads = REC_THREADS;
	profile.rows = rows;
	profile.nrows = n;
	profile.memory = (struct model_memory){1, 2, 3, 4, 5, 6};
	return profile;
}

static void finish_with(struct recorded *r, const struct profile *profile)
{
	assert_int_equal(r->exporter.ops->finish(&r->exporter, profile), 0);
	assert_int_equal(fclose(r->exporter.out), 0);
	r->exporter.out = NULL;
}

/* The row of a path, by its name and that of its thread; PATH is NULL for the root. */
static const struct model_row *row_of(const struct recorded *r, const char *comm, const char *path)
{
	for (size_t i = 0; i < r->profile.nrows; i++) {
		const struct model_row *row = &r->profile.rows[i];

		if (!strcmp(row->thread->comm, comm) &&
		    (row->path->def ? path && !strcmp(row->path->def->name, path) : !path))
			return row;
	}
	fail_msg("no row of %s on %s", path ? path : "nothing", comm);
	return NULL;
}

static void check_row(const struct model_row *row, u64 n)
{
	assert_int_equal(row->alloc_objects, n * 1000 + 1);
	assert_int_equal(row->alloc_bytes, n * 1000 + 2);
	assert_int_equal(row->work.alloc_bytes, n * 1000 + 2);
	assert_int_equal(row->inuse_objects, n * 1000 + 3);
	assert_int_equal(row->inuse_bytes, n * 1000 + 4);
	assert_int_equal(row->map_calls, n * 1000 + 5);
	assert_int_equal(row->map_bytes, n * 1000 + 6);
	assert_int_equal(row->unmap_calls, n * 1000 + 7);
	assert_int_equal(row->unmap_bytes, n * 1000 + 8);
	assert_int_equal(row->leak_objects, n * 1000 + 9);
	assert_int_equal(row->leak_bytes, n * 1000 + 10);
	assert_int_equal(row->leak_oldest_ns, n * 1000 + 11);
}

static struct model_span allocating_span(struct recorded *r, int thread, u64 start)
{
	struct model_span span = recorded_span(r, thread, REC_A, start, 100, 60);

	span.alloc = (struct model_alloc){7, 700};
	span.self_alloc = (struct model_alloc){3, 300};
	return span;
}

static int setup(void **state)
{
	struct recorded *r = recorded_new();

	r->run.metrics = ALL_METRICS;
	strcpy(r->threads[REC_ONE].process_comm, "master");
	r->threads[REC_ONE].nspid = 4711;
	*state = r;
	return 0;
}

static void test_rows_come_back(void **state)
{
	struct recorded *r = *state;
	struct model_span span = allocating_span(r, REC_ONE, REC_START);
	const struct model_row rows[] = {
		memory_row(r, REC_ONE, REC_ROOT, 1),
		memory_row(r, REC_ONE, REC_A, 2),
		memory_row(r, REC_TWO, REC_ROOT, 3),
	};
	struct profile profile = memory_profile(r, rows, 3);

	record_begin(r);
	record_span(r, &span);
	finish_with(r, &profile);
	replay_all(r);
	assert_string_equal(r->said.text, "");
	assert_int_equal(r->spans[0].alloc.objects, 7);
	assert_int_equal(r->spans[0].alloc.bytes, 700);
	assert_int_equal(r->spans[0].self_alloc.objects, 3);
	assert_int_equal(r->spans[0].self_alloc.bytes, 300);
	assert_int_equal(r->profile.metrics, ALL_METRICS);
	assert_int_equal(r->profile.nrows, 3);
	check_row(row_of(r, "one", NULL), 1);
	check_row(row_of(r, "one", "a"), 2);
	check_row(row_of(r, "two", NULL), 3);
	assert_int_equal(row_of(r, "one", "a")->count, 1);
	assert_memory_equal(&r->profile.memory, &profile.memory, sizeof(profile.memory));
	assert_int_equal(row_of(r, "one", NULL)->thread->nspid, 4711);
	assert_string_equal(row_of(r, "one", NULL)->thread->process_comm, "master");
}

/* A span that allocates nothing is as long as it was where nothing is counted. */
static void test_nothing_costs_nothing(void **state)
{
	struct recorded *r = *state;
	size_t before;

	for (int pass = 0; pass < 2; pass++) {
		r->run.metrics = pass ? METRICS_DEFAULT : ALL_METRICS;
		record_begin(r);
		for (u64 i = 0; i < 100; i++)
			record_simple(r, REC_ONE, REC_A, REC_START + i * 100, 50, 50);
		record_finish(r);
		if (!pass)
			before = block_header(r, 2).length;
	}
	assert_int_equal(block_header(r, 2).kind, RECORDING_SPANS);
	assert_int_equal(block_header(r, 2).length, before);
}

/* Without an end nobody knows what is in use; what spans allocated themselves is known. */
static void test_cut(void **state)
{
	struct recorded *r = *state;
	struct model_span span = allocating_span(r, REC_ONE, REC_START);

	record_begin(r);
	record_span(r, &span);
	record_span(r, &span);
	record_tick(r, REC_START + 2000 * REC_MS);
	record_cut(r);
	replay_all(r);
	assert_int_equal(r->profile.metrics, METRICS_DEFAULT | METRIC_ALLOC);
	assert_int_equal(r->profile.nrows, 1);
	assert_int_equal(row_of(r, "one", "a")->alloc_objects, 6);
	assert_int_equal(row_of(r, "one", "a")->alloc_bytes, 600);
}

/* A filter by time leaves the sums of what it takes; one by thread leaves its thread's rows whole. */
static void test_filters(void **state)
{
	struct recorded *r = *state;
	struct model_span early = allocating_span(r, REC_ONE, REC_START);
	struct model_span late = allocating_span(r, REC_TWO, REC_START + 1000);
	const struct model_row rows[] = {
		memory_row(r, REC_ONE, REC_A, 1),
		memory_row(r, REC_TWO, REC_ROOT, 2),
		memory_row(r, REC_TWO, REC_A, 3),
	};
	struct profile profile = memory_profile(r, rows, 3);
	static const pid_t tids[] = {11};

	record_begin(r);
	record_span(r, &early);
	record_span(r, &late);
	finish_with(r, &profile);
	r->filter.from_ns = 500;
	replay_all(r);
	assert_int_equal(r->profile.metrics, METRICS_DEFAULT | METRIC_ALLOC);
	assert_int_equal(r->profile.nrows, 1);
	assert_int_equal(row_of(r, "two", "a")->alloc_bytes, 300);
	r->filter = (struct replay_filter){.tids = tids, .ntids = 1};
	replay_all(r);
	assert_int_equal(r->profile.nrows, 2);
	check_row(row_of(r, "two", NULL), 2);
	check_row(row_of(r, "two", "a"), 3);
}

/* Of several files each has its own sums, and all that is in use at its end. */
static void test_parts(void **state)
{
	struct recorded *r = *state;
	struct model_span span = allocating_span(r, REC_ONE, REC_START);
	struct model_row rows[] = {
		memory_row(r, REC_ONE, REC_ROOT, 1),
		memory_row(r, REC_ONE, REC_A, 1),
	};
	struct profile profile = memory_profile(r, rows, 2);

	profile.is_part = true;
	record_begin(r);
	record_span(r, &span);
	finish_with(r, &profile);
	replay_all(r);
	assert_int_equal(row_of(r, "one", NULL)->alloc_bytes, 1002);
	assert_int_equal(row_of(r, "one", "a")->alloc_bytes, 300);
	assert_int_equal(row_of(r, "one", "a")->map_bytes, 1006);
	rows[0] = memory_row(r, REC_ONE, REC_ROOT, 4);
	rows[1] = memory_row(r, REC_ONE, REC_A, 5);
	record_begin(r);
	finish_with(r, &profile);
	replay_all(r);
	assert_int_equal(row_of(r, "one", NULL)->alloc_bytes, 3000);
	assert_int_equal(row_of(r, "one", "a")->alloc_bytes, 0);
	assert_int_equal(row_of(r, "one", "a")->map_bytes, 4000);
	assert_int_equal(row_of(r, "one", "a")->inuse_bytes, 5004);
	assert_int_equal(row_of(r, "one", "a")->leak_oldest_ns, 5011);
}

struct seen {
	struct recorded *r;
	u64 times[4], inuse[4];
	size_t n;
};

static void see_heap(void *context, u64 time_ns)
{
	struct seen *seen = context;
	struct profile then;

	assert_true(seen->n < 4);
	assert_int_equal(trace_profile(replay_trace(seen->r->replay), time_ns, &then), 0);
	for (size_t i = 0; i < then.nrows; i++)
		seen->inuse[seen->n] += then.rows[i].inuse_bytes;
	seen->times[seen->n++] = time_ns;
}

/* What was in use at the time of each snapshot, of which each tells what has changed. */
static void test_snapshots(void **state)
{
	struct recorded *r = *state;
	struct model_row rows[] = {
		memory_row(r, REC_ONE, REC_ROOT, 1),
		memory_row(r, REC_TWO, REC_A, 2),
	};
	struct profile profile = memory_profile(r, rows, 2);
	struct seen seen = {.r = r};
	char path[] = "/tmp/test_recording_totals.XXXXXX";
	int fd;

	record_begin(r);
	profile.end_ns = REC_START + 5;
	assert_int_equal(r->exporter.ops->heap(&r->exporter, &profile), 0);
	rows[1].inuse_bytes = 9;
	profile.end_ns = REC_START + 7;
	assert_int_equal(r->exporter.ops->heap(&r->exporter, &profile), 0);
	profile.end_ns = REC_END;
	finish_with(r, &profile);

	fd = mkstemp(path);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, r->bytes, r->size), r->size);
	close(fd);
	assert_int_equal(replay_open(path, &r->replay), 0);
	unlink(path);
	replay_on_heap(r->replay, see_heap, &seen);
	assert_int_equal(replay_run(r->replay, NULL), 0);
	assert_int_equal(seen.n, 2);
	assert_int_equal(seen.times[0], REC_START + 5);
	assert_int_equal(seen.inuse[0], 1004 + 2004);
	assert_int_equal(seen.times[1], REC_START + 7);
	assert_int_equal(seen.inuse[1], 1004 + 9);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, recorded_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_rows_come_back),
		TEST(test_nothing_costs_nothing),
		TEST(test_cut),
		TEST(test_filters),
		TEST(test_parts),
		TEST(test_snapshots),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
