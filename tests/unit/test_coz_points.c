/* SPDX-License-Identifier: MIT */
/* Which points coz gets, when, and what their counters say; the target is a table. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "../../user/coz/coz_points.h"

#define MS 1000000ull

/* A target with counters at addresses 8, 16, …; one that was never written says NEVER. */
#define NEVER UINT64_MAX
struct target {
	struct coz_packet asked[16];
	size_t nasked, answered;
	u64 counters[16];
	bool gone;
};

struct setting {
	struct coz_points *points;
	struct target target;
	struct wire_count counts[8];
};

static int target_ask(void *context, const struct coz_packet *question)
{
	struct target *target = context;

	assert_true(target->nasked < 16);
	target->asked[target->nasked++] = *question;
	return 0;
}

static int target_write(void *context, u64 address, u64 value)
{
	struct target *target = context;

	if (target->gone)
		return -ESRCH;
	assert_true(address >= 8 && address / 8 < 16);
	target->counters[address / 8] = value;
	return 0;
}

static const struct model_def request = {
	.id = 0, .kind = MODEL_THREAD_SPAN, .provider = "app", .name = "request"};
static const struct model_def done = {
	.id = 1, .kind = MODEL_EVENT, .provider = "app", .name = "done"};
static const struct model_def job = {
	.id = 2, .kind = MODEL_ASYNC_SPAN, .provider = "app", .name = "job"};

static void begin(struct setting *s, const struct coz_choice *choice)
{
	memset(s, 0, sizeof(*s));
	memset(s->target.counters, 0xff, sizeof(s->target.counters));
	assert_int_equal(coz_points_new(choice, &s->points), 0);
	assert_int_equal(coz_points_define(s->points, &request), 0);
	assert_int_equal(coz_points_define(s->points, &done), 0);
	assert_int_equal(coz_points_define(s->points, &job), 0);
	assert_int_equal(coz_points_define(s->points, &done), 0);
	assert_int_equal(coz_points_defs(s->points), 3);
}

static int step(struct setting *s, u64 now_ns)
{
	const struct coz_target target = {
		.context = &s->target, .ask = target_ask, .write = target_write};

	return coz_points_step(s->points, now_ns, s->counts, &target);
}

/* The shim answers what was asked, the Nth question with address 8 × (N + 1). */
static void answer(struct setting *s, u64 value)
{
	for (; s->target.answered < s->target.nasked; s->target.answered++) {
		struct coz_packet packet = s->target.asked[s->target.answered];

		packet.kind = COZ_ANSWER;
		packet.address = 8 * (s->target.answered + 1);
		packet.value = value;
		coz_points_answer(s->points, &packet);
	}
}

static enum coz_point_state state_of(const struct setting *s, const char *name,
				     enum coz_point_kind kind)
{
	struct coz_point_view view;
	size_t i;

	for (i = 0; i < coz_points_count(s->points); i++) {
		coz_points_view(s->points, i, &view);
		if (!strcmp(view.name, name) && view.kind == kind)
			return view.state;
	}
	fail_msg("no point %s", name);
	return COZ_POINT_REFUSED;
}

static void test_named_points(void **state)
{
	const char *latency[] = {"request"}, *progress[] = {"app:do*"};
	const struct coz_choice choice = {
		.latency = latency, .nlatency = 1, .progress = progress, .nprogress = 1};
	struct setting s;
	bool event;

	(void)state;
	begin(&s, &choice);
	assert_int_equal(coz_points_count(s.points), 2);
	assert_true(coz_points_named(s.points));
	assert_null(coz_points_unmatched(s.points, &event));
	/* Nothing moves: nothing is asked. */
	assert_int_equal(step(&s, 1 * MS), 0);
	assert_int_equal(s.target.nasked, 0);
	/* A span that has begun has no end yet. */
	s.counts[0].begun = 1;
	s.counts[1].events = 3;
	assert_int_equal(step(&s, 2 * MS), 0);
	assert_int_equal(s.target.nasked, 1);
	assert_int_equal(s.target.asked[0].counter, COZ_THROUGHPUT);
	assert_string_equal(s.target.asked[0].name, "app:done");
	/* What comes until the counter is there is before its beginning, or it would be in the first experiment. */
	s.counts[1].events = 10;
	assert_int_equal(step(&s, 3 * MS), 0);
	answer(&s, 0);
	s.counts[1].events = 12;
	assert_int_equal(step(&s, 4 * MS), 0);
	assert_int_equal(s.target.counters[1], 2);
	/* Both counters of the latency begin where it has ended so often; who is inside stays so. */
	s.counts[0] = (struct wire_count){.begun = 7, .ended = 5};
	assert_int_equal(step(&s, 5 * MS), 0);
	assert_int_equal(s.target.nasked, 3);
	assert_int_equal(s.target.asked[1].counter, COZ_BEGIN);
	assert_int_equal(s.target.asked[2].counter, COZ_END);
	assert_int_equal(state_of(&s, "app:request", COZ_POINT_LATENCY), COZ_POINT_ASKED);
	answer(&s, 12345); /* of memory that was not cleared */
	assert_int_equal(state_of(&s, "app:request", COZ_POINT_LATENCY), COZ_POINT_COUNTED);
	s.counts[0] = (struct wire_count){.begun = 9, .ended = 8};
	assert_int_equal(step(&s, 6 * MS), 0);
	assert_int_equal(s.target.counters[2], 4);
	assert_int_equal(s.target.counters[3], 3);
	coz_points_free(&s.points);
}

