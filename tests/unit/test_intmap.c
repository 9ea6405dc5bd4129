/* SPDX-License-Identifier: MIT */
/* The map of numbers to pointers: every key is found, no other is, however they lie. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "../../user/util/intmap.h"

#define VALUE(n) ((void *)((uintptr_t)(n) + 1))

static void check(const struct intmap *map, u64 key, const void *value)
{
	void **found = intmap_find(map, key);

	if (!found || *found != value)
		fail_msg("key %#llx: %p, not %p", (unsigned long long)key, found ? *found : NULL,
			 value);
}

static void test_empty(void **state)
{
	struct intmap map = {0};

	(void)state;
	assert_null(intmap_find(&map, 0));
	assert_null(intmap_find(&map, 1));
	assert_int_equal(map.used, 0);
	intmap_free(&map);
	intmap_free(&map);
}

/* Keys at both ends, and those that hashes like to confuse with "nothing". */
static void test_edges(void **state)
{
	static const u64 keys[] = {
		0, 1, UINT64_MAX, UINT64_MAX - 1, 1ull << 63, 1ull << 32, UINT32_MAX, 63, 64};
	const size_t n = sizeof(keys) / sizeof(keys[0]);
	struct intmap map = {0};
	size_t i, j;

	(void)state;
	for (i = 0; i < n; i++) {
		for (j = i; j < n; j++)
			assert_null(intmap_find(&map, keys[j]));
		assert_int_equal(intmap_set(&map, keys[i], VALUE(i)), 0);
		assert_int_equal(map.used, i + 1);
		for (j = 0; j <= i; j++)
			check(&map, keys[j], VALUE(j));
	}
	intmap_free(&map);
	assert_null(intmap_find(&map, 1));
	assert_int_equal(map.used, 0);
	/* It can be used again. */
	assert_int_equal(intmap_set(&map, 5, VALUE(5)), 0);
	check(&map, 5, VALUE(5));
	assert_null(intmap_find(&map, 1));
	intmap_free(&map);
}

static void test_set_again(void **state)
{
	struct intmap map = {0};
	size_t i;

	(void)state;
	for (i = 0; i < 1000; i++)
		assert_int_equal(intmap_set(&map, 7, VALUE(i)), 0);
	check(&map, 7, VALUE(999));
	assert_int_equal(map.used, 1);
	assert_int_equal(map.capacity, 64); /* the same key takes no more room */
	intmap_free(&map);
}

/* The place that is found can be written to. */
static void test_place(void **state)
{
	struct intmap map = {0};

	(void)state;
	assert_int_equal(intmap_set(&map, 7, VALUE(1)), 0);
	*intmap_find(&map, 7) = VALUE(2);
	check(&map, 7, VALUE(2));
	intmap_free(&map);
}

/* Through every growth: what was there stays, what was not is not. */
static void test_growth(void **state)
{
	struct intmap map = {0};
	u64 i, j;

	(void)state;
	for (i = 0; i < 5000; i++) {
		assert_int_equal(intmap_set(&map, i * i, VALUE(i)), 0);
		assert_int_equal(map.used, i + 1);
		assert_true(map.used <= map.capacity / 2 + 1);
		assert_int_equal(map.capacity & (map.capacity - 1), 0);
		if ((i & (i - 1)) == 0)
			for (j = 0; j <= i; j++)
				check(&map, j * j, VALUE(j));
	}
	for (i = 0; i < 5000; i++) {
		check(&map, i * i, VALUE(i));
		if (i > 1)
			assert_null(intmap_find(&map, i * i - 1));
	}
	intmap_free(&map);
}

/* What a lookup costs at most: the longest run of taken slots. */
static size_t longest_run(const struct intmap *map)
{
	size_t i, run = 0, longest = 0;

	for (i = 0; i < 2 * map->capacity; i++) {
		run = map->slots[i & (map->capacity - 1)].value ? run + 1 : 0;
		if (run > longest)
			longest = run;
	}
	return longest;
}

/* KEY of thread and path as a trace makes it: the patterns that real keys have must spread. */
static void check_spread(u32 threads, u32 thread_step, u32 paths, u32 path_step)
{
	struct intmap map = {0};
	u32 i, j;

	for (i = 1; i <= threads; i++)
		for (j = 0; j < paths; j++)
			assert_int_equal(intmap_set(&map,
						    (u64)(i * thread_step) << 32 | j * path_step,
						    VALUE(j)),
					 0);
	assert_int_equal(map.used, threads * paths);
	if (longest_run(&map) > 200)
		fail_msg("%u threads * %u, %u paths * %u: a run of %zu slots", threads, thread_step,
			 paths, path_step, longest_run(&map));
	intmap_free(&map);
}

static void test_spread(void **state)
{
	(void)state;
	check_spread(1, 1, 100000, 1);
	check_spread(100000, 1, 1, 1);
	check_spread(300, 1, 300, 1);
	check_spread(1000, 1, 100, 1);
	check_spread(64, 64, 1000, 1);
	check_spread(64, 4096, 1000, 16);
	check_spread(16, 65536, 5000, 64);
	check_spread(256, 1 << 20, 256, 256);
}

#define TEST(f) cmocka_unit_test(f)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_empty), TEST(test_edges),  TEST(test_set_again),
		TEST(test_place), TEST(test_growth), TEST(test_spread),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
