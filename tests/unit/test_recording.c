/* SPDX-License-Identifier: MIT */
/* Recordings: each field of a span and an event comes back as it went in; when blocks are written. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "recorded.h"

static void check_path(const struct model_path *got, const struct model_path *want)
{
	for (; want->def; got = got->parent, want = want->parent) {
		assert_non_null(got->def);
		assert_int_equal(got->depth, want->depth);
		assert_int_equal(got->def->kind, want->def->kind);
		assert_string_equal(got->def->provider, want->def->provider);
		assert_string_equal(got->def->name, want->def->name);
		assert_int_equal(!got->name, !want->name);
		if (want->name)
			assert_string_equal(got->name, want->name);
	}
	assert_null(got->def);
}

static void check_labels(const struct model_label *got, const struct model_label *want, u32 n)
{
	for (u32 i = 0; i < n; i++) {
		assert_string_equal(got[i].key, want[i].key);
		assert_int_equal(!got[i].text, !want[i].text);
		if (want[i].text)
			assert_string_equal(got[i].text, want[i].text);
		else
			assert_int_equal(got[i].number, want[i].number);
	}
}

static void check_span(const struct model_span *got, const struct model_span *want)
{
	check_path(got->path, want->path);
	assert_int_equal(got->thread->tid, want->thread->tid);
	assert_int_equal(got->id, want->id);
	assert_int_equal(got->start_ns, want->start_ns);
	assert_int_equal(got->end_ns, want->end_ns);
	assert_int_equal(got->busy_ns, want->busy_ns);
	assert_int_equal(got->self_ns, want->self_ns);
	assert_int_equal(got->self_cpu_ns, want->self_cpu_ns);
	assert_int_equal(got->self_cpu_system_ns, want->self_cpu_system_ns);
	assert_int_equal(got->self_run_delay_ns, want->self_run_delay_ns);
	assert_memory_equal(&got->total, &want->total, sizeof(got->total));
	assert_int_equal(got->flags, want->flags);
	assert_int_equal(got->nlabels, want->nlabels);
	check_labels(got->labels, want->labels, want->nlabels);
}

static struct model_span counted_span(struct recorded *r, int path)
{
	struct model_span span = recorded_span(r, REC_ONE, path, REC_START + 5000, 3000, 1000);

	span.total = (struct model_counters){
		.cpu_ns = 2000,
		.cpu_system_ns = 700,
		.run_delay_ns = 300,
		.vol_switches = 7,
		.invol_switches = 1ull << 40,
		.minor_faults = 11,
		.major_faults = 13,
	};
	span.self_cpu_ns = 900;
	span.self_cpu_system_ns = 600;
	span.self_run_delay_ns = 50;
	return span;
}

static void test_every_field(void **state)
{
	struct recorded *r = *state;
	struct model_span spans[6] = {
		recorded_span(r, REC_ONE, REC_A_B, REC_START + 10, 100, 100),
		counted_span(r, REC_A),
		counted_span(r, REC_JOB), /* the async span */
		counted_span(r, REC_JOB), /* a segment */
		recorded_span(r, REC_TWO, REC_A, REC_START, 0, 0),
		recorded_span(r, REC_TWO, REC_A, REC_START, REC_END - REC_START, 1),
	};

	spans[1].flags = MODEL_ABANDONED;
	spans[2].flags = MODEL_ASYNC | MODEL_OPEN;
	spans[2].id = UINT64_MAX;
	spans[2].end_ns = spans[2].start_ns + 8000; /* it was idle */
	spans[3].flags = MODEL_SEGMENT;
	spans[3].id = 5;
	spans[5].flags = MODEL_ABANDONED | MODEL_OPEN;
	spans[5].nlabels = 4;
	spans[5].labels[0] = (struct model_label){.key = "user", .text = "ann; \"b\"\n\xff"};
	spans[5].labels[1] = (struct model_label){.key = "n", .number = INT64_MIN};
	spans[5].labels[2] = (struct model_label){.key = "n", .number = INT64_MAX};
	spans[5].labels[3] = (struct model_label){.key = "", .text = ""};
	record_begin(r);
	for (size_t i = 0; i < 6; i++)
		record_span(r, &spans[i]);
	record_finish(r);
	replay_all(r);
	assert_int_equal(r->nspans, 6);
	for (size_t i = 0; i < 6; i++)
		check_span(&r->spans[i], &spans[i]);
	assert_string_equal(r->said.text, "");
}

