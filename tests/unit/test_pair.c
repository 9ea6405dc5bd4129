/* SPDX-License-Identifier: MIT */
/* Pairing rules: every convention, what must not pair, and what the user names. Expectations are
 * written as one line of text a definition: KIND LABEL [@ARG] ROLE=MARKER… (WHY) */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "../../user/pair.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* "provider:name/NARGS+", where `/NARGS` defaults to 0 and `+` says that it is made by
 * spantrace.h. */
static size_t markers_parse(const char *const *texts, struct pair_marker *out, char (*buffer)[128])
{
	size_t n = 0;

	for (; texts[n]; n++) {
		char *slash, *colon;

		assert_true(strlen(texts[n]) < sizeof(buffer[n]));
		strcpy(buffer[n], texts[n]);
		colon = strchr(buffer[n], ':');
		assert_non_null(colon);
		*colon = '\0';
		slash = strchr(colon + 1, '/');
		out[n] = (struct pair_marker){.provider = buffer[n], .name = colon + 1};
		if (slash) {
			*slash = '\0';
			out[n].nargs = (u32)strtoul(slash + 1, NULL, 10);
			out[n].has_meta = strchr(slash + 1, '+') != NULL;
		}
	}
	return n;
}

static char *plan_text(const struct pair_plan *plan, const struct pair_marker *markers)
{
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);

	assert_non_null(out);
	for (size_t i = 0; i < plan->ndefs; i++) {
		const struct pair_def *def = &plan->defs[i];

		fprintf(out, "%s %s:%s", pair_kind_name(def->kind), def->provider, def->name);
		if (def->recursive)
			fprintf(out, " recursive");
		if (def->id_arg >= 0)
			fprintf(out, " @%d", def->id_arg);
		assert_true(def->nbindings > 0);
		for (u32 j = 0; j < def->nbindings; j++) {
			const struct pair_binding *b = &plan->bindings[def->first_binding + j];

			assert_int_equal(b->def, i);
			fprintf(out, " %s=%s", pair_role_name(b->role), markers[b->marker].name);
		}
		fprintf(out, " (%s)\n", def->why);
	}
	for (size_t i = 0; i < plan->nproblems; i++)
		fprintf(out, "! %s\n", plan->problems[i]);
	fclose(out);
	return text;
}

static void check_with(const char *const *texts, const struct pair_options *options,
		       const char *expected)
{
	struct pair_marker markers[64];
	char buffer[64][128];
	size_t n = markers_parse(texts, markers, buffer);
	struct pair_plan *plan = NULL;
	char *text;

	assert_int_equal(pair_plan_new(markers, n, options, &plan), 0);
	text = plan_text(plan, markers);
	assert_string_equal(text, expected);
	free(text);
	pair_plan_free(&plan);
	assert_null(plan);
}

#define MARKERS(...)         ((const char *const[]){__VA_ARGS__, NULL})
#define check(expected, ...) check_with(MARKERS(__VA_ARGS__), NULL, expected)

/* The same with --span SPEC. */
static void check_span(const char *spec_text, const char *expected, const char *const *texts)
{
	struct pair_spec *spec = NULL;
	struct pair_options options = {.specs = &spec, .nspecs = 1};
	char why[256] = "";

	assert_int_equal(pair_spec_new(spec_text, &spec, why, sizeof(why)), 0);
	check_with(texts, &options, expected);
	pair_spec_free(&spec);
	assert_null(spec);
}

static void test_nothing(void **state)
{
	(void)state;
	check_with((const char *const[]){NULL}, NULL, "");
}

