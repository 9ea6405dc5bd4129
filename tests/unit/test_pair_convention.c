/* SPDX-License-Identifier: MIT */
/* Naming conventions: every one of them, which comes first, and what must not pair. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "paired.h"

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

static void test_false_friends(void **state)
{
	(void)state;
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_convention),
		cmocka_unit_test(test_first_convention_wins),
		cmocka_unit_test(test_separators_do_not_mix),
		cmocka_unit_test(test_providers_do_not_mix),
		cmocka_unit_test(test_no_stem),
		cmocka_unit_test(test_lone_halves),
		cmocka_unit_test(test_async),
		cmocka_unit_test(test_not_async),
		cmocka_unit_test(test_false_friends),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