static void test_names_that_are_taken(void **state)
{
	const char *progress[] = {"done"};
	const struct coz_choice choice = {.progress = progress, .nprogress = 1};
	struct setting s;

	(void)state;
	begin(&s, &choice);
	s.counts[1].events = 1;
	assert_int_equal(step(&s, 1 * MS), 0);
	answer(&s, 40);
	assert_int_equal(state_of(&s, "app:done", COZ_POINT_THROUGHPUT), COZ_POINT_REFUSED);
	s.counts[1].events = 9;
	assert_int_equal(step(&s, 2 * MS), 0);
	assert_true(s.target.counters[1] == NEVER);
	coz_points_free(&s.points);
}

/* Answers that nobody asked for, or that lead nowhere. */
static void test_wild_answers(void **state)
{
	const char *progress[] = {"done"};
	const struct coz_choice choice = {.progress = progress, .nprogress = 1};
	struct coz_packet wild = {.kind = COZ_ANSWER, .counter = COZ_THROUGHPUT, .address = 8};
	struct setting s;

	(void)state;
	begin(&s, &choice);
	coz_points_answer(s.points, &wild);
	wild.point = UINT64_MAX;
	coz_points_answer(s.points, &wild);
	assert_int_equal(state_of(&s, "app:done", COZ_POINT_THROUGHPUT), COZ_POINT_WAITING);
	s.counts[1].events = 1;
	assert_int_equal(step(&s, 1 * MS), 0);
	wild.point = 0;
	wild.address = 13;
	coz_points_answer(s.points, &wild);
	assert_int_equal(state_of(&s, "app:done", COZ_POINT_THROUGHPUT), COZ_POINT_REFUSED);
	coz_points_free(&s.points);
}

/* None is named: those that move in two windows, one behind the other. */
static void test_steady_points(void **state)
{
	const struct coz_choice choice = {0};
	struct setting s;
	u64 now;

	(void)state;
	begin(&s, &choice);
	assert_false(coz_points_named(s.points));
	assert_int_equal(coz_points_count(s.points), 5);
	for (now = 0; now <= 1600 * MS; now += MS) {
		s.counts[1].events = now / (10 * MS); /* 100 a second */
		s.counts[0].begun = s.counts[0].ended =
			now > 700 * MS ? 1000 : 0;                        /* at once, and no more */
		s.counts[2].begun = s.counts[2].ended = now / (100 * MS); /* 10 a second */
		assert_int_equal(step(&s, now), 0);
		if (now < 1000 * MS)
			assert_int_equal(s.target.nasked, 0);
	}
	assert_int_equal(s.target.nasked, 1);
	assert_string_equal(s.target.asked[0].name, "app:done");
	coz_points_free(&s.points);
}

static void test_what_fits_nothing(void **state)
{
	const char *latency[] = {"app:done"}, *progress[] = {"request", "other"};
	const struct coz_choice choice = {
		.latency = latency, .nlatency = 1, .progress = progress, .nprogress = 2};
	struct coz_choice later = choice;
	struct model_def def = done;
	struct setting s;
	char name[300];
	bool event;

	(void)state;
	begin(&s, &choice);
	assert_string_equal(coz_points_unmatched(s.points, &event), "app:done");
	assert_true(event);
	coz_points_free(&s.points);
	later.nlatency = 0;
	begin(&s, &later);
	assert_string_equal(coz_points_unmatched(s.points, &event), "other");
	assert_false(event);
	memset(name, 'x', sizeof(name));
	name[sizeof(name) - 1] = '\0';
	def.name = name;
	assert_int_equal(coz_points_define(s.points, &def), -ENAMETOOLONG);
	def.name = "done";
	def.id = COUNTS_MAX;
	assert_int_equal(coz_points_define(s.points, &def), -ENOSPC);
	coz_points_free(&s.points);
}

static void test_target_gone(void **state)
{
	const char *progress[] = {"done"};
	const struct coz_choice choice = {.progress = progress, .nprogress = 1};
	struct setting s;

	(void)state;
	begin(&s, &choice);
	s.counts[1].events = 1;
	assert_int_equal(step(&s, 1 * MS), 0);
	answer(&s, 0);
	s.counts[1].events = 2;
	s.target.gone = true;
	assert_int_equal(step(&s, 2 * MS), -ESRCH);
	coz_points_free(&s.points);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_named_points),
		cmocka_unit_test(test_names_that_are_taken),
		cmocka_unit_test(test_wild_answers),
		cmocka_unit_test(test_steady_points),
		cmocka_unit_test(test_what_fits_nothing),
		cmocka_unit_test(test_target_gone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
