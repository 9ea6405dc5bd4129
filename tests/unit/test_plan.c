/* SPDX-License-Identifier: MIT */
/* The files of a plan: what is taken, what is passed over and why, each once. (What becomes of
 * their markers needs a kernel: tests/live.) */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include <cmocka.h>

#include "../../user/attach/plan_impl.h"
#include "captured.h"
#include "elfread.h"

static int setup(void **state)
{
	struct plan *plan = NULL;

	if (plan_new(NULL, &plan))
		return -1;
	*state = plan;
	return 0;
}

static int teardown(void **state)
{
	struct plan *plan = *state;

	plan_free(&plan);
	return plan ? -1 : 0;
}

/* A new file with N sites of app:job__enter; its descriptor. */
static int file_with(size_t n)
{
	struct elfbuild b;
	struct elfbuf image;
	size_t i;
	int notes, fd;

	elfbuild_init(&b, ELFBUILD_TEXT_SIZE);
	notes = n ? add_notes(&b) : 0;
	for (i = 0; i < n; i++) {
		elfbuild_nop(&b, ELFBUILD_TEXT + 8 * i);
		elfbuild_marker(elfbuild_data(&b, notes), ELFBUILD_TEXT + 8 * i, 0, 0, "app",
				"job__enter", "");
	}
	image = elfbuild_image(&b);
	fd = elfbuild_file(image.data, image.size);
	free(image.data);
	elfbuild_free(&b);
	return fd;
}

static void check_counts(const struct plan *plan, size_t files, size_t marked, size_t markers)
{
	struct plan_counts counts;

	plan_count(plan, &counts);
	assert_int_equal(counts.files, files);
	assert_int_equal(counts.marked_files, marked);
	assert_int_equal(counts.markers, markers);
	assert_int_equal(counts.attached, 0);
	assert_int_equal(counts.spans, 0);
	assert_int_equal(counts.events, 0);
	assert_int_equal(plan_sites(plan), markers);
}

/* Adds FD under SHOWN and closes it. What is said stands in SAID. */
static int add_said(struct plan *plan, int fd, const char *shown, struct captured *said)
{
	int added;

	captured_begin(said, STDERR_FILENO);
	added = plan_add_file(plan, fd, shown);
	captured_end(said);
	close(fd);
	return added;
}

/* The same, with nothing said. */
static int add(struct plan *plan, int fd, const char *shown)
{
	struct captured said;
	int added = add_said(plan, fd, shown, &said);

	assert_string_equal(said.text, "");
	return added;
}

static void test_empty(void **state)
{
	struct plan *plan = *state;
	size_t n = 7;

	check_counts(plan, 0, 0, 0);
	assert_null(plan_file_name(plan, 0));
	plan_refused(plan, &n);
	assert_int_equal(n, 0);
	n = 7;
	plan_problems(plan, &n);
	assert_int_equal(n, 0);
}

static void test_files(void **state)
{
	struct plan *plan = *state;

	assert_int_equal(add(plan, file_with(3), "/bin/one"), 1);
	check_counts(plan, 1, 1, 3);
	assert_int_equal(add(plan, file_with(0), "/lib/none"), 0);
	check_counts(plan, 2, 1, 3);
	assert_int_equal(add(plan, file_with(2), "/lib/two"), 1);
	check_counts(plan, 3, 2, 5);
	assert_string_equal(plan_file_name(plan, 0), "/bin/one");
	assert_string_equal(plan_file_name(plan, 1), "/lib/none");
	assert_string_equal(plan_file_name(plan, 2), "/lib/two");
	assert_null(plan_file_name(plan, 3));
}

/* By what it is, not by its name. */
static void test_same_file_twice(void **state)
{
	struct plan *plan = *state;
	int fd = file_with(3);

	assert_int_equal(add(plan, dup(fd), "/bin/one"), 1);
	assert_int_equal(add(plan, dup(fd), "/bin/one"), 0);
	assert_int_equal(add(plan, dup(fd), "/other/name"), 0);
	check_counts(plan, 1, 1, 3);
	assert_int_equal(add(plan, file_with(3), "/bin/one"), 1); /* a copy is another file */
	check_counts(plan, 2, 2, 6);
	close(fd);
	fd = file_with(0);
	assert_int_equal(add(plan, dup(fd), "/lib/none"), 0);
	assert_int_equal(add(plan, dup(fd), "/lib/none"), 0);
	check_counts(plan, 3, 2, 6);
	close(fd);
}

