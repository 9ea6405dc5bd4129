/* SPDX-License-Identifier: MIT */
/* Async spans that live, against a list of them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../../exporters/flows.h"

static const struct model_def defs[2];
static const struct model_path paths[2] = {{.def = &defs[0]}, {.def = &defs[1]}};
static const struct model_thread threads[2] = {{.pid = 1, .tid = 1}, {.pid = 2, .tid = 2}};

static struct model_span span_of(u32 which, u64 id)
{
	return (struct model_span){
		.path = &paths[which & 1], .thread = &threads[which >> 1 & 1], .id = id};
}

static void test_keys(void **state)
{
	struct flows flows = {0};
	u64 numbers[4];

	(void)state;
	for (u32 i = 0; i < 4; i++) {
		struct model_span span = span_of(i, 0);
		struct flow *flow = flows_take(&flows, &span);

		assert_non_null(flow);
		assert_int_equal(flow->tid, 0);
		numbers[i] = flow->number;
		flow->tid = 10 + i;
	}
	for (u32 i = 0; i < 4; i++) {
		struct model_span span = span_of(i, 0);

		assert_int_equal(flows_take(&flows, &span)->number, numbers[i]);
		assert_int_equal(flows_take(&flows, &span)->tid, 10 + i);
		flows_drop(&flows, &span);
		flows_drop(&flows, &span);
		assert_true(flows_take(&flows, &span)->number > numbers[3]);
		assert_int_equal(flows_take(&flows, &span)->tid, 0);
	}
	assert_int_equal(flows.count, 4);
	flows_free(&flows);
}

/* Many come and go; each is found as long as it lives. */
static void test_many(void **state)
{
	static u64 numbers[4096];
	struct flows flows = {0};
	u64 seed = 1, alive = 0;

	(void)state;
	for (unsigned round = 0; round < 200000; round++) {
		struct model_span span;
		u64 *number;

		seed = seed * 6364136223846793005u + 1442695040888963407u;
		span = span_of((u32)(seed >> 40), seed >> 54);
		number = &numbers[(seed >> 54) * 4 + (seed >> 40 & 3)];
		if (seed >> 33 & 1) {
			struct flow *flow = flows_take(&flows, &span);

			assert_non_null(flow);
			if (*number)
				assert_int_equal(flow->number, *number);
			alive += !*number;
			*number = flow->number;
		} else {
			flows_drop(&flows, &span);
			alive -= !!*number;
			*number = 0;
		}
		assert_int_equal(flows.count, alive);
	}
	flows_free(&flows);
}

/* Those whose end is never told do not fill the memory. */
static void test_bound(void **state)
{
	struct flows flows = {0};

	(void)state;
	for (u64 i = 0; i < 3 * FLOWS_MAX; i++) {
		struct model_span span = span_of(0, i);

		assert_int_equal(flows_take(&flows, &span)->number, i + 1);
	}
	assert_true(flows.count <= FLOWS_MAX);
	assert_true(flows.nslots <= 2 * FLOWS_MAX);
	flows_free(&flows);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_keys),
		cmocka_unit_test(test_many),
		cmocka_unit_test(test_bound),
	};

	return cmocka_run_group_tests_name("flows", tests, NULL, NULL);
}
