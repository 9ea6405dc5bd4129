/* SPDX-License-Identifier: MIT */
/* Records of new mappings: as the kernel writes them, cut short, and those of no file. */
#include <linux/perf_event.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sysmacros.h>

#include <cmocka.h>

#include "../../user/target/mapwatch.h"

struct record {
	struct perf_event_header header;
	u32 pid, tid;
	u64 addr, len, pgoff;
	u32 maj, min;
	u64 ino, ino_generation;
	u32 prot, flags;
	char path[32];
};

static struct record make_record(const char *path)
{
	struct record r = {
		.header = {.type = PERF_RECORD_MMAP2, .size = sizeof(r)},
		.pid = 10,
		.tid = 12,
		.addr = 0x7f0000001000,
		.len = 0x2000,
		.pgoff = 0x1000,
		.maj = 0x103,
		.min = 0x1f,
		.ino = 77,
		.ino_generation = 5,
		.prot = PROT_READ | PROT_EXEC,
	};

	strncpy(r.path, path, sizeof(r.path) - 1);
	return r;
}

/* Parses the first SIZE bytes in memory of that size, so that the sanitizers see a read beyond it. */
static bool parse(const struct record *r, size_t size, struct procmap *map)
{
	static char *copy;
	u64 generation = 0;
	bool taken;

	free(copy);
	copy = malloc(size ? size : 1);
	assert_non_null(copy);
	memcpy(copy, r, size);
	taken = mapwatch_parse(copy, size, map, &generation);
	if (taken)
		assert_int_equal(generation, r->ino_generation);
	return taken;
}

static void test_mapping(void **state)
{
	struct record r = make_record("/usr/lib/a b.so");
	struct procmap map;

	(void)state;
	assert_true(parse(&r, sizeof(r), &map));
	assert_int_equal(map.task, 10);
	assert_int_equal(map.start, 0x7f0000001000);
	assert_int_equal(map.end, 0x7f0000003000);
	assert_int_equal(map.offset, 0x1000);
	assert_true(map.dev == makedev(0x103, 0x1f));
	assert_int_equal(map.inode, 77);
	assert_string_equal(map.path, "/usr/lib/a b.so");
	assert_false(map.deleted);
	r = make_record("/memfd:x (deleted)");
	assert_true(parse(&r, sizeof(r), &map));
	assert_string_equal(map.path, "/memfd:x");
	assert_true(map.deleted);
}

static void test_cut(void **state)
{
	struct record r = make_record("/a");
	struct procmap map;
	size_t path = offsetof(struct record, path), size;

	(void)state;
	for (size = 0; size < path + 3; size++)
		assert_false(parse(&r, size, &map));
	assert_true(parse(&r, path + 3, &map));
	memset(r.path, 'x', sizeof(r.path)); /* without an end */
	assert_false(parse(&r, sizeof(r), &map));
}

static void test_other_records(void **state)
{
	struct record good = make_record("/a"), r;
	struct procmap map;

	(void)state;
	r = good;
	r.header.type = PERF_RECORD_MMAP;
	assert_false(parse(&r, sizeof(r), &map));
	r = good;
	r.header.misc = PERF_RECORD_MISC_MMAP_BUILD_ID; /* no inode in this one */
	assert_false(parse(&r, sizeof(r), &map));
	r = good;
	r.pid = 0; /* of a process that is not in our PID namespace */
	assert_false(parse(&r, sizeof(r), &map));
	r = good;
	r.pid = UINT32_MAX;
	assert_false(parse(&r, sizeof(r), &map));
	r = good;
	r.ino = 0; /* [vdso], //anon */
	assert_false(parse(&r, sizeof(r), &map));
	r = good;
	r.prot = PROT_READ;
	assert_false(parse(&r, sizeof(r), &map));
	r = good;
	r.len = 0;
	assert_false(parse(&r, sizeof(r), &map));
	r = good;
	r.len = UINT64_MAX;
	assert_false(parse(&r, sizeof(r), &map));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_mapping),
		cmocka_unit_test(test_cut),
		cmocka_unit_test(test_other_records),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
