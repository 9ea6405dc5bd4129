/* SPDX-License-Identifier: MIT */
/* What experiments say, where it is known by construction. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "../../user/coz/coz_profile.h"
#include "../../user/coz/coz_report.h"
#include "../../user/util/cleanup.h"

#define DURATION 500000000.0

/* Writes an experiment on LINE in which a visit took NS. */
static void add(FILE *out, const char *line, double speedup, double ns)
{
	fprintf(out, "experiment\tselected=%s\tspeedup=%.2f\tduration=%.0f\n", line, speedup,
		DURATION);
	fprintf(out, "throughput-point\tname=app:done\tdelta=%.0f\n", DURATION / ns);
}

static struct coz_profile *read_back(char **text, FILE *out)
{
	struct coz_profile *profile = NULL;
	FILE *in;

	fclose(out);
	in = fmemopen(*text, strlen(*text), "r");
	assert_int_equal(coz_profile_new(&profile), 0);
	assert_int_equal(coz_profile_read(profile, in), 0);
	fclose(in);
	free(*text);
	return profile;
}

/* Lines that are 60 %, 20 % and none of a visit of 100 µs, with noise of some percent, and one of them disturbed. */
static __attribute__((noinline)) struct coz_profile *three_lines(void)
{
	char *text;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	unsigned seed = 7;
	int i;

	for (i = 0; i <= 40; i++) {
		double speedup = i % 20 / 20.0, noise;

		seed = seed * 1103515245 + 12345;
		noise = 1 + ((seed >> 16) % 1000 / 1000.0 - 0.5) * 0.04;
		add(out, "none.c:3", speedup, 1e5 * noise);
		add(out, "small.c:2", speedup, 1e5 * (1 - 0.2 * speedup) * noise);
		add(out, "large.c:1", speedup, 1e5 * (1 - 0.6 * speedup) * noise);
	}
	/* The machine was busy with something else. */
	add(out, "large.c:1", 0.9, 5e5);
	add(out, "large.c:1", 0.5, 3e5);
	return read_back(&text, out);
}

static const struct coz_cell **ranked(const struct coz_profile *p, size_t *n)
{
	const struct coz_cell **cells = coz_profile_ranked(p, 0, n);

	assert_non_null(cells);
	return cells;
}

static void test_known_shares(void **state)
{
	CLEANUP(coz_profile_free) struct coz_profile *p = three_lines();
	static const char *const names[] = {"large.c:1", "small.c:2", "none.c:3"};
	static const double shares[] = {0.6, 0.2, 0};
	AUTO_FREE const struct coz_cell **cells = NULL;
	size_t i, n;

	(void)state;
	cells = ranked(p, &n);
	assert_int_equal(n, 3);
	for (i = 0; i < n; i++) {
		struct coz_estimate e;

		assert_string_equal(p->lines[cells[i]->line].name, names[i]);
		assert_int_equal(coz_estimate(cells[i], &e), 0);
		assert_true(e.known);
		assert_true(fabs(e.gain - shares[i]) < 0.03);
		assert_true(e.error < 0.05 && fabs(e.gain - shares[i]) < e.error + 0.01);
		assert_int_equal(e.disturbed, i == 0 ? 2 : 0);
		assert_int_equal(coz_confidence(cells[i], &e), COZ_MEDIUM);
	}
}

static void test_perfect_line(void **state)
{
	CLEANUP(coz_profile_free) struct coz_profile *p = NULL;
	AUTO_FREE const struct coz_cell **cells = NULL;
	struct coz_estimate e;
	double saving;
	char *text;
	size_t size, n;
	FILE *out = open_memstream(&text, &size);
	int i;

	(void)state;
	for (i = 0; i < 3; i++) {
		add(out, "a.c:1", 0, 1e5);
		add(out, "a.c:1", 0.5, 5e4);
	}
	p = read_back(&text, out);
	cells = ranked(p, &n);
	assert_int_equal(coz_estimate(cells[0], &e), 0);
	assert_true(e.known);
	assert_true(fabs(e.gain - 1) < 1e-6 && e.error < 1e-6);
	assert_int_equal(e.best_step, 50);
	assert_true(fabs(e.best - 0.5) < 1e-6);
	assert_true(coz_measured(cells[0], 50, &saving) && fabs(saving - 0.5) < 1e-6);
	assert_false(coz_measured(cells[0], 60, &saving));
	assert_int_equal(e.baselines, 3);
}

