/* SPDX-License-Identifier: MIT */
/* Outputs that name their files themselves: which files there are, what is in each, and what is said where there is none. */
#include <dirent.h>
#include <errno.h>
#include <ftw.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "../../user/session/losses.h"
#include "../../user/session/outputs.h"
#include "captured.h"

/* Times of the run that the tests make up. */
#define START    1000ull
#define REALTIME 5000000ull

static int finish_err;

static const char *files_file(const struct exporter *e, u32 metrics, u32 file)
{
	static const char *const words[] = {"one", "", "two", NULL};

	(void)metrics;
	return e->options.split ? words[file] : file ? NULL : "both";
}

/* "FILE: ROWS rows, START to END, LOST lost" */
static int files_finish(struct exporter *e, const struct profile *profile)
{
	if (!profile->nrows && e->options.interval_ns)
		return -ENODATA;
	fprintf(e->out, "%u: %zu rows, %d to %d, %d lost", e->file, profile->nrows,
		(int)profile->start_ns, (int)profile->end_ns, (int)profile->losses[0].count);
	return finish_err;
}

static const struct exporter_ops filed = {
	.name = "filed",
	.extension = ".f.x",
	.file = files_file,
	.finish = files_finish,
};

struct folder {
	char path[64];
	char file[128];
	struct options_output what;
	struct outputs *outputs;
	struct model_loss losses[LOSS_CAUSES];
	struct profile now;
};

static int setup(void **state)
{
	struct folder *f = calloc(1, sizeof(*f));

	if (!f)
		return -1;
	snprintf(f->path, sizeof(f->path), "/tmp/test_outputs_files.XXXXXX");
	if (!mkdtemp(f->path))
		return -1;
	snprintf(f->file, sizeof(f->file), "%s/run.f.x", f->path);
	f->what = (struct options_output){.format = &filed, .path = f->file};
	f->now = (struct profile){.start_ns = START,
				  .end_ns = START,
				  .start_realtime_ns = REALTIME,
				  .losses = f->losses,
				  .nlosses = LOSS_CAUSES};
	finish_err = 0;
	*state = f;
	return 0;
}

static int remove_one(const char *path, const struct stat *status, int kind, struct FTW *at)
{
	(void)status;
	(void)kind;
	(void)at;
	return remove(path);
}

static int teardown(void **state)
{
	struct folder *f = *state;

	outputs_free(&f->outputs);
	nftw(f->path, remove_one, 8, FTW_DEPTH | FTW_PHYS);
	free(f);
	return 0;
}

static void begin(struct folder *f)
{
	outputs_free(&f->outputs);
	assert_int_equal(outputs_new(&f->what, 1, METRIC_WALL, &f->outputs), 0);
	outputs_begin(f->outputs, &f->now);
}

/* The trace has NROWS of something from FROM to END. */
static const struct profile *profile(struct folder *f, u64 from, u64 end, size_t nrows)
{
	f->now.start_ns = from;
	f->now.start_realtime_ns = REALTIME + from - START;
	f->now.end_ns = end;
	f->now.nrows = nrows;
	return &f->now;
}

static void check_file(const struct folder *f, const char *name, const char *want)
{
	char path[256], text[256];
	FILE *file;
	size_t n;

	snprintf(path, sizeof(path), "%s/%s", f->path, name);
	file = fopen(path, "re");
	if (!file)
		fail_msg("there is no %s", name);
	n = fread(text, 1, sizeof(text) - 1, file);
	fclose(file);
	text[n] = '\0';
	assert_string_equal(text, want);
}

/* How many files are in folder NAME, of any name. */
static void check_count(const struct folder *f, const char *name, int want)
{
	char path[256];
	struct dirent *entry;
	DIR *dir;
	int n = 0;

	snprintf(path, sizeof(path), "%s/%s", f->path, name);
	dir = opendir(path);
	assert_non_null(dir);
	while ((entry = readdir(dir)))
		n += entry->d_name[0] != '.';
	closedir(dir);
	assert_int_equal(n, want);
}

static void test_split(void **state)
{
	struct folder *f = *state;

	snprintf(f->file, sizeof(f->file), "%s/made", f->path);
	f->what.options.split = true;
	for (int round = 1; round <= 2; round++) { /* the second into what is there */
		begin(f);
		check_count(f, "made", round == 1 ? 0 : 2);
		assert_int_equal(outputs_finish(f->outputs, profile(f, START, START + 10, round)),
				 0);
		check_count(f, "made", 2);
	}
	check_file(f, "made/one_5000010.f.x", "0: 2 rows, 1000 to 1010, 0 lost");
	check_file(f, "made/two_5000010.f.x", "2: 2 rows, 1000 to 1010, 0 lost");
}

static void test_intervals(void **state)
{
	struct folder *f = *state;

	f->what.options.interval_ns = 1;
	begin(f);
	f->losses[0].count = 2;
	outputs_interval(f->outputs, profile(f, START, START + 10, 1));
	/* One of nothing leaves no file; its time is the next one's. */
	outputs_interval(f->outputs, profile(f, START + 10, START + 20, 0));
	f->losses[0].count = 5;
	outputs_interval(f->outputs, profile(f, START + 20, START + 30, 2));
	outputs_interval(f->outputs, profile(f, START + 30, START + 40, 3));
	assert_int_equal(outputs_finish(f->outputs, profile(f, START, START + 40, 9)), 0);
	check_count(f, ".", 3);
	check_file(f, "run_5000010.f.x", "0: 1 rows, 1000 to 1010, 2 lost");
	check_file(f, "run_5000030.f.x", "0: 2 rows, 1010 to 1030, 3 lost");
	check_file(f, "run_5000040.f.x", "0: 3 rows, 1030 to 1040, 0 lost");
}

