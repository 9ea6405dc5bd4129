/* SPDX-License-Identifier: MIT */
/* The JSON writer: commas, layout, escapes, numbers at their limits. */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../../exporters/jsonw.h"

struct writer {
	struct jsonw w;
	char *text;
	size_t len;
};

static int setup(void **state)
{
	struct writer *writer = calloc(1, sizeof(*writer));

	if (!writer)
		return -1;
	writer->w.out = open_memstream(&writer->text, &writer->len);
	*state = writer;
	return writer->w.out ? 0 : -1;
}

static int teardown(void **state)
{
	struct writer *writer = *state;

	free(writer->text);
	free(writer);
	return 0;
}

static void assert_written(struct writer *writer, const char *want)
{
	assert_int_equal(writer->w.depth, 0);
	assert_int_equal(fclose(writer->w.out), 0);
	assert_string_equal(writer->text, want);
}

static void test_empty(void **state)
{
	struct writer *writer = *state;
	struct jsonw *w = &writer->w;

	jsonw_object(w, NULL, JSONW_LINES);
	jsonw_array(w, "a", JSONW_LINES);
	jsonw_end(w);
	jsonw_object(w, "b", JSONW_INLINE);
	jsonw_end(w);
	jsonw_end(w);
	assert_written(writer, "{\n\t\"a\": [],\n\t\"b\": {}\n}\n");
}

static void test_layout(void **state)
{
	struct writer *writer = *state;
	struct jsonw *w = &writer->w;

	jsonw_array(w, NULL, JSONW_LINES);
	jsonw_object(w, NULL, JSONW_INLINE);
	jsonw_u64(w, "x", 1);
	/* Within a line everything is on that line. */
	jsonw_array(w, "y", JSONW_LINES);
	jsonw_u64(w, NULL, 2);
	jsonw_u64(w, NULL, 3);
	jsonw_end(w);
	jsonw_string(w, "z", "");
	jsonw_end(w);
	jsonw_u64(w, NULL, 4);
	jsonw_end(w);
	assert_written(writer, "[\n\t{\"x\": 1, \"y\": [2, 3], \"z\": \"\"},\n\t4\n]\n");
}

static void test_inline_at_top(void **state)
{
	struct writer *writer = *state;

	jsonw_object(&writer->w, NULL, JSONW_INLINE);
	jsonw_string_pair(&writer->w, "p", "a\"", "b\\");
	jsonw_u64(&writer->w, "q", 0);
	jsonw_end(&writer->w);
	assert_written(writer, "{\"p\": \"a\\\":b\\\\\", \"q\": 0}\n");
}

static void test_numbers(void **state)
{
	struct writer *writer = *state;
	struct jsonw *w = &writer->w;

	jsonw_array(w, NULL, JSONW_INLINE);
	jsonw_u64(w, NULL, UINT64_MAX);
	jsonw_s64(w, NULL, INT64_MIN);
	jsonw_s64(w, NULL, INT64_MAX);
	jsonw_s64(w, NULL, -1);
	jsonw_s64(w, NULL, 0);
	jsonw_end(w);
	assert_written(
		writer,
		"[18446744073709551615, -9223372036854775808, 9223372036854775807, -1, 0]\n");
}

static void test_escapes(void **state)
{
	struct writer *writer = *state;
	struct jsonw *w = &writer->w;

	jsonw_object(w, NULL, JSONW_INLINE);
	jsonw_string(w, "k\"\n", "\"\\/\n\r\t\x01\x1f\x7f'");
	jsonw_string(w, "u", "µ日🔥");
	jsonw_string(w, "bad", "a\xff\xc0\x80\xe2\x82z");
	jsonw_end(w);
	assert_written(
		writer,
		"{\"k\\\"\\n\": \"\\\"\\\\/\\n\\r\\t\\u0001\\u001f\\u007f'\", "
		"\"u\": \"µ日🔥\", \"bad\": \"a\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbdz\"}\n");
}

static void test_fractions_and_truth(void **state)
{
	struct writer *writer = *state;
	struct jsonw *w = &writer->w;

	jsonw_array(w, NULL, JSONW_INLINE);
	jsonw_f64(w, NULL, 0);
	jsonw_f64(w, NULL, -2.5);
	jsonw_f64(w, NULL, 999999999999999);
	jsonw_f64(w, NULL, 1e300);
	jsonw_f64(w, NULL, INFINITY);
	jsonw_f64(w, NULL, NAN);
	jsonw_bool(w, NULL, true);
	jsonw_bool(w, NULL, false);
	jsonw_end(w);
	assert_written(writer, "[0, -2.5, 999999999999999, 1e+300, null, null, true, false]\n");
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_empty),
		TEST(test_layout),
		TEST(test_inline_at_top),
		TEST(test_numbers),
		TEST(test_fractions_and_truth),
		TEST(test_escapes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