/* Too few, all alike, side by side, or with nothing left at zero: nothing is said. */
static void test_unknown(void **state)
{
	static const struct {
		double speedup, ns;
	} sets[][4] = {
		{{0, 1e5}, {0.5, 5e4}},
		{{0.5, 1e5}, {0.5, 5e4}, {0.5, 6e4}, {0.5, 7e4}},
		{{0, 1e5}, {0.05, 5e4}, {0.1, 4e4}, {0, 9e4}},
		{{0.5, 1e3}, {0.7, 2e5}, {0.9, 1e5}, {0.8, 5e5}},
	};
	size_t s, i;

	(void)state;
	for (s = 0; s < sizeof(sets) / sizeof(sets[0]); s++) {
		CLEANUP(coz_profile_free) struct coz_profile *p = NULL;
		AUTO_FREE const struct coz_cell **cells = NULL;
		struct coz_estimate e;
		char *text;
		size_t size, n;
		FILE *out = open_memstream(&text, &size);

		for (i = 0; i < 4 && sets[s][i].ns > 0; i++)
			add(out, "a.c:1", sets[s][i].speedup, sets[s][i].ns);
		p = read_back(&text, out);
		cells = ranked(p, &n);
		assert_int_equal(coz_estimate(cells[0], &e), 0);
		if (e.known)
			fail_msg("set %zu: %f", s, e.gain);
		assert_int_equal(coz_confidence(cells[0], &e), COZ_LOW);
	}
}

static __attribute__((noinline)) char *printed(int (*print)(const struct coz_profile *, FILE *),
					       const struct coz_profile *p)
{
	char *text;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	assert_int_equal(print(p, out), 0);
	fclose(out);
	return text;
}

static int table_of(const struct coz_profile *p, FILE *out)
{
	return coz_print(p, 2, out);
}

static int svg_of(const struct coz_profile *p, FILE *out)
{
	return coz_draw(p, 0, false, out);
}

static int page_of(const struct coz_profile *p, FILE *out)
{
	return coz_draw(p, 0, true, out);
}

static void test_table(void **state)
{
	CLEANUP(coz_profile_free) struct coz_profile *p = three_lines();
	AUTO_FREE char *text = printed(table_of, p);
	const char *large = strstr(text, "large.c:1"), *small = strstr(text, "small.c:2");

	(void)state;
	assert_non_null(strstr(text, "125 experiments on 3 lines in 0 runs"));
	assert_true(large && small && large < small);
	assert_null(strstr(text, "none.c:3"));
	assert_non_null(strstr(text, "… and 1 lines more"));
}

/* Names are the target's: nothing of them becomes markup, or drives a terminal. */
static void test_hostile_names(void **state)
{
	CLEANUP(coz_profile_free) struct coz_profile *p = NULL;
	AUTO_FREE char *svg = NULL;
	AUTO_FREE char *page = NULL;
	AUTO_FREE char *table = NULL;
	AUTO_FREE char *json = NULL;
	char *text;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	int i;

	(void)state;
	for (i = 0; i < 4; i++)
		add(out, "</text><script>\x1b[31m\"&", i / 4.0, 1e5);
	p = read_back(&text, out);
	svg = printed(svg_of, p);
	page = printed(page_of, p);
	table = printed(table_of, p);
	json = printed(coz_print_json, p);
	assert_null(strstr(svg, "<script"));
	assert_null(strstr(page, "<script"));
	assert_non_null(strstr(svg, "&lt;script&gt;"));
	assert_null(strchr(svg, '\x1b'));
	assert_null(strchr(page, '\x1b'));
	assert_null(strchr(table, '\x1b'));
	assert_null(strchr(json, '\x1b'));
	assert_non_null(strstr(json, "\\\"&"));
}

static void test_nothing(void **state)
{
	CLEANUP(coz_profile_free) struct coz_profile *p = NULL;
	AUTO_FREE char *svg = NULL;
	AUTO_FREE char *table = NULL;

	(void)state;
	assert_int_equal(coz_profile_new(&p), 0);
	svg = printed(svg_of, p);
	table = printed(table_of, p);
	assert_non_null(strstr(svg, "</svg>"));
	assert_non_null(strstr(table, "0 experiments"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_known_shares),  cmocka_unit_test(test_perfect_line),
		cmocka_unit_test(test_unknown),       cmocka_unit_test(test_table),
		cmocka_unit_test(test_hostile_names), cmocka_unit_test(test_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
