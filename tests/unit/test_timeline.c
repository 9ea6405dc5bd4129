/* SPDX-License-Identifier: MIT */
/* Which lane a span stands on, and what becomes of spans when there are too many. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../../exporters/timeline.h"

enum { ROOT, A, A_B, JOB, PATHS };

struct fixture {
	struct model_def defs[PATHS];
	struct model_path paths[PATHS];
	struct model_thread threads[3]; /* one and two of process 10, far of process 20 */
	struct model_thread_row rows[3];
	struct profile profile;
	struct timeline *timeline;
};

static void add_path(struct fixture *f, int at, int parent, const char *name, enum model_kind kind)
{
	f->defs[at] = (struct model_def){.kind = kind, .provider = "app", .name = name};
	f->paths[at] = (struct model_path){.id = (u32)at, .parent = &f->paths[parent]};
	f->paths[at].depth = f->paths[parent].depth + 1;
	f->paths[at].def = &f->defs[at];
}

static int setup(void **state)
{
	struct export_options o = EXPORT_OPTIONS_DEFAULT;
	struct fixture *f = calloc(1, sizeof(*f));

	assert_non_null(f);
	add_path(f, A, ROOT, "a", MODEL_THREAD_SPAN);
	add_path(f, A_B, A, "b", MODEL_THREAD_SPAN);
	add_path(f, JOB, ROOT, "job", MODEL_ASYNC_SPAN);
	for (u32 i = 0; i < 3; i++) {
		f->threads[i] =
			(struct model_thread){.serial = i, .pid = i < 2 ? 10 : 20, .tid = 10 + i};
		f->rows[i].thread = &f->threads[i];
	}
	f->profile = (struct profile){.start_ns = 1000, .end_ns = 2000, .metrics = METRIC_WALL};
	f->profile.threads = f->rows;
	f->profile.nthreads = 3;
	o.value = EXPORT_BUSY;
	assert_int_equal(timeline_new(&o, 1 << 20, &f->timeline), 0);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	timeline_free(&f->timeline);
	free(f);
	return 0;
}

static void add(struct fixture *f, int thread, int path, u64 start, u64 end)
{
	struct model_span span = {.thread = &f->threads[thread], .path = &f->paths[path]};

	span.start_ns = start;
	span.end_ns = end;
	span.busy_ns = end - start;
	span.flags = path == JOB ? MODEL_ASYNC : 0;
	assert_int_equal(timeline_add(f->timeline, &span), 0);
}

static void finish(struct fixture *f, u64 limit)
{
	assert_int_equal(timeline_finish(f->timeline, &f->profile, limit), 0);
}

static const struct timeline_lane *lane(const struct fixture *f, u32 track, u32 number)
{
	assert_true(track < f->timeline->ntracks);
	assert_true(number < f->timeline->tracks[track].nlanes);
	return &f->timeline->lanes[f->timeline->tracks[track].first + number];
}

static void assert_item(const struct fixture *f, const struct timeline_item *item, u64 start,
			u64 end, const char *label)
{
	assert_int_equal(item->start_ns, start);
	assert_int_equal(item->end_ns, end);
	assert_string_equal(timeline_label(f->timeline, item->label), label);
}

/* Far comes first but its process is the second; the job comes behind the threads of its process. */
static void test_tracks(void **state)
{
	struct fixture *f = *state;

	add(f, 2, A, 1100, 1200);
	add(f, 0, JOB, 1000, 1500);
	add(f, 1, A, 1300, 1400);
	add(f, 0, A_B, 1110, 1190);
	add(f, 0, A, 1100, 1200);
	finish(f, 100);
	assert_int_equal(f->timeline->ntracks, 4);
	assert_int_equal(f->timeline->tracks[0].thread->tid, 10);
	assert_int_equal(f->timeline->tracks[0].nlanes, 2);
	assert_int_equal(f->timeline->tracks[0].nspans, 2);
	assert_int_equal(f->timeline->tracks[1].thread->tid, 11);
	assert_true(f->timeline->tracks[2].async);
	assert_int_equal(f->timeline->tracks[2].thread->pid, 10);
	assert_int_equal(f->timeline->tracks[3].thread->tid, 12);
	assert_item(f, &lane(f, 0, 0)->items[0], 1100, 1200, "app::a");
	assert_item(f, &lane(f, 0, 1)->items[0], 1110, 1190, "app::b");
	assert_item(f, &lane(f, 2, 0)->items[0], 1000, 1500, "app::job");
	assert_int_equal(f->timeline->grain_ns, 0);
	assert_int_equal(f->timeline->nspans, 5);
}

