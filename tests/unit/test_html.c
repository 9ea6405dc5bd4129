/* SPDX-License-Identifier: MIT */
/* The page as a file: its policy, its data, and that names cannot get out of them. What a browser makes of it is
 * tests/live/test_browser.sh's business. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../../exporters/html_data.h"
#include "spanned.h"

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

static char *export(struct sample *s)
{
	struct export_options o = EXPORT_OPTIONS_DEFAULT;

	return spanned_export(s, "html", &o, true);
}

static void test_policy(void **state)
{
	char *html = export(*state);

	assert_contains(
		html,
		"content=\"default-src 'none'; base-uri 'none'; form-action 'none'; style-src 'sha256-");
	assert_int_equal(count_of(html, "'sha256-"), 6);
	assert_int_equal(count_of(html, "<script>"), 5);
	assert_null(strstr(html, "unsafe"));
	assert_null(strstr(html, "<link"));
	free(html);
}

static void test_totals(void **state)
{
	struct sample *s = *state;
	char *html;

	s->losses[0].count = 3;
	html = export(s);
	assert_contains(html, "\"target\": \"pid 100 (web)\"");
	assert_contains(html, "\"duration\": 10000000000,");
	assert_contains(
		html, "\"name\": [\"web (100)\", \"app:outer\", \"app:inner\", \"app:GET /cart\"]");
	assert_contains(html, "\"parent\": [-1, 0, 1, 0]");
	assert_contains(html, "\"kind\": [0, 2, 2, 2]");
	assert_contains(html, "\"count\": [0, 5, 10, 1]");
	assert_contains(html, "\"busy\": [5500000000, 5000000000, 1000000000, 500000000]");
	assert_contains(
		html,
		"{\"name\": \"app:tick\", \"comm\": \"web\", \"pid\": 100, \"tid\": 100, \"count\": 7}");
	assert_contains(html, "\"count\": 3}");
	/* Neither memory nor the heap was measured. */
	assert_null(strstr(html, "\"inuse\""));
	free(html);
}

/* Web's outer: 0, 4 s << 1, label 1, 50 %; its inner: 1 s, 1 s << 1, label 0, 50 %, then 2 s, 0.5 s << 1, label 0, 0 %; the
 * worker's outer: 1 s, 1 s << 1, label 1, all; the job: 1 s, 3 s << 1, label 2, 8.3 %. */
static void test_items(void **state)
{
	char *html = export(*state);

	assert_contains(html, "\"lanes\": [1, 2]");
	assert_contains(
		html,
		"\"async\": true, \"spans\": 1, \"segments\": 0, \"events\": 0, \"lanes\": [1]");
	assert_contains(html, "\"app::inner\",\n\t\t\t\"app::outer\",\n\t\t\t\"app::GET /cart\"\n");
	assert_contains(
		html,
		"id=\"items\">AICg2eYdAYCAlOvcA4Co1rkHAICAqNa5B4CU69wDAACAlOvcA4Co1rkHAf+AlOvcA4D4gq0WAhU=</script>");
	free(html);
}

static void test_names_stay_inside(void **state)
{
	struct sample *s = *state;
	char *html;

	s->outer.name = "</script><script>alert(1)</script><!--";
	s->inner.name = "a\xff\n\x01\"b\\";
	s->profile.target = "<img src=x onerror=alert(1)>";
	strcpy(s->web.comm, "</title>");
	html = export(s);
	assert_int_equal(count_of(html, "<script>"), 5);
	assert_int_equal(count_of(html, "</script>"), 7);
	assert_int_equal(count_of(html, "</title>"), 1);
	assert_null(strstr(html, "<!--"));
	assert_null(strstr(html, "<img"));
	assert_contains(html, "<title>&lt;img src=x onerror=alert(1)&gt;</title>");
	assert_contains(html, "app:\\u003c/script>\\u003cscript>alert(1)\\u003c/script>\\u003c!--");
	free(html);
}

static void test_nothing(void **state)
{
	struct export_options o = EXPORT_OPTIONS_DEFAULT;
	struct sample *s = *state;
	char *html;

	s->profile.nrows = s->profile.nthreads = s->profile.nevents = 0;
	html = spanned_export(s, "html", &o, false);
	assert_contains(html, "id=\"items\"></script>");
	assert_contains(html, "\"tracks\": []");
	free(html);
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(test_policy),  CASE(test_totals),
		CASE(test_items),   CASE(test_names_stay_inside),
		CASE(test_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
