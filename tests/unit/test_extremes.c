/* SPDX-License-Identifier: MIT */
/* The smallest and largest of many values against a sort of all of them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../../user/trace/extremes.h"

#define VALUES 2000
#define RANGE  97

static void add(struct extremes *e, u64 value, u64 record)
{
	const struct stretch stretch = {.from.record = record};

	extremes_add_small(e, value, &stretch);
	extremes_add_large(e, value, &stretch);
}

static void test_few(void **state)
{
	struct extremes e = {0};

	(void)state;
	add(&e, 5, 1);
	add(&e, 3, 2);
	add(&e, 5, 3);
	assert_int_equal(e.nsmallest, 2);
	assert_int_equal(e.nlargest, 2);
	assert_int_equal(e.smallest[0].value, 3);
	assert_int_equal(e.smallest[1].count, 2);
	assert_int_equal(e.smallest[1].first.from.record, 1);
	assert_int_equal(e.largest[1].value, 5);
	assert_int_equal(e.largest[1].count, 2);
}

static void test_many(void **state)
{
	u64 counts[RANGE] = {0}, seed = 7;
	struct extremes e = {0};
	size_t n;

	(void)state;
	for (u64 i = 0; i < VALUES; i++) {
		u64 value;

		seed = seed * 6364136223846793005u + 1442695040888963407u;
		value = (seed >> 33) % RANGE;
		counts[value]++;
		add(&e, value, i);
	}
	assert_int_equal(e.nsmallest, EXTREMES_MOST);
	assert_int_equal(e.nlargest, EXTREMES_MOST);
	n = 0;
	for (u64 value = 0; n < EXTREMES_MOST; value++) {
		if (!counts[value])
			continue;
		assert_int_equal(e.smallest[n].value, value);
		assert_int_equal(e.smallest[n++].count, counts[value]);
	}
	n = EXTREMES_MOST;
	for (u64 value = RANGE; n;) {
		if (!counts[--value])
			continue;
		assert_int_equal(e.largest[--n].value, value);
		assert_int_equal(e.largest[n].count, counts[value]);
	}
}

/* One by one from the middle outwards and back: what had to go does not come back. */
static void test_order_does_not_matter(void **state)
{
	struct extremes up = {0}, down = {0};

	(void)state;
	for (u64 i = 0; i < 50; i++) {
		add(&up, i, i);
		add(&down, 49 - i, 49 - i);
	}
	assert_memory_equal(&up, &down, sizeof(up));
	assert_int_equal(up.smallest[9].value, 9);
	assert_int_equal(up.largest[0].value, 40);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_few),
		cmocka_unit_test(test_many),
		cmocka_unit_test(test_order_does_not_matter),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
