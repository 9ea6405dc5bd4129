/* SPDX-License-Identifier: MIT */
/* Numbers in few bytes come back as they were; what is none is refused within its bounds. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../../user/util/varint.h"

/* From memory of exactly N bytes. */
static bool get(const u8 *bytes, size_t n, u64 *value, size_t *used)
{
	u8 *copy = malloc(n ? n : 1);
	const u8 *at = copy;
	bool good;

	assert_non_null(copy);
	memcpy(copy, bytes, n);
	good = varint_get(&at, copy + n, value);
	assert_true(at <= copy + n);
	*used = (size_t)(at - copy);
	free(copy);
	return good;
}

/* What stands behind a number is not of it. */
static void check_with_more_behind(u64 value, const u8 *bytes, size_t n)
{
	u8 more[2 * VARINT_MAX];
	size_t used;
	u64 back = ~value;

	for (int fill = 0; fill < 256; fill += 51) {
		memset(more, fill, sizeof(more));
		memcpy(more, bytes, n);
		assert_true(get(more, sizeof(more), &back, &used));
		assert_int_equal(back, value);
		assert_int_equal(used, n);
	}
}

static void check(u64 value, size_t length)
{
	u8 bytes[VARINT_MAX];
	size_t n = (size_t)(varint_put(bytes, value) - bytes), used;
	u64 back = ~value;

	assert_int_equal(n, length);
	assert_true(get(bytes, n, &back, &used));
	assert_int_equal(back, value);
	assert_int_equal(used, n);
	assert_false(get(bytes, n - 1, &back, &used));
	check_with_more_behind(value, bytes, n);
}

static void test_lengths(void **state)
{
	(void)state;
	check(0, 1);
	check(0x7f, 1);
	check(0x80, 2);
	for (unsigned n = 1; n < 10; n++) {
		check((1ull << 7 * n) - 1, n);
		check(1ull << 7 * n, n + 1);
	}
	check(UINT64_MAX, 10);
}

static void test_zigzag(void **state)
{
	static const s64 numbers[] = {0, -1, 1, -2, 2, INT64_MAX, INT64_MIN};

	(void)state;
	for (size_t i = 0; i < 5; i++)
		assert_int_equal(varint_zigzag(numbers[i]), i);
	for (size_t i = 0; i < 7; i++)
		assert_int_equal(varint_unzigzag(varint_zigzag(numbers[i])), numbers[i]);
}

static void test_none(void **state)
{
	static const u8 eleven[] = {0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 1};
	static const u8 wide[] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2};
	static const u8 padded[] = {0x81, 0x80, 0};
	size_t used;
	u64 value;

	(void)state;
	assert_false(get(eleven, sizeof(eleven), &value, &used));
	assert_false(get(wide, sizeof(wide), &value, &used));
	assert_false(get(eleven, 0, &value, &used));
	assert_true(get(padded, sizeof(padded), &value, &used));
	assert_int_equal(value, 1);
	assert_int_equal(used, 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lengths),
		cmocka_unit_test(test_zigzag),
		cmocka_unit_test(test_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
