/* SPDX-License-Identifier: MIT */
/* What counts as a change, as chance and as a failure; what is left out. Reading is tested with files, live. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <math.h>

#include "../../user/report/diff.h"

static struct diff_figure figure(double base, double change, double p)
{
	return (struct diff_figure){.base = base, .change = change, .p = p};
}

static void test_percent(void **state)
{
	struct diff_figure f = figure(200, 250, -1);

	(void)state;
	assert_true(diff_percent(&f) == 25);
	f = figure(0, 5, -1);
	assert_true(isinf(diff_percent(&f)));
	f = figure(5, 0, -1);
	assert_true(diff_percent(&f) == -100);
	f = figure(0, 0, -1);
	assert_true(isnan(diff_percent(&f)));
}

static void test_failure(void **state)
{
	struct diff d = {.fail_above = 10};
	struct diff_figure f = figure(100, 111, -1);

	(void)state;
	assert_true(diff_is_failure(&d, &f));
	f.p = 0.049;
	assert_true(diff_is_failure(&d, &f));
	f.p = 0.05;
	assert_false(diff_is_failure(&d, &f));
	f = figure(100, 110, -1);
	assert_false(diff_is_failure(&d, &f));
	f = figure(100, 10, -1);
	assert_false(diff_is_failure(&d, &f));
	/* What is new grew from nothing. */
	f = figure(0, 1, -1);
	assert_true(diff_is_failure(&d, &f));
	f = figure(0, 0, -1);
	assert_false(diff_is_failure(&d, &f));
	d.fail_above = -1;
	f = figure(1, 100, -1);
	assert_false(diff_is_failure(&d, &f));
}

static void set(struct diff *d, int side, const char *name, double self)
{
	u32 id;

	assert_int_equal(report_key(d->keys, 0, name, &id), 0);
	d->sides[side].items[id].seen = true;
	d->sides[side].items[id].v[REPORT_SELF].mean = self;
}

static void make(struct diff *d)
{
	*d = (struct diff){.fail_above = 20};
	assert_int_equal(report_keys_new(REPORT_BY_NAME, true, &d->keys), 0);
	for (int s = 0; s < 2; s++) {
		d->sides[s].runs = 1;
		d->sides[s].total.mean = 1000;
		d->sides[s].items = calloc(8, sizeof(*d->sides[s].items));
		assert_non_null(d->sides[s].items);
		d->sides[s].nitems = 8;
	}
	set(d, DIFF_BASE, "app:small", 10);
	set(d, DIFF_CHANGE, "app:small", 15);
	set(d, DIFF_BASE, "app:large", 400);
	set(d, DIFF_CHANGE, "app:large", 300);
	set(d, DIFF_BASE, "db:gone", 40);
	set(d, DIFF_CHANGE, "db:new", 50);
}

static void check_order(struct diff *d, const char *want)
{
	char got[128] = "";

	assert_int_equal(diff_sort(d), 0);
	for (u32 i = 0; i < d->n; i++) {
		strcat(got, d->keys->keys[d->ids[i]].name);
		strcat(got, " ");
	}
	assert_string_equal(got, want);
	diff_free(d);
}

static void test_order(void **state)
{
	struct diff d;

	(void)state;
	make(&d);
	check_order(&d, "app:large db:new db:gone app:small ");
}

static void test_exclude(void **state)
{
	const char *const globs[] = {"app:*", "new", "l*", "db:gon?"};
	static const char *const rests[] = {
		"db:new db:gone ",
		"app:large db:gone app:small ",
		"db:new db:gone app:small ",
		"app:large db:new app:small ",
	};

	(void)state;
	for (int i = 0; i < 4; i++) {
		struct diff d;

		make(&d);
		d.excludes = malloc(sizeof(*d.excludes));
		assert_non_null(d.excludes);
		d.excludes[0] = globs[i];
		d.nexcludes = 1;
		check_order(&d, rests[i]);
	}
}

static void test_percent_above(void **state)
{
	struct diff d;

	(void)state;
	make(&d);
	d.percent_above = 5;
	/* 5 % of a side's total time on either side */
	check_order(&d, "app:large db:new ");
}

static void test_failures(void **state)
{
	struct diff d;

	(void)state;
	make(&d);
	d.top = 1;
	assert_int_equal(diff_sort(&d), 0);
	/* small and new, though neither is shown */
	assert_int_equal(diff_failures(&d), 2);
	assert_int_equal(diff_nshown(&d), 1);
	diff_free(&d);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_percent),       cmocka_unit_test(test_failure),
		cmocka_unit_test(test_order),         cmocka_unit_test(test_exclude),
		cmocka_unit_test(test_percent_above), cmocka_unit_test(test_failures),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
