/* SPDX-License-Identifier: MIT */
/* Columns: widths by what a terminal shows, no spaces at line ends, no way to drive a terminal. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "../../user/util/table.h"

static void check(const struct table *table, const char *expected)
{
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);

	assert_non_null(out);
	assert_int_equal(table_print(table, out, "> "), 0);
	fclose(out);
	assert_string_equal(text, expected);
	free(text);
}

static void test_empty(void **state)
{
	struct table table = {.columns = 3};

	(void)state;
	check(&table, "");
	table_free(&table);
}

static void test_widths(void **state)
{
	struct table table = {.columns = 3};

	(void)state;
	table_add(&table, "NAME");
	table_add(&table, "N");
	table_add(&table, "TEXT");
	table_add(&table, "%s", "longer name");
	table_add(&table, "%d", 12345);
	table_add(&table, "%s", "");
	table_add(&table, "%s", "größe");
	table_add(&table, "%s", "");
	table_add(&table, "%s", "end");
	check(&table, "> NAME         N      TEXT\n"
		      "> longer name  12345\n"
		      "> größe               end\n");
	table_free(&table);
	assert_null(table.cells);
}

/* A column that is empty throughout takes no room; a row may be cut short. */
static void test_empty_column(void **state)
{
	struct table table = {.columns = 3};

	(void)state;
	table_add(&table, "a");
	table_add(&table, "%s", "");
	table_add(&table, "b");
	table_add(&table, "c");
	check(&table, "> a  b\n"
		      "> c\n");
	table_free(&table);
}

/* Numbers stand under each other's last digit. */
static void test_right(void **state)
{
	struct table table = {.columns = 3, .right = 3};

	(void)state;
	table_add(&table, "n");
	table_add(&table, "time");
	table_add(&table, "what");
	table_add(&table, "%d", 1234);
	table_add(&table, "%s", "5 µs");
	table_add(&table, "a");
	table_add(&table, "%d", 7);
	table_add(&table, "%s", "");
	table_add(&table, "bcd");
	check(&table, ">    n  time  what\n"
		      "> 1234  5 µs  a\n"
		      ">    7        bcd\n");
	table_free(&table);
}

static void test_hostile_text(void **state)
{
	struct table table = {.columns = 2};

	(void)state;
	table_add(&table, "%s", "a\033[2Jb");
	table_add(&table, "%s", "two\nlines\xff");
	check(&table, "> a\xef\xbf\xbd[2Jb  two lines\xef\xbf\xbd\n");
	table_free(&table);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_empty),        cmocka_unit_test(test_widths),
		cmocka_unit_test(test_empty_column), cmocka_unit_test(test_right),
		cmocka_unit_test(test_hostile_text),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