/* What is no program is passed over without a word: processes map fonts and archives too. */
static void test_no_elf(void **state)
{
	struct plan *plan = *state;

	assert_int_equal(add(plan, elfbuild_file("", 0), "/empty"), 0);
	assert_int_equal(add(plan, elfbuild_file("#!/bin/sh\n", 10), "/script"), 0);
	assert_int_equal(add(plan, elfbuild_file("\177EL", 3), "/short"), 0);
	assert_int_equal(add(plan, open("/", O_RDONLY | O_CLOEXEC), "/"), 0);
	assert_int_equal(add(plan, open("/dev/zero", O_RDONLY | O_CLOEXEC), "/dev/zero"), 0);
	check_counts(plan, 0, 0, 0);
}

/* A damaged one is named, and takes nothing with it. */
static void test_damaged(void **state)
{
	struct plan *plan = *state;
	struct captured said;
	int fd = file_with(1);

	assert_int_equal(ftruncate(fd, 32), 0);
	assert_int_equal(add_said(plan, fd, "/bin/cut", &said), 0);
	assert_int_equal(strncmp(said.text, "spantrace: warning: /bin/cut: ", 30), 0);
	assert_non_null(strstr(said.text, "; its markers are not traced\n"));
	check_counts(plan, 0, 0, 0);
	assert_int_equal(add(plan, file_with(1), "/bin/good"), 1);
	check_counts(plan, 1, 1, 1);
}

static void test_cannot_be_read(void **state)
{
	struct plan *plan = *state;
	struct captured said;
	int fd = file_with(1), blind;
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	blind = open(path, O_WRONLY | O_CLOEXEC);
	close(fd);
	assert_true(blind >= 0);
	assert_int_equal(add_said(plan, blind, "/bin/secret", &said), 0);
	assert_int_equal(strncmp(said.text, "spantrace: warning: /bin/secret: ", 33), 0);
	check_counts(plan, 0, 0, 0);
}

static void test_names_are_harmless(void **state)
{
	struct plan *plan = *state;

	assert_int_equal(add(plan, file_with(1), "/tmp/\033[2Jred\nline \303\251"), 1);
	assert_string_equal(plan_file_name(plan, 0), "/tmp/?[2Jred line \303\251");
}

