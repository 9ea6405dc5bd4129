/* SPDX-License-Identifier: MIT */
/* What probes take against --max-overhead: a hit takes 100 ns, and each number follows from that. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* memfd_create() */
#endif
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "captured.h"
#include "overheard.h"

/* A second in which process P uses CPU_MS, and its hits take the rest's numbers of ms. */
static void one_second(struct heard_process *p, u64 cpu_ms, struct heard_meter *m, u64 hits_ms)
{
	p->cpu_ns += cpu_ms * MS;
	m->hits += hits_ms * MS / HIT_NS;
	later(SEC);
}

static void test_within(void **state)
{
	struct heard_process *p = add_process(7, 1);
	struct heard_meter *hot = add_meter(1, 0);

	(void)state;
	heard.o.options.limit_ppb = 5 * PERCENT;
	/* What came before the first look is not judged, however much it was. */
	one_second(p, 1000, hot, 900);
	assert_int_equal(heard.o.nshed, 0);
	one_second(p, 1000, hot, 49);
	one_second(p, 1000, hot, 50); /* as much as is allowed */
	assert_int_equal(heard.o.nshed, 0);
	one_second(p, 1000, hot, 51);
	assert_int_equal(heard.o.nshed, 1);
	assert_true(heard.shed[0]);
}

static void test_the_hottest_first(void **state)
{
	struct heard_process *p = add_process(7, 1);
	struct heard_meter *calm = add_meter(1, 2), *hot = add_meter(1, 0);

	(void)state;
	heard.o.options.limit_ppb = 5 * PERCENT;
	later(0);
	calm->hits = 10 * MS / HIT_NS;
	one_second(p, 400, hot, 100);
	/* 110 ms of 400 are too much. Without hot there are 10 ms of 300, of which 15 would do. */
	assert_true(heard.shed[0]);
	assert_false(heard.shed[2]);
	assert_int_equal(heard.o.nshed, 1);
	/* Of those 15 calm leaves 5, and 100 ms in a second are 5 in 20 seconds. */
	assert_int_equal(heard.o.shed[0].pause_ns, 20 * SEC);
	assert_int_equal(heard.o.shed[0].times, 1);
}

static void test_as_many_as_need_be(void **state)
{
	struct heard_process *p = add_process(7, 1);
	struct heard_meter *calm = add_meter(1, 2), *hot = add_meter(1, 0), *warm = add_meter(1, 1);

	(void)state;
	heard.o.options.limit_ppb = 5 * PERCENT;
	later(0);
	calm->hits = 5 * MS / HIT_NS;
	warm->hits = 40 * MS / HIT_NS;
	one_second(p, 500, hot, 200);
	/* 245 of 500; 45 of 300 (15 allowed); 5 of 260 (13). */
	assert_true(heard.shed[0]);
	assert_true(heard.shed[1]);
	assert_false(heard.shed[2]);
	assert_int_equal(heard.o.shed[0].def, 0);
	assert_int_equal(heard.o.shed[1].def, 1);
	/* hot: nothing is left of what is allowed, so it has a tenth of 15 ms. warm: 13 - 5. */
	assert_int_equal(heard.o.shed[0].pause_ns, 60 * SEC); /* not 133 */
	assert_int_equal(heard.o.shed[1].pause_ns, 5 * SEC);
}

/* Costs are estimated: what is left of the CPU time without them is a tenth of it at least. */
static void test_more_than_all(void **state)
{
	struct heard_process *p = add_process(7, 1);
	struct heard_meter *hot = add_meter(1, 0), *warm = add_meter(1, 1);

	(void)state;
	heard.o.options.limit_ppb = 50 * PERCENT;
	later(0);
	warm->hits = 4 * MS / HIT_NS;
	one_second(p, 100, hot, 150);
	assert_true(heard.shed[0]);
	assert_false(heard.shed[1]); /* 4 ms, of 10 half */
}

static void test_processes_apart(void **state)
{
	/* Numbers of images are not in the order of pids. */
	struct heard_process *busy = add_process(7, 9), *idle = add_process(8, 3);
	struct heard_meter *a = add_meter(9, 0), *b = add_meter(3, 1);

	(void)state;
	heard.o.options.limit_ppb = 10 * PERCENT;
	later(0);
	a->hits = 80 * MS / HIT_NS;
	busy->cpu_ns = 1000 * MS;
	/* The same hits are too much of a process that does little. */
	one_second(idle, 200, b, 80);
	assert_false(heard.shed[0]);
	assert_true(heard.shed[1]);
}

/* 20 ms of CPU time before there is a judgement; what comes before that is judged with it. */
static void test_too_little_to_judge(void **state)
{
	struct heard_process *p = add_process(7, 1);
	struct heard_meter *hot = add_meter(1, 0);

	(void)state;
	heard.o.options.limit_ppb = 5 * PERCENT;
	later(0);
	one_second(p, 10, hot, 9);
	one_second(p, 9, hot, 9);
	assert_int_equal(heard.o.nshed, 0);
	one_second(p, 1, hot, 0);
	assert_int_equal(heard.o.nshed, 1);
	/* 18 ms in three seconds; of the 2 that are left a twentieth is a tenth of a ms: 540 s, which is too long. */
	assert_int_equal(heard.o.shed[0].pause_ns, 60 * SEC);
}

