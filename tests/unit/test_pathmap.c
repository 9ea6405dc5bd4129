/* SPDX-License-Identifier: MIT */
/* Paths are found by their ids, and never taken for another with the same id. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "../../exporters/pathmap.h"

#define PATHS 1000

static void test_found(void **state)
{
	static struct model_path paths[PATHS];
	struct pathmap m = {0};
	u32 number = 4711;

	(void)state;
	for (u32 i = 0; i < PATHS; i++)
		paths[i].id = i * 7;
	assert_false(pathmap_get(&m, &paths[0], &number));
	for (u32 i = 0; i < PATHS; i += 2)
		pathmap_put(&m, &paths[i], i + 100);
	for (u32 i = 0; i < PATHS; i++) {
		assert_int_equal(pathmap_get(&m, &paths[i], &number), i % 2 == 0);
		if (i % 2 == 0)
			assert_int_equal(number, i + 100);
	}
	pathmap_put(&m, &paths[2], 5);
	assert_true(pathmap_get(&m, &paths[2], &number));
	assert_int_equal(number, 5);
	pathmap_free(&m);
	assert_false(pathmap_get(&m, &paths[0], &number));
}

/* As of two recordings that are read one after the other. */
static void test_same_id(void **state)
{
	const struct model_path one = {.id = 3}, other = {.id = 3};
	struct pathmap m = {0};
	u32 number = 4711;

	(void)state;
	pathmap_put(&m, &one, 1);
	assert_false(pathmap_get(&m, &other, &number));
	assert_int_equal(number, 4711);
	pathmap_put(&m, &other, 2);
	assert_false(pathmap_get(&m, &one, &number));
	assert_true(pathmap_get(&m, &other, &number));
	assert_int_equal(number, 2);
	pathmap_free(&m);
}

/* One id far away makes room for it, and nothing of what is between. */
static void test_far(void **state)
{
	const struct model_path far = {.id = 100000}, near = {.id = 0}, between = {.id = 50000};
	struct pathmap m = {0};
	u32 number;

	(void)state;
	pathmap_put(&m, &near, 1);
	pathmap_put(&m, &far, 2);
	assert_true(pathmap_get(&m, &near, &number));
	assert_int_equal(number, 1);
	assert_true(pathmap_get(&m, &far, &number));
	assert_int_equal(number, 2);
	assert_false(pathmap_get(&m, &between, &number));
	assert_true(m.n > 100000 && m.n <= 200002);
	pathmap_free(&m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_found),
		cmocka_unit_test(test_same_id),
		cmocka_unit_test(test_far),
	};

	return cmocka_run_group_tests_name("pathmap", tests, NULL, NULL);
}
