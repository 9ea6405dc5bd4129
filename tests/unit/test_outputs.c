/* SPDX-License-Identifier: MIT */
/* Files that a run writes: known to be writable before it starts, untouched until there is
 * something to write, and every failure told. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "../../user/session/outputs.h"
#include "captured.h"
#include "spied.h"
#include "traced.h"

/* A folder of its own for each test, and in it one file. */
struct folder {
	char path[64];
	char file[96];
	void *traced;
};

static int setup(void **state)
{
	struct folder *f = calloc(1, sizeof(*f));

	if (!f)
		return -1;
	snprintf(f->path, sizeof(f->path), "/tmp/test_outputs.XXXXXX");
	if (!mkdtemp(f->path) || traced_setup(&f->traced))
		return -1;
	snprintf(f->file, sizeof(f->file), "%s/out", f->path);
	memset(&spy, 0, sizeof(spy));
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct folder *f = *state;

	unlink(f->file);
	rmdir(f->path);
	traced_teardown(&f->traced);
	free(f);
	return 0;
}

static void put(const char *path, const char *text)
{
	FILE *file = fopen(path, "we");

	assert_non_null(file);
	fputs(text, file);
	fclose(file);
}

static void check_file(const char *path, const char *expected)
{
	char text[1024];
	FILE *file = fopen(path, "re");
	size_t n;

	assert_non_null(file);
	n = fread(text, 1, sizeof(text) - 1, file);
	fclose(file);
	text[n] = '\0';
	assert_string_equal(text, expected);
}

/* One output, to be used before the next is asked for. */
static struct options_output *one(const struct exporter_ops *format, const char *path)
{
	static struct options_output output;

	output = (struct options_output){.format = format, .path = path};
	return &output;
}

/* A run with one output, up to its first span. */
static struct outputs *begin(const struct exporter_ops *format, const char *path, struct traced *t)
{
	struct outputs *outputs = NULL;

	assert_int_equal(outputs_new(one(format, path), 1, METRIC_WALL, &outputs), 0);
	assert_int_equal(outputs_listen(outputs, t->trace), 0);
	return outputs;
}

/* Opens PATH, which must fail with ERR and a message that has PART in it. */
static void check_refused(const char *path, int err, const char *part)
{
	struct outputs *const untouched = (struct outputs *)&errno;
	struct outputs *outputs = untouched;
	struct captured c;
	int got;

	captured_begin(&c, STDERR_FILENO);
	got = outputs_new(one(&totals, path), 1, METRIC_WALL, &outputs);
	captured_end(&c);
	if (got != err || !strstr(c.text, part) || !strstr(c.text, path))
		fail_msg("%s: got %d (%s), not %d (%s)", path, got, c.text, err, part);
	assert_ptr_equal(outputs, untouched);
}

static void test_paths_that_cannot_be_written(void **state)
{
	struct folder *f = *state;
	char path[128];

	snprintf(path, sizeof(path), "%s/none/out", f->path);
	check_refused(path, -ENOENT, "cannot write");
	check_refused(f->path, -EISDIR, "Is a directory");
	put(f->file, "");
	snprintf(path, sizeof(path), "%s/out", f->file);
	check_refused(path, -ENOTDIR, "Not a directory");
	check_refused("", -ENOENT, "No such file");
	check_refused("/proc/self/exe", -ETXTBSY, "Text file busy");
}

/* The second of two cannot be opened: the first is closed again, as it was. */
static void test_second_cannot_be_opened(void **state)
{
	struct folder *f = *state;
	struct options_output outputs[2] = {{.format = &singles, .path = f->file},
					    {.format = &totals, .path = f->path}};
	struct outputs *out = NULL;
	struct captured c;
	int fd, again, err;

	put(f->file, "kept");
	fd = dup(STDOUT_FILENO);
	close(fd);
	captured_begin(&c, STDERR_FILENO);
	err = outputs_new(outputs, 2, METRIC_WALL, &out);
	captured_end(&c);
	assert_int_equal(err, -EISDIR);
	assert_null(out);
	again = dup(STDOUT_FILENO);
	close(again);
	assert_int_equal(again, fd); /* no descriptor was left open */
	check_file(f->file, "kept");
}

