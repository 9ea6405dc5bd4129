/* SPDX-License-Identifier: MIT */
/* Spans and events by rules: the built-in ones on the programs they are for, what they leave out, what -P and files of
 * the user's change. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "paired.h"

static struct rules *built_in;

static int setup(void **state)
{
	(void)state;
	return rules_new(&built_in);
}

static int teardown(void **state)
{
	(void)state;
	rules_free(&built_in);
	return 0;
}

static void check_ruled(const char *provider, const char *exclude, const char *expected,
			const char *const *texts)
{
	const struct pair_options options = {
		.rules = built_in,
		.providers = &provider,
		.nproviders = provider != NULL,
		.excludes = &exclude,
		.nexcludes = exclude != NULL,
	};

	check_with(texts, &options, expected);
}

#define ruled(expected, ...) check_ruled(NULL, NULL, expected, MARKERS(__VA_ARGS__))

static void test_postgresql(void **state)
{
	(void)state;
	ruled("async span postgresql:transaction @0 new=transaction__start close=transaction__commit close=transaction__abort (by a rule for postgresql, keyed by argument @0)\n",
	      "postgresql:transaction__start/1", "postgresql:transaction__commit/1",
	      "postgresql:transaction__abort/1");
	ruled("thread span postgresql:query enter=query__start exit=query__done (by a rule for postgresql; label query)\n",
	      "postgresql:query__start/1", "postgresql:query__done/1");
	ruled("thread span postgresql:buffer__checkpoint enter=buffer__checkpoint__start exit=buffer__checkpoint__done (by a rule for postgresql; label flags)\n"
	      "event postgresql:buffer__checkpoint__sync__start event=buffer__checkpoint__sync__start (in the middle of buffer__checkpoint)\n",
	      "postgresql:buffer__checkpoint__start/1",
	      "postgresql:buffer__checkpoint__sync__start", "postgresql:buffer__checkpoint__done");
}

static void test_hotspot(void **state)
{
	(void)state;
	ruled("async span hotspot:mem__pool__gc @2 new=mem__pool__gc__begin close=mem__pool__gc__end (by a rule for hotspot, keyed by argument @2; named \"pool \" string(arg2, arg3); label manager)\n",
	      "hotspot:mem__pool__gc__begin/8", "hotspot:mem__pool__gc__end/8");
	ruled("thread span hotspot:monitor__contended enter=monitor__contended__enter exit=monitor__contended__entered (by a rule for hotspot; named \"enter \" string(arg2, arg3))\n"
	      "event hotspot:monitor__contended__exit event=monitor__contended__exit (it fires when a contended monitor is released, whoever holds it; named \"exit \" string(arg2, arg3))\n",
	      "hotspot:monitor__contended__enter/4", "hotspot:monitor__contended__entered/4",
	      "hotspot:monitor__contended__exit/4");
}

static void test_others(void **state)
{
	(void)state;
	ruled("thread span stap:pass1 enter=pass1a__start enter=pass1b__start exit=pass1__end (by a rule for stap)\n",
	      "stap:pass1a__start/1", "stap:pass1b__start/1", "stap:pass1__end/1");
	ruled("async span libvirt:object @0 new=object_new close=object_dispose (by a rule for libvirt, keyed by argument @0; named string(arg1))\n",
	      "libvirt:object_new/2", "libvirt:object_dispose/1");
	ruled("thread span sssd:sdap_parse_entry enter=sdap_parse_entry exit=sdap_parse_entry_done (by a rule for sssd)\n"
	      "async span sssd:dp_req @1 new=dp_req_send close=dp_req_done (by a rule for sssd, keyed by argument @1; labels request, target, method)\n",
	      "sssd:dp_req_send/4", "sssd:dp_req_done/1", "sssd:sdap_parse_entry/2",
	      "sssd:sdap_parse_entry_done");
	ruled("thread span php:function recursive enter=function__entry exit=function__return (by a rule for php; named string(arg3) \"::\" string(arg0); labels file, line)\n",
	      "php:function__entry/5", "php:function__return/5");
	ruled("thread span python:gc enter=gc__start exit=gc__done (by a rule for python; label generation)\n"
	      "event python:function__entry event=function__entry (CPython 3.11 hardly fires function__entry (gh-98894); pair them with --span where yours does; named \"function__entry \" string(arg1); labels file, line)\n",
	      "python:function__entry/3", "python:gc__start/1", "python:gc__done/1");
	/* A rule is for its provider only. */
	ruled("thread span mine:function recursive enter=function__entry exit=function__return (by `__entry/__return`)\n",
	      "mine:function__entry", "mine:function__return");
}

/* A start without its end, or without the argument that is the id, is left to the conventions. */
static void test_not_there(void **state)
{
	(void)state;
	ruled("event postgresql:transaction__start event=transaction__start (no `__done`, `__end`, `__stop` or `__finish` beside it)\n",
	      "postgresql:transaction__start/1");
	ruled("event sssd:dp_req_done event=dp_req_done (no `_start` beside it)\n"
	      "event sssd:dp_req_send event=dp_req_send (no start or end in its name)\n",
	      "sssd:dp_req_send/1", "sssd:dp_req_done/1");
	ruled("async span postgresql:transaction @0 new=transaction__start close=transaction__abort (by a rule for postgresql, keyed by argument @0)\n",
	      "postgresql:transaction__start/1", "postgresql:transaction__abort/1");
}

