/* SPDX-License-Identifier: MIT */
/* Traces for OpenTelemetry: which span stands under which, told before that has ended. What collectors make of the bytes
 * is tests/live/test_otlp.py's business. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../../exporters/text.h"
#include "recorded.h"

#define SPANS_MAX 64

struct span {
	char trace[33], id[17], parent[17], link_trace[33], link[17], name[80], start[24];
	u32 events;
};

struct spans {
	struct span spans[SPANS_MAX];
	u32 n;
};

static int setup(void **state)
{
	struct recorded *r = recorded_new();

	r->exporter.ops = exporter_by_name("otlp");
	assert_non_null(r->exporter.ops);
	*state = r;
	return 0;
}

/* The text between KEY and the next quote, within this span. */
static void take(const char *at, const char *end, const char *key, char *out, size_t size)
{
	const char *found = strstr(at, key);
	size_t len;

	*out = '\0';
	if (!found || found >= end)
		return;
	found += strlen(key);
	len = strcspn(found, "\"");
	assert_true(len < size);
	memcpy(out, found, len);
	out[len] = '\0';
}

static void parse(const struct recorded *r, struct spans *out)
{
	const char *at = r->bytes, *end;

	*out = (struct spans){0};
	while ((at = strstr(at, "{\"traceId\":\"")) != NULL) {
		struct span *span = &out->spans[out->n];
		const char *links;

		/* A link begins in the same way. */
		if (!strncmp(at - 1, "[{", 2) && at > r->bytes + 9 &&
		    !strncmp(at - 9, "\"links\":[", 9)) {
			at++;
			continue;
		}
		assert_true(out->n < SPANS_MAX);
		end = strstr(at + 1, ",{\"traceId\"");
		if (!end)
			end = at + strlen(at);
		take(at, end, "\"traceId\":\"", span->trace, sizeof(span->trace));
		take(at, end, "\"spanId\":\"", span->id, sizeof(span->id));
		take(at, end, "\"parentSpanId\":\"", span->parent, sizeof(span->parent));
		take(at, end, "\"name\":\"", span->name, sizeof(span->name));
		take(at, end, "\"startTimeUnixNano\":\"", span->start, sizeof(span->start));
		links = strstr(at, "\"links\":[");
		if (links && links < end) {
			take(links, end, "\"traceId\":\"", span->link_trace,
			     sizeof(span->link_trace));
			take(links, end, "\"spanId\":\"", span->link, sizeof(span->link));
		}
		for (const char *e = at; (e = strstr(e, "\"timeUnixNano\"")) && e < end; e++)
			span->events++;
		out->n++;
		at++;
	}
}

/* The span that began OFF after the trace's start. */
static const struct span *find(const struct spans *spans, const char *name, u64 off)
{
	char start[24];

	snprintf(start, sizeof(start), "%llu", (unsigned long long)(REC_REALTIME + off));
	for (u32 i = 0; i < spans->n; i++)
		if (!strcmp(spans->spans[i].start, start) && !strcmp(spans->spans[i].name, name))
			return &spans->spans[i];
	fail_msg("no span %s at %s", name, start);
	return NULL;
}

static void assert_under(const struct span *child, const struct span *parent)
{
	assert_string_equal(child->parent, parent->id);
	assert_string_equal(child->trace, parent->trace);
}

static void at(struct recorded *r, int thread, int path, u64 start, u64 end)
{
	record_simple(r, thread, path, REC_START + start, end - start, end - start);
}

static struct model_span async_at(struct recorded *r, int thread, int path, u64 id, u64 start,
				  u64 end, u32 flags)
{
	struct model_span span =
		recorded_span(r, thread, path, REC_START + start, end - start, end - start);

	span.id = id;
	span.flags = flags;
	return span;
}

#define AP "app:a"
#define BP "lib:b of its own"
#define JP "app:job"

static void test_thread_spans(void **state)
{
	struct recorded *r = *state;
	struct spans s;

	record_begin(r);
	at(r, REC_ONE, REC_A_B, 20, 30);
	at(r, REC_TWO, REC_A_B, 21, 31); /* the same path on another thread */
	at(r, REC_ONE, REC_A_B, 40, 50);
	at(r, REC_ONE, REC_A, 10, 60);
	at(r, REC_ONE, REC_A_B, 80, 90);
	at(r, REC_TWO, REC_A, 11, 95);
	at(r, REC_ONE, REC_A, 70, 99);
	record_finish(r);
	parse(r, &s);
	assert_int_equal(s.n, 7);
	assert_under(find(&s, BP, 20), find(&s, AP, 10));
	assert_under(find(&s, BP, 40), find(&s, AP, 10));
	assert_under(find(&s, BP, 80), find(&s, AP, 70));
	assert_under(find(&s, BP, 21), find(&s, AP, 11));
	assert_string_equal(find(&s, AP, 10)->parent, "");
	assert_string_not_equal(find(&s, AP, 10)->trace, find(&s, AP, 70)->trace);
	assert_string_not_equal(find(&s, AP, 10)->trace, find(&s, AP, 11)->trace);
}

