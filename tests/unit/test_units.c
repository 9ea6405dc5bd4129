/* SPDX-License-Identifier: MIT */
/* Durations and sizes: every unit, fractions, limits, and what is not one. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "../../user/util/units.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define SECOND       1000000000ull

struct good {
	const char *text;
	u64 value;
};

static void test_durations(void **state)
{
	static const struct good cases[] = {
		{"10s", 10 * SECOND},
		{"10", 10 * SECOND},
		{"0", 0},
		{"1.5s", 1500000000},
		{"1.5", 1500000000},
		{".5s", 500000000},
		{"2.s", 2 * SECOND},
		{"0.1s", 100000000},
		{"0.3s", 300000000},
		{"200ms", 200000000},
		{"500us", 500000},
		{"500µs", 500000},
		{"20ns", 20},
		{"2m", 120 * SECOND},
		{"2min", 120 * SECOND},
		{"1h", 3600 * SECOND},
		{"0.5h", 1800 * SECOND},
		{"1d", 86400 * SECOND},
		{"0.000000001s", 1},
		{"0.0000000019s", 1},
		{"0.999999999d", 86399999913600},
		{"18446744073.709551615s", UINT64_MAX},
		{"18446744073709551615ns", UINT64_MAX},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		u64 ns = 1;

		assert_int_equal(units_parse_duration(cases[i].text, &ns), 0);
		assert_int_equal(ns, cases[i].value);
	}
}

static void test_sizes(void **state)
{
	static const struct good cases[] = {
		{"0", 0},
		{"4096", 4096},
		{"4096B", 4096},
		{"64K", 65536},
		{"64k", 65536},
		{"64KiB", 65536},
		{"1kB", 1000},
		{"1M", 1048576},
		{"1MB", 1000000},
		{"1.5MiB", 1572864},
		{"1GiB", 1073741824},
		{"1G", 1073741824},
		{"2GB", 2000000000},
		{"2T", 2199023255552},
		{"2TiB", 2199023255552},
		{"2TB", 2000000000000},
		{"0.999999999T", 1099511626676},
		{"16777215.5T", UINT64_MAX - (1ull << 39) + 1},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		u64 bytes = 1;

		assert_int_equal(units_parse_size(cases[i].text, &bytes), 0);
		assert_int_equal(bytes, cases[i].value);
	}
}

static void test_shares(void **state)
{
	static const struct good cases[] = {
		{"0", 0},           {"0.000000001", 1},   {"0.0000000001", 0}, /* cut off */
		{"0.01", 10000000}, {"1%", 10000000},     {"0.5%", 5000000},   {"5%", 50000000},
		{"1", 1000000000},  {"100%", 1000000000}, {"2.5", 2500000000},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		u64 ppb = 7;

		assert_int_equal(units_parse_share(cases[i].text, &ppb), 0);
		assert_int_equal(ppb, cases[i].value);
	}
}

static void test_not_one(void **state)
{
	static const char *const cases[] = {
		"",    "s",   ".",   ".s",  "-1s",  "+1s",    " 1s",   "1 s", "1s ",
		"10x", "1sm", "1e3", "0x1", "1,5s", "1.5.5s", "1..5s", "inf", "nan",
	};
	u64 value = 42;

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		assert_int_equal(units_parse_duration(cases[i], &value), -EINVAL);
		assert_int_equal(units_parse_size(cases[i], &value), -EINVAL);
		assert_int_equal(units_parse_share(cases[i], &value), -EINVAL);
		assert_int_equal(value, 42);
	}
	/* Neither takes the other's units. */
	assert_int_equal(units_parse_duration("1K", &value), -EINVAL);
	assert_int_equal(units_parse_size("1s", &value), -EINVAL);
}

static void test_too_large(void **state)
{
	u64 value = 42;

	(void)state;
	assert_int_equal(units_parse_duration("18446744074s", &value), -ERANGE);
	assert_int_equal(units_parse_duration("18446744073.709551616s", &value), -ERANGE);
	assert_int_equal(units_parse_duration("18446744073709551616ns", &value), -ERANGE);
	assert_int_equal(units_parse_duration("99999999999999999999999d", &value), -ERANGE);
	assert_int_equal(units_parse_size("16777216T", &value), -ERANGE);
	assert_int_equal(units_parse_size("18446744073709551616", &value), -ERANGE);
	assert_int_equal(value, 42);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_durations), cmocka_unit_test(test_sizes),
		cmocka_unit_test(test_shares),    cmocka_unit_test(test_not_one),
		cmocka_unit_test(test_too_large),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
