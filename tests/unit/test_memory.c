/* SPDX-License-Identifier: MIT */
/* Who is under seccomp, by the text of /proc/PID/status. Probes themselves are tests/live/test_alloc.py and test_heap.py. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "../../user/session/memory.h"

static void test_seccomp(void **state)
{
	(void)state;
	assert_false(memory_parse_seccomp(
		"Name:\tx\nNoNewPrivs:\t1\nSeccomp:\t0\nSeccomp_filters:\t3\n"));
	assert_true(memory_parse_seccomp("Name:\tx\nSeccomp:\t1\n"));
	assert_true(memory_parse_seccomp("Name:\tx\nSeccomp:\t2\nSeccomp_filters:\t1\n"));
	/* A kernel without it; and a name that would like to be it. */
	assert_false(memory_parse_seccomp("Name:\tx\nUid:\t0\n"));
	assert_false(memory_parse_seccomp("Name:\tSeccomp:\t2\n"));
	assert_false(memory_parse_seccomp(""));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_seccomp),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
