/* SPDX-License-Identifier: MIT */
/* More bytes than the cache holds, in any order: what was written is read, what was not is zero. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../../user/util/blockcache.h"

#define MIB (1ull << 20)

static u64 value_at(u64 offset)
{
	return offset * 0x9e3779b97f4a7c15ull + 1;
}

/* 16 MiB through 4 MiB of slots, so that most of it goes out to a file and comes back. */
static void test_scratch(void **state)
{
	struct blockcache *cache = NULL;
	u64 offset, value;

	(void)state;
	assert_int_equal(blockcache_new(NULL, NULL, &cache), 0);
	for (offset = 3; offset < 16 * MIB; offset += 1000) {
		value = value_at(offset);
		assert_int_equal(blockcache_write(cache, offset, &value, sizeof(value)), 0);
	}
	/* Backwards, changing every other one on the way. */
	for (offset -= 1000; offset > 1000; offset -= 1000) {
		assert_int_equal(blockcache_read(cache, offset, &value, sizeof(value)), 0);
		assert_int_equal(value, value_at(offset));
		assert_int_equal(blockcache_read(cache, offset + 8, &value, sizeof(value)), 0);
		assert_int_equal(value, 0);
		if (offset / 1000 % 2)
			continue;
		value = ~value_at(offset);
		assert_int_equal(blockcache_write(cache, offset, &value, sizeof(value)), 0);
	}
	for (offset = 1003; offset < 16 * MIB; offset += 1000) {
		assert_int_equal(blockcache_read(cache, offset, &value, sizeof(value)), 0);
		assert_int_equal(value, offset / 1000 % 2 ? value_at(offset) : ~value_at(offset));
	}
	blockcache_free(&cache);
	assert_null(cache);
}

/* Far apart: no memory or file is filled in between. */
static void test_sparse(void **state)
{
	struct blockcache *cache = NULL;
	u64 value = 7;

	(void)state;
	assert_int_equal(blockcache_new(NULL, NULL, &cache), 0);
	for (u64 i = 0; i < 1000; i++)
		assert_int_equal(
			blockcache_write(cache, i << 30, &(u64){value_at(i)}, sizeof(value)), 0);
	for (u64 i = 0; i < 1000; i++) {
		assert_int_equal(blockcache_read(cache, i << 30, &value, sizeof(value)), 0);
		assert_int_equal(value, value_at(i));
	}
	blockcache_free(&cache);
}

struct source {
	unsigned reads;
	int err;
};

static int read_source(void *context, u64 offset, void *buf, size_t size)
{
	struct source *source = context;
	u8 *to = buf;

	source->reads++;
	for (size_t i = 0; i < size; i++)
		to[i] = (u8)((offset + i) * 7);
	return source->err;
}

static void test_source(void **state)
{
	struct source source = {0};
	struct blockcache *cache = NULL;
	const u8 *at = NULL;
	u8 bytes[100];
	unsigned reads;
	long n;

	(void)state;
	assert_int_equal(blockcache_new(read_source, &source, &cache), 0);
	/* Across the end of a block. */
	n = blockcache_peek(cache, 0, &at);
	assert_true(n > 100);
	assert_int_equal(blockcache_read(cache, (u64)n - 50, bytes, sizeof(bytes)), 0);
	for (size_t i = 0; i < sizeof(bytes); i++)
		assert_int_equal(bytes[i], (u8)(((u64)n - 50 + i) * 7));
	reads = source.reads;
	assert_int_equal(blockcache_read(cache, (u64)n - 50, bytes, sizeof(bytes)), 0);
	assert_int_equal(source.reads, reads);
	/* What could not be read is not kept. */
	source.err = -EIO;
	assert_int_equal(blockcache_peek(cache, 8 * MIB, &at), -EIO);
	source.err = 0;
	assert_true(blockcache_peek(cache, 8 * MIB, &at) > 0);
	assert_int_equal(*at, (u8)(8 * MIB * 7));
	blockcache_free(&cache);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_scratch),
		cmocka_unit_test(test_sparse),
		cmocka_unit_test(test_source),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
