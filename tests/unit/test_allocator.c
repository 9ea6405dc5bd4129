/* SPDX-License-Identifier: MIT */
/* Which functions of a file are an allocator's: by symbols and code that are made here. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* memfd_create() */
#endif
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>

#include "../../user/attach/allocator.h"
#include "elfbuild.h"

#define TEXT ELFBUILD_TEXT

struct made {
	struct elfbuild b;
	int symbols, strings;
	uint64_t next;
};

static void make(struct made *m, uint32_t table)
{
	elfbuild_init(&m->b, ELFBUILD_TEXT_SIZE);
	m->strings = elfbuild_section(&m->b, ".strtab", SHT_STRTAB, 0);
	m->symbols = elfbuild_section(&m->b, ".symtab", table, 0);
	m->next = TEXT + 0x10;
	/* Number 0 is no symbol. */
	elfbuild_symbol(&m->b, m->symbols, m->strings, "", 0, STT_NOTYPE, SHN_UNDEF);
}

static Elf64_Sym *last_symbol(struct made *m)
{
	struct elfbuf *data = elfbuild_data(&m->b, m->symbols);

	return (Elf64_Sym *)(void *)(data->data + data->size - sizeof(Elf64_Sym));
}

/* A function of SIZE bytes of CODE at the next place; returns its address. */
static uint64_t function(struct made *m, const char *name, const char *code, size_t size)
{
	uint64_t at = m->next;

	memcpy(m->b.text + (at - TEXT), code, size);
	elfbuild_symbol(&m->b, m->symbols, m->strings, name, at, STT_FUNC, 1);
	last_symbol(m)->st_size = size;
	m->next += 0x20;
	return at;
}

static void alias(struct made *m, const char *name, uint64_t address)
{
	elfbuild_symbol(&m->b, m->symbols, m->strings, name, address, STT_FUNC, 1);
}

static struct allocator *find_in(struct made *m, const char *prefix)
{
	struct elfbuf image = elfbuild_image(&m->b);
	int fd = elfbuild_file(image.data, image.size);
	struct allocator *allocator = NULL;
	const char *why = NULL;
	int err = allocator_find(fd, prefix, &allocator, &why);

	close(fd);
	free(image.data);
	elfbuild_free(&m->b);
	if (err)
		fail_msg("allocator_find: %d, %s", err, why ? why : "-");
	return allocator;
}

static const struct allocator_function *called(const struct allocator *allocator, const char *name)
{
	size_t i;

	for (i = 0; i < allocator->nfunctions; i++)
		if (strcmp(allocator->functions[i].name, name) == 0)
			return &allocator->functions[i];
	return NULL;
}

#define PUSH_RET "\x53\xc3"             /* push %rbx; ret */
#define TEST_JE  "\x48\x85\xff\x74\x00" /* test %rdi,%rdi; je */

/* call TO, from the function that comes next, and ret. */
static uint64_t calls(struct made *m, const char *name, uint64_t to)
{
	char code[6] = "\xe8\0\0\0\0\xc3";
	int32_t distance = (int32_t)(to - (m->next + 5));

	memcpy(code + 1, &distance, 4);
	return function(m, name, code, sizeof(code));
}

static void test_names_kinds_and_places(void **state)
{
	const struct allocator_function *f;
	struct allocator *allocator;
	struct made m = {0};
	uint64_t at;

	(void)state;
	make(&m, SHT_SYMTAB);
	at = function(&m, "malloc", PUSH_RET, 2);
	function(&m, "free", TEST_JE "\xc3", 6);
	function(&m, "calloc", "\x48\xff\xc0\xc3", 4);
	function(&m, "mallocs", PUSH_RET, 2);
	alias(&m, "valloc", at);
	alias(&m, "__libc_malloc", at);
	allocator = find_in(&m, NULL);
	assert_string_equal(allocator->kind, "glibc");
	/* An alias is the same function. */
	assert_int_equal(allocator->nfunctions, 3);
	f = called(allocator, "malloc");
	assert_int_equal(f->kind, ALLOC_MALLOC);
	assert_int_equal(f->probe, at - TEXT + ELFBUILD_TEXT_OFFSET);
	assert_true(f->entry_tells && !f->stepped && !f->throws && !f->inner && !f->shift);
	f = called(allocator, "free");
	assert_int_equal(f->kind, ALLOC_FREE);
	assert_int_equal(f->shift, 3);
	assert_false(f->stepped);
	f = called(allocator, "calloc");
	assert_true(f->stepped);
	assert_int_equal(f->shift, 0);
	allocator_free(&allocator);
}