static void test_each_convention(void **state)
{
	static const struct {
		const char *start, *end, *extra;
	} pairs[] = {
		{"enter", "exit", ""},   {"entry", "return", " recursive"},
		{"start", "done", ""},   {"begin", "end", ""},
		{"start", "end", ""},    {"start", "stop", ""},
		{"start", "finish", ""},
	};
	static const char *const separators[] = {"__", "_", "-"};

	(void)state;
	for (size_t i = 0; i < COUNT(pairs); i++) {
		for (size_t j = 0; j < COUNT(separators); j++) {
			const char *s = separators[j];
			char a[64], b[64], expected[256];

			snprintf(a, sizeof(a), "app:big_job%s%s", s, pairs[i].start);
			snprintf(b, sizeof(b), "app:big_job%s%s", s, pairs[i].end);
			snprintf(expected, sizeof(expected),
				 "thread span app:big_job%s enter=%s exit=%s (by `%s%s/%s%s`)\n",
				 pairs[i].extra, a + 4, b + 4, s, pairs[i].start, s, pairs[i].end);
			check(expected, a, b);
			check(expected, b, a);
		}
	}
}

static void test_first_convention_wins(void **state)
{
	(void)state;
	/* done comes before end: the end is left over. */
	check("thread span a:q enter=q__start exit=q__done (by `__start/__done`)\n"
	      "event a:q__end event=q__end (`q__start` beside it belongs to another span)\n",
	      "a:q__start", "a:q__done", "a:q__end");
	/* Two pairs of one stem: both are spans, under two names. */
	check("thread span a:q enter=q__start exit=q__done (by `__start/__done`)\n"
	      "thread span a:q__begin enter=q__begin exit=q__end (by `__begin/__end`)\n",
	      "a:q__start", "a:q__done", "a:q__begin", "a:q__end");
	/* Begin takes the end, so start keeps the stop. */
	check("thread span a:q enter=q__begin exit=q__end (by `__begin/__end`)\n"
	      "thread span a:q__start enter=q__start exit=q__stop (by `__start/__stop`)\n",
	      "a:q__start", "a:q__stop", "a:q__begin", "a:q__end");
}

static void test_separators_do_not_mix(void **state)
{
	(void)state;
	check("event a:q__start event=q__start (no `__done`, `__end`, `__stop` or `__finish` beside it)\n"
	      "event a:q_done event=q_done (no `_start` beside it)\n",
	      "a:q__start", "a:q_done");
	/* One stem in two separators: `__` gets the plain name. */
	check("thread span a:q enter=q__enter exit=q__exit (by `__enter/__exit`)\n"
	      "thread span a:q_enter enter=q_enter exit=q_exit (by `_enter/_exit`)\n",
	      "a:q_enter", "a:q_exit", "a:q__enter", "a:q__exit");
	/* The name that the second would get is taken as well. */
	check("thread span a:q enter=q__enter exit=q__exit (by `__enter/__exit`)\n"
	      "thread span a:q_enter enter=q_enter__enter exit=q_enter__exit (by `__enter/__exit`)\n"
	      "thread span a:q_enter#2 enter=q_enter exit=q_exit (by `_enter/_exit`)\n",
	      "a:q_enter", "a:q_exit", "a:q__enter", "a:q__exit", "a:q_enter__enter",
	      "a:q_enter__exit");
	check("thread span a:q_ enter=q___enter exit=q___exit (by `__enter/__exit`)\n",
	      "a:q___enter", "a:q___exit");
}

static void test_providers_do_not_mix(void **state)
{
	(void)state;
	check("event a:q__enter event=q__enter (no `__exit` beside it)\n"
	      "event b:q__exit event=q__exit (no `__enter` beside it)\n",
	      "a:q__enter", "b:q__exit");
	check("thread span a:q enter=q__enter exit=q__exit (by `__enter/__exit`)\n"
	      "thread span b:q enter=q__enter exit=q__exit (by `__enter/__exit`)\n",
	      "a:q__enter", "b:q__exit", "b:q__enter", "a:q__exit");
}

static void test_no_stem(void **state)
{
	(void)state;
	check("event a:__enter event=__enter (no start or end in its name)\n"
	      "event a:__exit event=__exit (no start or end in its name)\n"
	      "event a:_end event=_end (no start or end in its name)\n"
	      "event a:begin event=begin (no start or end in its name)\n"
	      "event a:end event=end (no start or end in its name)\n"
	      "event a:restart event=restart (no start or end in its name)\n"
	      "event a:tick event=tick (no start or end in its name)\n",
	      "a:__enter", "a:__exit", "a:begin", "a:end", "a:_end", "a:restart", "a:tick");
}

