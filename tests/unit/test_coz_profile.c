/* SPDX-License-Identifier: MIT */
/* What coz wrote, read: both forms, and what makes no sense. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "../../user/coz/coz_profile.h"
#include "../../user/util/cleanup.h"

static int read_text(struct coz_profile *profile, const char *text, size_t len)
{
	AUTO_FCLOSE FILE *file = fmemopen((void *)text, len, "r");

	assert_non_null(file);
	return coz_profile_read(profile, file);
}

static struct coz_profile *profile_of(const char *text)
{
	struct coz_profile *profile = NULL;

	assert_int_equal(coz_profile_new(&profile), 0);
	assert_int_equal(read_text(profile, text, strlen(text)), 0);
	return profile;
}

static struct coz_profile *profile_of_file(const char *path)
{
	AUTO_FCLOSE FILE *file = fopen(path, "re");
	struct coz_profile *profile = NULL;

	assert_non_null(file);
	assert_int_equal(coz_profile_new(&profile), 0);
	assert_int_equal(coz_profile_read(profile, file), 0);
	return profile;
}

static const struct coz_point *point_of(const struct coz_profile *profile, const char *name)
{
	size_t i;

	for (i = 0; i < profile->npoints; i++)
		if (!strcmp(profile->points[i].name, name))
			return &profile->points[i];
	fail_msg("no point %s", name);
	return NULL;
}

static void test_legacy(void **state)
{
	CLEANUP(coz_profile_free)
	struct coz_profile *p = profile_of_file("tests/golden/coz/profile-0.2.2.coz");
	const struct coz_point *done = point_of(p, "done"), *request = point_of(p, "request");

	(void)state;
	assert_int_equal(p->experiments, 12);
	assert_int_equal(p->runs, 1);
	assert_int_equal(p->damaged, 0);
	assert_int_equal(p->npoints, 3);
	assert_int_equal(done->kind, COZ_POINT_THROUGHPUT);
	assert_int_equal(done->experiments, 12);
	assert_int_equal(done->visits, 1913);
	assert_int_equal(request->kind, COZ_POINT_LATENCY);
	assert_int_equal(request->experiments, 12);
	assert_string_equal(p->lines[0].name, "cozdemo.c:14");
	assert_int_equal(p->lines[0].experiments, 11);
	assert_int_equal(p->lines[0].samples, 3363);
}

static void test_json_lines(void **state)
{
	CLEANUP(coz_profile_free)
	struct coz_profile *p = profile_of_file("tests/golden/coz/profile-newest.jsonl");

	(void)state;
	assert_int_equal(p->experiments, 8);
	assert_int_equal(p->damaged, 0);
	assert_int_equal(point_of(p, "done")->visits, 3331);
	assert_int_equal(point_of(p, "request")->kind, COZ_POINT_LATENCY);
}

#define EXPERIMENT \
	"experiment\tselected=a.c:1\tspeedup=0.50\tduration=500000000\tselected-samples=9\n"

/* The same experiment in both forms is the same cell. */
static void test_both_forms_in_one_file(void **state)
{
	CLEANUP(coz_profile_free)
	struct coz_profile *p = profile_of(
		"startup\ttime=1\n" EXPERIMENT "throughput-point\tname=x=y z\tdelta=10\n"
		"{\"type\":\"experiment\",\"selected\":\"a.c:1\",\"speedup\":0.5,\"duration\":500000000}\n"
		"{\"type\":\"throughput-point\",\"name\":\"x=y z\",\"delta\":20}\n");

	(void)state;
	assert_int_equal(p->ncells, 1);
	assert_int_equal(p->cells[0]->n, 2);
	assert_string_equal(p->points[0].name, "x=y z");
	assert_int_equal(p->points[0].visits, 30);
	assert_int_equal(p->cells[0]->bins[50].n, 2);
	assert_true(p->cells[0]->trials[0].y == 5e7 && p->cells[0]->trials[1].y == 2.5e7);
}

static void test_too_few_visits(void **state)
{
	CLEANUP(coz_profile_free)
	struct coz_profile *p =
		profile_of(EXPERIMENT "throughput-point\tname=x\tdelta=4\n" EXPERIMENT
				      "throughput-point\tname=x\tdelta=0\n");

	(void)state;
	assert_int_equal(p->cells[0]->n, 0);
	assert_int_equal(p->cells[0]->few, 2);
}

