/* SPDX-License-Identifier: MIT */
/* The parts of a --span, and the sentence for each mistake in one. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "../../user/pair/pair_spec.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static void test_spec_parts(void **state)
{
	struct pair_spec *spec = NULL;
	char why[256];

	(void)state;
	assert_int_equal(pair_spec_new("x:a name=p:s..q:e1,r:e2@3", &spec, why, sizeof(why)), 0);
	assert_string_equal(spec->label.provider, "x");
	assert_string_equal(spec->label.name, "a name");
	assert_string_equal(spec->start.provider, "p");
	assert_string_equal(spec->start.name, "s");
	assert_int_equal(spec->nends, 2);
	assert_string_equal(spec->ends[0].provider, "q");
	assert_string_equal(spec->ends[0].name, "e1");
	assert_string_equal(spec->ends[1].provider, "r");
	assert_string_equal(spec->ends[1].name, "e2");
	assert_int_equal(spec->id_arg, 3);
	pair_spec_free(&spec);

	assert_int_equal(pair_spec_new("n=p:s..p:e", &spec, why, sizeof(why)), 0);
	assert_string_equal(spec->label.provider, "p");
	assert_string_equal(spec->label.name, "n");
	assert_int_equal(spec->id_arg, -1);
	pair_spec_free(&spec);
}

static void test_spec_errors(void **state)
{
	static const char *const cases[][2] = {
		{"", "there is no `=`; write NAME=PROVIDER:START..PROVIDER:END"},
		{"q", "there is no `=`; write NAME=PROVIDER:START..PROVIDER:END"},
		{"q=a:b", "there is no `..` after `a:b`; write NAME=PROVIDER:START..PROVIDER:END"},
		{"=a:b..a:c", "NAME is empty; write NAME=PROVIDER:START..PROVIDER:END"},
		{"x:=a:b..a:c", "NAME `x:` has nothing after the colon; write x:NAME"},
		{"q=..a:c", "START is empty; write NAME=PROVIDER:START..PROVIDER:END"},
		{"q=b..a:c", "START `b` has no provider; write PROVIDER:b"},
		{"q=:b..a:c", "START `:b` has nothing before the colon; write PROVIDER:b"},
		{"q=a:b..", "END is empty; write NAME=PROVIDER:START..PROVIDER:END"},
		{"q=a:b..a:c,", "END is empty; write NAME=PROVIDER:START..PROVIDER:END"},
		{"q=a:b..c", "END `c` has no provider; write PROVIDER:c"},
		{"q=a:b..a:c,a:", "END `a:` has nothing after the colon; write a:NAME"},
		{"q=a:b..a:b", "`a:b` is both START and END; a span needs two markers"},
		{"q=a:b..a:c,a:c", "END `a:c` is named twice"},
		{"q=a:b..a:c@", "`@` is not an argument; write @0 for the first, @1 for the next"},
		{"q=a:b..a:c@-1",
		 "`@-1` is not an argument; write @0 for the first, @1 for the next"},
		{"q=a:b..a:c@arg",
		 "`@arg` is not an argument; write @0 for the first, @1 for the next"},
		{"q=a:b..a:c@1x",
		 "`@1x` is not an argument; write @0 for the first, @1 for the next"},
		{"q=a:b..a:c@12", "`@12`: a marker has at most 12 arguments, @0 to @11"},
		{"q=a:b..a:c@99999999999999999999",
		 "`@99999999999999999999`: a marker has at most 12 arguments, @0 to @11"},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct pair_spec *spec = (struct pair_spec *)&cases;
		char why[256] = "";

		assert_int_equal(pair_spec_new(cases[i][0], &spec, why, sizeof(why)), -EINVAL);
		assert_string_equal(why, cases[i][1]);
		assert_ptr_equal(spec, &cases);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_spec_parts),
		cmocka_unit_test(test_spec_errors),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
