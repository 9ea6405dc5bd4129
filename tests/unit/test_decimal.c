/* SPDX-License-Identifier: MIT */
/* Digits are those that printf() writes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "../../exporters/decimal.h"

static void check(u64 value)
{
	char got[2 * DECIMAL_ROOM], want[64];

	*decimal_put(got, value) = '\0';
	snprintf(want, sizeof(want), "%llu", (unsigned long long)value);
	assert_string_equal(got, want);
	*decimal_put_us(got, value) = '\0';
	snprintf(want, sizeof(want), "%llu.%03llu", (unsigned long long)value / 1000,
		 (unsigned long long)value % 1000);
	assert_string_equal(got, want);
}

static void test_small(void **state)
{
	(void)state;
	for (u64 value = 0; value < 200000; value++)
		check(value);
}

/* Around each power of ten and of two, and all digits. */
static void test_edges(void **state)
{
	u64 ten = 1;

	(void)state;
	for (int i = 0; i < 20; i++, ten *= 10) {
		for (u64 off = 0; off < 3; off++) {
			check(ten - off);
			check(ten + off);
			check((1ull << (3 * i)) - off);
		}
	}
	for (u64 off = 0; off < 3; off++)
		check(UINT64_MAX - off);
	check(1234567890123456789ull);
	check(9876543210987654321ull);
}

static void test_many(void **state)
{
	u64 value = 88172645463325252ull;

	(void)state;
	for (int i = 0; i < 200000; i++) {
		value ^= value << 13;
		value ^= value >> 7;
		value ^= value << 17;
		check(value >> (i % 64));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_small),
		cmocka_unit_test(test_edges),
		cmocka_unit_test(test_many),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
