/* SPDX-License-Identifier: MIT */
/* Outputs that are written in parts, by a format that counts: where each span goes, what each part is told, and what is
 * said. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "../../user/session/losses.h"
#include "../../user/session/outputs.h"
#include "captured.h"
#include "traced.h"

#define BEGIN  TRACED_BEGIN
#define SECOND 1000000000ull

/* A recording in small: lines for what it was called with; with last_ns, how many spans came so far. */
static struct {
	u64 start_ns, end_ns, lost;
	size_t threads;
	bool is_part;
	int held;
	char padding[1024];
} format;

static int parted_begin(struct exporter *e, const struct profile *run)
{
	if (e->out)
		fprintf(e->out, "begin %llu\n", (unsigned long long)(run->start_ns - BEGIN));
	return 0;
}

static int parted_span(struct exporter *e, const struct model_span *span)
{
	if (e->options.last_ns)
		format.held++;
	else
		fprintf(e->out, "span %llu%s\n", (unsigned long long)(span->end_ns - BEGIN),
			format.padding);
	return 0;
}

static int parted_event(struct exporter *e, const struct model_event *event)
{
	fprintf(e->out, "event %llu\n", (unsigned long long)(event->time_ns - BEGIN));
	return 0;
}

static int parted_tick(struct exporter *e, const struct profile *so_far)
{
	(void)so_far;
	return e->out && fflush(e->out) ? -errno : 0;
}

static int parted_finish(struct exporter *e, const struct profile *profile)
{
	format.start_ns = profile->start_ns;
	format.end_ns = profile->end_ns;
	format.lost = profile->nlosses ? profile->losses[0].count : 0;
	format.threads = profile->nthreads;
	format.is_part = profile->is_part;
	if (e->options.last_ns)
		fprintf(e->out, "held %d\n", format.held);
	fprintf(e->out, "end %llu lost %llu\n", (unsigned long long)(profile->end_ns - BEGIN),
		(unsigned long long)format.lost);
	return 0;
}

static const struct exporter_ops parted = {
	.name = "parted",
	.parts = true,
	.flight = true,
	.begin = parted_begin,
	.span = parted_span,
	.event = parted_event,
	.tick = parted_tick,
	.finish = parted_finish,
};

struct folder {
	char path[64];
	char file[80];
	void *traced;
	struct options_output output;
	struct options_parts parts;
	struct outputs *outputs;
	struct model_loss losses[LOSS_CAUSES];
	struct profile now;
};

static int setup(void **state)
{
	struct folder *f = calloc(1, sizeof(*f));

	if (!f)
		return -1;
	strcpy(f->path, "/tmp/test_outputs_parts.XXXXXX");
	if (!mkdtemp(f->path) || traced_setup(&f->traced))
		return -1;
	snprintf(f->file, sizeof(f->file), "%s/run.spans", f->path);
	f->output = (struct options_output){.format = &parted, .path = f->file};
	f->parts = (struct options_parts){.on = true, .keep = PARTS_KEEP_ALL};
	losses_init(f->losses);
	f->now = (struct profile){
		.start_ns = BEGIN,
		.start_realtime_ns = TRACED_REALTIME,
		.losses = f->losses,
		.nlosses = LOSS_CAUSES,
	};
	memset(&format, 0, sizeof(format));
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct folder *f = *state;
	char command[96];

	outputs_free(&f->outputs);
	traced_teardown(&f->traced);
	snprintf(command, sizeof(command), "rm -r %s", f->path);
	if (system(command))
		return -1;
	free(f);
	return 0;
}

static int open_outputs(struct folder *f)
{
	return outputs_new_parts(&f->output, 1, METRIC_WALL, &f->parts, &f->outputs);
}

static void begin(struct folder *f)
{
	struct traced *t = f->traced;

	assert_int_equal(open_outputs(f), 0);
	assert_int_equal(outputs_listen(f->outputs, t->trace), 0);
	outputs_begin(f->outputs, &f->now);
}

/* A span that ends at AT, after WALL. */
static void span(struct folder *f, u64 at, u64 wall)
{
	feed_span(f->traced, 1, PATH_A, BEGIN + at - wall, wall, wall);
}

static void tick(struct folder *f, u64 at)
{
	f->now.end_ns = BEGIN + at;
	outputs_tick(f->outputs, &f->now);
}

static void cut(struct folder *f, u64 at)
{
	outputs_cut(f->outputs);
	tick(f, at);
}

