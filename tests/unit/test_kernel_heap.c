/* SPDX-License-Identifier: MIT */
/* The walk over live blocks, with the kernel's table played by plain memory, and the tables that sampling needs, against the
 * formulas that they stand for. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../../user/kernel/kernel_impl.h"
#include "blocks.h"

enum { BLOCKS = 20000 }; /* three batches */

static struct spantrace_bpf skel;
static struct kernel kernel = {.skel = &skel};

static int setup(void **state)
{
	u32 i;

	(void)state;
	memset(&blocks, 0, sizeof(blocks));
	for (i = 0; i < BLOCKS; i++)
		blocks_add(0x1000 + 16 * i, 7, 1, i, 0);
	return 0;
}

struct seen {
	u32 n;
	u64 bytes;
	u64 forget_from; /* blocks of that many bytes and more */
};

static bool see(void *context, const struct wire_object_key *key, const struct wire_object *object)
{
	struct seen *seen = context;

	assert_int_equal(key->address, 0x1000 + 16 * object->bytes);
	assert_int_equal(key->process, 7);
	seen->n++;
	seen->bytes += object->bytes;
	return object->bytes >= seen->forget_from;
}

static void test_each_block_once(void **state)
{
	struct seen seen = {.forget_from = BLOCKS};

	(void)state;
	assert_int_equal(kernel_walk_objects(&kernel, see, &seen), 0);
	assert_int_equal(seen.n, BLOCKS);
	assert_int_equal(seen.bytes, (u64)BLOCKS * (BLOCKS - 1) / 2);
	assert_int_equal(blocks_left(), BLOCKS);
	assert_true(blocks.looks > 1);
}

static void test_what_is_to_be_forgotten(void **state)
{
	struct seen seen = {.forget_from = 19500}, again = {.forget_from = BLOCKS};

	(void)state;
	assert_int_equal(kernel_walk_objects(&kernel, see, &seen), 0);
	assert_int_equal(seen.n, BLOCKS);
	assert_int_equal(blocks_left(), 19500);
	assert_int_equal(kernel_walk_objects(&kernel, see, &again), 0);
	assert_int_equal(again.n, 19500);
}

/* The kernel stops at the block that is not there: those behind it go all the same. */
static void test_one_is_freed_meanwhile(void **state)
{
	struct seen seen = {.forget_from = 19990};

	(void)state;
	blocks.freed_meanwhile = 19994;
	assert_int_equal(kernel_walk_objects(&kernel, see, &seen), 0);
	assert_int_equal(blocks.deletions, 9);
	assert_int_equal(blocks_left(), 19990);
}

static void test_an_empty_table(void **state)
{
	struct seen seen = {0};

	(void)state;
	blocks.n = 0;
	assert_int_equal(kernel_walk_objects(&kernel, see, &seen), 0);
	assert_int_equal(seen.n, 0);
}

static void test_the_kernel_refuses(void **state)
{
	struct seen seen = {0};

	(void)state;
	blocks.error = -ENOTSUP;
	assert_int_equal(kernel_walk_objects(&kernel, see, &seen), -ENOTSUP);
	assert_int_equal(seen.n, 0);
}

static void test_what_a_row_is_of(void **state)
{
	struct wire_row rows[4] = {[2] = {.thread = 5, .path = 9}};
	u32 thread = 0, path = 0;

	(void)state;
	kernel.rows = rows;
	kernel.rows_mapped = sizeof(rows);
	assert_true(kernel_row_of(&kernel, 2, &thread, &path));
	assert_int_equal(thread, 5);
	assert_int_equal(path, 9);
	assert_false(kernel_row_of(&kernel, 0, &thread, &path));
	assert_false(kernel_row_of(&kernel, 3, &thread, &path));
	assert_false(kernel_row_of(&kernel, 4, &thread, &path));
	assert_false(kernel_row_of(&kernel, UINT32_MAX, &thread, &path));
	kernel.rows_mapped -= 2 * sizeof(rows[0]);
	assert_false(kernel_row_of(&kernel, 2, &thread, &path));
	kernel.rows = NULL;
	kernel.rows_mapped = 0;
}

static void test_tables_of_samples(void **state)
{
	struct spantrace_bpf__rodata *rodata = calloc(1, sizeof(*rodata));
	const u32 *logs, *weights;
	u32 i;

	(void)state;
	assert_non_null(rodata);
	skel.rodata = rodata;
	kernel_heap_sample(&kernel, 4096);
	logs = (const u32 *)rodata->sample_log;
	weights = (const u32 *)rodata->sample_weight;
	assert_int_equal(rodata->knob_sample, 4096);
	for (i = 0; i < SAMPLE_LOG_SIZE; i++)
		assert_true(fabs(logs[i] / 16777216.0 - log(1 + (i + 0.5) / 1024)) < 1e-7);
	/* A block of nothing stands for one interval, one of the interval for 1 / (1 - 1/e) of it. */
	assert_int_equal(weights[0], 1 << 20);
	assert_true(fabs(weights[64] / 1048576.0 - 1 / (1 - exp(-1))) < 1e-6);
	assert_true(fabs(weights[1024] / 1048576.0 - 16) < 1e-5);
	for (i = 1; i < SAMPLE_WEIGHT_SIZE; i++)
		assert_true(weights[i] > weights[i - 1]);
	skel.rodata = NULL;
	free(rodata);
}

static void test_sites_of_markers_beyond_the_table(void **state)
{
	struct wire_alloc_site site = {0};

	(void)state;
	assert_int_equal(kernel_set_alloc_site(&kernel, ALLOC_SITES_MAX, &site), -ENOSPC);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_each_block_once, setup),
		cmocka_unit_test_setup(test_what_is_to_be_forgotten, setup),
		cmocka_unit_test_setup(test_one_is_freed_meanwhile, setup),
		cmocka_unit_test_setup(test_an_empty_table, setup),
		cmocka_unit_test_setup(test_the_kernel_refuses, setup),
		cmocka_unit_test(test_what_a_row_is_of),
		cmocka_unit_test(test_tables_of_samples),
		cmocka_unit_test(test_sites_of_markers_beyond_the_table),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