/* What overlaps gets a lane of its own, what does not takes the first that is free, whatever ended first. */
static void test_async_lanes(void **state)
{
	struct fixture *f = *state;

	add(f, 0, JOB, 1300, 1350);
	add(f, 1, JOB, 1100, 1200);
	add(f, 0, JOB, 1000, 1400);
	add(f, 0, JOB, 1150, 1300);
	finish(f, 100);
	assert_int_equal(f->timeline->ntracks, 1);
	assert_int_equal(f->timeline->tracks[0].nlanes, 3);
	assert_item(f, &lane(f, 0, 0)->items[0], 1000, 1400, "app::job");
	assert_int_equal(lane(f, 0, 1)->nitems, 2);
	assert_item(f, &lane(f, 0, 1)->items[0], 1100, 1200, "app::job");
	assert_item(f, &lane(f, 0, 1)->items[1], 1300, 1350, "app::job");
	assert_item(f, &lane(f, 0, 2)->items[0], 1150, 1300, "app::job");
}

static void test_too_many_lanes(void **state)
{
	struct fixture *f = *state;

	for (u64 i = 0; i < TIMELINE_ASYNC_LANES + 5; i++)
		add(f, 0, JOB, 1000 + i, 1900);
	finish(f, 10000);
	assert_int_equal(f->timeline->nlanes, TIMELINE_ASYNC_LANES);
	assert_int_equal(f->timeline->nomitted, 5);
}

/* 1000 short spans and a long one: the long one stays, the others tell how many they are. */
static void test_merge(void **state)
{
	struct fixture *f = *state;
	u64 count = 0, busy = 0;

	f->profile.end_ns = 1000 + 1000000;
	for (u64 i = 0; i < 500; i++)
		add(f, 0, A_B, 1000 + i * 100, 1000 + i * 100 + 10 + i % 7);
	add(f, 0, A_B, 500000, 900000);
	for (u64 i = 0; i < 500; i++)
		add(f, 0, A_B, 900000 + i * 100, 900000 + i * 100 + 10);
	finish(f, 20);
	assert_true(f->timeline->nitems <= 20);
	assert_true(f->timeline->nitems > 5);
	assert_true(f->timeline->grain_ns > 100);
	for (u32 i = 0; i < lane(f, 0, 0)->nitems; i++) {
		const struct timeline_item *item = &lane(f, 0, 0)->items[i];

		if (item->start_ns == 500000) {
			assert_item(f, item, 500000, 900000, "app::b");
			assert_int_equal(item->count, 1);
			continue;
		}
		assert_true(item->count > 1);
		assert_true(item->end_ns - item->start_ns <= 2 * f->timeline->grain_ns);
		assert_true(item->longest_ns >= 10 && item->longest_ns <= 16);
		count += item->count;
		busy += item->busy_ns;
	}
	assert_int_equal(count, 1000);
	/* 500 × 10, 500 × 10 and what i % 7 added: 71 rounds of 21, then 0 to 2. */
	assert_int_equal(busy, 10000 + 71 * 21 + 3);
}

static void test_merge_names_the_longest(void **state)
{
	struct fixture *f = *state;

	f->paths[A_B].depth = 1;
	add(f, 0, A, 1000, 1001);
	add(f, 0, A_B, 1001, 1004);
	add(f, 0, A, 1004, 1005);
	f->profile.end_ns = 1000000000;
	finish(f, 1);
	assert_int_equal(lane(f, 0, 0)->nitems, 1);
	assert_int_equal(lane(f, 0, 0)->items[0].count, 3);
	assert_int_equal(lane(f, 0, 0)->items[0].busy_ns, 5);
	assert_item(f, &lane(f, 0, 0)->items[0], 1000, 1005, "app::b");
}

/* Rows are never merged with each other: with more of them than items, one item remains in each. */
static void test_more_rows_than_items(void **state)
{
	struct fixture *f = *state;

	add(f, 0, A, 1100, 1200);
	add(f, 1, A, 1100, 1200);
	add(f, 2, A, 1100, 1200);
	finish(f, 1);
	assert_int_equal(f->timeline->nitems, 3);
	assert_int_equal(f->timeline->ntracks, 3);
}

