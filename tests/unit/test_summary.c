/* SPDX-License-Identifier: MIT */
/* The summary: the exact table, what changes it, how it fits a narrow terminal. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../../exporters/text.h"
#include "sample_profile.h"

#define MS 1000000ull

static int setup(void **state)
{
	*state = sample_new();
	return 0;
}

static int teardown(void **state)
{
	sample_free(*state);
	return 0;
}

static char *export(struct sample *s, unsigned width)
{
	struct export_options o = EXPORT_OPTIONS_DEFAULT;

	o.width = width;
	return sample_export("summary", &s->profile, &o);
}

static void assert_contains(const char *text, const char *part)
{
	if (!strstr(text, part))
		fail_msg("no \"%s\" in:\n%s", part, text);
}

static void test_whole(void **state)
{
	char *text = export(*state, 0);

	assert_string_equal(
		text,
		"pid 100 (web): traced for 10.0 s, 2 threads\n"
		"\n"
		"span           count  abandoned  open    wall    busy    self     cpu    mean      p50     p99     max\n"
		"app:outer          5          1     1          5.00 s  4.00 s  3.00 s  920 ms   1.00 s  1.00 s  1.00 s\n"
		"  app:inner       10                           1.00 s  1.00 s  500 ms  100 ms  50.1 ms  300 ms  300 ms\n"
		"app:GET /cart      1                   3.00 s  500 ms  500 ms  250 ms  3.00 s   3.00 s  3.00 s  3.00 s\n"
		"\n"
		"event      count  sum\n"
		"app:tick       7\n"
		"app:bytes      3   -5\n"
		"\n"
		"lost\n"
		"  orphan_exit 2: exits without an enter\n"
		"not probed\n"
		"  app:bad__enter at 0x10 of ./app: not a nop\n");
	free(text);
}

/* Quantiles over threads come from both threads' durations, not from either's. */
static void test_merged_quantiles(void **state)
{
	struct sample *s = *state;
	char *text;

	assert_int_equal(histogram_add_many(s->durations[SAMPLE_WORKER_OUTER], 20 * MS, 94), 0);
	s->rows[SAMPLE_WORKER_OUTER].count = 95;
	s->rows[SAMPLE_WORKER_OUTER].min_ns = 20 * MS;
	s->rows[SAMPLE_WORKER_OUTER].mean_ns = 26 * MS;
	s->profile.nlosses = s->profile.nrefused = s->profile.nevents = 0;
	text = export(s, 0);
	/* 94 of 20 ms, one of 600 ms, 4 of 1 s: mean (95 * 26 + 4 * 1000) / 99. */
	assert_contains(text,
			"app:outer         99          1     1          5.00 s  4.00 s  3.00 s  "
			"65.4 ms  20.1 ms  1.00 s  1.00 s\n");
	assert_contains(text, "\n\nnothing lost\n");
	free(text);
}

/* Columns that say nothing are not there. */
static void test_columns_on_demand(void **state)
{
	struct sample *s = *state;
	char *text;

	s->rows[SAMPLE_OUTER].abandoned = 0;
	s->rows[SAMPLE_WORKER_OUTER].open = 0;
	s->profile.nrows = 3;
	s->profile.metrics = METRIC_WALL | METRIC_ALLOC | METRIC_HEAP;
	s->rows[SAMPLE_OUTER].inuse_bytes = 1024;
	text = export(s, 0);
	assert_contains(
		text,
		"\nspan         count    busy    self  blocks     alloc    in use    mean      p50     p99     max\n"
		"app:outer        5  5.00 s  4.00 s       3  3.00 KiB  1.00 KiB  920 ms   1.00 s  1.00 s  1.00 s\n"
		"  app:inner     10  1.00 s  1.00 s       0       0 B       0 B  100 ms  50.1 ms  300 ms  300 ms\n");
	free(text);
	s->profile.metrics = METRIC_CPU;
	text = export(s, 0);
	assert_contains(text, "\nspan         count     cpu\n"
			      "app:outer        5  3.00 s\n"
			      "  app:inner     10  500 ms\n");
	free(text);
}

