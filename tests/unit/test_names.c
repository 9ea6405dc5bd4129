/* SPDX-License-Identifier: MIT */
/* Spans by name: every way that a span comes in counts it in the same bucket, once; names are bounded. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "../../user/service/names.h"
#include "traced.h"

static const struct names_total *find(const struct names_list *list, const char *name)
{
	for (size_t i = 0; i < list->n; i++)
		if (!strcmp(list->items[i].name, name))
			return &list->items[i];
	fail_msg("no %s", name);
	return NULL;
}

static void test_buckets(void **state)
{
	(void)state;
	assert_int_equal(names_bucket(0), 0);
	for (u32 i = 0; i + 1 < NAMES_BUCKETS; i++) {
		assert_int_equal(names_bucket(names_bound(i)), i);
		assert_int_equal(names_bucket(names_bound(i) + 1), i + 1);
	}
	assert_int_equal(names_bound(0), 1023);
	assert_int_equal(names_bound(NAMES_BUCKETS - 1), UINT64_MAX);
	assert_int_equal(names_bucket(UINT64_MAX), NAMES_BUCKETS - 1);
}

static void test_single_spans(void **state)
{
	struct traced *t = *state;
	struct names names;
	struct wire_event event = make_event(1, PATH_TICK, 1);
	struct wire_async job = make_async(1, PATH_JOB, 7, 0, 5000);
	const struct names_total *total;

	names_init(&names);
	assert_int_equal(names_listen(&names, t->trace), 0);
	feed_span(t, 1, PATH_A, 10, 900, 300);
	feed_span(t, 2, PATH_A, 10, 5000, 5000);
	feed_span(t, 2, PATH_A_B, 10, 600, 600);
	feed_flagged(t, 1, PATH_A, 2000, WIRE_ABANDONED);
	feed_flagged(t, 1, PATH_A, 3000, WIRE_OPEN);
	feed_flagged(t, 1, PATH_JOB, 4000, WIRE_SEGMENT);
	feed(t, &job);
	feed(t, &event);
	feed(t, &event);
	total = find(&names.spans, "a");
	assert_string_equal(total->provider, "app");
	assert_int_equal(names_count(total), 3);
	assert_int_equal(total->buckets[0], 1);
	assert_int_equal(total->buckets[1], 1);
	assert_int_equal(total->buckets[2], 1);
	assert_int_equal(total->wall_ns, 900 + 5000 + 2000);
	assert_int_equal(total->self_ns, 300 + 5000 + 2000 + 3000);
	assert_int_equal(total->abandoned, 1);
	assert_int_equal(total->open, 1);
	total = find(&names.spans, "job");
	assert_int_equal(names_count(total), 1);
	assert_int_equal(total->wall_ns, 5000);
	assert_int_equal(total->self_ns, 4000);
	assert_int_equal(names_count(find(&names.events, "tick")), 2);
	names_clear(&names);
}

/* What the kernel has added up tells the same as the spans would have. */
static void test_rows(void **state)
{
	static const u64 walls[] = {0, 63, 64, 1023, 1024, 4095, 4096, 1ull << 35, 1ull << 36};
	struct traced *t = *state;
	struct names rows, spans;
	struct traced *other;
	void *state2;

	assert_int_equal(traced_setup(&state2), 0);
	other = state2;
	names_init(&rows);
	names_init(&spans);
	assert_int_equal(names_listen(&rows, t->trace), 0);
	assert_int_equal(names_listen(&spans, other->trace), 0);
	for (size_t i = 0; i < sizeof(walls) / sizeof(*walls); i++) {
		u32 high = walls[i] < 64 ? 0 : 64 - (u32)__builtin_clzll(walls[i]) - 6;
		struct wire_octave piece = {.octave = high};
		struct wire_row gained = {.thread = 1,
					  .path = PATH_A,
					  .count = 2,
					  .wall_ns = 2 * walls[i],
					  .busy_ns = 2 * walls[i],
					  .self_ns = 2 * walls[i]};

		piece.counts[i] = 2;
		trace_take_row(t->trace, &gained, &piece, 1);
		feed_span(other, 1, PATH_A, 10, walls[i], walls[i]);
		feed_span(other, 1, PATH_A, 10, walls[i], walls[i]);
	}
	assert_memory_equal(find(&rows.spans, "a")->buckets, find(&spans.spans, "a")->buckets,
			    sizeof(u64) * NAMES_BUCKETS);
	assert_int_equal(find(&rows.spans, "a")->wall_ns, find(&spans.spans, "a")->wall_ns);
	assert_int_equal(find(&rows.spans, "a")->self_ns, find(&spans.spans, "a")->self_ns);
	assert_int_equal(find(&rows.spans, "a")->self_cpu_ns, find(&spans.spans, "a")->self_cpu_ns);
	names_clear(&rows);
	names_clear(&spans);
	traced_teardown(&state2);
}

/* Work outside every span is nobody's. */
static void test_outside(void **state)
{
	struct traced *t = *state;
	struct wire_row gained = {.thread = 1, .path = PATH_ROOT, .alloc_objects = 1};
	struct names names;

	names_init(&names);
	assert_int_equal(names_listen(&names, t->trace), 0);
	trace_take_row(t->trace, &gained, NULL, 0);
	assert_int_equal(trace_error(t->trace), 0);
	assert_int_equal(names.spans.n, 0);
	names_clear(&names);
}

/* More names than series: the rest is one. Another trace knows them by other numbers, and adds to the same. */
static void test_bounded(void **state)
{
	enum { DEFS = NAMES_MAX_SERIES + 100 };
	struct model_thread thread = {.serial = 1};
	struct names names;

	(void)state;
	names_init(&names);
	for (u32 round = 0; round < 2; round++) {
		struct trace *trace;

		assert_int_equal(trace_new(NULL, 0, METRIC_WALL, &trace), 0);
		assert_int_equal(names_listen(&names, trace), 0);
		for (u32 i = 0; i < DEFS; i++) {
			u32 n = round ? DEFS - 1 - i : i;
			struct model_def def = {.kind = MODEL_THREAD_SPAN, .provider = "p"};
			struct model_span span = {.thread = &thread, .end_ns = 1};
			char name[16];
			bool full = false;
			u32 id;

			snprintf(name, sizeof(name), "s%u", n);
			def.name = name;
			assert_int_equal(trace_add_def(trace, &def, &id), 0);
			span.thread = trace_set_thread(trace, &thread);
			span.path = trace_add_path(trace, NULL, id, NULL, &full);
			trace_take_span(trace, &span);
		}
		trace_free(&trace);
	}
	assert_int_equal(names.spans.n, NAMES_MAX_SERIES + 1);
	assert_int_equal(names.spans.folded, 2 * 100);
	assert_int_equal(names_count(find(&names.spans, "s0")), 2);
	assert_int_equal(names_count(find(&names.spans, NAMES_OTHER)), 2 * 100);
	names_clear(&names);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, traced_setup, traced_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_buckets),
		TEST(test_single_spans),
		TEST(test_rows),
		TEST(test_outside),
		cmocka_unit_test(test_bounded),
	};

	return cmocka_run_group_tests_name("names", tests, NULL, NULL);
}
