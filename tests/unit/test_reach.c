/* SPDX-License-Identifier: MIT */
/* Whether functions go on to others, by code that is made here. Calls through the linkage table are in test_allocator.c. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* memfd_create() */
#endif
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "../../user/elf/reach.h"
#include "elfbuild.h"

#define TEXT ELFBUILD_TEXT
#define GOAL (TEXT + 0x200)
#define FROM (TEXT + 0x40)

/* Whether CODE, of SIZE bytes at FROM, of which the symbol says that it has SAID, reaches GOAL. Where AT is not 0 there is a
 * 32-bit distance at that byte, to TARGET. */
static bool reaches(const char *code, size_t size, size_t at, uint64_t target, uint64_t said)
{
	struct elfimage *elf = NULL;
	struct reach *reach = NULL;
	int32_t distance = (int32_t)(target - (FROM + at + 4));
	struct elfbuf image;
	const char *why;
	struct elfbuild b;
	bool found;
	int fd;

	elfbuild_init(&b, ELFBUILD_TEXT_SIZE);
	memcpy(b.text + (FROM - TEXT), code, size);
	if (at)
		memcpy(b.text + (FROM - TEXT) + at, &distance, sizeof(distance));
	image = elfbuild_image(&b);
	fd = elfbuild_file(image.data, image.size);
	assert_int_equal(elfimage_new(fd, &elf, &why), 0);
	assert_int_equal(reach_new(elf, &reach), 0);
	assert_int_equal(reach_add(reach, GOAL, "malloc"), 0);
	/* An import that the file does not have. */
	assert_int_equal(reach_add(reach, 0, "calloc"), 0);
	found = reach_from(reach, FROM, said);
	assert_int_equal(reach_from(reach, FROM, said), found);
	reach_free(&reach);
	assert_null(reach);
	elfimage_free(&elf);
	close(fd);
	free(image.data);
	elfbuild_free(&b);
	return found;
}

static void test_calls_and_jumps(void **state)
{
	(void)state;
	assert_true(reaches("\xe8\0\0\0\0\xc3", 6, 1, GOAL, 6));         /* call; ret */
	assert_true(reaches("\xe9\0\0\0\0", 5, 1, GOAL, 5));             /* jmp */
	assert_true(reaches("\x0f\x84\0\0\0\0\xc3", 7, 2, GOAL, 7));     /* je; ret */
	assert_true(reaches("\x53\xe8\0\0\0\0\x5b\xc3", 8, 2, GOAL, 8)); /* push; call; pop; ret */
}

static void test_others(void **state)
{
	(void)state;
	assert_false(reaches("\xc3", 1, 0, 0, 1));
	assert_false(reaches("\xe8\0\0\0\0\xc3", 6, 1, GOAL + 1, 6));
	assert_false(reaches("\xe8\0\0\0\0\xc3", 6, 1, TEXT + 0x300, 6));
	/* To nowhere. */
	assert_false(reaches("\xe8\0\0\0\0\xc3", 6, 1, TEXT + 0x10000000, 6));
	/* A load from the goal is no call of it. */
	assert_false(reaches("\x48\x8b\x05\0\0\0\0\xc3", 8, 3, GOAL, 8));
}

/* The call stands behind the end that the symbol names: it is another function's. */
static void test_size(void **state)
{
	(void)state;
	assert_false(reaches("\xc3\xe8\0\0\0\0\xc3", 7, 2, GOAL, 1));
	/* Not known: as far as it seems to go. */
	assert_true(reaches("\xe8\0\0\0\0\xc3", 6, 1, GOAL, 0));
	/* More than the text has. */
	assert_false(reaches("\xe8\0\0\0\0\xc3", 6, 1, GOAL, 1 << 20));
}

/* A goal that calls itself does not go on to another. */
static void test_itself(void **state)
{
	(void)state;
	assert_false(reaches("\xe8\0\0\0\0\xc3", 6, 1, FROM, 6));
}

static void test_no_code(void **state)
{
	(void)state;
	/* 0xcc all over, and what is no instruction. */
	assert_false(reaches("\xcc", 1, 0, 0, 16));
	assert_false(reaches("\x06\x06\x06", 3, 0, 0, 3));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_calls_and_jumps),
		cmocka_unit_test(test_others),
		cmocka_unit_test(test_size),
		cmocka_unit_test(test_itself),
		cmocka_unit_test(test_no_code),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