/* System time is shown where there is room for it, or where somebody asked for it. */
static void test_system_time(void **state)
{
	static const char sys[] = "\nspan         count     cpu     sys\n"
				  "app:outer        5  3.00 s  400 ms\n"
				  "  app:inner     10  500 ms\n";
	struct sample *s = *state;
	char *text;

	s->profile.nrows = 3;
	s->rows[SAMPLE_OUTER].abandoned = 0;
	s->rows[SAMPLE_WORKER_OUTER].open = 0;
	s->profile.metrics = METRIC_CPU | METRIC_CPU_SPLIT;
	text = export(s, 34);
	assert_contains(text, sys);
	free(text);
	text = export(s, 33);
	assert_contains(text, "\nspan         count     cpu\n");
	free(text);
	text = export(s, 0);
	assert_contains(text, "\nspan         count     cpu\n");
	free(text);
	s->profile.metrics |= METRIC_CPU_EXACT;
	text = export(s, 0);
	assert_contains(text, sys);
	free(text);
}

/* Memory outside spans, mappings, suspects, and how it was counted. */
static void test_memory(void **state)
{
	static const struct model_path root = {.depth = 0};
	struct sample *s = *state;
	char *text;

	s->profile.metrics = METRIC_WALL | METRIC_ALLOC | METRIC_HEAP | METRIC_MMAP;
	s->profile.nrows = 3;
	s->rows[SAMPLE_OUTER].leak_objects = 2;
	s->rows[SAMPLE_OUTER].leak_bytes = 2048;
	s->rows[SAMPLE_OUTER].leak_oldest_ns = 5000000000;
	s->rows[2] = (struct model_row){.thread = s->rows[SAMPLE_OUTER].thread,
					.path = &root,
					.alloc_objects = 7,
					.alloc_bytes = 512,
					.map_calls = 2,
					.map_bytes = 8192};
	s->profile.memory = (struct model_memory){
		.processes = 4, .late = 3, .entries = 1, .sample = 4096, .leaks_ns = 1000000000};
	text = export(s, 0);
	assert_contains(text,
			"\n(outside spans)                                         7     512 B ");
	assert_contains(text, "\nmapped 8.00 KiB in 2 calls, unmapped 0 B in 0\n");
	assert_contains(text, "one in 4.00 KiB on average\n");
	assert_contains(text, "\n3 of 4 processes began while traced: ");
	assert_contains(
		text,
		"\n1 of 4 processes count at the entry of their allocator, because of seccomp: ");
	assert_contains(text, "\nnot freed for 1.00 s\n"
			      "  2.00 KiB in 2 blocks, the oldest of 5.00 s ago: app:outer\n");
	free(text);
}

static void test_processes(void **state)
{
	struct sample *s = *state;
	char *text;

	s->worker.pid = 101;
	text = export(s, 0);
	assert_contains(text, "\nweb (100)\n  app:outer          4 ");
	assert_contains(text, "\n    app:inner       10 ");
	assert_contains(text, "\nworker (101)\n  app:outer          1 ");
	assert_contains(text, "\n  app:GET /cart      1 ");
	assert_contains(text, "\nevent      count  sum  process\n"
			      "app:tick       7       100\n"
			      "app:bytes      3   -5  101\n");
	free(text);
}

/* A process in a PID namespace has two numbers. */
static void test_process_inside(void **state)
{
	struct sample *s = *state;
	char *text;

	s->worker.pid = 101;
	s->worker.nspid = 7;
	strcpy(s->worker.process_comm, "shop");
	s->web.nspid = 100;
	text = export(s, 0);
	assert_contains(text, "\nweb (100)\n");
	assert_contains(text, "\nshop (101, inside 7)\n");
	free(text);
}