static void test_no_outputs(void **state)
{
	struct folder *f = *state;
	struct traced *t = f->traced;
	struct outputs *outputs = NULL;

	assert_int_equal(outputs_new(NULL, 0, METRIC_WALL, &outputs), 0);
	assert_int_equal(outputs_listen(outputs, t->trace), 0);
	assert_int_equal(outputs_finish(outputs, traced_profile(t)), 0);
	outputs_free(&outputs);
	assert_null(outputs);
	outputs_free(&outputs);
}

static void test_who_wants_totals(void **state)
{
	struct folder *f = *state;
	const struct options_output both[] = {
		{.format = exporter_by_name("recording"), .path = "/dev/null"},
		{.format = exporter_by_name("folded"), .path = f->file},
	};
	struct outputs *outputs = NULL;

	assert_int_equal(outputs_new(both, 1, METRIC_WALL, &outputs), 0);
	assert_false(outputs_want_totals(outputs));
	outputs_free(&outputs);
	assert_int_equal(outputs_new(both, 2, METRIC_WALL, &outputs), 0);
	assert_true(outputs_want_totals(outputs));
	outputs_free(&outputs);
}

/* A run that is given up before it has something to write leaves what was there. */
static void test_content_is_kept(void **state)
{
	struct folder *f = *state;
	struct traced *t = f->traced;
	struct outputs *outputs = NULL;

	put(f->file, "kept");
	assert_int_equal(outputs_new(one(&singles, f->file), 1, METRIC_WALL, &outputs), 0);
	check_file(f->file, "kept");
	assert_int_equal(outputs_listen(outputs, t->trace), 0);
	outputs_free(&outputs);
	check_file(f->file, "kept");
	assert_int_equal(spy.begins, 0);
	assert_int_equal(spy.frees, 1);
}

static void test_content_is_replaced(void **state)
{
	struct folder *f = *state;
	struct traced *t = f->traced;
	struct outputs *outputs;

	put(f->file, "what was there, and longer than what will be\n");
	outputs = begin(&totals, f->file, t);
	feed_span(t, 1, PATH_A, 1, 1, 1); /* totals hear nothing of single spans */
	check_file(f->file, "what was there, and longer than what will be\n");
	assert_int_equal(outputs_finish(outputs, traced_profile(t)), 0);
	check_file(f->file, "1 rows\n");
	outputs_free(&outputs);
	check_file(f->file, "1 rows\n");
}

static void test_new_file(void **state)
{
	struct folder *f = *state;
	struct traced *t = f->traced;
	struct outputs *outputs = NULL;
	struct stat status;

	umask(022);
	assert_int_equal(outputs_new(one(&totals, f->file), 1, METRIC_WALL, &outputs), 0);
	assert_int_equal(outputs_finish(outputs, traced_profile(t)), 0);
	outputs_free(&outputs);
	check_file(f->file, "0 rows\n");
	assert_int_equal(stat(f->file, &status), 0);
	assert_int_equal(status.st_mode & 07777, 0644);
}

static void test_single_spans_and_events(void **state)
{
	struct folder *f = *state;
	struct traced *t = f->traced;
	struct wire_event event = make_event(1, PATH_TICK, 1);
	struct outputs *outputs;

	put(f->file, "old");
	outputs = begin(&singles, f->file, t);
	feed_span(t, 1, PATH_A, 1, 1, 1);
	feed(t, &event);
	feed_span(t, 1, PATH_C, 1, 1, 1);
	assert_int_equal(outputs_finish(outputs, traced_profile(t)), 0);
	outputs_free(&outputs);
	check_file(f->file, "begin\nspan 2\nevent 8\nspan 5\n2 rows\n");
	assert_int_equal(trace_error(t->trace), 0);
	assert_int_equal(spy.begins, 1);
	assert_int_equal(spy.frees, 1);
}

/* Without a span, begin still comes before finish. */
static void test_nothing_came(void **state)
{
	struct folder *f = *state;
	struct traced *t = f->traced;
	struct outputs *outputs;

	outputs = begin(&singles, f->file, t);
	assert_int_equal(outputs_finish(outputs, traced_profile(t)), 0);
	outputs_free(&outputs);
	check_file(f->file, "begin\n0 rows\n");
}

