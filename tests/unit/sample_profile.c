/* SPDX-License-Identifier: MIT */
/* See sample_profile.h. */
#include "sample_profile.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define MS 1000000ull
#define S  (1000 * MS)

static void fill_paths(struct sample *s)
{
	s->outer = (struct model_def){.id = 0, .kind = MODEL_THREAD_SPAN, .provider = "app"};
	s->outer.name = "outer";
	s->outer.source_file = "src/main.c";
	s->outer.source_line = 12;
	s->inner = (struct model_def){.id = 1, .kind = MODEL_THREAD_SPAN, .provider = "app"};
	s->inner.name = "inner";
	s->job = (struct model_def){.id = 2, .kind = MODEL_ASYNC_SPAN, .provider = "app"};
	s->job.name = "job";
	s->tick = (struct model_def){.id = 3, .kind = MODEL_EVENT, .provider = "app"};
	s->tick.name = "tick";
	s->bytes = (struct model_def){.id = 4, .kind = MODEL_EVENT, .provider = "app"};
	s->bytes.name = "bytes";

	s->paths[SAMPLE_OUTER_PATH] = (struct model_path){
		.id = 1, .depth = 1, .parent = &s->paths[SAMPLE_ROOT_PATH], .def = &s->outer};
	s->paths[SAMPLE_INNER_PATH] = (struct model_path){
		.id = 2, .depth = 2, .parent = &s->paths[SAMPLE_OUTER_PATH], .def = &s->inner};
	s->paths[SAMPLE_JOB_PATH] = (struct model_path){
		.id = 3, .depth = 1, .parent = &s->paths[SAMPLE_ROOT_PATH], .def = &s->job};
	s->paths[SAMPLE_JOB_PATH].name = "GET /cart";
}

static void fill_threads(struct sample *s)
{
	s->web = (struct model_thread){.serial = 0, .pid = 100, .tid = 100, .comm = "web"};
	s->web.start_ns = 1 * S;
	s->worker = (struct model_thread){.serial = 1, .pid = 100, .tid = 101, .comm = "worker"};
	s->worker.start_ns = 2 * S;
	s->worker.end_ns = 6 * S;
	s->threads[0] = (struct model_thread_row){&s->web, .inside_ns = 4 * S, .end_ns = 11 * S};
	s->threads[1] = (struct model_thread_row){&s->worker, .inside_ns = 3 * S / 2, 6 * S};
}

/* N durations of NS each. */
static void add_durations(struct sample *s, int at, u64 ns, u64 n)
{
	struct model_row *row = &s->rows[at];

	if (!s->durations[at])
		assert_int_equal(histogram_new(&s->durations[at]), 0);
	assert_int_equal(histogram_add_many(s->durations[at], ns, n), 0);
	row->durations = s->durations[at];
	if (!row->count || ns < row->min_ns)
		row->min_ns = ns;
	if (ns > row->max_ns)
		row->max_ns = ns;
	row->mean_ns = (row->mean_ns * row->count + ns * n) / (row->count + n);
	row->count += n;
}

