/* SPDX-License-Identifier: MIT */
/* Lines and lanes of event files: what lies in what, what overlaps, what is forgotten. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../../exporters/mmprofdata_line.h"

static struct mmp_place add(struct mmp_line *line, u64 start, u64 end)
{
	struct mmp_place place = {.wall_start = start, .wall_end = end, .clock = true};

	assert_int_equal(mmp_line_add(line, &place), 0);
	return place;
}

static void test_nested(void **state)
{
	struct mmp_line line = {0};

	(void)state;
	assert_int_equal(add(&line, 10, 20).nested, 0);
	assert_int_equal(add(&line, 30, 35).nested, 0);
	assert_int_equal(add(&line, 30, 40).nested, 5);
	assert_int_equal(add(&line, 5, 50).nested, 20);
	assert_int_equal(add(&line, 50, 60).nested, 0);
	assert_int_equal(add(&line, 0, 70).nested, 55);
	mmp_line_free(&line);
}

static void test_overlaps(void **state)
{
	struct mmp_line line = {0};

	(void)state;
	assert_false(add(&line, 10, 20).overlaps);
	assert_true(add(&line, 15, 25).overlaps);
	assert_false(add(&line, 20, 30).overlaps);
	assert_true(add(&line, 29, 31).overlaps);
	assert_true(add(&line, 15, 31).overlaps);
	/* What encloses all of them is in nobody's way, and those that overlapped are not in it. */
	assert_false(add(&line, 5, 40).overlaps);
	assert_int_equal(add(&line, 5, 50).nested, 35);
	mmp_line_free(&line);
}

/* Siblings by the thousand: the oldest are forgotten, the rest is as it was. */
static void test_forgets(void **state)
{
	struct mmp_line line = {0};

	(void)state;
	for (u64 i = 0; i < 100000; i++)
		assert_int_equal(add(&line, 10 + i * 10, 15 + i * 10).nested, 0);
	assert_true(add(&line, 10 + 99999 * 10 + 3, 2000000).overlaps);
	assert_in_range(add(&line, 0, 3000000).nested, 5 * 1000, 5 * 5000);
	mmp_line_free(&line);
}

static void test_outermost(void **state)
{
	struct mmp_place place = {.wall_start = 100, .wall_end = 200, .clock = true};
	struct mmp_line line = {0};

	(void)state;
	add(&line, 10, 20);
	place.outermost = true;
	assert_int_equal(mmp_line_add(&line, &place), 0);
	assert_int_equal(line.n, 1);
	mmp_line_free(&line);
}

static struct mmp_place count(struct mmp_line *line, u64 start, u64 end, u64 total, u64 self)
{
	struct mmp_place place = {
		.wall_start = start, .wall_end = end, .total = total, .self = self};

	assert_int_equal(mmp_line_add(line, &place), 0);
	assert_false(place.overlaps);
	return place;
}

static void assert_place(struct mmp_place place, u64 start, u64 end, u64 nested)
{
	assert_int_equal(place.start, start);
	assert_int_equal(place.end, end);
	assert_int_equal(place.nested, nested);
}

static void test_counter(void **state)
{
	struct mmp_line line = {0};

	(void)state;
	assert_place(count(&line, 10, 20, 3, 3), 0, 3, 0);
	assert_place(count(&line, 30, 35, 4, 4), 3, 7, 0);
	assert_place(count(&line, 5, 50, 8, 1), 0, 8, 7);
	assert_place(count(&line, 60, 70, 2, 2), 8, 10, 0);
	/* It overlaps on the clock: behind the rest, with its own time alone. */
	assert_place(count(&line, 65, 80, 5, 5), 10, 15, 0);
	assert_place(count(&line, 4, 90, 16, 1), 0, 16, 10);
	mmp_line_free(&line);
}

static void test_lanes(void **state)
{
	struct mmp_lanes lanes = {0};
	u64 ends[64] = {0}, seed = 1;
	u32 lane;

	(void)state;
	assert_int_equal(mmp_lanes_take(&lanes, 0, 10, &lane), 0);
	assert_int_equal(lane, 0);
	assert_int_equal(mmp_lanes_take(&lanes, 5, 20, &lane), 0);
	assert_int_equal(lane, 1);
	assert_int_equal(mmp_lanes_take(&lanes, 10, 30, &lane), 0);
	assert_int_equal(lane, 0);
	mmp_lanes_free(&lanes);
	lanes = (struct mmp_lanes){0};
	/* Thirty at a time: no lane is given twice, and there are never more than those that are needed. */
	for (u64 now = 0; now < 3000; now++) {
		u64 end = now + 30;

		seed = seed * 6364136223846793005ull + 1442695040888963407ull;
		assert_int_equal(mmp_lanes_take(&lanes, now, end - (seed >> 60), &lane), 0);
		assert_in_range(lane, 0, 30);
		assert_true(ends[lane] <= now);
		ends[lane] = end - (seed >> 60);
	}
	mmp_lanes_free(&lanes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nested),  cmocka_unit_test(test_overlaps),
		cmocka_unit_test(test_forgets), cmocka_unit_test(test_outermost),
		cmocka_unit_test(test_counter), cmocka_unit_test(test_lanes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
