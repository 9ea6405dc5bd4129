/* SPDX-License-Identifier: MIT */
/* The metadata of event files: JSON, what measureme makes of it, and what is none. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../../user/mmprofdata/mmprofdata_meta.h"

static struct model_loss names[REPLAY_LOSSES];
static struct mmp_meta meta;

static int read_meta(const char *text)
{
	mmp_meta_free(&meta);
	meta = (struct mmp_meta){0};
	return mmp_meta_read(text, strlen(text), names, &meta);
}

static int setup(void **state)
{
	(void)state;
	losses_init(names);
	for (int i = LOSS_CAUSES; i < REPLAY_LOSSES; i++)
		names[i].name = "of a replay";
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	mmp_meta_free(&meta);
	meta = (struct mmp_meta){0};
	return 0;
}

static void test_of_measureme(void **state)
{
	(void)state;
	assert_int_equal(
		read_meta(
			"{ \"start_time\": 1795225140068099112, \"process_id\": 17898, "
			"\"cmd\": \"./it\\'s \\u{e9}\\u{1f600} \\\"x\\\" \\n\", \"counter\": "
			"{ \"name\": \"wall-time\", \"units\": [[\"ns\", 1], [\"μs\", 1000]] } }"),
		0);
	assert_int_equal(meta.start_time, 1795225140068099112ull);
	assert_int_equal(meta.process_id, 17898);
	assert_string_equal(meta.cmd, "./it's é😀 \"x\" \n");
	assert_string_equal(meta.counter, "wall-time");
	assert_null(meta.version);
}

static void test_of_spantrace(void **state)
{
	(void)state;
	assert_int_equal(
		read_meta("{\"spantrace\":{\"version\":\"9\",\"kernel\":\"k\",\"clock\":\"c\","
			  "\"start_ns\":1,\"end_ns\":2,\"finished\":1,"
			  "\"losses\":{\"ring_full\":3,\"unheard_of\":4}}}"),
		0);
	assert_string_equal(meta.version, "9");
	assert_string_equal(meta.kernel, "k");
	assert_string_equal(meta.clock, "c");
	assert_int_equal(meta.start_ns, 1);
	assert_int_equal(meta.end_ns, 2);
	assert_int_equal(meta.finished, 1);
	assert_int_equal(meta.losses[LOSS_RING_FULL], 3);
}

static void test_json(void **state)
{
	(void)state;
	/* Escapes of JSON's own, numbers that are not ours, keys that come twice or are too long. */
	assert_int_equal(
		read_meta(
			"{\"cmd\":\"\\u00e9\\ud83d\\ude00\\ud800\\/\\t\\u0000\",\"a\":[],\"b\":{},"
			"\"c\":[1,-2.5e3,true,null,{\"cmd\":\"no\"}],\"process_id\":1,\"process_id\":2}"),
		0);
	assert_string_equal(meta.cmd, "é😀�/\t�");
	assert_int_equal(meta.process_id, 2);
	assert_int_equal(read_meta("{\"start_time\": 18446744073709551616, \"process_id\": 1.5}"),
			 0);
	assert_int_equal(meta.start_time, 0);
	assert_int_equal(meta.process_id, 0);
}

static void test_damaged(void **state)
{
	static const char *const texts[] = {
		"",
		"x",
		"[]",
		"{",
		"{\"cmd\"",
		"{\"cmd\":",
		"{\"cmd\":\"x",
		"{\"cmd\":\"\\",
		"{\"cmd\":\"\\q\"}",
		"{\"cmd\":\"\\u12\"}",
		"{\"cmd\":\"\\u{}\"}",
		"{\"cmd\":\"\\u{1234567}\"}",
		"{\"cmd\" \"x\"}",
		"{\"a\":1,}",
		"{\"a\":[1}",
		"{\"a\":[[[[[[[[[[[[[[1]]]]]]]]]]]]]]}",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
		assert_int_equal(read_meta(texts[i]), -EINVAL);
	/* What stood before the damage counts. */
	assert_int_equal(read_meta("{\"start_time\": 5, \"cmd\": \"x\", \"counter\": {"), -EINVAL);
	assert_int_equal(meta.start_time, 5);
	assert_string_equal(meta.cmd, "x");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_of_measureme, setup, teardown),
		cmocka_unit_test_setup_teardown(test_of_spantrace, setup, teardown),
		cmocka_unit_test_setup_teardown(test_json, setup, teardown),
		cmocka_unit_test_setup_teardown(test_damaged, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