/* The end at AT, with what is said kept in C. */
static int finish(struct folder *f, u64 at, struct captured *c)
{
	struct profile profile = *traced_profile(f->traced);
	int err;

	profile.start_ns = BEGIN;
	profile.end_ns = BEGIN + at;
	profile.losses = f->losses;
	profile.nlosses = LOSS_CAUSES;
	captured_begin(c, STDERR_FILENO);
	err = outputs_finish(f->outputs, &profile);
	captured_end(c);
	return err;
}

static void check_file(const struct folder *f, const char *name, const char *expected)
{
	char path[128], text[1024];
	FILE *file;
	size_t n;

	snprintf(path, sizeof(path), "%s/%s", f->path, name);
	file = fopen(path, "re");
	if (!expected) {
		assert_null(file);
		return;
	}
	if (!file)
		fail_msg("no %s", name);
	n = fread(text, 1, sizeof(text) - 1, file);
	fclose(file);
	text[n] = '\0';
	assert_string_equal(text, expected);
}

static void test_one_file(void **state)
{
	struct folder *f = *state;
	struct captured c;

	begin(f);
	span(f, 10, 5);
	span(f, 20, 5);
	f->losses[0].count = 3;
	assert_int_equal(finish(f, SECOND / 2, &c), 0);
	check_file(f, "run.spans", "begin 0\nspan 10\nspan 20\nend 500000000 lost 3\n");
	check_file(f, "run.1.spans", NULL);
	assert_int_equal(format.threads, 1);
	assert_false(format.is_part);
	assert_non_null(strstr(c.text, "spantrace: wrote "));
	assert_non_null(strstr(c.text, "run.spans: 2 spans, 45 B, 4 spans/s\n"));
}

/* By hand: each part its own time and its own losses. */
static void test_cut(void **state)
{
	struct folder *f = *state;
	struct wire_event event = make_event(1, PATH_TICK, BEGIN + 115);
	struct captured c;

	begin(f);
	span(f, 10, 5);
	f->losses[0].count = 3;
	cut(f, 100);
	check_file(f, "run.1.spans", "begin 0\nspan 10\nend 100 lost 3\n");
	check_file(f, "run.spans", "");
	assert_true(format.is_part);
	assert_int_equal(format.threads, 1);
	/* Once for one signal. */
	tick(f, 105);
	span(f, 110, 50);
	feed(f->traced, &event);
	f->losses[0].count = 4;
	cut(f, 200);
	check_file(f, "run.2.spans", "begin 0\nspan 10\nend 100 lost 3\n");
	check_file(f, "run.1.spans", "begin 100\nspan 110\nevent 115\nend 200 lost 1\n");
	assert_int_equal(finish(f, 300, &c), 0);
	check_file(f, "run.spans", "begin 200\nend 300 lost 0\n");
	assert_true(format.is_part);
	assert_non_null(strstr(c.text, "run.spans and 2 parts before it: 2 spans, "));
}

static void test_by_time(void **state)
{
	struct folder *f = *state;
	struct captured c;

	f->parts.max_ns = 100;
	f->parts.keep = 1;
	begin(f);
	span(f, 10, 5);
	tick(f, 99);
	check_file(f, "run.1.spans", NULL);
	tick(f, 100);
	check_file(f, "run.1.spans", "begin 0\nspan 10\nend 100 lost 0\n");
	/* Nothing to keep: the part goes on. */
	tick(f, 250);
	check_file(f, "run.1.spans", "begin 0\nspan 10\nend 100 lost 0\n");
	span(f, 260, 5);
	tick(f, 261);
	check_file(f, "run.1.spans", "begin 100\nspan 260\nend 261 lost 0\n");
	check_file(f, "run.2.spans", NULL);
	assert_int_equal(finish(f, 270, &c), 0);
	check_file(f, "run.spans", "begin 261\nend 270 lost 0\n");
}

/* What an earlier run left is not overwritten by a rotation. */
static void test_earlier_run(void **state)
{
	struct folder *f = *state;
	struct captured c;
	FILE *file = fopen(f->file, "we");

	assert_non_null(file);
	fputs("old", file);
	fclose(file);
	f->parts.max_ns = 100;
	begin(f);
	check_file(f, "run.spans", "old");
	span(f, 10, 5);
	check_file(f, "run.1.spans", "old");
	assert_int_equal(finish(f, 20, &c), 0);
	check_file(f, "run.spans", "begin 0\nspan 10\nend 20 lost 0\n");
	check_file(f, "run.1.spans", "old");
	check_file(f, "run.2.spans", NULL);
}

