/* SPDX-License-Identifier: MIT */
/* Single spans and events as lines, blocks and JSON, byte for byte. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../../user/report/view.h"

#define START 1000000000ull

static const struct model_def outer = {.provider = "app", .name = "outer"};
static const struct model_def inner = {.provider = "app", .name = "inner"};
static const struct model_def odd = {.provider = "app", .name = "od\x1b[2J\n"};
static const struct model_path root;
static const struct model_path outer_path = {.depth = 1, .parent = &root, .def = &outer};
static const struct model_path inner_path = {
	.depth = 2, .parent = &outer_path, .def = &inner, .name = "GET /cart"};
static const struct model_path odd_path = {.depth = 1, .parent = &root, .def = &odd};
static const struct model_thread web = {.pid = 100, .tid = 101, .comm = "web"};
static const struct model_thread unnamed = {.pid = 100, .tid = 4294967295};

/* What a view of the form printed. */
struct printed {
	struct view view;
	char *text;
	size_t len;
};

static void begin(struct printed *p, enum view_form form, u32 metrics)
{
	*p = (struct printed){0};
	p->view = (struct view){.form = form, .start_ns = START, .metrics = metrics};
	p->view.out = open_memstream(&p->text, &p->len);
	assert_non_null(p->view.out);
}

static void check(struct printed *p, const char *expected)
{
	fclose(p->view.out);
	assert_string_equal(p->text, expected);
	free(p->text);
	view_free(&p->view);
}

static struct model_span span_of(const struct model_path *path)
{
	return (struct model_span){
		.thread = &web,
		.path = path,
		.start_ns = START + 1500000000,
		.end_ns = START + 1500123456,
		.busy_ns = 123456,
		.self_ns = 23456,
		.self_cpu_ns = 20000,
		.total = {.cpu_ns = 100000,
			  .run_delay_ns = 3000,
			  .vol_switches = 1,
			  .minor_faults = 2},
	};
}

static void test_lines(void **state)
{
	struct model_span span = span_of(&inner_path);
	struct model_event event = {.thread = &unnamed,
				    .path = &outer_path,
				    .time_ns = START + 7,
				    .value = INT64_MIN,
				    .has_value = true};
	struct printed p;

	(void)state;
	begin(&p, VIEW_LINES, METRIC_WALL | METRIC_CPU);
	view_head(&p.view);
	span.nlabels = 2;
	span.labels[0] = (struct model_label){.key = "user", .text = "J \"D\" \x1b"};
	span.labels[1] = (struct model_label){.key = "n", .number = -5};
	span.flags = MODEL_ABANDONED | MODEL_OPEN;
	assert_int_equal(view_span(&p.view, &span), 0);
	assert_int_equal(view_event(&p.view, &event), 0);
	check(&p,
	      "         start       wall       self        cpu  thread                kind     path\n"
	      "   1.500000000     123 µs    23.5 µs     100 µs  web-101               span     "
	      "app:outer;app:GET /cart  user=\"J \"D\" \xef\xbf\xbd\"  n=-5  abandoned  open\n"
	      "   0.000000007                                   ?-4294967295          event    "
	      "app:outer  value=-9223372036854775808\n");
}

static void test_async_without_cpu(void **state)
{
	struct model_span span = span_of(&outer_path);
	struct printed p;

	(void)state;
	begin(&p, VIEW_LINES, METRIC_WALL);
	view_head(&p.view);
	span.id = 77;
	span.flags = MODEL_SEGMENT;
	assert_int_equal(view_span(&p.view, &span), 0);
	span.flags = MODEL_ASYNC;
	assert_int_equal(view_span(&p.view, &span), 0);
	check(&p, "         start       wall       self  thread                kind     path\n"
		  "   1.500000000     123 µs    23.5 µs  web-101               segment  "
		  "app:outer  id=77\n"
		  "   1.500000000     123 µs    23.5 µs  web-101               async    "
		  "app:outer  id=77\n");
}

/* Times that count something else have no unit. */
static void test_counted(void **state)
{
	struct model_span span = span_of(&odd_path);
	struct printed p;

	(void)state;
	begin(&p, VIEW_LINES, METRIC_WALL);
	p.view.counted = true;
	assert_int_equal(view_span(&p.view, &span), 0);
	check(&p, "    1500000000    123,456     23,456  web-101               span     "
		  "app:od\xef\xbf\xbd[2J \n");
	begin(&p, VIEW_BLOCK, METRIC_WALL);
	p.view.counted = true;
	assert_int_equal(view_span(&p.view, &span), 0);
	check(&p, "app:od\xef\xbf\xbd[2J  {\n    kind: span\n    path: app:od\xef\xbf\xbd[2J \n"
		  "    thread: web-101\n    pid: 100\n    start: 1500000000\n    end: 1500123456\n"
		  "    wall: 123456\n    busy: 123456\n    self: 23456\n}\n");
}

