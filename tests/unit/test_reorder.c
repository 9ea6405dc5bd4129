/* SPDX-License-Identifier: MIT */
/* Records come in order of their ends, whatever the order and the rings they came from. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../../include/wire.h"
#include "../../user/trace/reorder.h"

#define MANY 50000

struct passed {
	struct reorder *reorder;
	u64 ends[MANY];
	u32 threads[MANY];
	size_t n;
};

static int setup(void **state)
{
	struct passed *p = calloc(1, sizeof(*p));

	if (!p || reorder_new(&p->reorder))
		return -1;
	*state = p;
	return 0;
}

static int teardown(void **state)
{
	struct passed *p = *state;

	reorder_free(&p->reorder);
	assert_null(p->reorder);
	reorder_free(&p->reorder);
	free(p);
	return 0;
}

static u64 end_of(const void *record)
{
	const struct wire_head *head = record;
	const struct wire_span *span = record;

	if (head->kind == WIRE_ASYNC)
		return ((const struct wire_async *)record)->end_ns;
	if (head->kind == WIRE_EVENT)
		return ((const struct wire_event *)record)->time_ns;
	return span->start_ns + span->busy_ns;
}

static void keep(void *context, const void *record, size_t size)
{
	const struct wire_head *head = record;
	struct passed *p = context;

	assert_int_equal(size, head->size);
	assert_int_equal((uintptr_t)record % 8, 0);
	assert_true(p->n < MANY);
	p->ends[p->n] = end_of(record);
	p->threads[p->n++] = head->thread;
}

/* From memory of exactly its size, so that the sanitizers see a read beyond it. */
static int add(struct passed *p, const void *record, size_t size)
{
	void *copy = malloc(size ? size : 1);
	int err;

	assert_non_null(copy);
	memcpy(copy, record, size);
	err = reorder_add(p->reorder, copy, size);
	free(copy);
	return err;
}

static void add_span(struct passed *p, u32 thread, u64 end, u64 busy, size_t size)
{
	const struct wire_span span = {
		.head = {.size = (u16)size, .kind = WIRE_SPAN, .thread = thread},
		.start_ns = end - busy,
		.busy_ns = busy,
	};

	assert_int_equal(add(p, &span, size), 0);
}

static void test_nothing(void **state)
{
	struct passed *p = *state;

	assert_int_equal(reorder_pass(p->reorder, UINT64_MAX, keep, p), 0);
	assert_int_equal(p->n, 0);
}

/* Sizes and kinds side by side, the ends mixed. */
static void test_all_kinds(void **state)
{
	const struct wire_async async = {
		.head = {.size = sizeof(async), .kind = WIRE_ASYNC, .thread = 5}, .end_ns = 30};
	const struct wire_event event = {
		.head = {.size = WIRE_EVENT_SHORT, .kind = WIRE_EVENT, .thread = 6}, .time_ns = 20};
	const u32 order[] = {3, 6, 2, 5, 1};
	struct passed *p = *state;

	add_span(p, 1, 40, 39, WIRE_SPAN_WHOLE);
	assert_int_equal(add(p, &async, sizeof(async)), 0);
	add_span(p, 2, 25, 1, WIRE_SPAN_SHORT);
	assert_int_equal(add(p, &event, WIRE_EVENT_SHORT), 0);
	add_span(p, 3, 10, 5, sizeof(struct wire_span));
	assert_int_equal(reorder_pass(p->reorder, UINT64_MAX, keep, p), 0);
	assert_int_equal(p->n, 5);
	assert_memory_equal(p->threads, order, sizeof(order));
}

