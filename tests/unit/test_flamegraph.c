/* SPDX-License-Identifier: MIT */
/* The SVG as a file: where frames stand, what is escaped, what is left out. What a browser makes of
 * it is tests/live/test_browser.sh's business. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../../exporters/svg.h"
#include "sample_profile.h"

static int setup(void **state)
{
	*state = sample_new();
	return 0;
}

static int teardown(void **state)
{
	sample_free(*state);
	return 0;
}

static char *export(struct sample *s, const struct export_options *o)
{
	return sample_export("flamegraph", &s->profile, o);
}

static void assert_contains(const char *text, const char *part)
{
	if (!strstr(text, part))
		fail_msg("no \"%s\" in the picture", part);
}

static size_t count(const char *text, const char *part)
{
	size_t n = 0;

	for (; (text = strstr(text, part)); text += strlen(part))
		n++;
	return n;
}

/* 14 s are 1180 units, from 10 on: web-100 takes 10 s of them, its outer 4 s, worker-101 the
 * rest. */
static void test_frames(void **state)
{
	struct export_options o = EXPORT_OPTIONS_DEFAULT;
	char *svg = export(*state, &o);

	assert_int_equal(count(svg, "\n<g data-v="), 7);
	assert_contains(svg,
			"<g data-v=\"14000000000\"><title>all\n14.0 s (100.0 %)</title>"
			"<rect class=\"t\" x=\"10\" y=\"74\" width=\"1179.4\" height=\"17\"/>");
	assert_contains(
		svg,
		"<g data-v=\"10000000000\"><title>web-100\n10.0 s (71.4 %), self 6.00 s (42.9 %)</title>"
		"<rect class=\"t\" x=\"10\" y=\"92\" width=\"842.26\" height=\"17\"/>"
		"<text x=\"13\" y=\"105\">web-100</text></g>\n");
	assert_contains(svg, "<g data-v=\"1000000000\"><title>app::inner\n1.00 s (7.14 %)</title>");
	assert_contains(svg, "x=\"852.86\" y=\"92\" width=\"336.54\" height=\"17\"/>"
			     "<text x=\"855.86\" y=\"105\">worker-101</text>");
	/* The whole name does not fit, the name alone does not either. */
	assert_contains(svg, ">GET …</text>");
	/* Root, thread, two levels of spans. */
	assert_contains(svg, "viewBox=\"0 0 1200 176\" width=\"1200\" height=\"176\"");
	assert_null(strstr(svg, "narrower than 0.1 px"));
	free(svg);
}

static void test_titles(void **state)
{
	struct export_options o = EXPORT_OPTIONS_DEFAULT;
	char *svg = export(*state, &o);

	assert_contains(svg, "<title>Busy time by span</title>");
	assert_contains(
		svg,
		">pid 100 (web) · traced for 10.0 s · 2 threads · busy in ns, 14.0 s in all</text>");
	free(svg);
	strcpy(o.title, "<b> & \xff");
	o.value = EXPORT_CPU;
	svg = export(*state, &o);
	assert_contains(svg, "<title>&lt;b&gt; &amp; \xef\xbf\xbd</title>");
	assert_contains(svg, " · cpu in ns, 3.25 s in all</text>");
	free(svg);
}

static void test_escapes(void **state)
{
	struct export_options o = EXPORT_OPTIONS_DEFAULT;
	struct sample *s = *state;
	char *svg;

	s->outer.name = "<script>x(\"'&\")</script>";
	s->inner.name = "]]>\x01\n\xff;\xef\xbf\xbe";
	strcpy(s->web.comm, "<w>");
	svg = export(s, &o);
	assert_contains(svg, "app::&lt;script&gt;x(&quot;&#39;&amp;&quot;)&lt;/script&gt;\n");
	assert_contains(svg, "<title>app::]]&gt;\xef\xbf\xbd \xef\xbf\xbd;\xef\xbf\xbd\n");
	assert_contains(svg, "<title>&lt;w&gt;-100\n");
	assert_int_equal(count(svg, "<script"), 1);
	assert_int_equal(count(svg, "]]>"), 1);
	free(svg);
}

static void test_long_names(void **state)
{
	struct export_options o = EXPORT_OPTIONS_DEFAULT;
	char *name = calloc(1, 10001), *svg;
	struct sample *s = *state;

	assert_non_null(name);
	memset(name, 'n', 10000);
	s->outer.name = name;
	svg = export(s, &o);
	/* In two tooltips, cut after 1024, and two labels. */
	assert_int_equal(count(svg, "nnnnnnn…\n"), 2);
	assert_true(count(svg, "nnnnnnnn") < 2 * 1024 / 8 + 20);
	free(svg);
	free(name);
}