static void test_events(void **state)
{
	struct recorded *r = *state;
	struct model_event events[4] = {
		{.path = &r->paths[REC_A_TICK], .time_ns = REC_START},
		{.path = &r->paths[REC_TICK], .time_ns = REC_START + 5, .has_value = true},
		{.path = &r->paths[REC_TICK], .time_ns = REC_START + 3, .has_value = true},
		{.path = &r->paths[REC_TICK], .time_ns = REC_START + 4, .nlabels = 1},
	};

	events[1].value = INT64_MIN;
	events[3].labels[0] = (struct model_label){.key = "k", .number = -1};
	record_begin(r);
	for (size_t i = 0; i < 4; i++) {
		events[i].thread = &r->threads[REC_ONE];
		record_event(r, &events[i]);
	}
	record_finish(r);
	replay_all(r);
	assert_int_equal(r->nevents, 4);
	for (size_t i = 0; i < 4; i++) {
		check_path(r->events[i].path, events[i].path);
		assert_int_equal(r->events[i].thread->tid, 10);
		assert_int_equal(r->events[i].time_ns, events[i].time_ns);
		assert_int_equal(r->events[i].has_value, events[i].has_value);
		assert_int_equal(r->events[i].value, events[i].value);
		assert_int_equal(r->events[i].nlabels, events[i].nlabels);
		check_labels(r->events[i].labels, events[i].labels, events[i].nlabels);
	}
	assert_int_equal(r->profile.nevents, 1);
	assert_int_equal(r->profile.events[0].count, 4);
}

/* What is known of the trace, its threads, definitions, losses. */
static void test_the_run(void **state)
{
	struct recorded *r = *state;
	const struct replay_info *info;
	const struct model_def *def;

	r->run.sample_ppb = 125000000;
	r->losses[0].count = 3;
	r->threads[REC_TWO].start_ns = REC_START + 77;
	r->threads[REC_TWO].end_ns = REC_START + 99;
	r->rows[REC_ONE].inside_ns = 123;
	record_begin(r);
	record_simple(r, REC_ONE, REC_A, REC_START, 10, 10);
	record_finish(r);
	replay_all(r);
	info = replay_info(r->replay);
	assert_string_equal(info->format, "recording");
	assert_true(info->finished);
	assert_null(info->counter);
	assert_string_equal(r->profile.version, "7.8.9");
	assert_string_equal(r->profile.kernel, "6.18.0-test");
	assert_string_equal(r->profile.clock, "CLOCK_MONOTONIC");
	assert_string_equal(r->profile.target, "./app --quick");
	assert_int_equal(r->profile.start_ns, REC_START);
	assert_int_equal(r->profile.end_ns, REC_END);
	assert_int_equal(r->profile.start_realtime_ns, REC_REALTIME);
	assert_int_equal(info->suspended_ns, 12345);
	assert_int_equal(r->profile.metrics, METRICS_DEFAULT);
	assert_int_equal(r->profile.sample_ppb, 125000000);
	assert_int_equal(replay_loss(r, "ring_full"), 3);
	assert_int_equal(replay_loss(r, "orphan_exit"), 0);
	assert_int_equal(r->profile.nrefused, 1);
	assert_string_equal(r->profile.refused[0].marker, "app:bad at 0x10 of ./app");
	assert_string_equal(r->profile.refused[0].why, "not a nop");
	assert_int_equal(r->profile.nthreads, 3);
	assert_string_equal(r->profile.threads[0].thread->comm, "one");
	assert_int_equal(r->profile.threads[0].inside_ns, 123);
	assert_int_equal(r->profile.threads[0].end_ns, REC_END);
	assert_int_equal(r->profile.threads[0].thread->end_ns, 0);
	assert_int_equal(r->profile.threads[1].thread->start_ns, REC_START + 77);
	assert_int_equal(r->profile.threads[1].end_ns, REC_START + 99);
	assert_int_equal(r->profile.threads[2].thread->pid, 20);
	def = r->profile.rows[0].path->def;
	assert_string_equal(def->binary, "/bin/app");
	assert_string_equal(def->build_id, "c0ffee");
	assert_string_equal(def->source_file, "src/app.c");
	assert_int_equal(def->source_line, 42);
}

