/* SPDX-License-Identifier: MIT */
/* Spans by --span: what they win over, and what they do where a marker is not there. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "paired.h"

static void test_span(void **state)
{
	(void)state;
	check_span("q=a:go..a:ok,a:failed",
		   "thread span a:q enter=go exit=ok exit=failed (by --span)\n",
		   MARKERS("a:go", "a:ok", "a:failed"));
	check_span("x:q=a:go..b:ok@arg1",
		   "async span x:q @1 new=go close=ok (by --span, keyed by argument @1)\n",
		   MARKERS("a:go/2", "b:ok/2"));
	/* It wins over the conventions, also over the name they would use … */
	check_span(
		"job=a:job__start..a:job__commit",
		"thread span a:job enter=job__start exit=job__commit (by --span)\n"
		"event a:job__done event=job__done (`job__start` beside it belongs to another span)\n",
		MARKERS("a:job__start", "a:job__done", "a:job__commit"));
	check_span(
		"job=a:go..a:ok",
		"thread span a:job enter=go exit=ok (by --span)\n"
		"thread span a:job__start enter=job__start exit=job__done (by `__start/__done`)\n",
		MARKERS("a:job__start", "a:job__done", "a:go", "a:ok"));
}

static void test_span_shares_markers(void **state)
{
	struct pair_spec *specs[3] = {NULL};
	struct pair_options options = {.specs = specs, .nspecs = 3};
	char why[256];

	(void)state;
	assert_int_equal(pair_spec_new("all=a:go..a:end", &specs[0], why, sizeof(why)), 0);
	assert_int_equal(pair_spec_new("first=a:go..a:mid", &specs[1], why, sizeof(why)), 0);
	assert_int_equal(pair_spec_new("all=a:mid..a:end", &specs[2], why, sizeof(why)), 0);
	check_with(
		MARKERS("a:go", "a:mid", "a:end"), &options,
		"thread span a:all enter=go exit=end (by --span)\n"
		"thread span a:first enter=go exit=mid (by --span)\n"
		"! --span a:all: the name is taken by another --span; write one --span with several ENDs, or another NAME\n");
	for (size_t i = 0; i < COUNT(specs); i++)
		pair_spec_free(&specs[i]);
}

static void test_span_not_there(void **state)
{
	(void)state;
	/* What it does not use is left to the conventions. */
	check_span(
		"q=a:job__start..a:nowhere",
		"thread span a:job enter=job__start exit=job__done (by `__start/__done`)\n"
		"! --span a:q: no marker `a:nowhere` here; `spantrace list` shows those there are\n",
		MARKERS("a:job__start", "a:job__done"));
	check_span(
		"q=a:nowhere..a:ok",
		"event a:ok event=ok (no start or end in its name)\n"
		"! --span a:q: no marker `a:nowhere` here; `spantrace list` shows those there are\n",
		MARKERS("a:ok"));
	/* One end is enough. */
	check_span(
		"q=a:go..a:nowhere,a:ok",
		"thread span a:q enter=go exit=ok (by --span)\n"
		"! --span a:q: no marker `a:nowhere` here; `spantrace list` shows those there are\n",
		MARKERS("a:go", "a:ok"));
	check_span("q=a:go..a:ok@2",
		   "event a:go event=go (no start or end in its name)\n"
		   "event a:ok event=ok (no start or end in its name)\n"
		   "! --span a:q: marker `a:ok` has no argument @2; it has 1\n",
		   MARKERS("a:go/3", "a:ok/1"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_span),
		cmocka_unit_test(test_span_shares_markers),
		cmocka_unit_test(test_span_not_there),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
