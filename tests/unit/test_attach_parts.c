/* SPDX-License-Identifier: MIT */
/* Probes that can be taken out by definition: which stand together, what goes and what comes back. attach is played by the
 * test: a set holds the probes that were given to it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <errno.h>
#include <sys/resource.h>
#include <unistd.h>

#include "../../user/attach/attach_parts.h"

#define FILE_PATH "/proc/self/exe" /* any that there is */
#define SETS_MAX  1024
#define MANY      (ATTACH_PARTS_MAX + 10)

struct attach_set {
	bool stands;
	size_t n;
	u32 def; /* of the first probe */
	pid_t pid;
	size_t npids;
};

static struct {
	struct attach_set sets[SETS_MAX];
	size_t nsets; /* ever made */
	u64 refused;  /* the offset of a probe that the kernel does not take; 0: none */
	int new_err;
} played;

int __wrap_attach_new(struct kernel *kernel, bool uprobe_multi, const pid_t *pids, size_t npids,
		      struct attach_set **out);
int __wrap_attach_new(struct kernel *kernel, bool uprobe_multi, const pid_t *pids, size_t npids,
		      struct attach_set **out)
{
	struct attach_set *set = &played.sets[played.nsets];

	(void)kernel;
	(void)uprobe_multi;
	if (played.new_err)
		return played.new_err;
	assert_true(played.nsets < SETS_MAX);
	played.nsets++;
	set->npids = npids;
	set->pid = npids ? pids[0] : 0;
	*out = set;
	return 0;
}

size_t __wrap_attach_file(struct attach_set *set, const char *path, struct attach_probe *probes,
			  size_t n);
size_t __wrap_attach_file(struct attach_set *set, const char *path, struct attach_probe *probes,
			  size_t n)
{
	size_t i, standing = 0;

	assert_int_equal(strncmp(path, "/proc/self/fd/", 14),
			 0); /* the path may name another by now */
	assert_int_equal(access(path, R_OK), 0);
	for (i = 0; i < n; i++) {
		probes[i].error = probes[i].offset == played.refused ? -EINVAL : 0;
		standing += !probes[i].error;
	}
	set->stands = true;
	set->n = n;
	set->def = COOKIE_DEF(probes[0].cookie);
	return standing;
}

/* Several threads do that at once. */
void __wrap_attach_free(struct attach_set **set);
void __wrap_attach_free(struct attach_set **set)
{
	if (*set)
		(*set)->stands = false;
	*set = NULL;
}

static size_t standing(void)
{
	size_t i, n = 0;

	for (i = 0; i < played.nsets; i++)
		n += played.sets[i].stands;
	return n;
}

static struct rlimit files;

static int setup(void **state)
{
	struct attach_parts *parts = NULL;
	const pid_t pids[] = {11, 12};

	memset(&played, 0, sizeof(played));
	if (attach_parts_new(NULL, true, pids, 2, &parts))
		return -1;
	*state = parts;
	return 0;
}

static int teardown(void **state)
{
	struct attach_parts *parts = *state;

	attach_parts_free(&parts);
	assert_null(parts);
	assert_int_equal(standing(), 0);
	setrlimit(RLIMIT_NOFILE, &files);
	return 0;
}

static struct attach_probe probe(u32 def, u64 offset)
{
	return (struct attach_probe){.cookie = COOKIE(1, def, 0), .offset = offset};
}

/* Definitions' probes in any order: a set for each. */
static void test_by_definition(void **state)
{
	struct attach_parts *parts = *state;
	struct attach_probe probes[] = {probe(5, 1), probe(6, 2), probe(5, 3),
					probe(7, 4), probe(6, 5), probe(5, 6)};
	static const u32 defs[] = {5, 6, 7};
	static const size_t counts[] = {3, 2, 1};
	size_t i;

	assert_int_equal(attach_parts_file(parts, FILE_PATH, probes, 6), 6);
	assert_int_equal(played.nsets, 3);
	for (i = 0; i < 3; i++) {
		assert_int_equal(played.sets[i].def, defs[i]);
		assert_int_equal(played.sets[i].n, counts[i]);
		assert_int_equal(played.sets[i].npids, 2);
		assert_int_equal(played.sets[i].pid, 11);
		assert_true(attach_parts_has(parts, defs[i]));
	}
	assert_false(attach_parts_has(parts, 4));
}

