/* SPDX-License-Identifier: MIT */
/* Keys: equal names are one, paths read from the outside in, runs to compare have no numbers in them. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "../../exporters/text.h"
#include "../../user/report/report_keys.h"

#define DEEP 100000

static void assert_text(const struct report_keys *keys, u32 id, const char *want)
{
	AUTO_TEXT text = {0};

	report_key_text(keys, id, &text);
	assert_false(text.failed);
	assert_string_equal(text.data, want);
}

static void test_keys(void **state)
{
	struct report_keys *keys;
	u32 a, b, below, again;

	(void)state;
	assert_int_equal(report_keys_new(REPORT_BY_PATH, false, &keys), 0);
	assert_int_equal(report_key(keys, 0, "a", &a), 0);
	assert_int_equal(report_key(keys, 0, "b c", &b), 0);
	assert_int_equal(report_key(keys, a, "b c", &below), 0);
	assert_int_equal(report_key(keys, a, "b c", &again), 0);
	assert_int_not_equal(a, 0);
	assert_int_not_equal(b, below);
	assert_int_equal(below, again);
	assert_text(keys, a, "a");
	assert_text(keys, below, "a;b c");
	assert_text(keys, 0, "");
	report_keys_free(&keys);
	assert_null(keys);
}

static void assert_thread(enum report_by by, bool across, const struct model_thread *thread,
			  const char *want)
{
	struct report_keys *keys;
	struct report_index index = {0};
	u32 id;

	assert_int_equal(report_keys_new(by, across, &keys), 0);
	assert_int_equal(report_thread_key(keys, &index, thread, &id), 0);
	assert_text(keys, id, want);
	pairmap_free(&index.processes);
	report_keys_free(&keys);
}

static void test_threads(void **state)
{
	const struct model_thread named = {.pid = 40, .tid = 41, .comm = "web"};
	const struct model_thread nameless = {.pid = 40, .tid = 3};
	/* 16 bytes and no end */
	struct model_thread long_name = {.pid = 40, .tid = 41};

	(void)state;
	memset(long_name.comm, 'x', sizeof(long_name.comm));
	assert_thread(REPORT_BY_THREAD, false, &named, "web-41");
	assert_thread(REPORT_BY_THREAD, true, &named, "web");
	assert_thread(REPORT_BY_PROCESS, false, &named, "web (40)");
	assert_thread(REPORT_BY_PROCESS, true, &named, "web");
	assert_thread(REPORT_BY_THREAD, false, &nameless, "thread 3");
	assert_thread(REPORT_BY_THREAD, true, &nameless, "thread 3");
	assert_thread(REPORT_BY_PROCESS, false, &nameless, "process 40");
	assert_thread(REPORT_BY_PROCESS, true, &nameless, "process");
	assert_thread(REPORT_BY_THREAD, true, &long_name, "xxxxxxxxxxxxxxxx");
}

/* As deep as a file can say, alternating between two names: found without recursion, and in one pass. */
static void test_a_deep_path(void **state)
{
	struct model_def defs[2] = {{.kind = MODEL_THREAD_SPAN, .provider = "p", .name = "a"},
				    {.kind = MODEL_THREAD_SPAN, .provider = "p", .name = "b"}};
	struct model_path *paths = calloc(DEEP + 1, sizeof(*paths));
	struct model_thread thread = {.comm = "t"};
	struct model_row rows[3] = {0};
	const struct profile profile = {.rows = rows, .nrows = 3};
	struct report_index *index = NULL;
	struct report_keys *keys;
	struct report_place place;

	(void)state;
	assert_non_null(paths);
	for (u32 i = 1; i <= DEEP; i++)
		paths[i] = (struct model_path){
			.id = i, .depth = i, .parent = &paths[i - 1], .def = &defs[i & 1]};
	for (int i = 0; i < 3; i++)
		rows[i].thread = &thread;
	rows[0].path = &paths[DEEP];
	rows[1].path = &paths[1];
	rows[2].path = &paths[2];
	for (int by = REPORT_BY_NAME; by <= REPORT_BY_PATH; by++) {
		assert_int_equal(report_keys_new((enum report_by)by, false, &keys), 0);
		assert_int_equal(report_index_new(keys, &profile, REPORT_PROVIDER_AND_NAME, &index),
				 0);
		assert_int_equal(report_place(keys, index, &rows[0], &place), 0);
		assert_int_equal(place.inner, by == REPORT_BY_NAME);
		assert_int_equal(report_place(keys, index, &rows[1], &place), 0);
		assert_false(place.inner);
		assert_string_equal(keys->keys[place.key].name, "p:b");
		assert_int_equal(report_place(keys, index, &rows[2], &place), 0);
		assert_false(place.inner);
		assert_int_equal(keys->nkeys, by == REPORT_BY_NAME ? 3 : DEEP + 1);
		report_index_free(&index);
		report_keys_free(&keys);
	}
	free(paths);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_keys),
		cmocka_unit_test(test_threads),
		cmocka_unit_test(test_a_deep_path),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
