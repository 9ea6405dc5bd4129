/* SPDX-License-Identifier: MIT */
/* Tests of user/util/strpool.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "../../user/util/strpool.h"

static void test_strings_stay(void **state)
{
	struct strpool *pool = NULL;
	const char *kept[5000];
	char text[600];

	(void)state;
	assert_int_equal(strpool_new(&pool), 0);
	for (size_t i = 0; i < 5000; i++) {
		snprintf(text, sizeof(text), "%zu:%0*d", i, (int)(i % 500 + 1), 7);
		kept[i] = strpool_add(pool, text, strlen(text));
		assert_non_null(kept[i]);
	}
	for (size_t i = 0; i < 5000; i++) {
		snprintf(text, sizeof(text), "%zu:%0*d", i, (int)(i % 500 + 1), 7);
		assert_string_equal(kept[i], text);
	}
	strpool_free(&pool);
	assert_null(pool);
	strpool_free(&pool);
}

static void test_long_empty_and_impossible(void **state)
{
	static char big[1 << 20];
	struct strpool *pool = NULL;
	const char *text;

	(void)state;
	memset(big, 'x', sizeof(big));
	assert_int_equal(strpool_new(&pool), 0);
	text = strpool_add(pool, big, sizeof(big));
	assert_non_null(text);
	assert_int_equal(strlen(text), sizeof(big));
	assert_string_equal(strpool_add(pool, NULL, 0), "");
	assert_string_equal(strpool_add(pool, "cut here", 3), "cut");
	assert_null(strpool_add(pool, "", SIZE_MAX));
	assert_null(strpool_add(pool, "", SIZE_MAX - 1));
	strpool_free(&pool);
}

static void test_printable(void **state)
{
	struct strpool *pool = NULL;

	(void)state;
	assert_int_equal(strpool_new(&pool), 0);
	assert_string_equal(strpool_add_printable(pool, "a\tb\nc\033[1m\x7f\x01 \xc3\xa9", 13),
			    "a b c?[1m?? \xc3");
	strpool_free(&pool);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_strings_stay),
		cmocka_unit_test(test_long_empty_and_impossible),
		cmocka_unit_test(test_printable),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