/* Finishes with stderr captured. */
static int finish(struct outputs *outputs, struct traced *t, struct captured *c)
{
	const struct profile *profile = traced_profile(t);
	int err;

	captured_begin(c, STDERR_FILENO);
	err = outputs_finish(outputs, profile);
	captured_end(c);
	return err;
}

static void test_full_device(void **state)
{
	struct folder *f = *state;
	struct traced *t = f->traced;
	struct options_output both[2] = {{.format = &totals, .path = "/dev/full"},
					 {.format = &totals, .path = f->file}};
	struct outputs *outputs = NULL;
	struct captured c;

	assert_int_equal(outputs_new(both, 2, METRIC_WALL, &outputs), 0);
	assert_int_equal(finish(outputs, t, &c), -ENOSPC);
	outputs_free(&outputs);
	assert_string_equal(
		c.text, "spantrace: cannot write totals to /dev/full: No space left on device\n");
	/* The other is written all the same. */
	check_file(f->file, "0 rows\n");
}

/* More than the buffer: the write fails long before the end, and is told there. */
static void test_full_device_early(void **state)
{
	struct folder *f = *state;
	struct traced *t = f->traced;
	struct outputs *outputs;
	struct captured c;
	size_t i;

	outputs = begin(&singles, "/dev/full", t);
	for (i = 0; i < 10000; i++)
		feed_span(t, 1, PATH_A, 1, 1, 1);
	assert_true(finish(outputs, t, &c) < 0);
	outputs_free(&outputs);
	assert_non_null(strstr(c.text, "cannot write singles to /dev/full: "));
}

static void test_begin_fails(void **state)
{
	struct folder *f = *state;
	struct traced *t = f->traced;
	struct outputs *outputs;
	struct captured c;

	spy.begin_err = -EOVERFLOW;
	outputs = begin(&singles, f->file, t);
	assert_true(outputs_left(outputs));
	captured_begin(&c, STDERR_FILENO);
	feed_span(t, 1, PATH_A, 1, 1, 1);
	feed_span(t, 1, PATH_A, 1, 1, 1);
	captured_end(&c);
	/* Said once, when it happens; for the trace it is no error. */
	assert_string_equal(strstr(c.text, "cannot write singles to "),
			    c.text + strlen("spantrace: "));
	assert_int_equal(trace_error(t->trace), 0);
	assert_false(outputs_left(outputs));
	/* A format that could not begin has no state to finish with. */
	assert_int_equal(finish(outputs, t, &c), -EOVERFLOW);
	assert_string_equal(c.text, "");
	assert_int_equal(spy.begins, 1);
	assert_int_equal(spy.finishes, 0);
	outputs_free(&outputs);
	assert_int_equal(spy.frees, 1);
	check_file(f->file, "");
}

/* The one that fails stops; the other has everything. */
static void test_span_fails(void **state)
{
	struct folder *f = *state;
	struct traced *t = f->traced;
	struct options_output both[2] = {{.format = &singles, .path = f->file},
					 {.format = &totals, .path = "-"}};
	struct outputs *outputs = NULL;
	const struct profile *profile;
	struct captured said, out;
	int err;

	assert_int_equal(outputs_new(both, 2, METRIC_WALL, &outputs), 0);
	assert_int_equal(outputs_listen(outputs, t->trace), 0);
	captured_begin(&said, STDERR_FILENO);
	feed_span(t, 1, PATH_A, 1, 1, 1);
	spy.span_err = -EIO;
	feed_span(t, 1, PATH_A, 1, 1, 1);
	feed_span(t, 1, PATH_A, 1, 1, 1);
	captured_end(&said);
	assert_non_null(strstr(said.text, "cannot write singles to "));
	assert_true(outputs_left(outputs));
	profile = traced_profile(t);
	captured_begin(&out, STDOUT_FILENO);
	err = outputs_finish(outputs, profile);
	captured_end(&out);
	assert_int_equal(err, -EIO);
	assert_string_equal(out.text, "1 rows\n");
	assert_int_equal(spy.finishes, 1);
	outputs_free(&outputs);
	check_file(f->file, "begin\nspan 2\nspan 2\n");
}