static void test_records_of_others(void **state)
{
	const struct wire_thread thread = {.head = {.size = sizeof(thread), .kind = WIRE_THREAD}};
	const struct wire_span span = {.head = {.size = WIRE_SPAN_SHORT, .kind = WIRE_SPAN}};
	const struct wire_async async = {.head = {.size = sizeof(async), .kind = WIRE_ASYNC}};
	const struct wire_event event = {.head = {.size = sizeof(event), .kind = WIRE_EVENT}};
	struct passed *p = *state;

	assert_int_equal(add(p, &thread, sizeof(thread)), -EINVAL);
	assert_int_equal(add(p, &span, WIRE_SPAN_SHORT - 1), -EINVAL);
	assert_int_equal(add(p, &async, sizeof(async) - 1), -EINVAL);
	assert_int_equal(add(p, &event, WIRE_EVENT_SHORT - 1), -EINVAL);
	assert_int_equal(add(p, &span, sizeof(struct wire_head) - 1), -EINVAL);
	assert_int_equal(add(p, &span, 0), -EINVAL);
	assert_int_equal(reorder_pass(p->reorder, UINT64_MAX, keep, p), 0);
	assert_int_equal(p->n, 0);
}

/* What ended after the cut waits for the next time, and is then in order with what came since. */
static void test_the_rest_waits(void **state)
{
	const u64 first[] = {10, 20}, all[] = {10, 20, 25, 30, 40, 50};
	struct passed *p = *state;

	add_span(p, 1, 50, 1, WIRE_SPAN_SHORT);
	add_span(p, 1, 20, 1, WIRE_SPAN_WHOLE);
	add_span(p, 1, 30, 1, WIRE_SPAN_SHORT);
	add_span(p, 1, 10, 1, WIRE_SPAN_SHORT);
	assert_int_equal(reorder_pass(p->reorder, 20, keep, p), 0);
	assert_int_equal(p->n, 2);
	assert_memory_equal(p->ends, first, sizeof(first));
	add_span(p, 1, 40, 1, WIRE_SPAN_SHORT);
	add_span(p, 1, 25, 1, sizeof(struct wire_span));
	assert_int_equal(reorder_pass(p->reorder, 24, keep, p), 0);
	assert_int_equal(p->n, 2);
	assert_int_equal(reorder_pass(p->reorder, UINT64_MAX, keep, p), 0);
	assert_int_equal(p->n, 6);
	assert_memory_equal(p->ends, all, sizeof(all));
}

static void test_equal_ends_keep_their_order(void **state)
{
	struct passed *p = *state;
	u32 i;

	for (i = 0; i < 1000; i++)
		add_span(p, i, i % 2 ? 100 : 99, 1, WIRE_SPAN_SHORT);
	assert_int_equal(reorder_pass(p->reorder, UINT64_MAX, keep, p), 0);
	for (i = 0; i < 500; i++) {
		assert_int_equal(p->threads[i], 2 * i);
		assert_int_equal(p->threads[500 + i], 2 * i + 1);
	}
}

/* The orders that are hard for a sort of runs: backwards, two rings, chance. */
static void test_many(void **state)
{
	struct passed *p = *state;
	u64 random = 1;
	int shape;
	size_t i;

	for (shape = 0; shape < 4; shape++) {
		p->n = 0;
		for (i = 0; i < MANY; i++) {
			u64 end = MANY - i;

			random = random * 6364136223846793005u + 1442695040888963407u;
			if (shape == 1)
				end = 1 + i % (MANY / 2);
			else if (shape == 2)
				end = 1 + (random >> 40);
			else if (shape == 3)
				end = 1 + i;
			add_span(p, (u32)i, end, 1, i % 3 ? WIRE_SPAN_SHORT : WIRE_SPAN_WHOLE);
		}
		assert_int_equal(reorder_pass(p->reorder, UINT64_MAX, keep, p), 0);
		assert_int_equal(p->n, MANY);
		for (i = 1; i < MANY; i++)
			if (p->ends[i - 1] > p->ends[i])
				fail_msg("shape %d: %zu is behind a later one", shape, i);
	}
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_nothing),
		TEST(test_all_kinds),
		TEST(test_records_of_others),
		TEST(test_the_rest_waits),
		TEST(test_equal_ends_keep_their_order),
		TEST(test_many),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
