/* SPDX-License-Identifier: MIT */
/* The files of an output in parts: their names, which are found, how they move, which go. Each file holds a letter, so
 * that it is seen where each went. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "../../user/recording/parts.h"
#include "captured.h"

struct folder {
	char path[64];
	char file[80]; /* run.spans */
};

static int setup(void **state)
{
	struct folder *f = calloc(1, sizeof(*f));

	if (!f)
		return -1;
	strcpy(f->path, "/tmp/test_parts.XXXXXX");
	if (!mkdtemp(f->path))
		return -1;
	snprintf(f->file, sizeof(f->file), "%s/run.spans", f->path);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct folder *f = *state;
	DIR *folder = opendir(f->path);
	struct dirent *entry;

	while (folder && (entry = readdir(folder)))
		if (unlinkat(dirfd(folder), entry->d_name, 0) && errno == EISDIR)
			unlinkat(dirfd(folder), entry->d_name, AT_REMOVEDIR);
	if (folder)
		closedir(folder);
	rmdir(f->path);
	free(f);
	return 0;
}

static void put(const struct folder *f, const char *name, const char *text)
{
	char path[128];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", f->path, name);
	file = fopen(path, "we");
	assert_non_null(file);
	fputs(text, file);
	fclose(file);
}

static int by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* The folder as "name=text name=text", by name. */
static void check_folder(const struct folder *f, const char *expected)
{
	char *names[32], all[1024] = "", path[384], text[16];
	DIR *folder = opendir(f->path);
	struct dirent *entry;
	size_t i, n = 0;

	assert_non_null(folder);
	while ((entry = readdir(folder)))
		if (entry->d_name[0] != '.' && n < 32)
			names[n++] = strdup(entry->d_name);
	closedir(folder);
	qsort(names, n, sizeof(*names), by_name);
	for (i = 0; i < n; i++) {
		FILE *file;

		snprintf(path, sizeof(path), "%s/%s", f->path, names[i]);
		file = fopen(path, "re");
		assert_non_null(file);
		if (!fgets(text, sizeof(text), file))
			text[0] = '\0';
		fclose(file);
		snprintf(all + strlen(all), sizeof(all) - strlen(all), "%s%s=%s", i ? " " : "",
			 names[i], text);
		free(names[i]);
	}
	assert_string_equal(all, expected);
}

static void check_name(const char *path, u32 number, const char *expected)
{
	char *name = parts_name(path, number);

	assert_string_equal(name, expected);
	free(name);
}

static void test_names(void **state)
{
	(void)state;
	check_name("run.spans", 1, "run.1.spans");
	check_name("./a.b/run.spans", 12, "./a.b/run.12.spans");
	check_name("a.b/run", 3, "a.b/run.3");
	check_name("/x/run.tar.spans", 4, "/x/run.tar.4.spans");
	check_name(".hidden", 5, ".hidden.5");
	check_name("100%d.spans", 6, "100%d.6.spans");
	check_name("run.", 7, "run.7.");
}

static void test_find(void **state)
{
	struct folder *f = *state;
	u32 *numbers = NULL;
	size_t n = 77;

	assert_int_equal(parts_find(f->file, &numbers, &n), 0);
	assert_int_equal(n, 0);
	free(numbers);
	put(f, "run.spans", "");
	put(f, "run.10.spans", "");
	put(f, "run.2.spans", "");
	put(f, "run.999999999.spans", "");
	/* No parts of it. */
	put(f, "run.0.spans", "");
	put(f, "run.03.spans", "");
	put(f, "run.1x.spans", "");
	put(f, "run.4.spans.gz", "");
	put(f, "run.5", "");
	put(f, "run.6.span", "");
	put(f, "run..spans", "");
	put(f, "runs.7.spans", "");
	put(f, "run.1000000000.spans", "");
	put(f, "run.-8.spans", "");
	put(f, "r", "");
	assert_int_equal(parts_find(f->file, &numbers, &n), 0);
	assert_int_equal(n, 3);
	assert_int_equal(numbers[0], 2);
	assert_int_equal(numbers[1], 10);
	assert_int_equal(numbers[2], 999999999);
	free(numbers);
}

