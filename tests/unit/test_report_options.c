/* SPDX-License-Identifier: MIT */
/* Values of options that reports share, right and wrong. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "../../user/report/report_options.h"

static void test_by(void **state)
{
	enum report_by by = REPORT_BY_NAME;

	(void)state;
	assert_int_equal(report_take_by(&by, "process"), 0);
	assert_int_equal(by, REPORT_BY_PROCESS);
	assert_int_equal(report_take_by(&by, "path"), 0);
	assert_int_equal(by, REPORT_BY_PATH);
	assert_int_equal(report_take_by(&by, "pat"), -EINVAL);
	assert_int_equal(by, REPORT_BY_PATH);
}

static void test_top(void **state)
{
	static const char *const wrong[] = {
		"", "0", "-1", "+1", "ten", "1x", "99999999999999999999"};
	u64 top = 5;

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		assert_int_equal(report_take_top(&top, wrong[i]), -EINVAL);
	assert_int_equal(top, 5);
	assert_int_equal(report_take_top(&top, "20"), 0);
	assert_int_equal(top, 20);
}

static void test_percent(void **state)
{
	static const char *const wrong[] = {"", "%", "-1", "nan", "inf", "5%%", "5 %", "101", "x"};
	double percent = -1;

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		assert_int_equal(report_take_percent(&percent, "--x", 100, wrong[i]), -EINVAL);
	assert_true(percent == -1);
	assert_int_equal(report_take_percent(&percent, "--x", 100, "2.5%"), 0);
	assert_true(percent == 2.5);
	assert_int_equal(report_take_percent(&percent, "--x", 100, "100"), 0);
	assert_true(percent == 100);
	assert_int_equal(report_take_percent(&percent, "--x", 1e6, "300"), 0);
	assert_true(percent == 300);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_by),
		cmocka_unit_test(test_top),
		cmocka_unit_test(test_percent),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