/* Many processes: a line for all of one name. */
static void test_crowd(void **state)
{
	enum { N = 30 };
	struct sample *s = *state;
	struct model_thread threads[N];
	struct model_thread_row thread_rows[N];
	struct model_row rows[N];
	struct model_event_row events[N];
	char *text;
	u32 i;

	for (i = 0; i < N; i++) {
		threads[i] = s->web;
		threads[i].pid = threads[i].tid = 1000 + i;
		if (i == 5)
			strcpy(threads[i].comm, "other");
		thread_rows[i] = (struct model_thread_row){.thread = &threads[i]};
		rows[i] = s->rows[SAMPLE_OUTER];
		rows[i].thread = &threads[i];
		events[i] = s->events[0];
		events[i].thread = &threads[i];
	}
	s->profile.threads = thread_rows;
	s->profile.nthreads = N;
	s->profile.rows = rows;
	s->profile.nrows = N;
	s->profile.events = events;
	s->profile.nevents = N;
	text = export(s, 0);
	assert_contains(text, "\nweb (29 processes)\n  app:outer           116 ");
	assert_contains(text, "\nother (1 process)\n  app:outer             4 ");
	assert_contains(
		text, "\nevent     count  process\napp:tick    203  web\napp:tick      7  other\n");
	assert_null(strstr(text, "1000"));
	free(text);
}

static void test_labels(void **state)
{
	struct sample *s = *state;
	char *text;

	s->profile.metrics = METRIC_CPU;
	s->rows[SAMPLE_OUTER].nlabels = 2;
	s->rows[SAMPLE_OUTER].labels[0] = (struct model_label){.key = "url", .text = "/a\n"};
	s->rows[SAMPLE_OUTER].labels[1] = (struct model_label){.key = "code", .number = -404};
	s->rows[SAMPLE_WORKER_OUTER].nlabels = 1;
	s->rows[SAMPLE_WORKER_OUTER].labels[0] = (struct model_label){.key = "url", .text = "/b"};
	text = export(s, 0);
	assert_contains(text, "app:outer                 5          1     1  3.00 s\n"
			      "  url=/a , code=-404      4          1        2.00 s\n"
			      "  url=/b                  1                1  1.00 s\n"
			      "  app:inner              10                   500 ms\n");
	free(text);
}

static unsigned widest(const char *text)
{
	unsigned width = 0;

	while (*text) {
		size_t len = strcspn(text, "\n");
		char *line = strndup(text, len);

		width = text_columns(line) > width ? text_columns(line) : width;
		free(line);
		text += len + (text[len] == '\n');
	}
	return width;
}

static void test_narrow(void **state)
{
	struct sample *s = *state;
	char *text;

	s->outer.name = "a_long_name_that_does_not_fit_into_any_terminal_of_this_world";
	s->paths[SAMPLE_JOB_PATH].name = "日本語の名前がここにあってとても長いので切られる";
	s->profile.nlosses = s->profile.nrefused = 0;
	for (unsigned width = 50; width < 140; width++) {
		text = export(s, width);
		assert_true(widest(text) <= width);
		assert_contains(text, "…");
		free(text);
	}
	text = export(s, 104);
	assert_contains(text, "\napp:a_long_name_that_do…      5 ");
	/* A wide character that does not fit leaves a column free. */
	assert_contains(text, "\napp:日本語の名前がここ…       1 ");
	free(text);
	text = export(s, 60);
	assert_contains(text, "\nspan                  count  abandoned  open    wall    busy\n");
	free(text);
	/* Nothing can make it fit here, but it must not break. */
	text = export(s, 1);
	assert_contains(text, "app:a_long_name…");
	free(text);
}

static void test_unsafe_names(void **state)
{
	struct sample *s = *state;
	char *text;

	s->outer.name = "red\x1b[31m\nx";
	s->tick.name = "t\x07";
	s->profile.target = "tar\x1bget";
	s->refused[0].marker = "m\x1b";
	text = export(s, 0);
	assert_null(strchr(text, '\x1b'));
	assert_null(strchr(text, '\x07'));
	assert_contains(text, "app:red\xef\xbf\xbd[31m x ");
	free(text);
}

