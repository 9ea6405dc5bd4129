/* SPDX-License-Identifier: MIT */
/* Numbers for people: three digits, the right unit, and no carry lost at the borders. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../../exporters/figures.h"

static void assert_time(u64 ns, const char *want)
{
	char buf[FIGURES_SIZE];

	assert_string_equal(figures_time(buf, ns), want);
}

static void test_time(void **state)
{
	(void)state;
	assert_time(0, "0 ns");
	assert_time(7, "7 ns");
	assert_time(999, "999 ns");
	assert_time(1000, "1.00 µs");
	assert_time(1234, "1.23 µs");
	assert_time(1235, "1.24 µs");
	assert_time(9994, "9.99 µs");
	assert_time(9995, "10.0 µs");
	assert_time(12345, "12.3 µs");
	assert_time(99949, "99.9 µs");
	assert_time(99950, "100 µs");
	assert_time(999499, "999 µs");
	assert_time(999500, "1.00 ms");
	assert_time(123456789, "123 ms");
	assert_time(1500000000, "1.50 s");
	assert_time(86400000000000, "86,400 s");
	assert_time(UINT64_MAX, "18,446,744,074 s");
}

static void assert_bytes(u64 bytes, const char *want)
{
	char buf[FIGURES_SIZE];

	assert_string_equal(figures_bytes(buf, bytes), want);
}

static void test_bytes(void **state)
{
	(void)state;
	assert_bytes(0, "0 B");
	assert_bytes(999, "999 B");
	assert_bytes(1000, "0.98 KiB");
	assert_bytes(1024, "1.00 KiB");
	assert_bytes(1536, "1.50 KiB");
	assert_bytes(3 << 20, "3.00 MiB");
	assert_bytes(5ull << 30, "5.00 GiB");
	assert_bytes(2000ull << 40, "2,000 TiB");
	assert_bytes(UINT64_MAX, "16,777,216 TiB");
}

static void test_counts(void **state)
{
	char buf[FIGURES_SIZE];

	(void)state;
	assert_string_equal(figures_count(buf, 0), "0");
	assert_string_equal(figures_count(buf, 999), "999");
	assert_string_equal(figures_count(buf, 1000), "1,000");
	assert_string_equal(figures_count(buf, 1234567), "1,234,567");
	assert_string_equal(figures_count(buf, UINT64_MAX), "18,446,744,073,709,551,615");
	assert_string_equal(figures_signed(buf, -1234), "-1,234");
	assert_string_equal(figures_signed(buf, 1234), "1,234");
	assert_string_equal(figures_signed(buf, INT64_MIN), "-9,223,372,036,854,775,808");
}

static void test_share(void **state)
{
	char buf[FIGURES_SIZE];

	(void)state;
	assert_string_equal(figures_share(buf, 0, 0), "0.00 %");
	assert_string_equal(figures_share(buf, 0, 10), "0.00 %");
	assert_string_equal(figures_share(buf, 1, 3), "33.3 %");
	assert_string_equal(figures_share(buf, 1, 16), "6.25 %");
	assert_string_equal(figures_share(buf, 99996, 1000000), "10.0 %");
	assert_string_equal(figures_share(buf, 99945, 100000), "99.9 %");
	assert_string_equal(figures_share(buf, 99996, 100000), "100.0 %");
	assert_string_equal(figures_share(buf, UINT64_MAX, UINT64_MAX), "100.0 %");
}

static void test_values(void **state)
{
	char buf[FIGURES_SIZE];

	(void)state;
	assert_string_equal(figures_value(buf, EXPORT_RUN_DELAY, 2048), "2.05 µs");
	assert_string_equal(figures_value(buf, EXPORT_INUSE_SPACE, 2048), "2.00 KiB");
	assert_string_equal(figures_value(buf, EXPORT_ALLOC_OBJECTS, 2048), "2,048");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_time),   cmocka_unit_test(test_bytes),
		cmocka_unit_test(test_counts), cmocka_unit_test(test_share),
		cmocka_unit_test(test_values),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