/* A thread may be named after its first span, and anew at its end. */
static void test_threads_that_change(void **state)
{
	struct recorded *r = *state;

	r->threads[REC_ONE] = (struct model_thread){.serial = 100, .comm = "?"};
	record_begin(r);
	record_simple(r, REC_ONE, REC_A, REC_START, 10, 10);
	recorded_thread(r, REC_ONE, 10, 10, "early");
	record_tick(r, REC_START + 2000 * REC_MS);
	record_simple(r, REC_ONE, REC_A, REC_START + 20, 10, 10);
	record_cut(r);
	replay_all(r);
	assert_int_equal(r->nspans, 1);
	assert_string_equal(r->profile.threads[0].thread->comm, "early");

	recorded_thread(r, REC_ONE, 10, 10, "?");
	record_begin(r);
	record_simple(r, REC_ONE, REC_A, REC_START, 10, 10);
	record_tick(r, REC_START + 2000 * REC_MS);
	recorded_thread(r, REC_ONE, 10, 10, "late");
	record_finish(r);
	replay_all(r);
	assert_int_equal(r->profile.nthreads, 3);
	assert_string_equal(r->profile.threads[0].thread->comm, "late");
	assert_ptr_equal(r->spans[0].thread, r->profile.threads[0].thread);
}

static void test_odd_names(void **state)
{
	static const size_t lengths[] = {0, 1, 10000, RECORDING_TEXT_MAX, RECORDING_TEXT_MAX + 1};
	struct recorded *r = *state;
	char *names[5];

	record_begin(r);
	for (size_t i = 0; i < 5; i++) {
		names[i] = calloc(1, lengths[i] + 1);
		assert_non_null(names[i]);
		memset(names[i], 'x', lengths[i]);
		r->paths[REC_A].id = 1000 + (u32)i;
		r->paths[REC_A].name = names[i];
		record_simple(r, REC_ONE, REC_A, REC_START, 10, 10);
	}
	/* The last one is cut in the middle of a character, which goes whole. */
	memcpy(names[4] + RECORDING_TEXT_MAX - 1, "\xc3\xa4", 2);
	r->paths[REC_A].id = 2000;
	record_simple(r, REC_ONE, REC_A, REC_START, 10, 10);
	r->paths[REC_A].id = 2001;
	r->paths[REC_A].name = "\x01;\"\\\xff\xfe\n";
	record_simple(r, REC_ONE, REC_A, REC_START, 10, 10);
	record_finish(r);
	replay_all(r);
	assert_int_equal(r->nspans, 7);
	for (size_t i = 0; i < 4; i++)
		assert_string_equal(r->spans[i].path->name, names[i]);
	/* One more than is kept is cut to what was there already. */
	assert_ptr_equal(r->spans[4].path, r->spans[3].path);
	assert_int_equal(strlen(r->spans[5].path->name), RECORDING_TEXT_MAX - 1);
	assert_string_equal(r->spans[6].path->name, "\x01;\"\\\xff\xfe\n");
	for (size_t i = 0; i < 5; i++)
		free(names[i]);
}

/* Deeper than any stack of functions should be. */
static void test_deep_paths(void **state)
{
	enum { DEEP = 50000 };
	struct model_path *deep = calloc(DEEP, sizeof(*deep));
	struct recorded *r = *state;
	struct model_span span;

	assert_non_null(deep);
	for (u32 i = 0; i < DEEP; i++)
		deep[i] = (struct model_path){.id = 1000 + i,
					      .depth = i + 1,
					      .def = &r->a,
					      .parent = i ? &deep[i - 1] : &r->paths[REC_ROOT]};
	span = recorded_span(r, REC_ONE, REC_A, REC_START, 10, 10);
	span.path = &deep[DEEP - 1];
	record_begin(r);
	record_span(r, &span);
	record_finish(r);
	replay_all(r);
	assert_int_equal(r->nspans, 1);
	assert_int_equal(r->spans[0].path->depth, DEEP);
	free(deep);
}