static int open_descriptors(void)
{
	int fd, n = 0;

	for (fd = 0; fd < 1000; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

/* A file is kept open as long as its probes may be wanted, one without markers is not. */
static void test_descriptors(void **state)
{
	struct plan *plan = NULL;
	const int before = open_descriptors();
	int i;

	(void)state;
	assert_int_equal(plan_new(NULL, &plan), 0);
	assert_int_equal(add(plan, file_with(0), "/lib/none"), 0);
	assert_int_equal(open_descriptors(), before);
	for (i = 0; i < 10; i++)
		assert_int_equal(add(plan, file_with(1), "/lib/one"), 1);
	assert_int_equal(open_descriptors(), before + 10);
	for (i = 0; i < 10; i++)
		assert_int_equal(fcntl(plan->files[1 + i].fd, F_GETFD), FD_CLOEXEC);
	plan_free(&plan);
	assert_null(plan);
	assert_int_equal(open_descriptors(), before);
	plan_free(&plan);
}

static void test_many_files(void **state)
{
	enum { N = 100 };
	struct plan *plan = *state;
	char name[16];
	int i;

	for (i = 0; i < N; i++) {
		snprintf(name, sizeof(name), "/f%d", i);
		assert_int_equal(add(plan, file_with(2), name), 1);
	}
	check_counts(plan, N, N, 2 * N);
	assert_string_equal(plan_file_name(plan, N - 1), "/f99");
}

/* This process, before and after it maps one more file as code. */
static void test_own_process(void **state)
{
	struct plan *plan = *state, *later = NULL;
	struct plan_counts before, after;
	int fd = file_with(5);
	void *code, *data;
	size_t i, named = 0;

	assert_true(plan_add_process(plan, getpid()) >= 0);
	plan_count(plan, &before);
	assert_true(before.files >= 2); /* the test and libc */
	for (i = 0; i < before.files; i++)
		named += strstr(plan_file_name(plan, i), "/test_plan") != NULL;
	assert_int_equal(named, 1);

	/* Mapped as data it is none of ours. */
	data = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fd, 0);
	assert_true(data != MAP_FAILED);
	assert_int_equal(plan_add_process(plan, getpid()), 0);
	plan_count(plan, &after);
	assert_int_equal(after.files, before.files);

	code = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
	assert_true(code != MAP_FAILED);
	close(fd);
	assert_int_equal(plan_add_process(plan, getpid()), 1);
	plan_count(plan, &after);
	assert_int_equal(after.files, before.files + 1);
	assert_int_equal(after.marked_files, before.marked_files + 1);
	assert_int_equal(after.markers, before.markers + 5);
	assert_int_equal(plan_add_process(plan, getpid()), 0);

	/* One that begins now sees it with all the others. */
	assert_int_equal(plan_new(NULL, &later), 0);
	assert_int_equal(plan_add_process(later, getpid()), 1);
	plan_count(later, &after);
	assert_int_equal(after.markers, before.markers + 5);
	plan_free(&later);
	munmap(code, 4096);
	munmap(data, 4096);
}

static void test_no_process(void **state)
{
	struct plan *plan = *state;
	pid_t pid = fork();

	if (pid == 0)
		_exit(0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_int_equal(plan_add_process(plan, pid), -ESRCH);
	check_counts(plan, 0, 0, 0);
}

static void test_refused(void **state)
{
	struct plan *plan = *state;
	char marker[] = "app:job__enter at 0x1 of ./app", why[] = "it is not a nop";
	const struct model_refused *refused;
	struct captured said;
	int err;
	size_t n;

	captured_begin(&said, STDERR_FILENO);
	err = plan_refuse(plan, marker, why);
	captured_end(&said);
	assert_int_equal(err, 0);
	assert_string_equal(
		said.text,
		"spantrace: warning: marker app:job__enter at 0x1 of ./app: it is not a nop\n");
	marker[0] = why[0] = '!';
	refused = plan_refused(plan, &n);
	assert_int_equal(n, 1);
	assert_string_equal(refused[0].marker, "app:job__enter at 0x1 of ./app");
	assert_string_equal(refused[0].why, "it is not a nop");
}

/* A table that is full: the file is named once, and the next one that fits is taken. */
static void test_no_room(void **state)
{
	struct plan *plan = *state;
	const struct model_refused *refused;
	struct captured said;
	size_t n;

	assert_int_equal(add(plan, file_with(3), "/first"), 1);
	plan_limit_sites(plan, 10);
	assert_int_equal(add_said(plan, file_with(8), "/large", &said), 0);
	assert_non_null(strstr(said.text, "app:job__enter and all others of /large: "));
	assert_non_null(strstr(said.text, "-P"));
	assert_int_equal(add(plan, file_with(7), "/fits"), 1);
	check_counts(plan, 2, 2, 10);
	plan_refused(plan, &n);
	assert_int_equal(n, 1);
	/* Less room than there is in use already is none. */
	plan_limit_sites(plan, 1);
	assert_int_equal(add_said(plan, file_with(1), "/last", &said), 0);
	check_counts(plan, 2, 2, 10);
	refused = plan_refused(plan, &n);
	assert_int_equal(n, 2);
	assert_non_null(strstr(refused[1].marker, "/last"));
}

/* What is kept of files without markers, and of refusals, is bounded. */
static void test_bounds(void **state)
{
	struct plan *plan = *state;
	const struct model_refused *refused;
	struct plan_counts counts;
	struct captured said;
	size_t n;
	int i;

	for (i = 0; i < PLAN_UNMARKED + 10; i++)
		assert_int_equal(add(plan, file_with(0), "/none"), 0);
	plan_count(plan, &counts);
	assert_int_equal(counts.files, PLAN_UNMARKED);
	assert_int_equal(add(plan, file_with(1), "/some"), 1);
	captured_begin(&said, STDERR_FILENO);
	for (i = 0; i < PLAN_REFUSED + 10; i++)
		assert_int_equal(plan_refuse(plan, "a:b", "no"), 0);
	captured_end(&said);
	refused = plan_refused(plan, &n);
	assert_int_equal(n, PLAN_REFUSED + 1);
	assert_string_equal(refused[PLAN_REFUSED].marker, "others");
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_empty),
		TEST(test_files),
		TEST(test_same_file_twice),
		TEST(test_no_elf),
		TEST(test_damaged),
		TEST(test_cannot_be_read),
		TEST(test_names_are_harmless),
		cmocka_unit_test(test_descriptors),
		TEST(test_many_files),
		TEST(test_own_process),
		TEST(test_no_process),
		TEST(test_refused),
		TEST(test_no_room),
		TEST(test_bounds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