static void test_lone_halves(void **state)
{
	(void)state;
	check("event a:a__enter event=a__enter (no `__exit` beside it)\n"
	      "event a:b-exit event=b-exit (no `-enter` beside it)\n"
	      "event a:c__end event=c__end (no `__begin` or `__start` beside it)\n"
	      "event a:d_new event=d_new (no `_close` beside it)\n"
	      "event a:e__return event=e__return (no `__entry` beside it)\n",
	      "a:a__enter", "a:b-exit", "a:c__end", "a:d_new/1", "a:e__return");
}

static void test_async(void **state)
{
	(void)state;
	check("async span a:r @0 new=r__new enter=r__enter exit=r__exit close=r__close (by `__new/__close` with `__enter/__exit`)\n",
	      "a:r__new/2+", "a:r__enter/1+", "a:r__exit/1+", "a:r__close/1+");
	check("async span a:r @0 new=r_new close=r_close (by `_new/_close`)\n", "a:r_new/1",
	      "a:r_close/1");
	check("async span a:r @0 new=r__new enter=r__enter exit=r__exit (by `__new` with `__enter/__exit`; no `__close`, so it stays open)\n",
	      "a:r__new/2+", "a:r__enter/1+", "a:r__exit/1+");
	check("async span a:r @0 enter=r__enter exit=r__exit close=r__close (by `__close` with `__enter/__exit`; no `__new`, so it begins where it is first entered)\n",
	      "a:r__enter/1+", "a:r__exit/1+", "a:r__close/1+");
	check("async span a:r @0 enter=r__enter exit=r__exit (by `__enter/__exit` with an id; no `__close`, so it stays open)\n",
	      "a:r__enter/1+", "a:r__exit/1+");
}