/* A span of microseconds on one of two threads that take turns, one in four with counters. */
static void test_size_of_a_span(void **state)
{
	struct recorded *r = *state;
	size_t empty, n = 100000;
	u64 now = REC_START + 20000;

	record_begin(r);
	record_finish(r);
	empty = r->size;
	record_begin(r);
	for (size_t i = 0; i < n; i++) {
		struct model_span span;

		now += 1000 + i * 7919 % 9000;
		span = recorded_span(r, (int)(i & 1), i % 3 ? REC_A_B : REC_A, now - 20000, 20000,
				     9000);
		if (i % 4 == 0) {
			span.total.cpu_ns -= 5000;
			span.self_cpu_ns -= 5000;
			span.total.vol_switches = 1;
		}
		record_span(r, &span);
	}
	record_finish(r);
	if (r->size - empty > 14 * n)
		fail_msg("%.1f bytes a span", (double)(r->size - empty) / (double)n);
	replay_all(r);
	assert_int_equal(r->nspans, n);
}

/* A block is written when it is full, or when what is in it is a second old. */
static void test_when_blocks_are_written(void **state)
{
	struct recorded *r = *state;

	record_begin(r);
	assert_int_equal(block_count(r), 1);
	record_simple(r, REC_ONE, REC_A, REC_START + 500 * REC_MS, 10, 10);
	record_tick(r, REC_START + 1500 * REC_MS);
	assert_int_equal(block_count(r), 1);
	record_tick(r, REC_START + 1501 * REC_MS);
	assert_int_equal(block_count(r), 3);
	assert_int_equal(block_header(r, 0).kind, RECORDING_INFO);
	assert_int_equal(block_header(r, 1).kind, RECORDING_NAMES);
	assert_int_equal(block_header(r, 2).kind, RECORDING_SPANS);
	assert_int_equal(block_header(r, 2).spans, 1);
	assert_int_equal(block_header(r, 2).first_ns, REC_START + 500 * REC_MS);
	assert_int_equal(block_header(r, 2).last_ns, REC_START + 500 * REC_MS + 10);
	/* No name is told twice, and nothing is written for nothing. */
	record_simple(r, REC_ONE, REC_A, REC_START + 2000 * REC_MS, 10, 10);
	record_tick(r, REC_START + 4000 * REC_MS);
	record_tick(r, REC_START + 6000 * REC_MS);
	assert_int_equal(block_count(r), 4);
	assert_int_equal(block_header(r, 3).kind, RECORDING_SPANS);
	for (size_t i = 0; i < 40000; i++)
		record_simple(r, REC_ONE, REC_A, REC_START + 7000 * REC_MS + i * 1000, 900, 900);
	assert_true(block_count(r) > 5);
	assert_true(block_header(r, 4).length > RECORDING_BLOCK_FULL / 2);
	assert_true(block_header(r, 4).length <= RECORDING_BLOCK_FULL);
	record_cut(r);
}

/* Losses are told while it runs, once a second at most. */
static void test_losses_in_between(void **state)
{
	struct recorded *r = *state;

	record_begin(r);
	record_tick(r, REC_START + 3000 * REC_MS);
	assert_int_equal(block_count(r), 1);
	r->losses[1].count = 5;
	record_tick(r, REC_START + 3100 * REC_MS);
	assert_int_equal(block_count(r), 2);
	assert_int_equal(block_header(r, 1).kind, RECORDING_STATE);
	r->losses[1].count = 6;
	record_tick(r, REC_START + 3200 * REC_MS);
	assert_int_equal(block_count(r), 2);
	record_tick(r, REC_START + 4100 * REC_MS);
	record_tick(r, REC_START + 8100 * REC_MS);
	assert_int_equal(block_count(r), 3);
	record_cut(r);
	replay_all(r);
	assert_int_equal(replay_loss(r, "orphan_exit"), 6);
	assert_false(replay_info(r->replay)->finished);
	assert_int_equal(r->profile.end_ns, REC_START + 4100 * REC_MS);
}

/* Each part of a recording can be read alone. */
static void test_parts(void **state)
{
	struct recorded *r = *state;

	for (int part = 0; part < 3; part++) {
		record_begin(r);
		record_simple(r, REC_ONE, REC_A_B, REC_START + 10, 10, 10);
		record_finish(r);
		replay_all(r);
		assert_int_equal(r->nspans, 1);
		assert_string_equal(r->spans[0].path->name, "b of its own");
		assert_string_equal(r->said.text, "");
	}
}

/* A part begins where the one before it ended. Spans that were open then are in it whole: to who reads it, it begins with
 * the first of them. */
