/* SPDX-License-Identifier: MIT */
/* Options of outputs, weights of rows, and how a format is found. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "../../exporters/exporter.h"

static int set(const char *format, struct export_options *o, const char *text)
{
	return export_option_set(exporter_by_name(format), o, text, strlen(text));
}

static void test_formats(void **state)
{
	(void)state;
	for (size_t i = 0; exporters_all[i]; i++) {
		assert_ptr_equal(exporter_by_name(exporters_all[i]->name), exporters_all[i]);
		assert_non_null(exporters_all[i]->finish);
	}
	assert_null(exporter_by_name("nonsense"));
	assert_null(exporter_by_name("fold"));
	assert_null(exporter_by_name(""));
}

static void assert_path(const char *path, const char *format)
{
	const struct exporter_ops *ops = exporter_by_path(path);

	if (!format)
		assert_null(ops);
	else
		assert_string_equal(ops->name, format);
}

static void test_paths(void **state)
{
	(void)state;
	assert_path("a.svg", "flamegraph");
	assert_path("/x/y.d/a.json", "json");
	assert_path("a.folded", "folded");
	assert_path("a.txt", "summary");
	assert_path("a.pb.gz", "pprof");
	assert_path("a.svg.txt", "summary");
	assert_path("a.trace.json", "chrome");
	assert_path("a.1.trace.json", "chrome");
	assert_path("trace.json", "json");
	assert_path("a.pftrace", "perfetto");
	/* Those are a flame chart's. */
	assert_true(!exporter_by_path("a.chart.svg") ||
		    strcmp(exporter_by_path("a.chart.svg")->name, "flamegraph"));
	assert_path("svg", NULL);
	assert_path("a.svgz", NULL);
	assert_path("-", NULL);
	assert_path("", NULL);
}

static void test_defaults(void **state)
{
	struct export_options o = EXPORT_OPTIONS_DEFAULT;

	(void)state;
	assert_true(o.empty_samples);
	assert_true(o.module_path);
	assert_true(o.args);
	assert_false(o.threads_collapsed);
	assert_false(o.file_and_line);
	assert_int_equal(o.value, EXPORT_BUSY);
	assert_string_equal(o.title, "");
}

static void test_set(void **state)
{
	struct export_options o = EXPORT_OPTIONS_DEFAULT;

	(void)state;
	assert_int_equal(set("chrome", &o, "args=0"), 0);
	assert_false(o.args);
	assert_int_equal(set("perfetto", &o, "args=1"), 0);
	assert_true(o.args);
	assert_int_equal(set("folded", &o, "args=1"), -ENOENT);
	assert_int_equal(set("folded", &o, "empty_samples=0"), 0);
	assert_false(o.empty_samples);
	assert_int_equal(set("folded", &o, "empty_samples=1"), 0);
	assert_true(o.empty_samples);
	assert_int_equal(set("folded", &o, "threads_collapsed=1"), 0);
	assert_true(o.threads_collapsed);
	assert_int_equal(set("folded", &o, "module_path=0"), 0);
	assert_false(o.module_path);
	assert_int_equal(set("folded", &o, "file_and_line=1"), 0);
	assert_true(o.file_and_line);
	assert_int_equal(set("flamegraph", &o, "title=a=b, c"), 0);
	assert_string_equal(o.title, "a=b, c");
	assert_int_equal(set("flamegraph", &o, "title="), 0);
	assert_string_equal(o.title, "");
	assert_int_equal(set("summary", &o, "width=80"), 0);
	assert_int_equal(o.width, 80);
	assert_int_equal(set("summary", &o, "color=1"), 0);
	assert_true(o.color);
	assert_int_equal(set("mm_profdata", &o, "counter=cpu-time"), 0);
	assert_int_equal(o.counter, EXPORT_COUNTER_CPU_TIME);
	assert_int_equal(set("mm_profdata", &o, "counter=run-delay"), 0);
	assert_int_equal(o.counter, EXPORT_COUNTER_RUN_DELAY);
	assert_int_equal(set("pprof", &o, "split=1"), 0);
	assert_true(o.split);
}

static void test_only_len_bytes(void **state)
{
	struct export_options o = EXPORT_OPTIONS_DEFAULT;
	const char *text = "module_path=0,value=cpu:out";

	(void)state;
	assert_int_equal(export_option_set(exporter_by_name("folded"), &o, text, 13), 0);
	assert_false(o.module_path);
	assert_int_equal(export_option_set(exporter_by_name("folded"), &o, text + 14, 9), 0);
	assert_int_equal(o.value, EXPORT_CPU);
}