static void test_not_async(void **state)
{
	(void)state;
	/* SPAN_ENTER_ARGS: labels at the enter only. */
	check("thread span a:r enter=r__enter exit=r__exit (by `__enter/__exit`)\n",
	      "a:r__enter/2+", "a:r__exit/0+");
	/* Arguments at both, but not of spantrace.h: not known to be ids. */
	check("thread span a:r enter=r__enter exit=r__exit (by `__enter/__exit`)\n", "a:r__enter/1",
	      "a:r__exit/1");
	/* A lane that is not whole stays out of it. */
	check("async span a:r @0 new=r__new close=r__close (by `__new/__close`)\n"
	      "event a:r__enter event=r__enter (no `__exit` beside it)\n",
	      "a:r__new/2+", "a:r__close/1+", "a:r__enter/1+");
	check("event a:r__close event=r__close (`r__new` carries no argument to be the id of an async span)\n"
	      "event a:r__new event=r__new (`r__new` carries no argument to be the id of an async span)\n",
	      "a:r__new", "a:r__close/1");
	/* Thread enter/exit beside an async pair: two spans, two names. */
	check("async span a:r @0 new=r__new close=r__close (by `__new/__close`)\n"
	      "thread span a:r__enter enter=r__enter exit=r__exit (by `__enter/__exit`)\n",
	      "a:r__new/2+", "a:r__close/1+", "a:r__enter/0+", "a:r__exit/0+");
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

static void test_false_friends(void **state)
{
	(void)state;
	check("thread span hotspot:monitor__contended enter=monitor__contended__enter exit=monitor__contended__entered (by a rule for hotspot)\n"
	      "event hotspot:monitor__contended__exit event=monitor__contended__exit (`monitor__contended__enter` beside it belongs to another span)\n",
	      "hotspot:monitor__contended__enter/4", "hotspot:monitor__contended__entered/4",
	      "hotspot:monitor__contended__exit/4");
	check("event sssd:sdap_parse_entry event=sdap_parse_entry (no `_return` beside it)\n"
	      "event sssd:sdap_parse_entry_done event=sdap_parse_entry_done (no `_start` beside it)\n",
	      "sssd:sdap_parse_entry/2", "sssd:sdap_parse_entry_done");
	check("thread span postgresql:buffer__checkpoint enter=buffer__checkpoint__start exit=buffer__checkpoint__done (by `__start/__done`)\n"
	      "event postgresql:buffer__checkpoint__sync__start event=buffer__checkpoint__sync__start (no `__done`, `__end`, `__stop` or `__finish` beside it)\n",
	      "postgresql:buffer__checkpoint__start/1",
	      "postgresql:buffer__checkpoint__sync__start", "postgresql:buffer__checkpoint__done");
	check("thread span guestfs:launch enter=launch_start exit=launch_end (by `_start/_end`)\n"
	      "thread span guestfs:launch_build_appliance enter=launch_build_appliance_start exit=launch_build_appliance_end (by `_start/_end`)\n",
	      "guestfs:launch_start", "guestfs:launch_end", "guestfs:launch_build_appliance_start",
	      "guestfs:launch_build_appliance_end");
}

static void test_rules(void **state)
{
	(void)state;
	check("async span postgresql:transaction @0 new=transaction__start close=transaction__commit close=transaction__abort (by a rule for postgresql, keyed by argument @0)\n",
	      "postgresql:transaction__start/1", "postgresql:transaction__commit/1",
	      "postgresql:transaction__abort/1");
	check("thread span stap:pass1 enter=pass1a__start enter=pass1b__start exit=pass1__end (by a rule for stap)\n",
	      "stap:pass1a__start/1", "stap:pass1b__start/1", "stap:pass1__end/1");
	check("async span hotspot:mem__pool__gc @2 new=mem__pool__gc__begin close=mem__pool__gc__end (by a rule for hotspot, keyed by argument @2)\n",
	      "hotspot:mem__pool__gc__begin/8", "hotspot:mem__pool__gc__end/8");
	check("async span libvirt:object @0 new=object_new close=object_dispose (by a rule for libvirt, keyed by argument @0)\n",
	      "libvirt:object_new/2", "libvirt:object_dispose/1");
	check("thread span python:gc enter=gc__start exit=gc__done (by `__start/__done`)\n"
	      "event python:function__entry event=function__entry (CPython 3.11 hardly fires function__entry (gh-98894); pair them with --span where yours does)\n"
	      "event python:function__return event=function__return (CPython 3.11 hardly fires function__entry (gh-98894); pair them with --span where yours does)\n",
	      "python:function__entry/3", "python:function__return/3", "python:gc__start/1",
	      "python:gc__done/1");
	/* A rule is for its provider only. */
	check("thread span mine:function recursive enter=function__entry exit=function__return (by `__entry/__return`)\n",
	      "mine:function__entry", "mine:function__return");
}

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
	/* … and over the rules. */
	check_span(
		"function=python:function__entry..python:function__return",
		"thread span python:function enter=function__entry exit=function__return (by --span)\n",
		MARKERS("python:function__entry", "python:function__return"));
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
		cmocka_unit_test(test_nothing),
		cmocka_unit_test(test_each_convention),
		cmocka_unit_test(test_first_convention_wins),
		cmocka_unit_test(test_separators_do_not_mix),
		cmocka_unit_test(test_providers_do_not_mix),
		cmocka_unit_test(test_no_stem),
		cmocka_unit_test(test_lone_halves),
		cmocka_unit_test(test_async),
		cmocka_unit_test(test_not_async),
		cmocka_unit_test(test_several_files),
		cmocka_unit_test(test_false_friends),
		cmocka_unit_test(test_rules),
		cmocka_unit_test(test_span),
		cmocka_unit_test(test_span_shares_markers),
		cmocka_unit_test(test_span_not_there),
		cmocka_unit_test(test_spec_parts),
		cmocka_unit_test(test_spec_errors),
		cmocka_unit_test(test_filters),
		cmocka_unit_test(test_filters_and_span),
		cmocka_unit_test(test_many),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