static void test_finish_fails(void **state)
{
	struct folder *f = *state;
	struct traced *t = f->traced;
	struct outputs *outputs = NULL;
	struct captured c;

	spy.finish_err = -ENOMEM;
	assert_int_equal(outputs_new(one(&totals, f->file), 1, METRIC_WALL, &outputs), 0);
	assert_int_equal(finish(outputs, t, &c), -ENOMEM);
	assert_non_null(strstr(c.text, "cannot write totals to "));
	outputs_free(&outputs);
}

static void test_stdout(void **state)
{
	struct folder *f = *state;
	struct traced *t = f->traced;
	const struct profile *profile = traced_profile(t);
	struct outputs *outputs = NULL;
	struct captured c;
	int err, written;

	captured_begin(&c, STDOUT_FILENO);
	err = outputs_new(one(&binary, "-"), 1, METRIC_WALL, &outputs);
	written = err ? err : outputs_finish(outputs, profile);
	outputs_free(&outputs);
	captured_end(&c);
	assert_int_equal(err, 0);
	assert_int_equal(written, 0);
	assert_string_equal(c.text, "0 rows\n");
	/* It is not ours to close. */
	assert_true(fcntl(STDOUT_FILENO, F_GETFD) >= 0);
}

static void test_stdout_is_full(void **state)
{
	struct folder *f = *state;
	struct traced *t = f->traced;
	const struct profile *profile = traced_profile(t);
	struct outputs *outputs = begin(&totals, "-", t);
	struct captured out, said;
	int full = open("/dev/full", O_WRONLY | O_CLOEXEC), err;

	captured_begin(&out, STDOUT_FILENO);
	captured_begin(&said, STDERR_FILENO);
	dup2(full, STDOUT_FILENO);
	err = outputs_finish(outputs, profile);
	__fpurge(stdout);
	clearerr(stdout);
	captured_end(&said);
	captured_end(&out);
	close(full);
	outputs_free(&outputs);
	assert_int_equal(err, -ENOSPC);
	assert_string_equal(said.text,
			    "spantrace: cannot write totals to -: No space left on device\n");
}

/* Stdout as a terminal of its own while OUTPUT is opened; what it was told of it. */
static int open_on_terminal(const struct options_output *output, struct outputs **outputs)
{
	int master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
	int slave, saved, err;

	assert_true(master >= 0);
	assert_int_equal(unlockpt(master), 0);
	slave = open(ptsname(master), O_RDWR | O_NOCTTY | O_CLOEXEC);
	assert_true(slave >= 0);
	fflush(NULL);
	saved = dup(STDOUT_FILENO);
	dup2(slave, STDOUT_FILENO);
	err = outputs_new(output, 1, METRIC_WALL, outputs);
	dup2(saved, STDOUT_FILENO);
	close(saved);
	close(slave);
	close(master);
	return err;
}

static void test_binary_on_a_terminal(void **state)
{
	struct outputs *outputs = NULL;
	struct captured c;
	int err;

	(void)state;
	captured_begin(&c, STDERR_FILENO);
	err = open_on_terminal(one(&binary, "-"), &outputs);
	captured_end(&c);
	assert_int_equal(err, -EINVAL);
	assert_null(outputs);
	assert_string_equal(c.text, "spantrace: blob is binary and stdout is a terminal; "
				    "write it to a file: -o blob:FILE\n");
	assert_int_equal(open_on_terminal(one(&totals, "-"), &outputs), 0);
	outputs_free(&outputs);
}

/* Opens both, which must fail with -EINVAL; C is what was said. */
static void check_two_refused(const struct options_output *both, u32 metrics, struct captured *c)
{
	struct outputs *outputs = NULL;
	int err;

	captured_begin(c, STDERR_FILENO);
	err = outputs_new(both, 2, metrics, &outputs);
	captured_end(c);
	assert_int_equal(err, -EINVAL);
	assert_null(outputs);
}