static void test_twice_a_second(void **state)
{
	struct heard_process *p = add_process(7, 1);
	struct heard_meter *hot = add_meter(1, 0);

	(void)state;
	heard.o.options.limit_ppb = 5 * PERCENT;
	later(0);
	p->cpu_ns = 1000 * MS;
	hot->hits = 500 * MS / HIT_NS;
	later(SEC / 2 - 1);
	assert_int_equal(heard.o.nshed, 0);
	later(1);
	assert_int_equal(heard.o.nshed, 1);
}

/* All of the time is no limit. */
static void test_hundred_percent(void **state)
{
	struct heard_process *p = add_process(7, 1);
	struct heard_meter *hot = add_meter(1, 0);

	(void)state;
	heard.o.options.limit_ppb = PPB;
	later(0);
	one_second(p, 100, hot, 500);
	assert_int_equal(heard.o.nshed, 0);
	assert_int_equal(heard.o.nprocesses, 0); /* nobody looked */
}

/* The kernel did not take it: it is tried again at the next look. */
static void test_refused(void **state)
{
	struct heard_process *p = add_process(7, 1);
	struct heard_meter *hot = add_meter(1, 0);

	(void)state;
	heard.o.options.limit_ppb = 5 * PERCENT;
	later(0);
	heard.shed_err = -E2BIG;
	/* More would be an endless loop. */
	one_second(p, 100, hot, 50);
	assert_int_equal(heard.times_shed[0], 0);
	heard.shed_err = 0;
	one_second(p, 100, hot, 50);
	assert_int_equal(heard.times_shed[0], 1);
}

/* Images that have ended, and definitions of theirs: their hits are kept, and nothing is judged by them. */
static void test_ended(void **state)
{
	struct heard_process *p = add_process(7, 1);
	struct heard_meter *hot = add_meter(1, 0), *gone = add_meter(2, 0);
	struct captured said;
	const char *text;

	(void)state;
	heard.o.options.limit_ppb = 5 * PERCENT;
	gone->hits = 1000000;
	one_second(p, 100, hot, 1);
	assert_true(gone->forgotten);
	assert_int_equal(heard.o.hits[0], 1000000);
	assert_int_equal(heard.o.nmeters, 1);
	one_second(p, 100, hot, 1);
	assert_int_equal(heard.o.hits[0], 1000000);
	assert_int_equal(heard.o.nshed, 0);
	captured_begin(&said, STDOUT_FILENO);
	overhead_print(&heard.o, stdout);
	text = captured_end(&said);
	/* With the 20,000 of the one that runs. */
	assert_non_null(strstr(text, "1,020,000 hits"));
	assert_non_null(strstr(text, "app:hot"));
	assert_null(strstr(text, "app:warm"));
	/* The process ends too. */
	heard.nprocesses = 0;
	later(SEC);
	assert_int_equal(heard.o.nprocesses, 0);
	assert_int_equal(heard.o.hits[0], 1020000);
}

/* Without a limit, a warning: SPANS and CPU_MS are what one more second brings. */
static const char *watch(struct captured *said, struct heard_process *p, u64 spans, u64 cpu_ms)
{
	heard.counts.spans += spans;
	p->cpu_ns += cpu_ms * MS;
	heard.now_ns += SEC;
	captured_begin(said, STDERR_FILENO);
	overhead_watch(&heard.o, heard.now_ns);
	return captured_end(said);
}

static void test_warning(void **state)
{
	struct heard_process *p = add_process(7, 1);
	struct captured said;
	const char *text;

	(void)state;
	trace_begin(heard.o.trace, SEC, SEC);
	/* The first two looks are to know what there was before. */
	watch(&said, p, 1000000, 1000);
	watch(&said, p, 50000, 1000);
	assert_false(heard.o.warned);
	/* 100,000 hits are 10 ms: a tenth of 100 is not yet more than a tenth. */
	watch(&said, p, 50000, 100);
	assert_false(heard.o.warned);
	/* A second with too few hits begins anew. */
	watch(&said, p, 9999, 1);
	watch(&said, p, 50000, 1);
	assert_false(heard.o.warned);
	text = watch(&said, p, 50000, 99);
	assert_true(heard.o.warned);
	assert_non_null(strstr(text, "10.1 % of the targets' CPU time"));
	/* Once. */
	text = watch(&said, p, 50000, 50);
	assert_string_equal(text, "");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, heard_setup, heard_teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_within),
		TEST(test_the_hottest_first),
		TEST(test_as_many_as_need_be),
		TEST(test_more_than_all),
		TEST(test_processes_apart),
		TEST(test_too_little_to_judge),
		TEST(test_twice_a_second),
		TEST(test_hundred_percent),
		TEST(test_refused),
		TEST(test_ended),
		TEST(test_warning),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