/* Five million, of which a million and some fit; memory is what the limit says, and no span is forgotten. */
static void test_bounded(void **state)
{
	struct fixture *f = *state;
	u64 n = 5000000, count = 0;

	for (u64 i = 0; i < n; i++)
		add(f, (int)(i % 3), A, 1000 + i * 1000, 1000 + i * 1000 + 900);
	assert_true(f->timeline->nitems <= 1 << 20);
	f->profile.end_ns = 1000 + n * 1000;
	finish(f, 1 << 20);
	for (u32 l = 0; l < f->timeline->nlanes; l++)
		for (u32 i = 0; i < f->timeline->lanes[l].nitems; i++)
			count += f->timeline->lanes[l].items[i].count;
	assert_int_equal(count, n);
	assert_int_equal(f->timeline->nspans, n);
}

/* What cannot be is left out, what is out of order is put into order. */
static void test_odd_spans(void **state)
{
	struct fixture *f = *state;

	add(f, 0, A, 1500, 1600);
	add(f, 0, A, 1100, 1200);
	add(f, 0, A, 1900, 1800);
	add(f, 0, ROOT, 1000, 1100); /* no definition */
	finish(f, 100);
	assert_int_equal(f->timeline->nspans, 2);
	assert_item(f, &lane(f, 0, 0)->items[0], 1100, 1200, "app::a");
	assert_item(f, &lane(f, 0, 0)->items[1], 1500, 1600, "app::a");
}

static void test_reach(void **state)
{
	struct fixture *f = *state;

	add(f, 0, A, 500, 3000);
	finish(f, 100);
	assert_int_equal(f->timeline->start_ns, 500);
	assert_int_equal(f->timeline->end_ns, 3000);
}

static void test_empty(void **state)
{
	struct fixture *f = *state;

	finish(f, 100);
	assert_int_equal(f->timeline->ntracks, 0);
	assert_int_equal(f->timeline->start_ns, 1000);
	assert_int_equal(f->timeline->end_ns, 2000);
}

static void test_not_measured(void **state)
{
	struct fixture *f = *state;

	f->profile.metrics = 0;
	assert_int_equal(timeline_finish(f->timeline, &f->profile, 1), -ENODATA);
}

/* Single spans know of no memory: a's 300 bytes by 3 spans are 100 each. */
static void test_memory(void **state)
{
	struct fixture *f = *state;
	struct model_row row = {
		.thread = &f->threads[0], .path = &f->paths[A], .count = 2, .open = 1};
	struct export_options o = EXPORT_OPTIONS_DEFAULT;

	timeline_free(&f->timeline);
	o.value = EXPORT_ALLOC_SPACE;
	assert_int_equal(timeline_new(&o, 1 << 20, &f->timeline), 0);
	row.work.alloc_bytes = 300;
	f->profile.metrics |= METRIC_ALLOC;
	f->profile.rows = &row;
	f->profile.nrows = 1;
	add(f, 0, A, 1100, 1200);
	finish(f, 100);
	assert_int_equal(lane(f, 0, 0)->items[0].value, 100);
}

/* On a lane of their own above the thread's spans, each with its value; memory is not theirs. */
static void test_events(void **state)
{
	struct fixture *f = *state;
	struct model_path tick = {
		.id = 9, .depth = 2, .parent = &f->paths[A], .def = &f->defs[A_B]};
	struct model_event event = {.thread = &f->threads[0], .path = &tick, .time_ns = 1150};

	add(f, 0, A, 1100, 1200);
	assert_int_equal(timeline_add_event(f->timeline, &event), 0);
	event.has_value = true;
	event.value = -5;
	event.time_ns = 1160;
	assert_int_equal(timeline_add_event(f->timeline, &event), 0);
	finish(f, 100);
	assert_int_equal(f->timeline->nspans, 1);
	assert_int_equal(f->timeline->nevents, 2);
	assert_int_equal(f->timeline->tracks[0].nevents, 2);
	assert_int_equal(f->timeline->tracks[0].nlanes, 2);
	assert_true(lane(f, 0, 0)->events);
	assert_false(lane(f, 0, 1)->events);
	assert_item(f, &lane(f, 0, 0)->items[0], 1150, 1150, "app::b");
	assert_int_equal(lane(f, 0, 0)->items[0].busy_ns, 0);
	assert_int_equal(lane(f, 0, 0)->items[1].busy_ns, 1);
	assert_true((s64)lane(f, 0, 0)->items[1].value == -5);
	assert_item(f, &lane(f, 0, 1)->items[0], 1100, 1200, "app::a");
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(test_tracks),
		CASE(test_async_lanes),
		CASE(test_too_many_lanes),
		CASE(test_merge),
		CASE(test_merge_names_the_longest),
		CASE(test_more_rows_than_items),
		CASE(test_bounded),
		CASE(test_odd_spans),
		CASE(test_reach),
		CASE(test_empty),
		CASE(test_not_measured),
		CASE(test_memory),
		CASE(test_events),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