static void test_rotate(void **state)
{
	struct folder *f = *state;

	put(f, "run.spans", "a");
	assert_int_equal(parts_rotate(f->file, PARTS_KEEP_ALL), 0);
	check_folder(f, "run.1.spans=a");
	put(f, "run.spans", "b");
	assert_int_equal(parts_rotate(f->file, PARTS_KEEP_ALL), 0);
	check_folder(f, "run.1.spans=b run.2.spans=a");
	put(f, "run.spans", "c");
	assert_int_equal(parts_rotate(f->file, 2), 0);
	check_folder(f, "run.1.spans=c run.2.spans=b");
	put(f, "run.spans", "d");
	assert_int_equal(parts_rotate(f->file, 2), 0);
	check_folder(f, "run.1.spans=d run.2.spans=c");
	put(f, "run.spans", "e");
	assert_int_equal(parts_rotate(f->file, 0), 0);
	check_folder(f, "");
}

/* A gap is filled; what stands behind it stays, unless there are too many. */
static void test_gaps(void **state)
{
	struct folder *f = *state;
	char path[128];

	put(f, "run.spans", "x");
	put(f, "run.1.spans", "a");
	put(f, "run.2.spans", "b");
	put(f, "run.4.spans", "d");
	put(f, "run.9.spans", "i");
	assert_int_equal(parts_rotate(f->file, 4), 0);
	check_folder(f, "run.1.spans=x run.2.spans=a run.3.spans=b run.4.spans=d");
	put(f, "run.spans", "y");
	snprintf(path, sizeof(path), "%s/run.1.spans", f->path);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(parts_rotate(f->file, 2), 0);
	check_folder(f, "run.1.spans=y run.2.spans=a");
}

static void test_drop_lowest(void **state)
{
	struct folder *f = *state;

	put(f, "run.spans", "x");
	put(f, "run.3.spans", "c");
	put(f, "run.10.spans", "j");
	put(f, "run.11.spans", "k");
	assert_int_equal(parts_drop_lowest(f->file, PARTS_KEEP_ALL), 0);
	assert_int_equal(parts_drop_lowest(f->file, 3), 0);
	check_folder(f, "run.10.spans=j run.11.spans=k run.3.spans=c run.spans=x");
	assert_int_equal(parts_drop_lowest(f->file, 1), 0);
	check_folder(f, "run.11.spans=k run.spans=x");
}

static void test_failures(void **state)
{
	struct folder *f = *state;
	struct captured c;
	char path[128];
	int gone, no_file, blocked, stuck;

	snprintf(path, sizeof(path), "%s/gone/run.spans", f->path);
	captured_begin(&c, STDERR_FILENO);
	gone = parts_rotate(path, 3);
	captured_end(&c);
	assert_int_equal(gone, -ENOENT);
	assert_non_null(strstr(c.text, "cannot look for the parts of "));
	assert_non_null(strstr(c.text, "gone/run.spans: No such file or directory\n"));

	captured_begin(&c, STDERR_FILENO);
	no_file = parts_rotate(f->file, 3);
	captured_end(&c);
	assert_int_equal(no_file, -ENOENT);
	assert_non_null(strstr(c.text, "cannot rename "));

	/* A folder in the way: nothing is lost. */
	put(f, "run.spans", "x");
	put(f, "run.1.spans", "a");
	snprintf(path, sizeof(path), "%s/run.2.spans", f->path);
	assert_int_equal(mkdir(path, 0755), 0);
	snprintf(path, sizeof(path), "%s/run.2.spans/in", f->path);
	assert_int_equal(mkdir(path, 0755), 0);
	captured_begin(&c, STDERR_FILENO);
	blocked = parts_rotate(f->file, PARTS_KEEP_ALL);
	captured_end(&c);
	assert_int_equal(blocked, 0);
	captured_begin(&c, STDERR_FILENO);
	stuck = parts_drop_lowest(f->file, 0);
	captured_end(&c);
	assert_int_equal(stuck, -EISDIR);
	assert_non_null(strstr(c.text, "cannot remove "));
	snprintf(path, sizeof(path), "%s/run.3.spans/in", f->path);
	assert_int_equal(rmdir(path), 0);
	snprintf(path, sizeof(path), "%s/run.3.spans", f->path);
	assert_int_equal(rmdir(path), 0);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_names), TEST(test_find),        TEST(test_rotate),
		TEST(test_gaps),  TEST(test_drop_lowest), TEST(test_failures),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
