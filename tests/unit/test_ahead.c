/* SPDX-License-Identifier: MIT */
/* Batches made ahead: all of them, in their order, none overwritten while it is used, with one CPU as with several. */
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "../../user/util/ahead.h"

#define MANY 1000u

struct maker {
	u32 made, end;
	u32 batches[AHEAD_BATCHES];
};

static bool make(void *context, u32 place)
{
	struct maker *m = context;

	assert_true(place < AHEAD_BATCHES);
	m->batches[place] = m->made++;
	return m->made < m->end;
}

/* Takes N of END batches. */
static void take(u32 end, u32 n)
{
	struct maker m = {.end = end};
	struct ahead *a = NULL;
	u32 i;

	assert_int_equal(ahead_new(make, &m, &a), 0);
	for (i = 0; i < n; i++)
		assert_int_equal(m.batches[ahead_next(a)], i);
	ahead_free(&a);
	assert_null(a);
	assert_true(m.made >= n);
	assert_true(m.made <= end);
}

static void test_all(void **state)
{
	u32 end;

	(void)state;
	for (end = 1; end < 40; end++)
		take(end, end);
	take(MANY, MANY);
}

/* The one who makes them is stopped, wherever it is. */
static void test_stopped(void **state)
{
	u32 n;

	(void)state;
	for (n = 0; n < 40; n++)
		take(MANY, n);
	ahead_free(&(struct ahead *){NULL});
}

static void test_one_cpu(void **state)
{
	cpu_set_t before, one;
	int cpu = 0;

	(void)state;
	assert_int_equal(sched_getaffinity(0, sizeof(before), &before), 0);
	while (!CPU_ISSET(cpu, &before))
		cpu++;
	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	assert_int_equal(sched_setaffinity(0, sizeof(one), &one), 0);
	take(40, 40);
	take(40, 20);
	assert_int_equal(sched_setaffinity(0, sizeof(before), &before), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_all),
		cmocka_unit_test(test_stopped),
		cmocka_unit_test(test_one_cpu),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