static void test_part_with_open_spans(void **state)
{
	struct recorded *r = *state;

	r->run.is_part = true;
	r->run.start_ns = REC_START + 500 * REC_MS;
	r->rows[REC_ONE].inside_ns = 6000 * REC_MS; /* of the whole trace */
	record_begin(r);
	record_simple(r, REC_ONE, REC_A, REC_START + 600 * REC_MS, REC_MS, REC_MS);
	record_tick(r, REC_START + 3000 * REC_MS); /* another block */
	record_simple(r, REC_ONE, REC_A, REC_START + 200 * REC_MS, 4000 * REC_MS, 3999 * REC_MS);
	record_finish(r);
	replay_all(r);
	assert_int_equal(r->nspans, 2);
	assert_string_equal(r->said.text, "");
	assert_int_equal(r->profile.start_ns, REC_START + 200 * REC_MS);
	assert_int_equal(r->profile.start_realtime_ns, REC_REALTIME - 300 * REC_MS);
	assert_int_equal(replay_loss(r, "damaged"), 0);
	assert_int_equal(r->profile.threads[0].inside_ns, 4000 * REC_MS);
}

/* Without that mark a span from before the start makes no sense. */
static void test_span_before_the_start(void **state)
{
	struct recorded *r = *state;

	record_begin(r);
	record_simple(r, REC_ONE, REC_A, REC_START - 1, REC_MS, REC_MS);
	record_finish(r);
	replay_all(r);
	assert_int_equal(r->nspans, 0);
	assert_int_equal(r->profile.start_ns, REC_START);
	assert_int_equal(replay_loss(r, "damaged"), 1);
}

/* More threads than one block holds: their ends stand in several. */
static void test_many_threads(void **state)
{
	enum { MANY = 20000 };
	struct model_thread *threads = calloc(MANY, sizeof(*threads));
	struct model_thread_row *rows = calloc(MANY, sizeof(*rows));
	struct recorded *r = *state;
	struct profile profile;

	assert_non_null(threads);
	assert_non_null(rows);
	for (u32 i = 0; i < MANY; i++) {
		threads[i] = (struct model_thread){.serial = i, .pid = 1, .tid = i, .comm = "x"};
		threads[i].start_ns = REC_START + i;
		threads[i].end_ns = REC_START + 2 * i + 1;
		rows[i] = (struct model_thread_row){&threads[i], i, threads[i].end_ns};
	}
	record_begin(r);
	profile = r->run;
	profile.end_ns = REC_END;
	profile.threads = rows;
	profile.nthreads = MANY;
	assert_int_equal(r->exporter.ops->finish(&r->exporter, &profile), 0);
	record_cut(r);
	replay_all(r);
	assert_int_equal(r->profile.nthreads, MANY);
	for (u32 i = 0; i < MANY; i++) {
		assert_int_equal(r->profile.threads[i].thread->tid, i);
		assert_int_equal(r->profile.threads[i].thread->start_ns, REC_START + i);
		assert_int_equal(r->profile.threads[i].end_ns, REC_START + 2 * i + 1);
		assert_int_equal(r->profile.threads[i].inside_ns, i);
	}
	free(rows);
	free(threads);
}

/* No more after the first write that failed. */
static void test_disk_full(void **state)
{
	struct recorded *r = *state;
	struct model_span span = recorded_span(r, REC_ONE, REC_A, REC_START, 10, 10);
	FILE *full = fopen("/dev/full", "we");
	int err = 0;

	assert_non_null(full);
	record_begin(r);
	fclose(r->exporter.out);
	r->exporter.out = full;
	r->run.end_ns = REC_START;
	assert_int_equal(r->exporter.ops->begin(&r->exporter, &r->run), -ENOSPC);
	for (size_t i = 0; i < 100000 && !err; i++)
		err = r->exporter.ops->span(&r->exporter, &span);
	assert_int_equal(err, -ENOSPC);
	assert_int_equal(r->exporter.ops->tick(&r->exporter, &r->run), -ENOSPC);
	assert_int_equal(r->exporter.ops->finish(&r->exporter, &r->run), -ENOSPC);
	fclose(full);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, recorded_setup, recorded_teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_every_field),
		TEST(test_events),
		TEST(test_the_run),
		TEST(test_threads_that_change),
		TEST(test_odd_names),
		TEST(test_deep_paths),
		TEST(test_size_of_a_span),
		TEST(test_when_blocks_are_written),
		TEST(test_losses_in_between),
		TEST(test_parts),
		TEST(test_part_with_open_spans),
		TEST(test_span_before_the_start),
		TEST(test_many_threads),
		TEST(test_disk_full),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