static void test_out_and_back(void **state)
{
	struct attach_parts *parts = *state;
	struct attach_probe probes[] = {probe(5, 1), probe(6, 2)}, more[] = {probe(5, 7)};

	/* In two files. */
	attach_parts_file(parts, FILE_PATH, probes, 2);
	attach_parts_file(parts, "/proc/self/status", more, 1);
	assert_int_equal(standing(), 3);
	attach_parts_pause(parts, 5);
	assert_false(played.sets[0].stands);
	assert_true(played.sets[1].stands);
	assert_false(played.sets[2].stands);
	assert_true(attach_parts_has(parts, 5));
	attach_parts_pause(parts, 5); /* nothing more to take out */
	assert_int_equal(standing(), 1);
	assert_int_equal(attach_parts_resume(parts, 5), 0);
	assert_int_equal(standing(), 3);
	assert_int_equal(played.nsets, 5);
	/* Those that stand are left alone. */
	assert_int_equal(attach_parts_resume(parts, 5), 0);
	assert_int_equal(attach_parts_resume(parts, 6), 0);
	assert_int_equal(played.nsets, 5);
	/* Of no definition that it has. */
	attach_parts_pause(parts, 99);
	assert_int_equal(attach_parts_resume(parts, 99), 0);
	assert_int_equal(standing(), 3);
}

/* Each error goes to its own probe. */
static void test_refused(void **state)
{
	struct attach_parts *parts = *state;
	struct attach_probe probes[] = {probe(5, 1), probe(6, 2), probe(5, 3), probe(6, 4)};

	played.refused = 3;
	assert_int_equal(attach_parts_file(parts, FILE_PATH, probes, 4), 3);
	assert_int_equal(probes[0].error, 0);
	assert_int_equal(probes[1].error, 0);
	assert_int_equal(probes[2].error, -EINVAL);
	assert_int_equal(probes[3].error, 0);
	/* It is refused when it is to come back, too; the others do. */
	attach_parts_pause(parts, 5);
	assert_int_equal(attach_parts_resume(parts, 5), -EINVAL);
	assert_int_equal(standing(), 2);
	played.new_err = -ENOMEM;
	attach_parts_pause(parts, 6);
	assert_int_equal(attach_parts_resume(parts, 6), -ENOMEM);
	assert_int_equal(standing(), 1);
	played.new_err = 0;
	assert_int_equal(attach_parts_resume(parts, 6), 0);
	assert_int_equal(standing(), 2);
}

static void test_cannot(void **state)
{
	struct attach_parts *parts = *state;
	struct attach_probe probes[] = {probe(5, 1), probe(6, 2)};

	assert_int_equal(attach_parts_file(parts, "/nowhere/at/all", probes, 2), 0);
	assert_int_equal(probes[0].error, -ENOENT);
	assert_int_equal(probes[1].error, -ENOENT);
	assert_int_equal(played.nsets, 0);
	played.new_err = -EPERM;
	assert_int_equal(attach_parts_file(parts, FILE_PATH, probes, 2), 0);
	assert_int_equal(probes[0].error, -EPERM);
	assert_int_equal(probes[1].error, -EPERM);
	assert_int_equal(attach_parts_file(parts, FILE_PATH, probes, 0), 0);
}

/* Those beyond the bound stand together, for good. */
static void test_too_many(void **state)
{
	struct attach_parts *parts = *state;
	struct attach_probe *probes = calloc(MANY, sizeof(*probes));
	u32 i;

	assert_non_null(probes);
	for (i = 0; i < MANY; i++)
		probes[i] = probe(i, 1 + i);
	assert_int_equal(attach_parts_file(parts, FILE_PATH, probes, MANY), MANY);
	assert_int_equal(played.nsets, ATTACH_PARTS_MAX + 1);
	assert_int_equal(played.sets[ATTACH_PARTS_MAX].n, 10);
	assert_true(attach_parts_has(parts, ATTACH_PARTS_MAX - 1));
	assert_false(attach_parts_has(parts, ATTACH_PARTS_MAX));
	attach_parts_pause(parts, ATTACH_PARTS_MAX);
	assert_int_equal(standing(), ATTACH_PARTS_MAX + 1);
	/* A definition that has a part, met again in another file, has none there. */
	probes[0] = probe(0, 5);
	assert_int_equal(attach_parts_file(parts, FILE_PATH, probes, 1), 1);
	attach_parts_pause(parts, 0);
	assert_int_equal(standing(), ATTACH_PARTS_MAX + 1);
	free(probes);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_by_definition), TEST(test_out_and_back), TEST(test_refused),
		TEST(test_cannot),        TEST(test_too_many),
	};

	if (getrlimit(RLIMIT_NOFILE, &files))
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
