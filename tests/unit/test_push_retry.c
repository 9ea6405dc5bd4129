/* SPDX-License-Identifier: MIT */
/* Pauses grow, are bounded, and differ by what is random. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "../../user/push/push_retry.h"

static void test_growth(void **state)
{
	(void)state;
	assert_int_equal(push_retry_ns(1, 1000, 60000, 0), 500);
	assert_int_equal(push_retry_ns(1, 1000, 60000, UINT32_MAX), 1000);
	assert_int_equal(push_retry_ns(2, 1000, 60000, UINT32_MAX), 2000);
	assert_int_equal(push_retry_ns(6, 1000, 60000, UINT32_MAX), 32000);
	assert_int_equal(push_retry_ns(7, 1000, 60000, UINT32_MAX), 60000);
	assert_int_equal(push_retry_ns(7, 1000, 60000, 0), 30000);
	assert_int_equal(push_retry_ns(UINT32_MAX, 1000, 60000, UINT32_MAX), 60000);
	assert_int_equal(push_retry_ns(1, 1000, 10, UINT32_MAX), 10);
	assert_in_range(push_retry_ns(3, 1000, 60000, UINT32_MAX / 2), 2999, 3001);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_growth)};

	return cmocka_run_group_tests_name("push_retry", tests, NULL, NULL);
}
