/* SPDX-License-Identifier: MIT */
/* Folded stacks: the exact lines, with each option, and names that would break them. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "sample_profile.h"

static int setup(void **state)
{
	*state = sample_new();
	return 0;
}

static int teardown(void **state)
{
	sample_free(*state);
	return 0;
}

static void assert_folded(struct sample *s, const struct export_options *o, const char *want)
{
	char *text = sample_export("folded", &s->profile, o);

	assert_string_equal(text, want);
	free(text);
}

static void test_default(void **state)
{
	struct export_options o = EXPORT_OPTIONS_DEFAULT;

	assert_folded(*state, &o,
		      "web-100 6000000000\n"
		      "web-100;app::outer 3000000000\n"
		      "web-100;app::outer;app::inner 1000000000\n"
		      "worker-101 2500000000\n"
		      "worker-101;app::GET /cart 500000000\n"
		      "worker-101;app::outer 1000000000\n");
}

static void test_options(void **state)
{
	struct export_options o = EXPORT_OPTIONS_DEFAULT;

	o.empty_samples = false;
	o.threads_collapsed = true;
	o.module_path = false;
	o.file_and_line = true;
	assert_folded(*state, &o,
		      "all-threads;GET /cart 500000000\n"
		      "all-threads;outer:src/main.c:12 4000000000\n"
		      "all-threads;outer:src/main.c:12;inner 1000000000\n");
}

static void test_values(void **state)
{
	struct export_options o = EXPORT_OPTIONS_DEFAULT;
	struct sample *s = *state;
	int err;

	o.value = EXPORT_BLOCKED;
	assert_folded(s, &o,
		      "web-100;app::outer 1400000000\n"
		      "web-100;app::outer;app::inner 400000000\n"
		      "worker-101;app::GET /cart 250000000\n");
	o.value = EXPORT_ALLOC_SPACE;
	assert_null(sample_try_export("folded", &s->profile, &o, &err));
	assert_int_equal(err, -ENODATA);
	s->profile.metrics |= METRIC_ALLOC;
	assert_folded(s, &o, "web-100;app::outer 3072\n");
}

static void assert_name(struct sample *s, const char *name, const char *want)
{
	struct export_options o = EXPORT_OPTIONS_DEFAULT;
	char line[128];

	o.module_path = false;
	o.empty_samples = false;
	s->job.name = s->paths[SAMPLE_JOB_PATH].name = name;
	s->profile.rows = &s->rows[SAMPLE_JOB];
	s->profile.nrows = 1;
	snprintf(line, sizeof(line), "worker-101;%s 500000000\n", want);
	assert_folded(s, &o, line);
}

static void test_names(void **state)
{
	assert_name(*state, "with space", "with space");
	assert_name(*state, "a;b;c", "a:b:c");
	assert_name(*state, "a\nb\rc\td", "a b c d");
	assert_name(*state, "a\x01z\x7f", "a\xef\xbf\xbdz\xef\xbf\xbd");
	assert_name(*state, "\xff", "\xef\xbf\xbd");
	assert_name(*state, "a\xe2\x80\xa8z", "a z");
	assert_name(*state, "日本 \"q\" 'q' <b> \\", "日本 \"q\" 'q' <b> \\");
	assert_name(*state, "", "?");
	/* Readers of differential profiles would take the last number of the frame for a weight. */
	assert_name(*state, "query 5", "query_5");
	assert_name(*state, "query 5.25", "query_5.25");
	assert_name(*state, "query\n12", "query_12");
	assert_name(*state, "query 5 x", "query 5 x");
	assert_name(*state, "query5", "query5");
	assert_name(*state, "42", "42");
}

static void test_thread_names(void **state)
{
	struct export_options o = EXPORT_OPTIONS_DEFAULT;
	struct sample *s = *state;
	char *text;

	strcpy(s->web.comm, "a;b\nc 1");
	text = sample_export("folded", &s->profile, &o);
	assert_non_null(strstr(text, "a:b c 1-100;app::outer 3000000000\n"));
	free(text);
}

static void test_nothing(void **state)
{
	struct export_options o = EXPORT_OPTIONS_DEFAULT;
	struct sample *s = *state;

	s->profile.nrows = 0;
	s->profile.nthreads = 0;
	assert_folded(s, &o, "");
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_default), TEST(test_options),      TEST(test_values),
		TEST(test_names),   TEST(test_thread_names), TEST(test_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
