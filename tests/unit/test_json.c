/* SPDX-License-Identifier: MIT */
/* The JSON of a trace: the whole of a small one, and which keys stand there when. That it parses is
 * checked with a real parser by tests/live/test_json.sh. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

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

static char *export(struct sample *s)
{
	struct export_options o = EXPORT_OPTIONS_DEFAULT;

	return sample_export("json", &s->profile, &o);
}

/* Whether a key stands in the line of the first path. */
static bool has_key(const char *json, const char *key)
{
	const char *line = strstr(json, "{\"pid\"");
	const char *end = strchr(line, '\n');
	char quoted[64];
	const char *at;

	snprintf(quoted, sizeof(quoted), "\"%s\": ", key);
	at = strstr(line, quoted);
	return at && at < end;
}

/* The number in the process's own PID namespace, only where there is another. */
static void test_pid_inside(void **state)
{
	struct sample *s = *state;
	char *json;

	s->web.nspid = s->web.pid;
	json = export(s);
	assert_false(has_key(json, "nspid"));
	free(json);
	s->web.nspid = 7;
	json = export(s);
	assert_true(has_key(json, "nspid"));
	assert_non_null(strstr(json, "{\"pid\": 100, \"nspid\": 7, \"tid\": 100, "));
	free(json);
}

static void test_whole(void **state)
{
	struct sample *s = *state;
	char *json;

	s->profile.nrows = 1;
	json = export(s);
	assert_string_equal(
		json,
		"{\n"
		"\t\"schema\": 1,\n"
		"\t\"version\": \"1.0\",\n"
		"\t\"target\": \"pid 100 (web)\",\n"
		"\t\"duration_ns\": 10000000000,\n"
		"\t\"clock\": \"monotonic\",\n"
		"\t\"kernel\": \"6.18.0\",\n"
		"\t\"paths\": [\n"
		"\t\t{\"pid\": 100, \"tid\": 100, \"comm\": \"web\", \"path\": [\"app:outer\"], \"labels\": {}, "
		"\"count\": 4, \"abandoned\": 1, \"open\": 0, "
		"\"wall_ns\": 4000000000, \"busy_ns\": 4000000000, \"idle_ns\": 0, \"self_ns\": 3000000000, "
		"\"cpu_ns\": 2000000000, \"self_cpu_ns\": 1500000000, "
		"\"run_delay_ns\": 200000000, \"blocked_ns\": 1800000000, "
		"\"vol_switches\": 5, \"invol_switches\": 0, \"minor_faults\": 7, \"major_faults\": 0, "
		"\"min_ns\": 1000000000, \"max_ns\": 1000000000, \"mean_ns\": 1000000000, "
		"\"p50_ns\": 1000000000, \"p90_ns\": 1000000000, \"p99_ns\": 1000000000, "
		"\"p999_ns\": 1000000000}\n"
		"\t],\n"
		"\t\"events\": [\n"
		"\t\t{\"pid\": 100, \"tid\": 100, \"name\": \"app:tick\", \"count\": 7},\n"
		"\t\t{\"pid\": 100, \"tid\": 101, \"name\": \"app:bytes\", \"count\": 3, \"sum\": -5}\n"
		"\t],\n"
		"\t\"losses\": {\n"
		"\t\t\"ring_full\": 0,\n"
		"\t\t\"orphan_exit\": 2\n"
		"\t},\n"
		"\t\"refused\": [\n"
		"\t\t{\"marker\": \"app:bad__enter at 0x10 of ./app\", \"why\": \"not a nop\"}\n"
		"\t]\n"
		"}\n");
	free(json);
}

static void test_paths(void **state)
{
	char *json = export(*state);

	assert_non_null(strstr(json, "\"path\": [\"app:outer\", \"app:inner\"], "));
	assert_non_null(
		strstr(json, "\"path\": [\"app:GET /cart\"], \"labels\": {}, \"count\": 1, "));
	assert_non_null(strstr(json, "\"wall_ns\": 3000000000, \"busy_ns\": 500000000, "
				     "\"idle_ns\": 2500000000, \"self_ns\": 500000000, "));
	/* Of 10 spans of 50 and 300 ms the median is of the first kind, to 1 %. */
	assert_non_null(
		strstr(json, "\"min_ns\": 50000000, \"max_ns\": 300000000, \"mean_ns\": 100000000, "
			     "\"p50_ns\": 50069504, \"p90_ns\": 299892736, "));
	free(json);
}

/* User and system time are all of the time on the CPU. */
static void test_split(void **state)
{
	struct sample *s = *state;
	char *json;

	s->profile.metrics = METRICS_DEFAULT;
	json = export(s);
	assert_non_null(strstr(json, "\"cpu_ns\": 2000000000, \"cpu_user_ns\": 1600000000, "
				     "\"cpu_system_ns\": 400000000, \"self_cpu_ns\": 1500000000, "
				     "\"self_cpu_user_ns\": 1200000000, "
				     "\"self_cpu_system_ns\": 300000000, "));
	free(json);
}

