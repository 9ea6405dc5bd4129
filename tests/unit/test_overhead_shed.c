/* SPDX-License-Identifier: MIT */
/* Definitions that were too hot: left out, taken out, put back, and for how long each. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

#include <cmocka.h>

#include "../../user/attach/plan_impl.h"
#include "overheard.h"

#define ENDS (SEC / 10)

/* DEF took COST_MS in a second, ALLOWED_MS would do. */
static const struct overhead_shed *shed(u32 def, u64 cost_ms, u64 allowed_ms)
{
	size_t i;

	overhead_shed(&heard.o, def, cost_ms * MS, allowed_ms * MS, SEC, heard.now_ns);
	for (i = 0; i < heard.o.nshed; i++)
		if (heard.o.shed[i].def == def)
			return &heard.o.shed[i];
	return NULL;
}

static void after(u64 ns)
{
	heard.now_ns += ns;
	overhead_move(&heard.o, heard.now_ns);
}

static void test_out_and_back(void **state)
{
	const struct overhead_shed *s = shed(1, 30, 10);

	(void)state;
	assert_int_equal(s->pause_ns, 3 * SEC);
	assert_int_equal(s->state, SHED_ENDS);
	assert_true(heard.shed[1]);
	assert_false(overhead_can_shed(&heard.o, 1));
	assert_true(overhead_can_shed(&heard.o, 2));
	/* Open spans have time to end. */
	after(ENDS - 1);
	assert_false(heard.out[1]);
	after(1);
	assert_int_equal(s->state, SHED_OUT);
	assert_true(heard.out[1]);
	assert_int_equal(heard.forgotten[1], 1);
	assert_false(overhead_can_shed(&heard.o, 1));
	after(3 * SEC - 1);
	assert_true(heard.out[1]);
	after(1);
	assert_int_equal(s->state, SHED_STANDS);
	assert_false(heard.out[1]);
	assert_false(heard.shed[1]);
	assert_true(overhead_can_shed(&heard.o, 1));
	assert_int_equal(s->out_ns, 3 * SEC);
	after(100 * SEC);
	assert_int_equal(s->state, SHED_STANDS);
	assert_int_equal(heard.forgotten[1], 1);
}

static void test_pauses(void **state)
{
	(void)state;
	assert_int_equal(shed(0, 11, 10)->pause_ns, 11 * SEC / 10);
	/* A second at least, a minute at most, whatever is allowed. */
	assert_int_equal(shed(1, 10, 20)->pause_ns, SEC);
	assert_int_equal(shed(2, 700, 10)->pause_ns, 60 * SEC);
	assert_int_equal(shed(3, 700, 0)->pause_ns, 60 * SEC);
}

/* Twice as long each time that it has to go again at once. */
static void test_again(void **state)
{
	static const u64 pauses[] = {8 * SEC, 16 * SEC, 32 * SEC, 60 * SEC, 60 * SEC};
	const struct overhead_shed *s = shed(0, 80, 10);
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(pauses) / sizeof(pauses[0]); i++) {
		assert_int_equal(s->pause_ns, pauses[i]);
		assert_int_equal(s->times, i + 1);
		after(ENDS);
		after(pauses[i]);
		assert_int_equal(s->state, SHED_STANDS);
		heard.now_ns += SEC;
		s = shed(0, 80, 10);
	}
	/* Not one that was calm for a while. */
	after(ENDS);
	after(60 * SEC);
	heard.now_ns += 2 * SEC;
	assert_int_equal(shed(0, 80, 10)->pause_ns, 8 * SEC);
	assert_int_equal(heard.o.nshed, 1);
}

/* More than twice as hot as before: its own cost counts, where that is longer. */
static void test_again_and_hotter(void **state)
{
	(void)state;
	shed(0, 80, 10);
	after(ENDS);
	after(8 * SEC);
	assert_int_equal(shed(0, 500, 10)->pause_ns, 50 * SEC);
}

/* One of too many definitions: its probes stand, its spans are left out all the same. */
static void test_without_a_part(void **state)
{
	(void)state;
	heard.no_part[0] = true;
	shed(0, 80, 10);
	after(ENDS);
	assert_false(heard.out[0]);
	assert_int_equal(heard.forgotten[0], 0);
	assert_true(heard.shed[0]);
	after(8 * SEC);
	assert_false(heard.shed[0]);
}

static void test_each_in_its_time(void **state)
{
	(void)state;
	shed(0, 20, 10);
	heard.now_ns += SEC / 20;
	shed(1, 10, 10);
	after(SEC / 20);
	assert_true(heard.out[0]);
	assert_false(heard.out[1]);
	after(SEC / 20);
	assert_true(heard.out[1]);
	after(SEC);
	assert_true(heard.out[0]);
	assert_false(heard.out[1]);
}

static void test_what_is_told(void **state)
{
	const struct pair_options options = {0};
	struct plan *plan = NULL;
	u64 begin = heard.now_ns;

	(void)state;
	heard.o.options.limit_ppb = 5 * PERCENT;
	heard.o.options.metered = false;
	assert_int_equal(plan_new(&options, &plan), 0);
	shed(0, 30, 10);
	after(ENDS);
	after(3 * SEC);
	/* One that is out still. */
	shed(1, 600, 10);
	after(ENDS);
	heard.now_ns += SEC;
	overhead_end(&heard.o, plan, begin, heard.now_ns);
	assert_int_equal(plan->nrefused, 2);
	assert_string_equal(plan->refused[0].marker, "app:hot");
	assert_string_equal(
		plan->refused[0].why,
		"taken out for --max-overhead 5 %: its probes stood for 1.20 s of 4.20 s");
	assert_string_equal(plan->refused[1].marker, "app:warm");
	assert_string_equal(
		plan->refused[1].why,
		"taken out for --max-overhead 5 %: its probes stood for 3.20 s of 4.20 s");
	plan_free(&plan);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, heard_setup, heard_teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_out_and_back),     TEST(test_pauses),         TEST(test_again),
		TEST(test_again_and_hotter), TEST(test_without_a_part), TEST(test_each_in_its_time),
		TEST(test_what_is_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
