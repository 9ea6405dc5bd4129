/* SPDX-License-Identifier: MIT */
/* Widths and colours of a comparison, and which outputs are refused. Reading is tested with files, live. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "../../user/report/diff_flame.h"
#include "captured.h"

#define NKEYS 8

struct fixture {
	struct diff diff;
	struct options_output output;
	char path[64];
};

static void set(struct diff *d, u32 id, enum report_value value, double base, double change)
{
	double means[] = {base, change};

	for (int s = 0; s < 2; s++) {
		d->sides[s].items[id].seen = means[s] > 0;
		d->sides[s].items[id].v[value].mean = means[s];
	}
}

static u32 key(struct fixture *f, u32 parent, const char *name)
{
	u32 id;

	assert_int_equal(report_key(f->diff.keys, parent, name, &id), 0);
	assert_true(id < NKEYS);
	return id;
}

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	int fd;

	assert_non_null(f);
	assert_int_equal(report_keys_new(REPORT_BY_PATH, true, &f->diff.keys), 0);
	f->diff.rows.metrics = METRIC_WALL | METRIC_CPU;
	for (int s = 0; s < 2; s++) {
		f->diff.sides[s].runs = 1;
		f->diff.sides[s].nitems = NKEYS;
		f->diff.sides[s].items = calloc(NKEYS, sizeof(*f->diff.sides[s].items));
		assert_non_null(f->diff.sides[s].items);
	}
	strcpy(f->path, "/tmp/spantrace-diff-XXXXXX");
	fd = mkstemp(f->path);
	assert_true(fd >= 0);
	close(fd);
	f->output = (struct options_output){.format = exporter_by_name("flamegraph"),
					    .options = EXPORT_OPTIONS_DEFAULT,
					    .path = f->path};
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	unlink(f->path);
	diff_free(&f->diff);
	free(f);
	return 0;
}

static char *drawn(struct fixture *f, int width)
{
	char *text = calloc(1, 1 << 20);
	FILE *file;

	assert_non_null(text);
	assert_int_equal(diff_flame(&f->diff, &f->output, width), 0);
	file = fopen(f->path, "re");
	assert_non_null(file);
	assert_true(fread(text, 1, (1 << 20) - 1, file) > 0);
	fclose(file);
	return text;
}

static void assert_contains(const char *text, const char *part)
{
	if (!strstr(text, part))
		fail_msg("no \"%s\" in the picture", part);
}

/* outer 400 → 200 of its own, inner 600 → 600, old 200 → gone, fresh new with 200. */
static void fill(struct fixture *f)
{
	u32 outer = key(f, 0, "app:outer");

	set(&f->diff, outer, REPORT_SELF, 400, 200);
	set(&f->diff, key(f, outer, "app:inner"), REPORT_SELF, 600, 600);
	set(&f->diff, key(f, outer, "app:old"), REPORT_SELF, 200, 0);
	set(&f->diff, key(f, outer, "app:fresh"), REPORT_SELF, 0, 200);
}

static void test_change(void **state)
{
	struct fixture *f = *state;
	char *svg;

	fill(f);
	svg = drawn(f, DIFF_CHANGE);
	assert_contains(
		svg,
		"<g data-v=\"1000\"><title>all\n1.20 µs → 1.00 µs (−16.7 %), self 0 ns → 0 ns");
	assert_contains(svg, "<g data-v=\"1000\"><title>app:outer\n1.20 µs → 1.00 µs (−16.7 %), "
			     "self 400 ns → 200 ns (−50.0 %)</title><rect class=\"d2\" x=\"10\"");
	assert_contains(
		svg,
		"<g data-v=\"600\"><title>app:inner\n600 ns → 600 ns (+0.00 %)</title><rect class=\"d4\"");
	assert_contains(
		svg,
		"<g data-v=\"200\"><title>app:fresh\n0 ns → 200 ns (new)</title><rect class=\"d8\"");
	assert_null(strstr(svg, "app:old"));
	assert_contains(svg, ">busy before 1.20 µs, after 1.00 µs · widths: after</text>");
	assert_contains(svg, " · 1 path is gone (200 ns): --width base draws it");
	free(svg);
}

