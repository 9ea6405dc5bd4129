/* SPDX-License-Identifier: MIT */
/* Chains of records written side by side come back from their ends, whole. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "../../user/report/sequence_store.h"

static struct sequence_record record(u64 chain, u64 i)
{
	return (struct sequence_record){
		.start_ns = chain, .end_ns = i, .what = chain * 1000003 + i};
}

static void check(const struct sequence_store *store, const struct sequence_chain *chain,
		  u64 number)
{
	const struct sequence_record *got;
	struct sequence_cursor cursor;

	sequence_cursor_start(&cursor, store, chain);
	for (u64 i = chain->n; i-- > 0;) {
		const struct sequence_record want = record(number, i);

		assert_int_equal(cursor.at, i + 1);
		assert_int_equal(sequence_peek(&cursor, &got), 0);
		assert_non_null(got);
		assert_memory_equal(got, &want, sizeof(want));
		sequence_take(&cursor);
	}
	assert_int_equal(sequence_peek(&cursor, &got), 0);
	assert_null(got);
	sequence_cursor_free(&cursor);
}

static void test_chains(void **state)
{
	/* Around the sizes of blocks, and a long one. */
	static const u64 lengths[] = {0, 1, 7, 8, 9, 24, 25, 511, 512, 5000};
	enum { N = sizeof(lengths) / sizeof(lengths[0]) };
	struct sequence_chain chains[N] = {0};
	struct sequence_store store;

	(void)state;
	assert_int_equal(sequence_store_open(&store), 0);
	for (u64 i = 0; i < 5000; i++) {
		for (u64 c = 0; c < N; c++) {
			const struct sequence_record r = record(c, i);

			if (i < lengths[c])
				assert_int_equal(sequence_append(&store, &chains[c], &r), 0);
		}
	}
	for (u64 c = 0; c < N; c++)
		assert_int_equal(sequence_close(&store, &chains[c]), 0);
	for (u64 c = 0; c < N; c++) {
		assert_int_equal(chains[c].n, lengths[c]);
		check(&store, &chains[c], c);
	}
	sequence_store_close(&store);
}

/* A file that cannot be read back is an error and no loop. */
static void test_cut(void **state)
{
	const struct sequence_record r = record(1, 1);
	const struct sequence_record *got;
	struct sequence_chain chain = {0};
	struct sequence_cursor cursor;
	struct sequence_store store;

	(void)state;
	assert_int_equal(sequence_store_open(&store), 0);
	assert_int_equal(sequence_append(&store, &chain, &r), 0);
	assert_int_equal(sequence_close(&store, &chain), 0);
	assert_int_equal(ftruncate(store.fd, 20), 0);
	sequence_cursor_start(&cursor, &store, &chain);
	assert_true(sequence_peek(&cursor, &got) < 0);
	sequence_cursor_free(&cursor);
	sequence_store_close(&store);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_chains),
		cmocka_unit_test(test_cut),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