/* coz 0.2.2 does not clear the counters of a latency point. */
static void test_latency_from_nowhere(void **state)
{
	CLEANUP(coz_profile_free)
	struct coz_profile *p = profile_of(
		EXPERIMENT
		"latency-point\tname=x\tarrivals=10\tdepartures=10\tdifference=570483625747086025\n" EXPERIMENT
		"latency-point\tname=x\tarrivals=10\tdepartures=10\tdifference=18446744073709551615\n" EXPERIMENT
		"latency-point\tname=x\tarrivals=10\tdepartures=10\tdifference=2\n");

	(void)state;
	assert_int_equal(p->points[0].unusable, 2);
	assert_int_equal(p->points[0].experiments, 1);
	/* Little's law: 2 inside, 10 came in half a second. */
	assert_true(p->cells[0]->trials[0].y == 1e8);
}

/* Points behind an experiment that makes no sense belong to none. */
static void test_damage(void **state)
{
	static const char *const bad[] = {
		"experiment\tselected=a\tspeedup=1.5\tduration=5",
		"experiment\tselected=a\tspeedup=-0.5\tduration=5",
		"experiment\tselected=a\tspeedup=0.5\tduration=-5",
		"experiment\tselected=a\tspeedup=0.5\tduration=18446744073709551000",
		"experiment\tselected=a\tspeedup=0.5\tduration=1e-320",
		"experiment\tselected=a\tspeedup=nan\tduration=5",
		"experiment\tselected=a\tspeedup=0.5",
		"experiment\tspeedup=0.5\tduration=5",
		"experiment",
		"{\"type\":\"experiment\",\"selected\":5,\"speedup\":0.5,\"duration\":5}",
		"{\"type\":\"experiment\"}",
		"{\"type\":7}",
		"{",
		"{}",
		"something else",
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		CLEANUP(coz_profile_free) struct coz_profile *p = NULL;
		char text[512];

		snprintf(text, sizeof(text),
			 "startup\ttime=1\n%s\nthroughput-point\tname=x\tdelta=10\n", bad[i]);
		p = profile_of(text);
		if (p->experiments || p->ncells || p->damaged != 1)
			fail_msg("%s: %d experiments, %d damaged", bad[i], (int)p->experiments,
				 (int)p->damaged);
	}
}

/* Counts that no program can have come to would make sums and weights infinite. */
static void test_wild_counts(void **state)
{
	static const char *const bad[] = {
		"throughput-point\tname=x\tdelta=1e308",
		"throughput-point\tname=x\tdelta=inf",
		"latency-point\tname=x\tarrivals=1e300\tdepartures=1\tdifference=1",
		"samples\tlocation=a\tcount=1e30",
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		CLEANUP(coz_profile_free) struct coz_profile *p = NULL;
		char text[512];

		snprintf(text, sizeof(text),
			 "experiment\tselected=a\tspeedup=0.5\tduration=5\n%s\n", bad[i]);
		p = profile_of(text);
		assert_int_equal(p->damaged, 1);
		assert_int_equal(p->experiments, 1);
		assert_int_equal(p->ncells, 0);
		assert_int_equal(p->lines[0].samples, 0);
	}
}

static void test_not_a_profile(void **state)
{
	CLEANUP(coz_profile_free) struct coz_profile *p = NULL;
	static char wide[1 << 17];

	(void)state;
	assert_int_equal(coz_profile_new(&p), 0);
	assert_int_equal(read_text(p, "root:x:0:0\n", 11), -EBADMSG);
	memset(wide, 'x', sizeof(wide));
	assert_int_equal(read_text(p, wide, sizeof(wide)), -EFBIG);
}

/* Cut anywhere, with any byte changed: no crash, and never more experiments than there are. */
static void test_any_bytes(void **state)
{
	static const char *const files[] = {"tests/golden/coz/profile-0.2.2.coz",
					    "tests/golden/coz/profile-newest.jsonl"};
	char text[8192], copy[8192];
	unsigned seed = 1;
	size_t f, i;

	(void)state;
	for (f = 0; f < 2; f++) {
		AUTO_FCLOSE FILE *file = fopen(files[f], "re");
		size_t len = fread(text, 1, sizeof(text), file);

		for (i = 1; i < 3000; i++) {
			CLEANUP(coz_profile_free) struct coz_profile *p = NULL;
			size_t cut = i < 1500 ? i * len / 1500 : len;

			memcpy(copy, text, len);
			seed = seed * 1103515245 + 12345;
			copy[(seed >> 8) % len] = (char)(seed >> 24);
			assert_int_equal(coz_profile_new(&p), 0);
			read_text(p, copy, cut ? cut : 1);
			assert_true(p->experiments <= 12);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_legacy),
		cmocka_unit_test(test_json_lines),
		cmocka_unit_test(test_both_forms_in_one_file),
		cmocka_unit_test(test_too_few_visits),
		cmocka_unit_test(test_latency_from_nowhere),
		cmocka_unit_test(test_damage),
		cmocka_unit_test(test_wild_counts),
		cmocka_unit_test(test_not_a_profile),
		cmocka_unit_test(test_any_bytes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