static void test_refused(void **state)
{
	struct export_options o = EXPORT_OPTIONS_DEFAULT;
	char longest[7 + EXPORT_TITLE_SIZE] = "title=";

	(void)state;
	assert_int_equal(set("json", &o, "empty_samples=0"), -ENOENT);
	assert_int_equal(set("folded", &o, "title=x"), -ENOENT);
	assert_int_equal(set("folded", &o, "nonsense=1"), -ENOENT);
	assert_int_equal(set("folded", &o, "=1"), -ENOENT);
	assert_int_equal(set("folded", &o, ""), -ENOENT);
	assert_int_equal(set("folded", &o, "empty_samples"), -EINVAL);
	assert_int_equal(set("folded", &o, "empty_samples="), -EINVAL);
	assert_int_equal(set("folded", &o, "empty_samples=2"), -EINVAL);
	assert_int_equal(set("folded", &o, "empty_samples=01"), -EINVAL);
	assert_int_equal(set("folded", &o, "value=bus"), -EINVAL);
	assert_int_equal(set("folded", &o, "value=busyy"), -EINVAL);
	assert_int_equal(set("mm_profdata", &o, "counter=cpu_time"), -EINVAL);
	assert_int_equal(set("folded", &o, "counter=cpu-time"), -ENOENT);
	assert_int_equal(set("summary", &o, "width=x"), -EINVAL);
	assert_int_equal(set("summary", &o, "width=-1"), -EINVAL);
	assert_int_equal(set("summary", &o, "width="), -EINVAL);
	assert_int_equal(set("summary", &o, "width=123456"), -EINVAL);
	assert_true(o.empty_samples);
	assert_int_equal(o.value, EXPORT_BUSY);

	memset(longest + 6, 'x', EXPORT_TITLE_SIZE);
	assert_int_equal(set("flamegraph", &o, longest), -EINVAL);
	longest[6 + EXPORT_TITLE_SIZE - 1] = '\0';
	assert_int_equal(set("flamegraph", &o, longest), 0);
	assert_int_equal(strlen(o.title), EXPORT_TITLE_SIZE - 1);
}

static void test_values(void **state)
{
	static const struct {
		const char *name;
		const char *unit;
		u64 weight;
		u32 metrics;
	} wanted[] = {
		[EXPORT_BUSY] = {"busy", "ns", 1000, METRIC_WALL},
		[EXPORT_WALL] = {"wall", "ns", 1700, METRIC_WALL},
		[EXPORT_CPU] = {"cpu", "ns", 300, METRIC_CPU},
		[EXPORT_CPU_USER] = {"cpu_user", "ns", 180, METRIC_CPU_SPLIT},
		[EXPORT_CPU_SYSTEM] = {"cpu_system", "ns", 120, METRIC_CPU_SPLIT},
		[EXPORT_RUN_DELAY] = {"run_delay", "ns", 40, METRIC_CPU},
		[EXPORT_BLOCKED] = {"blocked", "ns", 660, METRIC_WALL | METRIC_CPU},
		[EXPORT_ALLOC_OBJECTS] = {"alloc_objects", "objects", 5, METRIC_ALLOC},
		[EXPORT_ALLOC_SPACE] = {"alloc_space", "bytes", 60, METRIC_ALLOC},
		[EXPORT_INUSE_OBJECTS] = {"inuse_objects", "objects", 3, METRIC_HEAP},
		[EXPORT_INUSE_SPACE] = {"inuse_space", "bytes", 30, METRIC_HEAP},
	};
	struct model_row row = {
		/* Inclusive totals must not count. */
		.busy_ns = 9999,
		.alloc_bytes = 9999,
		.inuse_bytes = 9999,
		.work = {.busy_ns = 1000,
			 .idle_ns = 700,
			 .cpu_ns = 300,
			 .cpu_system_ns = 120,
			 .run_delay_ns = 40,
			 .alloc_objects = 5,
			 .alloc_bytes = 60,
			 .inuse_objects = 3,
			 .inuse_bytes = 30},
	};
	struct export_options o = EXPORT_OPTIONS_DEFAULT;
	char text[64];

	(void)state;
	for (enum export_value v = EXPORT_BUSY; v <= EXPORT_INUSE_SPACE; v++) {
		assert_string_equal(export_value_name(v), wanted[v].name);
		assert_string_equal(export_value_unit(v), wanted[v].unit);
		assert_int_equal(export_value_of(&row, v), wanted[v].weight);
		assert_true(export_value_measured(wanted[v].metrics, v));
		assert_false(export_value_measured(~wanted[v].metrics, v));
		snprintf(text, sizeof(text), "value=%s", wanted[v].name);
		assert_int_equal(set("flamegraph", &o, text), 0);
		assert_int_equal(o.value, v);
	}
	row.work.run_delay_ns = 800;
	assert_int_equal(export_value_of(&row, EXPORT_BLOCKED), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_formats),  cmocka_unit_test(test_paths),
		cmocka_unit_test(test_defaults), cmocka_unit_test(test_set),
		cmocka_unit_test(test_refused),  cmocka_unit_test(test_only_len_bytes),
		cmocka_unit_test(test_values),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