static void test_two_names_of_one_file(void **state)
{
	struct folder *f = *state;
	char other[128], expected[512], linked[128];
	struct options_output both[2] = {{.format = &totals, .path = f->file},
					 {.format = &singles, .path = other}};
	struct outputs *outputs = NULL;
	struct stat status;
	struct captured c;

	put(f->file, "kept");
	snprintf(other, sizeof(other), "%s/./out", f->path);
	snprintf(expected, sizeof(expected),
		 "spantrace: -o: %s and %s are one file; give each output a file of its own\n",
		 f->file, other);
	check_two_refused(both, METRIC_WALL, &c);
	assert_string_equal(c.text, expected);

	snprintf(linked, sizeof(linked), "%s/linked", f->path);
	assert_int_equal(link(f->file, linked), 0);
	both[1].path = linked;
	check_two_refused(both, METRIC_WALL, &c);
	assert_non_null(strstr(c.text, linked));
	assert_int_equal(unlink(linked), 0);
	check_file(f->file, "kept");

	assert_int_equal(stat(f->file, &status), 0);
	assert_int_equal(outputs_new(both, 1, METRIC_WALL, &outputs), 0);
	assert_string_equal(outputs_find(outputs, &status), f->file);
	status.st_ino++;
	assert_null(outputs_find(outputs, &status));
	outputs_free(&outputs);

	/* Devices take more than one. */
	both[0].path = "/dev/null";
	both[1].path = "/dev/null";
	assert_int_equal(outputs_new(both, 2, METRIC_WALL, &outputs), 0);
	outputs_free(&outputs);
}

/* A format that shows what is not measured is refused before any file is made. */
static void test_value_not_measured(void **state)
{
	struct folder *f = *state;
	struct options_output both[2] = {
		{.format = &totals, .path = f->file, .options.value = EXPORT_INUSE_SPACE},
		{.format = exporter_by_name("folded"), .path = "x"}};
	struct outputs *outputs = NULL;
	struct captured c;

	/* Totals takes no `value`: it shows what there is. */
	assert_int_equal(outputs_new(both, 1, METRIC_WALL, &outputs), 0);
	outputs_free(&outputs);
	unlink(f->file);

	both[1].options.value = EXPORT_INUSE_SPACE;
	check_two_refused(both, METRIC_WALL | METRIC_CPU, &c);
	assert_string_equal(c.text,
			    "spantrace: -o folded,value=inuse_space:x: that was not measured; "
			    "this trace has busy, wall, cpu, run_delay, blocked\n");
	both[1].options.value = EXPORT_CPU;
	check_two_refused(both, METRIC_WALL, &c);
	assert_non_null(strstr(c.text, "this trace has busy, wall\n"));
	assert_int_equal(access(f->file, F_OK), -1);
}

/* A pipe that nobody reads yet must not block the start. */
static void test_pipe(void **state)
{
	struct folder *f = *state;
	struct traced *t = f->traced;
	struct outputs *outputs = NULL;
	char text[64] = "";
	int fd;

	assert_int_equal(mkfifo(f->file, 0600), 0);
	assert_int_equal(outputs_new(one(&totals, f->file), 1, METRIC_WALL, &outputs), 0);
	fd = open(f->file, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(outputs_finish(outputs, traced_profile(t)), 0);
	outputs_free(&outputs);
	assert_int_equal(read(fd, text, sizeof(text) - 1), 7);
	assert_string_equal(text, "0 rows\n");
	close(fd);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_paths_that_cannot_be_written),
		TEST(test_second_cannot_be_opened),
		TEST(test_no_outputs),
		TEST(test_who_wants_totals),
		TEST(test_content_is_kept),
		TEST(test_content_is_replaced),
		TEST(test_new_file),
		TEST(test_single_spans_and_events),
		TEST(test_nothing_came),
		TEST(test_full_device),
		TEST(test_full_device_early),
		TEST(test_begin_fails),
		TEST(test_span_fails),
		TEST(test_finish_fails),
		TEST(test_stdout),
		TEST(test_stdout_is_full),
		TEST(test_binary_on_a_terminal),
		TEST(test_two_names_of_one_file),
		TEST(test_value_not_measured),
		TEST(test_pipe),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