static void test_base(void **state)
{
	struct fixture *f = *state;
	char *svg;

	fill(f);
	svg = drawn(f, DIFF_BASE);
	assert_contains(svg, "<g data-v=\"1200\"><title>app:outer\n1.20 µs → 1.00 µs (−16.7 %)");
	assert_contains(
		svg,
		"<g data-v=\"200\"><title>app:old\n200 ns → 0 ns (gone)</title><rect class=\"d0\"");
	assert_null(strstr(svg, "app:fresh"));
	assert_contains(svg, " · 1 path is new (200 ns): --width change draws it");
	free(svg);
}

/* An inclusive figure: what inner waited is taken off outer's. */
static void test_run_delay(void **state)
{
	struct fixture *f = *state;
	u32 outer = key(f, 0, "app:outer");
	char *svg;

	set(&f->diff, outer, REPORT_RUN_DELAY, 500, 900);
	set(&f->diff, key(f, outer, "app:inner"), REPORT_RUN_DELAY, 200, 800);
	f->output.options.value = EXPORT_RUN_DELAY;
	svg = drawn(f, DIFF_CHANGE);
	assert_contains(
		svg,
		"<title>app:outer\n500 ns → 900 ns (+80.0 %), self 300 ns → 100 ns (−66.7 %)</title>");
	assert_contains(svg,
			"<title>app:inner\n200 ns → 800 ns (+300.0 %)</title><rect class=\"d8\"");
	free(svg);
}

static void test_names(void **state)
{
	struct fixture *f = *state;
	char *svg;

	set(&f->diff, key(f, 0, "<script>\"\n\xff"), REPORT_SELF, 1, 1);
	svg = drawn(f, DIFF_CHANGE);
	assert_contains(svg, "<title>&lt;script&gt;&quot; \xef\xbf\xbd\n");
	free(svg);
}

static void test_nothing(void **state)
{
	char *svg = drawn(*state, DIFF_CHANGE);

	assert_contains(svg, "Nothing to show");
	free(svg);
}

static void test_refused(void **state)
{
	struct fixture *f = *state;
	struct captured said;
	int results[5];

	captured_begin(&said, STDERR_FILENO);
	f->output.options.value = EXPORT_WALL;
	results[0] = diff_flame_check(&f->output);
	f->output.options.value = EXPORT_CPU;
	results[1] = diff_flame_check(&f->output);
	f->diff.rows.metrics = METRIC_WALL;
	results[2] = diff_flame(&f->diff, &f->output, DIFF_BASE);
	f->output.options.value = EXPORT_BUSY;
	f->output.path = "/nowhere/x.svg";
	results[3] = diff_flame(&f->diff, &f->output, DIFF_BASE);
	f->output.format = exporter_by_name("folded");
	results[4] = diff_flame_check(&f->output);
	captured_end(&said);
	assert_int_equal(results[0], -EINVAL);
	assert_int_equal(results[1], 0);
	assert_int_equal(results[2], -ENODATA);
	assert_int_equal(results[3], -ENOENT);
	assert_int_equal(results[4], -EINVAL);
	assert_contains(
		said.text,
		"-o: diff cannot draw value=wall; write value=busy, cpu, run_delay, blocked, alloc_objects or alloc_space\n");
	assert_contains(said.text, "-o: not all of these files hold cpu; write value=busy\n");
	assert_contains(said.text, "cannot write /nowhere/x.svg: ");
	assert_contains(said.text, "-o: diff cannot write folded; ");
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(test_change), CASE(test_base),    CASE(test_run_delay),
		CASE(test_names),  CASE(test_nothing), CASE(test_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
