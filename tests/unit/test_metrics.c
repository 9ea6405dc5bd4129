/* SPDX-License-Identifier: MIT */
/* The text that Prometheus reads: exact numbers, hostile names. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "../../user/service/metrics.h"

static void has(const char *text, const char *line)
{
	const char *found = strstr(text, line);

	if (!found || (found != text && found[-1] != '\n') || found[strlen(line)] != '\n')
		fail_msg("no line %s in\n%s", line, text);
}

static void test_text(void **state)
{
	static char provider[] = "app", name[] = "a \"b\" \\ c\nd", tick[] = "tick";
	static const struct model_loss losses[] = {{"ring_full", "", 3}, {"damaged", "", 0}};
	struct names_total span = {.provider = provider,
				   .name = name,
				   .buckets = {1, 2, [NAMES_BUCKETS - 1] = 4},
				   .wall_ns = 12000000034,
				   .self_ns = 5,
				   .self_cpu_ns = 4,
				   .abandoned = 1};
	struct names_total event = {.provider = provider, .name = tick, .buckets = {9}};
	const struct names names = {.spans = {.items = &span, .n = 1},
				    .events = {.items = &event, .n = 1, .folded = 2}};
	const struct metrics_run run = {
		.version = "1", .kernel = "6", .cpu_ns = 1500000000, .names = &names};
	struct metrics_trace trace = {
		.losses = losses,
		.nlosses = 2,
		.metrics = METRIC_CPU,
		.npushes = 1,
		.pushes = {{METRICS_OTLP, "here", {.sent = 5, .failing_since_ns = 1}}}};
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	(void)state;
	metrics_write(out, &run, &trace);
	fclose(out);
	has(text, "spantrace_build_info{version=\"1\",kernel=\"6\"} 1");
	has(text, "spantrace_cpu_seconds_total 1.500000000");
	has(text, "spantrace_lost_total{cause=\"ring_full\"} 3");
	has(text, "spantrace_names_folded_total 2");
	has(text, "spantrace_pushes_total{server=\"here\",result=\"sent\"} 5");
	has(text, "spantrace_push_failing{server=\"here\"} 1");
	has(text, "spantrace_events_total{provider=\"app\",event=\"tick\"} 9");
#define SPAN "{provider=\"app\",span=\"a \\\"b\\\" \\\\ c\\nd\""
	has(text, "spantrace_span_duration_seconds_bucket" SPAN ",le=\"0.000001023\"} 1");
	has(text, "spantrace_span_duration_seconds_bucket" SPAN ",le=\"0.000004095\"} 3");
	has(text, "spantrace_span_duration_seconds_bucket" SPAN ",le=\"68.719476735\"} 3");
	has(text, "spantrace_span_duration_seconds_bucket" SPAN ",le=\"+Inf\"} 7");
	has(text, "spantrace_span_duration_seconds_sum" SPAN "} 12.000000034");
	has(text, "spantrace_span_duration_seconds_count" SPAN "} 7");
	has(text, "spantrace_span_self_cpu_seconds_total" SPAN "} 0.000000004");
	has(text, "spantrace_spans_abandoned_total" SPAN "} 1");
	free(text);

	/* What was not measured, and servers that there are not, have no line. */
	trace.metrics = METRIC_WALL;
	trace.npushes = 0;
	out = open_memstream(&text, &len);
	metrics_write(out, &run, &trace);
	fclose(out);
	assert_null(strstr(text, "self_cpu_seconds"));
	assert_null(strstr(text, "push"));
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_text)};

	return cmocka_run_group_tests_name("metrics", tests, NULL, NULL);
}