/* Spans of some 1 KiB each: no part is larger than asked for, and every span is in one. */
static void test_by_size(void **state)
{
	struct folder *f = *state;
	size_t i, total = 0, parts = 0;
	struct captured c;
	struct stat status;
	char path[128];

	memset(format.padding, 'x', sizeof(format.padding) - 1);
	f->parts.max_bytes = 512 << 10;
	begin(f);
	for (i = 0; i < 2000; i++)
		span(f, i + 1, 1);
	assert_int_equal(finish(f, 3000, &c), 0);
	for (i = 0; i < 100; i++) {
		snprintf(path, sizeof(path), i ? "%s/run.%zu.spans" : "%s/run.spans", f->path, i);
		if (stat(path, &status))
			break;
		parts++;
		total += (size_t)status.st_size;
		assert_true(status.st_size <= 512 << 10);
	}
	assert_in_range(parts, 4, 8);
	assert_true(total > 2000 * 1023);
	snprintf(path, sizeof(path), "and %zu parts before it: 2,000 spans, ", parts - 1);
	assert_non_null(strstr(c.text, path));
}

/* The folder has gone: said with its name, and this output ends. */
static void test_folder_gone(void **state)
{
	struct folder *f = *state;
	struct captured c;
	char away[96];
	int left;

	begin(f);
	span(f, 10, 5);
	snprintf(away, sizeof(away), "%s.away", f->path);
	assert_int_equal(rename(f->path, away), 0);
	captured_begin(&c, STDERR_FILENO);
	cut(f, 100);
	left = outputs_left(f->outputs);
	captured_end(&c);
	assert_int_equal(rename(away, f->path), 0);
	assert_false(left);
	assert_non_null(strstr(c.text, "cannot look for the parts of "));
	assert_non_null(strstr(c.text, "; what it holds so far can be read\n"));
	check_file(f, "run.spans", "begin 0\nspan 10\nend 100 lost 0\n");
	assert_int_equal(finish(f, 200, &c), -ENOENT);
	assert_string_equal(c.text, "");
}

/* No rotation of what is no file: /dev/null stays where it is. */
static void test_no_regular_file(void **state)
{
	struct folder *f = *state;
	struct captured c;
	int err;

	f->output.path = "/dev/null";
	begin(f);
	span(f, 10, 5);
	cut(f, 100);
	assert_int_equal(finish(f, 200, &c), 0);
	outputs_free(&f->outputs);
	assert_int_equal(access("/dev/null.1", F_OK), -1);
	f->parts.max_ns = 100;
	captured_begin(&c, STDERR_FILENO);
	err = open_outputs(f);
	captured_end(&c);
	assert_int_equal(err, -EINVAL);
	assert_non_null(strstr(c.text, "/dev/null is no regular file; --max-size and --max-time"));
}

/* A link to a file: the parts stand beside the file. */
static void test_link(void **state)
{
	struct folder *f = *state;
	char target[128];
	struct captured c;

	snprintf(target, sizeof(target), "%s/sub", f->path);
	assert_int_equal(mkdir(target, 0755), 0);
	snprintf(target, sizeof(target), "%s/sub/real.spans", f->path);
	assert_int_equal(symlink(target, f->file), 0);
	fclose(fopen(target, "we"));
	begin(f);
	span(f, 10, 5);
	cut(f, 100);
	assert_int_equal(finish(f, 200, &c), 0);
	check_file(f, "sub/real.1.spans", "begin 0\nspan 10\nend 100 lost 0\n");
	check_file(f, "run.spans", "begin 100\nend 200 lost 0\n");
}

static void flight(struct folder *f, const char *text)
{
	static struct trigger trigger;

	f->parts.last_ns = 4 * SECOND;
	if (text) {
		assert_int_equal(trigger_parse(text, &trigger), 0);
		f->parts.triggers = &trigger;
		f->parts.ntriggers = 1;
	}
	begin(f);
}

/* Nothing is written until it is asked for; then the last four seconds of the trace. */
static void test_flight(void **state)
{
	struct folder *f = *state;
	struct captured c;

	flight(f, NULL);
	span(f, 10, 5);
	tick(f, SECOND);
	check_file(f, "run.spans", NULL);
	check_file(f, "run.1.spans", NULL);
	captured_begin(&c, STDERR_FILENO);
	cut(f, 2 * SECOND);
	captured_end(&c);
	check_file(f, "run.1.spans", "held 1\nend 2000000000 lost 0\n");
	assert_int_equal(format.start_ns, BEGIN);
	assert_non_null(strstr(c.text, "/run.1.spans: the last 2.00 s, "));
	span(f, 11, 5);
	/* These are no rotation: losses are those of the trace. */
	f->losses[0].count = 7;
	assert_int_equal(finish(f, 10 * SECOND, &c), 0);
	assert_int_equal(format.end_ns, BEGIN + 10 * SECOND);
	check_file(f, "run.2.spans", "held 2\nend 10000000000 lost 7\n");
	check_file(f, "run.spans", NULL);
	assert_non_null(strstr(c.text, "/run.2.spans: the last 4.00 s, "));
}