static void test_block(void **state)
{
	struct model_span span = span_of(&inner_path);
	struct model_event event = {.thread = &web, .path = &outer_path, .time_ns = START + 7};
	struct printed p;

	(void)state;
	begin(&p, VIEW_BLOCK, METRIC_WALL | METRIC_CPU);
	view_head(&p.view);
	span.flags = MODEL_ASYNC | MODEL_OPEN;
	span.id = UINT64_MAX;
	span.nlabels = 1;
	span.labels[0] = (struct model_label){.key = "n", .number = 5};
	assert_int_equal(view_span(&p.view, &span), 0);
	assert_int_equal(view_event(&p.view, &event), 0);
	check(&p, "app:GET /cart {\n"
		  "    kind: async, open\n"
		  "    path: app:outer;app:GET /cart\n"
		  "    thread: web-101\n"
		  "    pid: 100\n"
		  "    start: 1500000000 ns\n"
		  "    end: 1500123456 ns\n"
		  "    wall: 123456 ns\n"
		  "    busy: 123456 ns\n"
		  "    self: 23456 ns\n"
		  "    cpu: 100000 ns\n"
		  "    self_cpu: 20000 ns\n"
		  "    run_delay: 3000 ns\n"
		  "    blocked: 20456 ns\n"
		  "    vol_switches: 1\n"
		  "    invol_switches: 0\n"
		  "    minor_faults: 2\n"
		  "    major_faults: 0\n"
		  "    id: 18446744073709551615\n"
		  "    label: n=5\n"
		  "}\n"
		  "app:outer {\n"
		  "    kind: event\n"
		  "    path: app:outer\n"
		  "    thread: web-101\n"
		  "    pid: 100\n"
		  "    time: 7 ns\n"
		  "}\n");
}

static void test_json(void **state)
{
	struct model_span span = span_of(&inner_path);
	struct model_event event = {.thread = &web,
				    .path = &odd_path,
				    .time_ns = START + 7,
				    .value = -1,
				    .has_value = true,
				    .nlabels = 1,
				    .labels = {{.key = "k", .text = "\""}}};
	struct printed p;

	(void)state;
	begin(&p, VIEW_JSON, METRIC_WALL | METRIC_CPU);
	view_head(&p.view);
	span.flags = MODEL_ABANDONED;
	assert_int_equal(view_span(&p.view, &span), 0);
	assert_int_equal(view_event(&p.view, &event), 0);
	check(&p, "{\"kind\": \"span\", \"pid\": 100, \"tid\": 101, \"comm\": \"web\", "
		  "\"path\": [\"app:outer\", \"app:GET /cart\"], \"labels\": {}, "
		  "\"start_ns\": 1500000000, \"end_ns\": 1500123456, \"wall_ns\": 123456, "
		  "\"busy_ns\": 123456, \"self_ns\": 23456, \"cpu_ns\": 100000, "
		  "\"self_cpu_ns\": 20000, \"run_delay_ns\": 3000, \"blocked_ns\": 20456, "
		  "\"vol_switches\": 1, \"invol_switches\": 0, \"minor_faults\": 2, "
		  "\"major_faults\": 0, \"abandoned\": 1, \"open\": 0}\n"
		  "{\"kind\": \"event\", \"pid\": 100, \"tid\": 101, \"comm\": \"web\", "
		  "\"path\": [\"app:od\\u001b[2J\\n\"], \"labels\": {\"k\": \"\\\"\"}, "
		  "\"time_ns\": 7, \"value\": -1}\n");
}

static void test_full_device(void **state)
{
	static const enum view_form forms[] = {VIEW_LINES, VIEW_BLOCK, VIEW_JSON};
	struct model_span span = span_of(&inner_path);

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		struct view view = {.form = forms[i], .start_ns = START, .metrics = METRIC_WALL};

		view.out = fopen("/dev/full", "we");
		assert_non_null(view.out);
		setvbuf(view.out, NULL, _IONBF, 0);
		assert_int_equal(view_span(&view, &span), -EIO);
		fclose(view.out);
		view_free(&view);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lines),   cmocka_unit_test(test_async_without_cpu),
		cmocka_unit_test(test_counted), cmocka_unit_test(test_block),
		cmocka_unit_test(test_json),    cmocka_unit_test(test_full_device),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
