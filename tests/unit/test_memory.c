/* SPDX-License-Identifier: MIT */
/* What can be asked without a kernel; probes themselves are tests/live/test_alloc.py and test_heap.py. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <errno.h>

#include "../../user/session/memory.h"

static void test_nothing_probed(void **state)
{
	static const char *const files[] = {"/no/such/library", "/another:prefix_"};
	const struct memory_options options = {.alloc = true, .files = files, .nfiles = 2};
	struct memory_counts counts = {.functions = 1};
	struct memory *memory = NULL;

	(void)state;
	assert_int_equal(memory_new(NULL, &options, &memory), 0);
	assert_string_equal(memory_unused_file(memory), files[0]);
	/* There is no such process; one that was never added may end. */
	assert_int_equal(memory_add_process(memory, 0x7ffffff0, false), -ESRCH);
	memory_end_process(memory, 0x7ffffff0);
	memory_count(memory, &counts);
	assert_int_equal(counts.functions + counts.markers + counts.processes + counts.late, 0);
	memory_free(&memory);
	assert_null(memory);
	memory_free(&memory);
}

static void test_no_file_named(void **state)
{
	const struct memory_options options = {.alloc = true};
	struct memory *memory = NULL;

	(void)state;
	assert_int_equal(memory_new(NULL, &options, &memory), 0);
	assert_null(memory_unused_file(memory));
	memory_free(&memory);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nothing_probed),
		cmocka_unit_test(test_no_file_named),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
