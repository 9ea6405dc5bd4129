/* SPDX-License-Identifier: MIT */
/* The plan as a whole: several files, what -P and -x leave, and 100,000 markers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include <cmocka.h>

#include "paired.h"

static void test_nothing(void **state)
{
	(void)state;
	check_with((const char *const[]){NULL}, NULL, "");
}

static void test_several_files(void **state)
{
	(void)state;
	/* A name in two files: every copy is bound; the most arguments count. */
	check("async span a:r @0 new=r__new new=r__new close=r__close (by `__new/__close`)\n",
	      "a:r__new", "a:r__close/1", "a:r__new/1");
	check("event libstdcxx:catch event=catch (no start or end in its name)\n"
	      "event libstdcxx:throw event=throw event=throw (no start or end in its name)\n",
	      "libstdcxx:throw/2", "libstdcxx:catch/2", "libstdcxx:throw/2");
}

#define THREE "a:job__enter", "a:job__exit", "ab:tick", "c:big_load__start", "c:big_load__end"

static void test_filters(void **state)
{
	static const struct {
		const char *provider, *exclude, *expected;
	} cases[] = {
		{"*", NULL, "a:job c:big_load ab:tick"},
		{"a", NULL, "a:job"},
		{"a*", NULL, "a:job ab:tick"},
		{"nowhere", NULL, ""},
		{NULL, "job", "c:big_load ab:tick"},
		{NULL, "a:*", "c:big_load ab:tick"},
		{NULL, "*load", "a:job ab:tick"},
		{NULL, "c*", "a:job ab:tick"},
		{NULL, "[ac]:*", "ab:tick"},
		{NULL, "*", ""},
		{NULL, "job__enter", "a:job c:big_load ab:tick"},
		{"a*", "tick", "a:job"},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct pair_options options = {
			.providers = &cases[i].provider,
			.nproviders = cases[i].provider != NULL,
			.excludes = &cases[i].exclude,
			.nexcludes = cases[i].exclude != NULL,
		};
		struct pair_marker markers[8];
		char buffer[8][128], got[256] = "";
		size_t n = markers_parse(MARKERS(THREE), markers, buffer);
		struct pair_plan *plan = NULL;

		assert_int_equal(pair_plan_new(markers, n, &options, &plan), 0);
		for (size_t j = 0; j < plan->ndefs; j++) {
			const struct pair_def *def = &plan->defs[j];

			snprintf(got + strlen(got), sizeof(got) - strlen(got), "%s%s:%s",
				 j ? " " : "", def->provider, def->name);
			for (u32 k = 0; k < def->nbindings; k++)
				assert_int_equal(plan->bindings[def->first_binding + k].def, j);
		}
		assert_string_equal(got, cases[i].expected);
		pair_plan_free(&plan);
	}
}

/* -P is not for what the user names; -x is. */
static void test_filters_and_span(void **state)
{
	const char *provider = "z", *exclude = "q";
	struct pair_spec *spec = NULL;
	struct pair_options options = {
		.specs = &spec, .nspecs = 1, .providers = &provider, .nproviders = 1};
	char why[256];

	(void)state;
	assert_int_equal(pair_spec_new("q=a:go..a:ok", &spec, why, sizeof(why)), 0);
	check_with(MARKERS("a:go", "a:ok", "a:tick"), &options,
		   "thread span a:q enter=go exit=ok (by --span)\n");
	options.excludes = &exclude;
	options.nexcludes = 1;
	check_with(MARKERS("a:go", "a:ok", "a:tick"), &options, "");
	pair_spec_free(&spec);
}

/* 100,000 markers: half of them pairs, all under one provider, in an order that does not help. */
static void test_many(void **state)
{
	const size_t n = 100000;
	struct pair_marker *markers = calloc(n, sizeof(*markers));
	char(*names)[32] = calloc(n, sizeof(*names));
	struct pair_plan *plan = NULL;
	struct timespec from, to;
	double seconds;

	(void)state;
	assert_non_null(markers);
	assert_non_null(names);
	for (size_t i = 0; i < n; i++) {
		size_t k = i * 7919 % n; /* a prime that does not divide n: each value once */

		snprintf(names[i], sizeof(names[i]), k < n / 2 ? "m%06zu__%s" : "m%06zu%s",
			 k < n / 2 ? k / 2 : k,
			 k >= n / 2 ? ""
			 : k % 2    ? "start"
				    : "done");
		markers[i] = (struct pair_marker){.provider = "app", .name = names[i]};
	}
	clock_gettime(CLOCK_MONOTONIC, &from);
	assert_int_equal(pair_plan_new(markers, n, NULL, &plan), 0);
	clock_gettime(CLOCK_MONOTONIC, &to);
	seconds = (double)(to.tv_sec - from.tv_sec) + (double)(to.tv_nsec - from.tv_nsec) / 1e9;
	assert_int_equal(plan->ndefs, n / 4 + n / 2);
	assert_int_equal(plan->nbindings, n);
	assert_int_equal(plan->defs[0].kind, MODEL_THREAD_SPAN);
	assert_string_equal(plan->defs[0].name, "m000000");
	assert_int_equal(plan->defs[n / 4].kind, MODEL_EVENT);
	assert_true(seconds < 1.0);
	pair_plan_free(&plan);
	free(names);
	free(markers);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nothing), cmocka_unit_test(test_several_files),
		cmocka_unit_test(test_filters), cmocka_unit_test(test_filters_and_span),
		cmocka_unit_test(test_many),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