/* Made in a thread span that is over by its close; worked on by two threads, with a thread span in a stretch. */
static void test_async(void **state)
{
	struct recorded *r = *state;
	struct model_def inner = {
		.id = 9, .kind = MODEL_THREAD_SPAN, .provider = "app", .name = "in"};
	struct model_path job = {.id = 20, .depth = 2, .parent = &r->paths[REC_A], .def = &r->job};
	struct model_path within = {.id = 21, .depth = 3, .parent = &job, .def = &inner};
	struct model_span span;
	struct spans s;

	record_begin(r);
	at(r, REC_ONE, REC_A, 1, 5);
	at(r, REC_ONE, REC_A, 10, 20); /* made it at 12 */
	at(r, REC_ONE, REC_A, 30, 40);
	span = async_at(r, REC_TWO, REC_A, 7, 32, 33, 0);
	span.path = &within;
	span.id = 0;
	record_span(r, &span);
	span = async_at(r, REC_TWO, REC_A, 7, 31, 35, MODEL_SEGMENT);
	span.path = &job;
	record_span(r, &span);
	span = async_at(r, REC_ONE, REC_A, 7, 45, 46, MODEL_SEGMENT);
	span.path = &job;
	record_span(r, &span);
	span = async_at(r, REC_ONE, REC_A, 7, 12, 50, MODEL_ASYNC);
	span.path = &job;
	record_span(r, &span);
	record_finish(r);
	parse(r, &s);
	assert_int_equal(s.n, 7);
	assert_under(find(&s, JP, 12), find(&s, AP, 10));
	assert_under(find(&s, JP, 31), find(&s, JP, 12));
	assert_under(find(&s, JP, 45), find(&s, JP, 12));
	assert_under(find(&s, "app:in", 32), find(&s, JP, 31));
	assert_string_equal(find(&s, JP, 31)->link, "");
	assert_string_equal(find(&s, JP, 45)->link, find(&s, JP, 31)->id);
	assert_string_equal(find(&s, JP, 45)->link_trace, find(&s, JP, 45)->trace);
}

/* Under another async span that is named by its id, and over before; an id that is used again. */
static void test_async_under_async(void **state)
{
	struct recorded *r = *state;
	struct model_def fetch = {
		.id = 9, .kind = MODEL_ASYNC_SPAN, .provider = "app", .name = "get"};
	struct model_path within = {
		.id = 21, .depth = 2, .parent = &r->paths[REC_JOB], .def = &fetch};
	struct model_span span;
	struct spans s;

	record_begin(r);
	for (u64 round = 0; round < 2; round++) {
		u64 t = round * 100;

		span = async_at(r, REC_ONE, REC_JOB, 5, t + 10, t + 50, MODEL_ASYNC);
		record_span(r, &span);
		span = async_at(r, REC_ONE, REC_JOB, 6, t + 11, t + 51, MODEL_ASYNC);
		record_span(r, &span);
		for (u64 id = 5; id <= 6; id++) {
			span = async_at(r, REC_TWO, REC_JOB, id, t + 15 + id, t + 60, MODEL_ASYNC);
			span.path = &within;
			span.parent_id = id;
			record_span(r, &span);
		}
	}
	/* Nobody knows this one. */
	span = async_at(r, REC_TWO, REC_JOB, 1, 300, 310, MODEL_ASYNC);
	span.path = &within;
	span.parent_id = 99;
	record_span(r, &span);
	record_finish(r);
	parse(r, &s);
	for (u64 t = 0; t <= 100; t += 100) {
		assert_under(find(&s, "app:get", t + 20), find(&s, JP, t + 10));
		assert_under(find(&s, "app:get", t + 21), find(&s, JP, t + 11));
	}
	assert_string_not_equal(find(&s, JP, 10)->id, find(&s, JP, 110)->id);
	assert_string_equal(find(&s, "app:get", 300)->parent, "");
}