static void test_those_that_call_others(void **state)
{
	const struct allocator_function *f;
	struct allocator *allocator;
	struct made m = {0};
	uint64_t at;

	(void)state;
	make(&m, SHT_SYMTAB);
	at = function(&m, "malloc", PUSH_RET, 2);
	calls(&m, "calloc", at);
	/* Counted in malloc. */
	at = calls(&m, "_Znwm", at);
	calls(&m, "_Znam", at);
	/* Not. */
	function(&m, "_ZnwmSt11align_val_t", PUSH_RET, 2);
	function(&m, "_ZnwmRKSt9nothrow_t", "\x55\xc3", 2);
	allocator = find_in(&m, NULL);
	assert_int_equal(allocator->nfunctions, 4);
	f = called(allocator, "calloc");
	assert_true(f->inner && !f->entry_tells);
	f = called(allocator, "_ZnwmSt11align_val_t");
	assert_true(f->throws && f->entry_tells);
	f = called(allocator, "_ZnwmRKSt9nothrow_t");
	assert_false(f->throws || f->entry_tells);
	allocator_free(&allocator);
}

/* libstdc++: its operator new is not there to be probed. */
static void test_no_allocator(void **state)
{
	struct allocator *allocator;
	struct made m = {0};

	(void)state;
	make(&m, SHT_DYNSYM);
	function(&m, "_Znwm", PUSH_RET, 2);
	elfbuild_symbol(&m.b, m.symbols, m.strings, "malloc", 0, STT_FUNC, SHN_UNDEF);
	elfbuild_symbol(&m.b, m.symbols, m.strings, "free", TEXT, STT_OBJECT, 1);
	allocator = find_in(&m, NULL);
	assert_int_equal(allocator->nfunctions, 0);
	allocator_free(&allocator);
}

static void test_prefix(void **state)
{
	struct allocator *allocator;
	struct made m = {0};

	(void)state;
	make(&m, SHT_SYMTAB);
	function(&m, "malloc", PUSH_RET, 2);
	function(&m, "pool_malloc", PUSH_RET, 2);
	last_symbol(&m)->st_info = ELF64_ST_INFO(STB_LOCAL, STT_FUNC);
	function(&m, "pool_free", PUSH_RET, 2);
	allocator = find_in(&m, "pool_");
	assert_int_equal(allocator->nfunctions, 2);
	/* Nobody knows whether it can fail, or what it calls. */
	assert_false(called(allocator, "pool_malloc")->entry_tells);
	allocator_free(&allocator);
}

static void test_local_functions_are_others(void **state)
{
	struct allocator *allocator;
	struct made m = {0};

	(void)state;
	make(&m, SHT_SYMTAB);
	function(&m, "malloc", PUSH_RET, 2);
	last_symbol(&m)->st_info = ELF64_ST_INFO(STB_LOCAL, STT_FUNC);
	allocator = find_in(&m, NULL);
	assert_int_equal(allocator->nfunctions, 0);
	allocator_free(&allocator);
}

static void test_addresses_out_of_the_code(void **state)
{
	struct allocator *allocator;
	struct made m = {0};

	(void)state;
	make(&m, SHT_SYMTAB);
	alias(&m, "malloc", 0x10);                           /* nowhere */
	alias(&m, "calloc", elfbuild_data_address(&m.b, 0)); /* data */
	alias(&m, "free", UINT64_MAX);
	function(&m, "realloc", PUSH_RET, 2);
	last_symbol(&m)->st_size = UINT64_MAX; /* at its entry, whatever that is */
	allocator = find_in(&m, NULL);
	assert_int_equal(allocator->nfunctions, 1);
	assert_true(allocator->functions[0].stepped);
	allocator_free(&allocator);
}

static void test_no_elf_file(void **state)
{
	struct allocator *const untouched = (struct allocator *)&errno;
	struct allocator *allocator = untouched;
	const char *why = NULL;
	int fd = elfbuild_file("#!/bin/sh\n", 10);

	(void)state;
	assert_int_equal(allocator_find(fd, NULL, &allocator, &why), -ENOEXEC);
	assert_ptr_equal(allocator, untouched);
	assert_non_null(why);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names_kinds_and_places),
		cmocka_unit_test(test_those_that_call_others),
		cmocka_unit_test(test_no_allocator),
		cmocka_unit_test(test_prefix),
		cmocka_unit_test(test_local_functions_are_others),
		cmocka_unit_test(test_addresses_out_of_the_code),
		cmocka_unit_test(test_no_elf_file),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