static void test_names(void **state)
{
	struct folder *f = *state;

	f->what.options.interval_ns = 1;
	strcat(strcpy(f->file, f->path), "/dir.f.x/");
	begin(f);
	outputs_interval(f->outputs, profile(f, START, START + 10, 1));
	check_file(f, "dir.f.x/both_5000010.f.x", "0: 1 rows, 1000 to 1010, 0 lost");
	strcat(strcpy(f->file, f->path), "/dir.f.x"); /* it is a folder now, however it is called */
	begin(f);
	outputs_interval(f->outputs, profile(f, START, START + 20, 1));
	check_file(f, "dir.f.x/both_5000020.f.x", "0: 1 rows, 1000 to 1020, 0 lost");
	strcat(strcpy(f->file, f->path), "/plain");
	begin(f);
	outputs_interval(f->outputs, profile(f, START, START + 30, 1));
	check_file(f, "plain_5000030.f.x", "0: 1 rows, 1000 to 1030, 0 lost");
	f->what.options.split = true;
	strcat(strcpy(f->file, f->path), "/split");
	begin(f);
	outputs_interval(f->outputs, profile(f, START, START + 40, 1));
	check_count(f, "split", 2);
	check_file(f, "split/two_5000040.f.x", "2: 1 rows, 1000 to 1040, 0 lost");
}

static void check_refused(struct folder *f, int err, const char *part)
{
	struct outputs *untouched = (struct outputs *)&errno, *outputs = untouched;
	struct captured c;
	int got;

	captured_begin(&c, STDERR_FILENO);
	got = outputs_new(&f->what, 1, METRIC_WALL, &outputs);
	captured_end(&c);
	if (got != err || !strstr(c.text, part))
		fail_msg("got %d (%s), not %d (%s)", got, c.text, err, part);
	assert_ptr_equal(outputs, untouched);
}

static void test_refused(void **state)
{
	struct folder *f = *state;
	FILE *file;

	f->what.options.interval_ns = 1;
	strcat(strcpy(f->file, f->path), "/none/run.f.x");
	check_refused(f, -ENOENT, "none/run.f.x: No such file");
	f->what.options.split = true;
	check_refused(f, -ENOENT, "none/run.f.x: No such file");
	strcat(strcpy(f->file, f->path), "/file");
	file = fopen(f->file, "we");
	assert_non_null(file);
	fclose(file);
	check_refused(f, -ENOTDIR, "file: Not a directory");
	strcpy(f->file, "-");
	check_refused(f, -EINVAL, "write -o filed:FOLDER/");
}

static void test_two_of_one_name(void **state)
{
	struct folder *f = *state;
	struct options_output both[2] = {f->what, f->what};
	struct outputs *outputs = NULL;
	char other[256];
	struct captured c;
	int err;

	snprintf(other, sizeof(other), "%s/../%s/run", f->path, strrchr(f->path, '/') + 1);
	both[0].options.interval_ns = both[1].options.interval_ns = 1;
	both[1].path = other;
	captured_begin(&c, STDERR_FILENO);
	err = outputs_new(both, 2, METRIC_WALL, &outputs);
	captured_end(&c);
	assert_int_equal(err, -EINVAL);
	assert_non_null(strstr(c.text, "are the same files"));
	strcat(other, "2");
	assert_int_equal(outputs_new(both, 2, METRIC_WALL, &outputs), 0);
	outputs_free(&outputs);
}

/* One that cannot be written is said, and leaves nothing; the next is written; the run has failed. */
static void test_failure(void **state)
{
	struct folder *f = *state;
	struct captured c;

	f->what.options.interval_ns = 1;
	begin(f);
	finish_err = -ENOSPC;
	captured_begin(&c, STDERR_FILENO);
	outputs_interval(f->outputs, profile(f, START, START + 10, 1));
	captured_end(&c);
	assert_non_null(strstr(c.text, "run_5000010.f.x: No space left on device\n"));
	check_count(f, ".", 0);
	assert_true(outputs_left(f->outputs));
	finish_err = 0;
	outputs_interval(f->outputs, profile(f, START + 10, START + 20, 2));
	check_file(f, "run_5000020.f.x", "0: 2 rows, 1010 to 1020, 0 lost");
	assert_int_equal(outputs_finish(f->outputs, profile(f, START, START + 20, 2)), -ENOSPC);
}

/* A link in the way of the unfinished file leads nowhere. */
static void test_no_link_is_followed(void **state)
{
	struct folder *f = *state;
	char part[256], victim[256];

	snprintf(part, sizeof(part), "%s/run_5000010.f.x.part", f->path);
	snprintf(victim, sizeof(victim), "%s/victim", f->path);
	assert_int_equal(symlink(victim, part), 0);
	f->what.options.interval_ns = 1;
	begin(f);
	outputs_interval(f->outputs, profile(f, START, START + 10, 1));
	check_count(f, ".", 1);
	check_file(f, "run_5000010.f.x", "0: 1 rows, 1000 to 1010, 0 lost");
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_split),
		TEST(test_intervals),
		TEST(test_names),
		TEST(test_refused),
		TEST(test_two_of_one_name),
		TEST(test_failure),
		TEST(test_no_link_is_followed),
	};

	return cmocka_run_group_tests_name("outputs_files", tests, NULL, NULL);
}