static void test_color(void **state)
{
	struct export_options o = EXPORT_OPTIONS_DEFAULT;
	struct sample *s = *state;
	char *text;

	o.color = true;
	text = sample_export("summary", &s->profile, &o);
	assert_int_equal(strncmp(text, "\x1b[1mpid 100 (web)\x1b[0m: ", 23), 0);
	assert_contains(text, "\x1b[33mlost\x1b[0m\n");
	free(text);
}

/* What was left out because it was asked for is no loss, and is said all the same. */
static void test_sampled(void **state)
{
	struct sample *s = *state;
	struct model_loss losses[] = {{"unsampled", "left out by --sample", 12345},
				      {"shed", "", 0}};
	char *text;

	s->profile.sample_ppb = 2500000;
	s->profile.losses = losses;
	s->profile.nlosses = 2;
	text = export(s, 0);
	assert_contains(
		text,
		"\n\n0.25 % of the root spans, by chance; 12,345 spans and events left out; nothing is scaled\n\n");
	assert_contains(text, "\nnothing lost\n");
	losses[1].count = 1;
	free(text);
	text = export(s, 0);
	assert_contains(text, "\nlost\n  shed 1: \n");
	free(text);
}

static void test_no_spans(void **state)
{
	struct sample *s = *state;
	char *text;

	s->profile.nrows = 0;
	s->profile.nthreads = 1;
	text = export(s, 0);
	assert_contains(text, ": traced for 10.0 s, 1 thread\n\nNo span was recorded: ");
	assert_contains(text, "spantrace list");
	assert_contains(text, "app:tick");
	free(text);
}

/* A frame above without spans of its own shows its place, and no figures. */
static void test_gap(void **state)
{
	struct sample *s = *state;
	char *text;

	s->profile.metrics = METRIC_CPU;
	s->profile.rows = &s->rows[SAMPLE_INNER];
	s->profile.nrows = 1;
	text = export(s, 0);
	assert_contains(text, "app:outer\n  app:inner     10  500 ms\n");
	free(text);
}

#define DEPTH 3000

static void test_deep(void **state)
{
	struct sample *s = *state;
	struct model_path *paths = calloc(DEPTH + 1, sizeof(*paths));
	char *text;

	assert_non_null(paths);
	for (u32 i = 1; i <= DEPTH; i++) {
		paths[i] = (struct model_path){.id = i, .depth = i, .parent = &paths[i - 1]};
		paths[i].def = &s->inner;
	}
	s->rows[SAMPLE_INNER].path = &paths[DEPTH];
	s->profile.rows = &s->rows[SAMPLE_INNER];
	s->profile.nrows = 1;
	text = export(s, 0);
	assert_contains(text, "\n                                [2999] app:inner     10 ");
	assert_true(strlen(text) < DEPTH * 100);
	free(text);
	free(paths);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

/* One of the intervals of a trace: its own time, and the threads that did something in it. */
static void test_interval(void **state)
{
	struct sample *s = *state;
	char *text;

	s->profile.is_part = true;
	s->profile.start_ns = s->profile.end_ns - 2000 * MS;
	text = export(s, 0);
	assert_contains(text, "pid 100 (web): the last 2.00 s, 2 threads\n");
	free(text);
	s->profile.nrows = 1;
	text = export(s, 0);
	assert_contains(text, "the last 2.00 s, 1 thread\n");
	free(text);
	s->profile.nrows = 0;
	text = export(s, 0);
	assert_contains(text, "pid 100 (web): the last 2.00 s, 0 threads\n\nNo span ended.\n");
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_whole),
		TEST(test_interval),
		TEST(test_merged_quantiles),
		TEST(test_columns_on_demand),
		TEST(test_system_time),
		TEST(test_memory),
		TEST(test_processes),
		TEST(test_process_inside),
		TEST(test_crowd),
		TEST(test_labels),
		TEST(test_narrow),
		TEST(test_unsafe_names),
		TEST(test_color),
		TEST(test_sampled),
		TEST(test_no_spans),
		TEST(test_gap),
		TEST(test_deep),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