/* The same name has the same colour in every picture; another provider has another hue. */
static void test_colours(void **state)
{
	struct export_options o = EXPORT_OPTIONS_DEFAULT;
	struct sample *s = *state;
	char *first = export(s, &o), *second;

	s->profile.rows = &s->rows[SAMPLE_INNER];
	s->profile.nrows = 1;
	second = export(s, &o);
	assert_non_null(strstr(strstr(first, "<title>app::inner"), "class=\"c"));
	assert_memory_equal(strstr(strstr(first, "<title>app::inner"), "class=\"c"),
			    strstr(strstr(second, "<title>app::inner"), "class=\"c"), 11);
	free(first);
	free(second);
}

#define WIDTH 20000

/* 20,000 equal children are 0.059 units wide each; two more are not. */
static void test_narrow_frames(void **state)
{
	struct export_options o = EXPORT_OPTIONS_DEFAULT;
	struct sample *s = *state;
	struct model_path *paths = calloc(WIDTH, sizeof(*paths));
	struct model_row *rows = calloc(WIDTH, sizeof(*rows));
	char(*names)[16] = calloc(WIDTH, sizeof(*names));
	char *svg;

	assert_true(paths && rows && names);
	for (u32 i = 0; i < WIDTH; i++) {
		snprintf(names[i], sizeof(names[i]), "%u", i);
		paths[i] = (struct model_path){.parent = &s->paths[0], .def = &s->inner};
		paths[i].name = names[i];
		rows[i].thread = &s->web;
		rows[i].path = &paths[i];
		rows[i].work.busy_ns = 1000;
	}
	/* These keep their place in front, and the last one is above a narrow one. */
	rows[100].work.busy_ns = 6000;
	rows[200].work.busy_ns = 5000;
	paths[201].parent = &paths[200];
	s->profile.rows = rows;
	s->profile.nrows = WIDTH;
	s->profile.nthreads = 0;
	svg = export(s, &o);
	assert_int_equal(count(svg, "\n<g data-v="), 5);
	assert_contains(svg, "<g data-v=\"6000\"><title>app::100\n");
	assert_contains(svg, "<g data-v=\"6000\"><title>app::200\n6.00 µs (0.03 %), self 5.00 µs");
	assert_contains(svg, "<g data-v=\"19997000\"><title>(19,997 frames too narrow to draw)\n");
	assert_contains(
		svg,
		">19,998 frames narrower than 0.1 px not drawn one by one: 99.9 % of the width<");
	free(svg);
	free(paths);
	free(rows);
	free(names);
}

static void test_nothing(void **state)
{
	struct export_options o = EXPORT_OPTIONS_DEFAULT;
	struct profile empty = {.metrics = METRIC_WALL | METRIC_CPU};
	char *svg;
	int err;

	(void)state;
	svg = sample_export("flamegraph", &empty, &o);
	assert_int_equal(count(svg, "\n<g data-v="), 0);
	assert_contains(svg, "Nothing to show: the trace holds no busy of any span.");
	assert_contains(svg, "</svg>\n");
	free(svg);
	o.value = EXPORT_INUSE_SPACE;
	assert_null(sample_try_export("flamegraph", &empty, &o, &err));
	assert_int_equal(err, -ENODATA);
}

/* It must open where there is no network and must ask nobody. */
static void test_alone(void **state)
{
	struct export_options o = EXPORT_OPTIONS_DEFAULT;
	char *svg = export(*state, &o);

	assert_int_equal(count(svg, "http"), 2 + count(svg, "xmlns=\"http"));
	assert_int_equal(count(svg, "//www.w3.org/"), count(svg, "http"));
	assert_null(strstr(svg, "href"));
	assert_null(strstr(svg, "@import"));
	assert_null(strstr(svg, "url("));
	free(svg);
}

static void assert_number(double value, const char *want)
{
	AUTO_TEXT b = {0};

	svg_add_number(&b, "x", value);
	assert_string_equal(b.data + 1, want);
}

static void test_numbers(void **state)
{
	(void)state;
	assert_number(0, "0");
	assert_number(-1, "0");
	assert_number(12, "12");
	assert_number(12.5, "12.5");
	assert_number(12.05, "12.05");
	assert_number(0.004, "0");
	assert_number(0.996, "1");
	assert_number(123456.789, "123456.79");
}

static void assert_cut(const char *text, unsigned columns, const char *want)
{
	AUTO_TEXT b = {0};

	text_add_str(&b, "");
	svg_add_cut(&b, text, columns);
	assert_string_equal(b.data, want);
}

static void test_cuts(void **state)
{
	(void)state;
	assert_cut("abc", 3, "abc");
	assert_cut("abcd", 3, "ab…");
	assert_cut("a<b", 3, "a&lt;b");
	assert_cut("日本語", 4, "日…");
	assert_cut("abc", 0, "");
	assert_cut("", 0, "");
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_frames),     TEST(test_titles),  TEST(test_escapes),
		TEST(test_long_names), TEST(test_colours), TEST(test_narrow_frames),
		TEST(test_nothing),    TEST(test_alone),   TEST(test_numbers),
		TEST(test_cuts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