static void test_metrics(void **state)
{
	static const struct {
		u32 metrics;
		const char *present[4];
		const char *absent[6];
	} cases[] = {
		{METRIC_WALL,
		 {"wall_ns", "idle_ns", "min_ns", "p999_ns"},
		 {"cpu_ns", "blocked_ns", "cpu_user_ns", "alloc_bytes", "inuse_bytes",
		  "major_faults"}},
		{METRIC_CPU,
		 {"cpu_ns", "run_delay_ns", "self_cpu_ns", "minor_faults"},
		 {"wall_ns", "busy_ns", "self_ns", "blocked_ns", "min_ns", "p50_ns"}},
		{METRIC_WALL | METRIC_CPU | METRIC_CPU_SPLIT,
		 {"blocked_ns", "cpu_user_ns", "cpu_system_ns", "wall_ns"},
		 {"alloc_objects", "inuse_objects"}},
		{METRIC_ALLOC | METRIC_HEAP,
		 {"alloc_objects", "alloc_bytes", "inuse_objects", "inuse_bytes"},
		 {"wall_ns", "cpu_ns", "min_ns"}},
	};
	struct sample *s = *state;

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		char *json;

		s->profile.metrics = cases[i].metrics;
		json = export(s);
		for (int k = 0; k < 4; k++)
			assert_true(has_key(json, cases[i].present[k]));
		for (int k = 0; k < 6 && cases[i].absent[k]; k++)
			assert_false(has_key(json, cases[i].absent[k]));
		assert_true(has_key(json, "count"));
		free(json);
	}
}

/* A row of open spans only has no durations; one of work alone is nobody's span. */
static void test_rows_without_finished_spans(void **state)
{
	struct sample *s = *state;
	char *json;

	s->rows[SAMPLE_OUTER].count = 0;
	s->rows[SAMPLE_OUTER].open = 3;
	s->rows[SAMPLE_OUTER].durations = NULL;
	s->rows[SAMPLE_INNER].count = 0;
	json = export(s);
	assert_true(has_key(json, "open"));
	assert_true(has_key(json, "wall_ns"));
	assert_false(has_key(json, "min_ns"));
	assert_false(has_key(json, "mean_ns"));
	assert_false(has_key(json, "p50_ns"));
	assert_null(strstr(json, "app:inner"));
	free(json);
}

/* Differences never go below zero, whatever the clocks said. */
static void test_clamped(void **state)
{
	struct sample *s = *state;
	char *json;

	s->rows[SAMPLE_OUTER].wall_ns = 1;
	s->rows[SAMPLE_OUTER].busy_ns = 100;
	s->rows[SAMPLE_OUTER].total.cpu_ns = 90;
	s->rows[SAMPLE_OUTER].total.run_delay_ns = 20;
	s->profile.end_ns = 0;
	json = export(s);
	assert_non_null(strstr(json, "\"busy_ns\": 100, \"idle_ns\": 0, "));
	assert_non_null(strstr(json, "\"run_delay_ns\": 20, \"blocked_ns\": 0, "));
	assert_non_null(strstr(json, "\"duration_ns\": 0,\n"));
	free(json);
}

static void test_labels(void **state)
{
	struct sample *s = *state;
	char *json;

	s->rows[SAMPLE_OUTER].nlabels = 2;
	s->rows[SAMPLE_OUTER].labels[0] = (struct model_label){.key = "url", .text = "/a\"b"};
	s->rows[SAMPLE_OUTER].labels[1] = (struct model_label){.key = "code", .number = -404};
	json = export(s);
	assert_non_null(strstr(json, "\"labels\": {\"url\": \"/a\\\"b\", \"code\": -404}, "));
	free(json);
}

static void test_odd_names(void **state)
{
	struct sample *s = *state;
	char *json;

	s->outer.name = "q\" b\\ n\n \xff";
	memcpy(s->web.comm, "0123456789abcde\xff", MODEL_COMM_LEN);
	s->profile.kernel = NULL;
	json = export(s);
	assert_non_null(strstr(json, "\"path\": [\"app:q\\\" b\\\\ n\\n \xef\xbf\xbd\"], "));
	assert_non_null(strstr(json, "\"comm\": \"0123456789abcde\xef\xbf\xbd\", "));
	assert_null(strstr(json, "\"kernel\""));
	free(json);
}

static void test_nothing(void **state)
{
	struct profile empty = {.metrics = METRIC_WALL};
	struct export_options o = EXPORT_OPTIONS_DEFAULT;
	char *json = sample_export("json", &empty, &o);

	(void)state;
	assert_string_equal(json, "{\n\t\"schema\": 1,\n\t\"duration_ns\": 0,\n\t\"paths\": [],\n"
				  "\t\"events\": [],\n\t\"losses\": {},\n\t\"refused\": []\n}\n");
	free(json);
}

static void test_sampled(void **state)
{
	struct sample *s = *state;
	char *json;

	s->profile.sample_ppb = 1250000;
	json = export(s);
	assert_non_null(strstr(json, "\t\"sample_rate\": 0.00125,\n"));
	free(json);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_whole),   TEST(test_pid_inside), TEST(test_paths),
		TEST(test_metrics), TEST(test_split),      TEST(test_rows_without_finished_spans),
		TEST(test_clamped), TEST(test_labels),     TEST(test_odd_names),
		TEST(test_nothing), TEST(test_sampled),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