#define JNI MARKERS("hotspot_jni:NewString__entry/3", "hotspot_jni:NewString__return/1")
#define JNI_SPAN \
	"thread span hotspot_jni:NewString recursive enter=NewString__entry exit=NewString__return (by `__entry/__return`)\n"
#define JNI_OUT \
	"- hotspot_jni (two markers in each JNI function, many thousands of hits a second)\n"
#define RUBY                                                                               \
	MARKERS("ruby:cmethod__entry/4", "ruby:cmethod__return/4", "ruby:gc__mark__begin", \
		"ruby:gc__mark__end")
#define RUBY_GC \
	"thread span ruby:gc__mark enter=gc__mark__begin exit=gc__mark__end (by `__begin/__end`)\n"
#define RUBY_CALL \
	"thread span ruby:cmethod recursive enter=cmethod__entry exit=cmethod__return (by a rule for ruby; named string(arg0) \"#\" string(arg1); labels file, line)\n"
#define RUBY_OUT \
	"- ruby:cmethod (with both of its markers armed Ruby 3.1 crashes in one of three runs, whichever tracer does it)\n"

static void test_left_out(void **state)
{
	(void)state;
	/* A provider is taken in by its name … */
	check_ruled(NULL, NULL, JNI_OUT, JNI);
	check_ruled("hotspot_jni", NULL, JNI_SPAN, JNI);
	check_ruled("hotspot*", NULL, JNI_SPAN, JNI);
	check_ruled("hotspot_jni:New*", NULL, JNI_SPAN, JNI);
	check_ruled("hotspot", NULL, "", JNI);
	/* … a span by its own. */
	check_ruled(NULL, NULL, RUBY_GC RUBY_OUT, RUBY);
	check_ruled("ruby", NULL, RUBY_GC RUBY_OUT, RUBY);
	check_ruled("ruby:cmethod", NULL, RUBY_CALL, RUBY);
	check_ruled("ruby:*", NULL, RUBY_CALL RUBY_GC, RUBY);
	/* What the user left out is no news. */
	check_ruled(NULL, "cmethod", RUBY_GC, RUBY);
	check_ruled("python", NULL, "", RUBY);
}

/* --span wins over the rules, and takes in what they leave out. */
static void test_span_first(void **state)
{
	struct pair_spec *spec = NULL;
	const struct pair_options options = {.rules = built_in, .specs = &spec, .nspecs = 1};
	char why[256];

	(void)state;
	assert_int_equal(pair_spec_new("function=python:function__entry..python:function__return",
				       &spec, why, sizeof(why)),
			 0);
	check_with(
		MARKERS("python:function__entry", "python:function__return"), &options,
		"thread span python:function enter=function__entry exit=function__return (by --span)\n");
	pair_spec_free(&spec);
	assert_int_equal(
		pair_spec_new("line=python:line..python:function__return", &spec, why, sizeof(why)),
		0);
	check_with(MARKERS("python:line", "python:function__return"), &options,
		   "thread span python:line enter=line exit=function__return (by --span)\n");
	pair_spec_free(&spec);
}

static void check_file(const char *file, const char *expected, const char *const *texts)
{
	struct rules *rules = NULL;
	struct pair_options options = {0};
	char why[256] = "";

	assert_int_equal(rules_new(&rules), 0);
	assert_int_equal(rules_add(rules, "my.rules", file, strlen(file), why, sizeof(why)), 0);
	options.rules = rules;
	check_with(texts, &options, expected);
	rules_free(&rules);
}

/* A file replaces the built-in rule of the same name, takes markers from others, and takes in what is left out. */
static void test_file(void **state)
{
	(void)state;
	check_file(
		"provider postgresql\n"
		"span query\n"
		"\tstart query__start\n"
		"\tend query__done query__failed\n",
		"thread span postgresql:query enter=query__start exit=query__done exit=query__failed (by my.rules:2)\n",
		MARKERS("postgresql:query__start/1", "postgresql:query__done/1",
			"postgresql:query__failed/1"));
	check_file(
		"provider python\n"
		"span call\n"
		"\tstart function__entry\n"
		"\tend function__return\n"
		"\trecursive\n",
		"thread span python:call recursive enter=function__entry exit=function__return (by my.rules:2)\n",
		MARKERS("python:function__entry/3", "python:function__return/3"));
	check_file("provider hotspot_jni\n", JNI_SPAN, JNI);
	check_file("provider app\nspan job\n\tstart go\n\tend ok\n\tid arg0 arg1\n",
		   "async span app:job @0 new=go close=ok (by my.rules:2, keyed by argument @0)\n",
		   MARKERS("app:go/1", "app:ok/2"));
	check_file("provider app\nevent go ok\n\twhy \"of themselves\"\n",
		   "event app:go event=go (of themselves)\n"
		   "event app:ok event=ok (of themselves)\n",
		   MARKERS("app:go/1", "app:ok/2"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_postgresql), cmocka_unit_test(test_hotspot),
		cmocka_unit_test(test_others),     cmocka_unit_test(test_not_there),
		cmocka_unit_test(test_left_out),   cmocka_unit_test(test_span_first),
		cmocka_unit_test(test_file),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