static void test_events(void **state)
{
	struct recorded *r = *state;
	struct model_event event = {
		.thread = &r->threads[REC_ONE],
		.path = &r->paths[REC_A_TICK],
		.time_ns = REC_START + 15,
		.value = -3,
		.has_value = true,
	};
	struct spans s;

	record_begin(r);
	record_event(r, &event);
	at(r, REC_ONE, REC_A, 10, 20);
	at(r, REC_ONE, REC_A, 30, 40);
	for (int i = 0; i < 200; i++)
		record_event(r, &event);
	at(r, REC_ONE, REC_A, 50, 60);
	event.path = &r->paths[REC_TICK];
	event.time_ns = REC_START + 70;
	record_event(r, &event);
	record_finish(r);
	parse(r, &s);
	assert_int_equal(find(&s, AP, 10)->events, 1);
	assert_int_equal(find(&s, AP, 30)->events, 0);
	assert_int_equal(find(&s, AP, 50)->events, 128);
	assert_non_null(strstr(r->bytes, "\"droppedEventsCount\":72"));
	assert_string_equal(find(&s, "app:tick", 70)->parent, "");
	assert_non_null(
		strstr(r->bytes, "{\"key\":\"event.value\",\"value\":{\"intValue\":\"-3\"}}"));
}

/* A recording, and any bytes in it. */
static void test_names(void **state)
{
	struct recorded *r = *state;
	struct model_span span;

	r->a.name = "<script>\"\\\n\x80;";
	record_begin(r);
	span = async_at(r, REC_ONE, REC_A, 0, 10, 20, MODEL_ABANDONED);
	span.nlabels = 1;
	span.labels[0] = (struct model_label){.key = "k\"", .text = "\xff"};
	record_span(r, &span);
	record_finish(r);
	assert_non_null(strstr(r->bytes, "\"name\":\"app:<script>\\\"\\\\\\n\xef\xbf\xbd;\""));
	assert_non_null(strstr(r->bytes,
			       "{\"key\":\"k\\\"\",\"value\":{\"stringValue\":\"\xef\xbf\xbd\"}}"));
	assert_non_null(
		strstr(r->bytes, "{\"key\":\"span.abandoned\",\"value\":{\"intValue\":\"1\"}}"));
}

static void test_losses(void **state)
{
	struct recorded *r = *state;

	r->losses[0].count = 17;
	record_begin(r);
	record_finish(r);
	assert_non_null(strstr(r->bytes, "{\"stringValue\":\"spantrace\"}"));
	assert_non_null(
		strstr(r->bytes, "{\"key\":\"ring_full\",\"value\":{\"intValue\":\"17\"}}"));
}

/* A whole trace says nothing of a share. */
static void test_sampled(void **state)
{
	struct recorded *r = *state;

	for (u32 i = 0; i < 2; i++) {
		r->run.sample_ppb = i * 250000000;
		record_begin(r);
		at(r, REC_ONE, REC_A, 10, 20);
		record_finish(r);
		assert_int_equal(!!strstr(r->bytes,
					  "{\"key\":\"spantrace.sampled_root_spans\",\"value\":"
					  "{\"stringValue\":\"25 %\"}}"),
				 i);
		assert_int_equal(!!strstr(r->bytes, "sampled"), i);
	}
}

static void test_allocations(void **state)
{
	struct recorded *r = *state;
	struct model_span span = recorded_span(r, REC_ONE, REC_A, REC_START, 10, 10);

	record_begin(r);
	record_span(r, &span);
	record_finish(r);
	assert_null(strstr(r->bytes, "span.alloc"));
	span.alloc = (struct model_alloc){.objects = 3, .bytes = 4096};
	record_begin(r);
	record_span(r, &span);
	record_finish(r);
	assert_non_null(strstr(r->bytes,
			       "{\"key\":\"span.alloc_objects\",\"value\":{\"intValue\":\"3\"}},"
			       "{\"key\":\"span.alloc_bytes\",\"value\":{\"intValue\":\"4096\"}}"));
}

static int keep(void *to, struct text_buf *request)
{
	u32 *n = to;

	(*n)++;
	assert_true(request->len > 0);
	return 0;
}

/* Requests are bounded, and what has waited a second goes. */
static void test_requests(void **state)
{
	struct recorded *r = *state;
	u32 n = 0;

	r->exporter.send = keep;
	r->exporter.send_to = &n;
	record_begin(r);
	at(r, REC_ONE, REC_A, 10, 20);
	record_tick(r, REC_START + 500 * REC_MS);
	assert_int_equal(n, 0);
	record_tick(r, REC_START + 1000 * REC_MS);
	assert_int_equal(n, 1);
	for (u64 i = 0; i < 20000; i++)
		at(r, REC_ONE, REC_A, 100 + i, 101 + i);
	assert_true(n >= 3);
	record_finish(r);
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, setup, recorded_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(test_thread_spans), CASE(test_async),       CASE(test_async_under_async),
		CASE(test_events),       CASE(test_names),       CASE(test_losses),
		CASE(test_sampled),      CASE(test_allocations), CASE(test_requests),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
