/* SPDX-License-Identifier: MIT */
/* Tests of leaves.c: a record of many spans becomes those spans, and one that does not fit none. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "../../include/wire.h"
#include "../../user/trace/leaves.h"

#define ROOM 3

struct run {
	struct wire_leaves head;
	struct wire_leaf leaves[ROOM];
};

struct seen {
	struct wire_span spans[ROOM];
	size_t n;
};

static void see(void *context, const void *record, size_t size)
{
	struct seen *seen = context;

	assert_true(seen->n < ROOM);
	assert_true(size <= sizeof(seen->spans[0]));
	memcpy(&seen->spans[seen->n++], record, size);
}

static void make(struct run *run, size_t n)
{
	*run = (struct run){
		.head = {.head = {.size = (u16)(sizeof(run->head) + n * sizeof(run->leaves[0])),
				  .kind = WIRE_LEAVES,
				  .thread = 7},
			 .path = 11,
			 .site = 13,
			 .start_ns = 1000},
		.leaves = {{.gap_ns = 5, .busy_ns = 10},
			   {.gap_ns = 0, .busy_ns = 20, .system_ns = 4},
			   {.gap_ns = 0xffffffff, .busy_ns = 0xffffffff}},
	};
}

static void test_each(void **state)
{
	const u64 starts[] = {1005, 1015, 1035 + 0xffffffffULL};
	const u64 lasts[] = {10, 20, 0xffffffff};
	struct seen seen = {0};
	struct run run;

	(void)state;
	make(&run, ROOM);
	assert_int_equal(leaves_each(&run, sizeof(run), see, &seen), 0);
	assert_int_equal(seen.n, ROOM);
	for (size_t i = 0; i < ROOM; i++) {
		const struct wire_span *span = &seen.spans[i];

		assert_int_equal(span->head.kind, WIRE_SPAN);
		assert_int_equal(span->head.size, i == 1 ? WIRE_SPAN_SPLIT : WIRE_SPAN_SHORT);
		assert_int_equal(span->head.thread, 7);
		assert_int_equal(span->path, 11);
		assert_int_equal(span->site, 13);
		assert_int_equal(span->start_ns, starts[i]);
		assert_int_equal(span->busy_ns, lasts[i]);
		assert_int_equal(span->self_ns, lasts[i]);
	}
	assert_int_equal(seen.spans[1].usage.system_ns, 4);
	assert_int_equal(seen.spans[1].usage.self_system_ns, 4);
}

static void test_none(void **state)
{
	struct seen seen = {0};
	struct run run;

	(void)state;
	make(&run, 0);
	assert_int_equal(leaves_each(&run, sizeof(run), see, &seen), 0);
	assert_int_equal(seen.n, 0);
}

static void test_damaged(void **state)
{
	struct seen seen = {0};
	struct run run;

	(void)state;
	make(&run, 2);
	assert_int_equal(leaves_each(&run, sizeof(run.head) - 1, see, &seen), -EINVAL);
	assert_int_equal(leaves_each(&run, run.head.head.size - 1u, see, &seen), -EINVAL);
	run.head.head.size--;
	assert_int_equal(leaves_each(&run, sizeof(run), see, &seen), -EINVAL);
	run.head.head.size = sizeof(run.head) - sizeof(run.leaves[0]);
	assert_int_equal(leaves_each(&run, sizeof(run), see, &seen), -EINVAL);
	make(&run, 2);
	run.head.head.kind = WIRE_SPAN;
	assert_int_equal(leaves_each(&run, sizeof(run), see, &seen), -EINVAL);
	assert_int_equal(seen.n, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each),
		cmocka_unit_test(test_none),
		cmocka_unit_test(test_damaged),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