static void test_trigger(void **state)
{
	struct folder *f = *state;
	struct captured c;

	f->parts.keep = 2;
	flight(f, "app:a>50ns");
	span(f, 1000, 50);
	tick(f, 3 * SECOND);
	check_file(f, "run.1.spans", NULL);
	/* The first fires, two join it, and what comes within the second is in the file. */
	span(f, 3 * SECOND, 51);
	span(f, 3 * SECOND + 1, 60);
	span(f, 3 * SECOND + 2, 70);
	tick(f, 4 * SECOND - 1);
	check_file(f, "run.1.spans", NULL);
	span(f, 4 * SECOND - 1, 1);
	captured_begin(&c, STDERR_FILENO);
	tick(f, 4 * SECOND);
	captured_end(&c);
	check_file(f, "run.1.spans", "held 5\nend 4000000000 lost 0\n");
	assert_non_null(strstr(
		c.text, "trigger app:a>50ns: app:a took 51 ns, and 2 more of the same second\n"));
	/* It is over: nothing more is written for it. */
	tick(f, 9 * SECOND);
	check_file(f, "run.2.spans", NULL);
	/* SIGUSR1 in the second after a trigger: one file for both. */
	span(f, 10 * SECOND, 80);
	captured_begin(&c, STDERR_FILENO);
	cut(f, 10 * SECOND + 1);
	tick(f, 12 * SECOND);
	captured_end(&c);
	check_file(f, "run.2.spans", "held 6\nend 10000000001 lost 0\n");
	assert_non_null(strstr(c.text, "app:a took 80 ns\n"));
	assert_int_equal(finish(f, 12 * SECOND, &c), 0);
	check_file(f, "run.3.spans", "held 6\nend 12000000000 lost 0\n");
	check_file(f, "run.1.spans", NULL);
}

/* Numbers go on where an earlier run left off. */
static void test_flight_again(void **state)
{
	struct folder *f = *state;
	struct captured c;
	char path[128];

	snprintf(path, sizeof(path), "%s/run.41.spans", f->path);
	fclose(fopen(path, "we"));
	flight(f, NULL);
	span(f, 10, 5);
	assert_int_equal(finish(f, 100, &c), 0);
	check_file(f, "run.41.spans", "");
	check_file(f, "run.42.spans", "held 1\nend 100 lost 0\n");
}

/* A file that cannot be written is said, and counts in the end; the next one is tried all the same. */
static void test_flight_fails(void **state)
{
	struct folder *f = *state;
	struct captured c;
	char away[96];

	flight(f, NULL);
	span(f, 10, 5);
	snprintf(away, sizeof(away), "%s.away", f->path);
	assert_int_equal(rename(f->path, away), 0);
	captured_begin(&c, STDERR_FILENO);
	cut(f, 100);
	captured_end(&c);
	assert_int_equal(rename(away, f->path), 0);
	assert_non_null(strstr(c.text, "cannot write parted to "));
	assert_true(outputs_left(f->outputs));
	span(f, 110, 5);
	assert_int_equal(finish(f, 200, &c), -ENOENT);
	check_file(f, "run.1.spans", "held 2\nend 200 lost 0\n");
}

static void test_flight_folder(void **state)
{
	struct folder *f = *state;
	struct captured c;
	int err;

	f->parts.last_ns = SECOND;
	f->output.path = "/nowhere/run.spans";
	captured_begin(&c, STDERR_FILENO);
	err = open_outputs(f);
	captured_end(&c);
	assert_int_equal(err, -ENOENT);
	assert_string_equal(c.text, "spantrace: cannot write parts of /nowhere/run.spans: "
				    "No such file or directory\n");
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_one_file),        TEST(test_cut),          TEST(test_by_time),
		TEST(test_earlier_run),     TEST(test_by_size),      TEST(test_folder_gone),
		TEST(test_no_regular_file), TEST(test_link),         TEST(test_flight),
		TEST(test_trigger),         TEST(test_flight_again), TEST(test_flight_fails),
		TEST(test_flight_folder),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
