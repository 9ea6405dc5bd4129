/* SPDX-License-Identifier: MIT */
/* The markers of otel_memory in files that are made here: what is probed and read, and when none serves. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* memfd_create() */
#endif
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "../../user/session/memory_markers.h"
#include "elfread.h"

#define TEXT ELFBUILD_TEXT

struct marker {
	const char *provider, *name, *args;
};

static struct memory_markers *find(const struct marker *list, size_t n, bool heap, const char **why)
{
	struct memory_markers *markers = NULL;
	struct elfbuf image;
	struct elfbuild b;
	int notes, fd;
	size_t i;

	elfbuild_init(&b, ELFBUILD_TEXT_SIZE);
	notes = add_notes(&b);
	for (i = 0; i < n; i++) {
		elfbuild_nop(&b, TEXT + 0x10 * i);
		elfbuild_marker(elfbuild_data(&b, notes), TEXT + 0x10 * i, 0,
				elfbuild_data_address(&b, 2 * i), list[i].provider, list[i].name,
				list[i].args);
	}
	image = elfbuild_image(&b);
	fd = elfbuild_file(image.data, image.size);
	assert_int_equal(memory_markers_find(fd, heap, &markers, why), 0);
	close(fd);
	free(image.data);
	elfbuild_free(&b);
	return markers;
}

#define FIND(list, heap, why) find(list, sizeof(list) / sizeof((list)[0]), heap, why)

static void test_what_is_read(void **state)
{
	static const struct marker list[] = {
		{"app", "alloc", "8@%rdi 8@%rsi 8@%rdx"},
		{"otel_memory", "alloc", "8@%rax -4@$48 8@8(%rsp)"},
		{"otel_memory", "mmap", "8@%rdi 8@%rsi"},
		{"otel_memory", "free", "8@%rbx"},
	};
	struct memory_markers *markers;
	const char *why;

	(void)state;
	markers = FIND(list, true, &why);
	assert_non_null(markers);
	assert_null(why);
	assert_int_equal(markers->n, 2);
	assert_int_equal(markers->probes[0].offset, 0x410);
	assert_int_equal(markers->probes[0].sema_offset, 0x802);
	assert_int_equal(markers->probes[0].program, KERNEL_ALLOC_MARKER);
	assert_int_equal(markers->values[0].block.base, OPERAND_RAX);
	assert_int_equal(markers->values[0].bytes.disp, 48);
	assert_int_equal(markers->values[0].weight.form, OPERAND_MEM);
	assert_int_equal(markers->probes[1].program, KERNEL_FREE_MARKER);
	assert_int_equal(markers->values[1].block.base, OPERAND_RBX);
	memory_markers_free(&markers);
	assert_null(markers);
	/* Frees are of no use to -m alloc. */
	markers = FIND(list, false, &why);
	assert_non_null(markers);
	assert_int_equal(markers->n, 1);
	memory_markers_free(&markers);
}

static void test_none(void **state)
{
	static const struct marker list[] = {
		{"app", "alloc", "8@%rdi 8@%rsi 8@%rdx"},
		{"otel_memory", "free", "8@%rbx"},
	};
	const char *why;

	(void)state;
	assert_null(FIND(list, false, &why));
	assert_null(why);
	assert_null(FIND(list, true, &why));
	assert_null(why);
}

static void expect_why(const struct marker *list, size_t n, const char *expected)
{
	const char *why;

	assert_null(find(list, n, true, &why));
	assert_non_null(why);
	assert_non_null(strstr(why, expected));
}

#define EXPECT_WHY(list, expected) expect_why(list, sizeof(list) / sizeof((list)[0]), expected)

static void test_those_that_do_not_serve(void **state)
{
	static const struct marker no_free[] = {{"otel_memory", "alloc", "8@%rax 8@%rsi 8@%rdx"}};
	static const struct marker few[] = {{"otel_memory", "alloc", "8@%rax 8@%rsi"},
					    {"otel_memory", "free", "8@%rbx"}};
	static const struct marker floats[] = {{"otel_memory", "alloc", "8@%rax 8@%rsi 8f@%xmm0"},
					       {"otel_memory", "free", "8@%rbx"}};
	static const struct marker one_of_two[] = {{"otel_memory", "alloc", "8@%rax 8@%rsi 8@%rdx"},
						   {"otel_memory", "free", "8@%rbx"},
						   {"otel_memory", "free", ""}};

	(void)state;
	EXPECT_WHY(no_free, "no free");
	EXPECT_WHY(few, "too few arguments");
	EXPECT_WHY(floats, "float");
	EXPECT_WHY(one_of_two, "too few arguments");
}

static void test_no_elf_file(void **state)
{
	struct memory_markers *markers = NULL;
	int fd = elfbuild_file("nothing", 7);
	const char *why = "x";

	(void)state;
	assert_int_equal(memory_markers_find(fd, true, &markers, &why), 0);
	assert_null(markers);
	assert_null(why);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_is_read),
		cmocka_unit_test(test_none),
		cmocka_unit_test(test_those_that_do_not_serve),
		cmocka_unit_test(test_no_elf_file),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
