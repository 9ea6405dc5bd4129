/* SPDX-License-Identifier: MIT */
/* The SVG as a file: where spans stand, what colours them. What a browser makes of it is tests/live/test_browser.sh's
 * business. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "spanned.h"

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

static char *export(struct sample *s, enum export_value value)
{
	struct export_options o = EXPORT_OPTIONS_DEFAULT;

	o.value = value;
	return spanned_export(s, "flamechart", &o, true);
}

/* 10 s are 1180 units, from 10 on; the first row of web-100 stands below the axis and its head. */
static void test_places(void **state)
{
	char *svg = export(*state, EXPORT_BUSY);

	assert_int_equal(count_of(svg, "\n<g data-s="), 5);
	assert_contains(svg, " data-chart=\"10000000000\">");
	assert_contains(
		svg,
		"<g data-s=\"0\" data-v=\"4000000000\"><title>app::outer\n4.00 s, at 0 ns</title>");
	assert_contains(svg, "x=\"10\" y=\"114\" width=\"471.4\" height=\"17\"/>"
			     "<text x=\"13\" y=\"127\">app::outer</text></g>");
	assert_contains(
		svg,
		"<g data-s=\"1000000000\" data-v=\"1000000000\"><title>app::inner\n1.00 s, at 1.00 s</title>");
	assert_contains(svg, "x=\"128\" y=\"132\" width=\"117.4\"");
	assert_contains(svg, "<text class=\"track\" x=\"10\" y=\"109\">web-100 · 3 spans</text>");
	assert_contains(svg, ">worker-101 · 1 span</text>");
	assert_contains(svg, ">async spans of process 100 · 1 span</text>");
	assert_contains(svg, ">app::GET /cart</text>");
	assert_contains(svg, ">pid 100 (web) · 10.0 s · 5 spans</text>");
	assert_null(strstr(svg, "drawn together"));
	free(svg);
}

/* Ticks at each 2 s, none with a text beyond the edge. */
static void test_axis(void **state)
{
	char *svg = export(*state, EXPORT_BUSY);

	assert_contains(svg, "<line x1=\"10\" x2=\"10\" y1=\"74\"");
	assert_contains(svg, "/><text x=\"249\" y=\"86\">2.00 s</text>");
	assert_int_equal(count_of(svg, "<line "), 6);
	assert_null(strstr(svg, "\">10.0 s</text>"));
	free(svg);
}

/* Half of outer's time, all of the worker's, none of the second inner's. */
static void test_heat(void **state)
{
	char *svg = export(*state, EXPORT_CPU);

	assert_contains(
		svg,
		"<title>app::outer\n4.00 s, at 0 ns, cpu 2.00 s (50.0 %)</title><rect class=\"h5\"");
	assert_contains(
		svg,
		"<title>app::outer\n1.00 s, at 1.00 s, cpu 1.00 s (100.0 %)</title><rect class=\"h9\"");
	assert_contains(
		svg,
		"<title>app::inner\n500 ms, at 3.00 s, cpu 0 ns (0.00 %)</title><rect class=\"h0\"");
	assert_contains(svg, ">colour: cpu, from none to all of the span's busy time</text>");
	free(svg);
}

/* The rows' 3072 bytes of 4 outer spans on the web thread and 2 on the other are 512 each. */
static void test_memory(void **state)
{
	struct sample *s = *state;
	char *svg;

	s->profile.metrics |= METRIC_ALLOC;
	svg = export(s, EXPORT_ALLOC_SPACE);
	assert_contains(
		svg,
		"4.00 s, at 0 ns, alloc_space 512 B on average of its kind</title><rect class=\"h9\"");
	assert_contains(svg, "<title>app::inner\n1.00 s, at 1.00 s, alloc_space 0 B on average");
	free(svg);
}

static void test_escapes(void **state)
{
	struct sample *s = *state;
	char *svg;

	s->outer.name = "<script>x(\"'&\")</script>";
	s->inner.name = "]]>\x01\n\xff;\xef\xbf\xbe";
	strcpy(s->web.comm, "<w>");
	svg = export(s, EXPORT_BUSY);
	assert_contains(svg, "app::&lt;script&gt;x(&quot;&#39;&amp;&quot;)&lt;/script&gt;\n");
	assert_contains(svg, "<title>app::]]&gt;\xef\xbf\xbd \xef\xbf\xbd;\xef\xbf\xbd\n");
	assert_contains(svg, ">&lt;w&gt;-100 · ");
	assert_int_equal(count_of(svg, "<script"), 1);
	assert_int_equal(count_of(svg, "]]>"), 1);
	free(svg);
}

static void test_nothing(void **state)
{
	struct export_options o = EXPORT_OPTIONS_DEFAULT;
	char *svg = spanned_export(*state, "flamechart", &o, false);

	assert_contains(svg, ">Nothing to show: the trace holds no spans.</text>");
	assert_int_equal(count_of(svg, "data-s="), 0);
	free(svg);
}

static void test_name(void **state)
{
	(void)state;
	assert_string_equal(exporter_by_path("a.chart.svg")->name, "flamechart");
	assert_string_equal(exporter_by_path("chart.svg")->name, "flamechart");
	assert_string_equal(exporter_by_path("a.svg")->name, "flamegraph");
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(test_places),  CASE(test_axis),    CASE(test_heat), CASE(test_memory),
		CASE(test_escapes), CASE(test_nothing), CASE(test_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