static void fill_rows(struct sample *s)
{
	struct model_row *row = &s->rows[SAMPLE_OUTER];

	row->thread = &s->web;
	row->path = &s->paths[SAMPLE_OUTER_PATH];
	add_durations(s, SAMPLE_OUTER, 1 * S, 4);
	row->abandoned = 1;
	row->wall_ns = row->busy_ns = 4 * S;
	row->self_ns = row->work.busy_ns = 3 * S;
	row->total.cpu_ns = 2 * S;
	row->total.cpu_system_ns = 400 * MS;
	row->self_cpu_system_ns = row->work.cpu_system_ns = 300 * MS;
	row->self_cpu_ns = row->work.cpu_ns = 1500 * MS;
	row->total.run_delay_ns = 200 * MS;
	row->work.run_delay_ns = 100 * MS;
	row->total.vol_switches = 5;
	row->total.minor_faults = 7;
	row->alloc_objects = row->work.alloc_objects = 3;
	row->alloc_bytes = row->work.alloc_bytes = 3072;

	row = &s->rows[SAMPLE_INNER];
	row->thread = &s->web;
	row->path = &s->paths[SAMPLE_INNER_PATH];
	add_durations(s, SAMPLE_INNER, 50 * MS, 8);
	add_durations(s, SAMPLE_INNER, 300 * MS, 2);
	row->wall_ns = row->busy_ns = row->self_ns = row->work.busy_ns = 1 * S;
	row->total.cpu_ns = row->self_cpu_ns = row->work.cpu_ns = 500 * MS;
	row->total.run_delay_ns = row->work.run_delay_ns = 100 * MS;

	row = &s->rows[SAMPLE_WORKER_OUTER];
	row->thread = &s->worker;
	row->path = &s->paths[SAMPLE_OUTER_PATH];
	add_durations(s, SAMPLE_WORKER_OUTER, 600 * MS, 1);
	row->open = 1;
	row->wall_ns = row->busy_ns = row->self_ns = row->work.busy_ns = 1 * S;
	row->total.cpu_ns = row->self_cpu_ns = row->work.cpu_ns = 1 * S;

	row = &s->rows[SAMPLE_JOB];
	row->thread = &s->worker;
	row->path = &s->paths[SAMPLE_JOB_PATH];
	add_durations(s, SAMPLE_JOB, 3 * S, 1);
	row->wall_ns = 3 * S;
	row->busy_ns = row->self_ns = row->work.busy_ns = 500 * MS;
	row->work.idle_ns = 2500 * MS;
	row->total.cpu_ns = row->self_cpu_ns = row->work.cpu_ns = 250 * MS;
}

struct sample *sample_new(void)
{
	struct sample *s = calloc(1, sizeof(*s));

	assert_non_null(s);
	fill_paths(s);
	fill_threads(s);
	fill_rows(s);
	s->events[0] = (struct model_event_row){.thread = &s->web, .def = &s->tick, .count = 7};
	s->events[1] = (struct model_event_row){.thread = &s->worker, .def = &s->bytes};
	s->events[1].count = 3;
	s->events[1].sum = -5;
	s->events[1].has_sum = true;
	s->losses[0] = (struct model_loss){"ring_full", "records that found no room", 0};
	s->losses[1] = (struct model_loss){"orphan_exit", "exits without an enter", 2};
	s->refused[0] = (struct model_refused){"app:bad__enter at 0x10 of ./app", "not a nop"};
	s->profile = (struct profile){
		.version = "1.0",
		.kernel = "6.18.0",
		.clock = "monotonic",
		.target = "pid 100 (web)",
		.start_ns = 1 * S,
		.end_ns = 11 * S,
		.metrics = METRIC_WALL | METRIC_CPU,
		.rows = s->rows,
		.nrows = SAMPLE_NROWS,
		.events = s->events,
		.nevents = 2,
		.threads = s->threads,
		.nthreads = 2,
		.losses = s->losses,
		.nlosses = 2,
		.refused = s->refused,
		.nrefused = 1,
	};
	return s;
}

void sample_free(struct sample *s)
{
	for (int i = 0; i < SAMPLE_NROWS; i++)
		histogram_free(&s->durations[i]);
	free(s);
}

char *sample_try_export(const char *name, const struct profile *profile,
			const struct export_options *options, int *err)
{
	struct exporter e = {.ops = exporter_by_name(name), .options = *options};
	char *text = NULL;
	size_t len;

	assert_non_null(e.ops);
	e.out = open_memstream(&text, &len);
	assert_non_null(e.out);
	*err = e.ops->finish(&e, profile);
	assert_int_equal(fclose(e.out), 0);
	if (*err) {
		assert_int_equal(len, 0);
		free(text);
		return NULL;
	}
	return text;
}

char *sample_export(const char *name, const struct profile *profile,
		    const struct export_options *options)
{
	char *text;
	int err;

	text = sample_try_export(name, profile, options, &err);
	assert_int_equal(err, 0);
	return text;
}
