/* SPDX-License-Identifier: MIT */
/* Tests of user/elfimage.c through elfnote_read(): files of another kind, cut, or with headers
 * that are not as linkers make them. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* memfd_create() */
#endif
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "../../user/elf/elfnote.h"
#include "elfread.h"

#define TEXT ELFBUILD_TEXT

static void test_sections_without_data(void **state)
{
	struct elfnote_file *file;
	struct elfbuild b;
	int notes;

	(void)state;
	elfbuild_init(&b, ELFBUILD_TEXT_SIZE);
	elfbuild_nop(&b, TEXT);
	notes = add_notes(&b);
	elfbuild_marker(elfbuild_data(&b, notes), TEXT, 0, 0, "p", "n", "");
	b.sections[notes].sh_flags = SHF_COMPRESSED;
	file = read_good(&b);
	assert_int_equal(file->nsites, 0);
	assert_null(file->damaged);
	elfnote_free(&file);
	b.sections[notes].sh_flags = 0;
	b.sections[notes].sh_type = SHT_NOBITS;
	file = read_good(&b);
	assert_int_equal(file->nsites, 0);
	elfnote_free(&file);
	/* The name alone is enough, whatever the type. */
	b.sections[notes].sh_type = SHT_PROGBITS;
	file = read_good(&b);
	assert_int_equal(file->nsites, 1);
	elfnote_free(&file);
	elfbuild_free(&b);
}

static void test_no_section_headers(void **state)
{
	struct elfnote_file *file;
	struct elfbuild b;
	int notes;

	(void)state;
	elfbuild_init(&b, ELFBUILD_TEXT_SIZE);
	b.no_sections = true;
	elfbuild_nop(&b, TEXT);
	notes = add_notes(&b);
	elfbuild_marker(elfbuild_data(&b, notes), TEXT, 0, 0, "p", "n", "8@%rdi");
	file = read_good(&b);
	assert_int_equal(file->nsites, 0);
	assert_null(file->damaged);
	elfnote_free(&file);
	elfbuild_segment(&b, PT_NOTE, PF_R, notes);
	file = read_good(&b);
	assert_int_equal(file->nsites, 1);
	assert_null(file->sites[0].refused);
	assert_int_equal(file->sites[0].offset, 0x400);
	elfnote_free(&file);
	elfbuild_free(&b);
}

/* Counts that stand in section header 0, as for more than 65,279 sections or 65,534 segments. */
static void test_extended_numbering(void **state)
{
	struct elfnote_file *file = NULL;
	struct elfbuild b;
	struct elfbuf image;
	Elf64_Ehdr *header;
	Elf64_Shdr *first;
	const char *why;
	int notes;

	(void)state;
	elfbuild_init(&b, ELFBUILD_TEXT_SIZE);
	elfbuild_nop(&b, TEXT);
	notes = add_notes(&b);
	elfbuild_marker(elfbuild_data(&b, notes), TEXT, 0, 0, "p", "n", "8@%rdi");
	b.sections[notes].sh_type = SHT_PROGBITS; /* found by its name, so that must be right too */
	image = elfbuild_image(&b);
	header = (Elf64_Ehdr *)image.data;
	first = (Elf64_Shdr *)(image.data + header->e_shoff);
	first->sh_size = header->e_shnum;
	first->sh_link = header->e_shstrndx;
	first->sh_info = header->e_phnum;
	header->e_shnum = 0;
	header->e_shstrndx = SHN_XINDEX;
	header->e_phnum = PN_XNUM;
	assert_int_equal(read_bytes(image.data, image.size, &file, &why), 0);
	assert_int_equal(file->nsites, 1);
	assert_null(file->sites[0].refused);
	elfnote_free(&file);
	first->sh_size = UINT64_MAX / 64;
	check_bad(image.data, image.size, -EBADMSG, "section headers");
	first->sh_size = 900000;
	check_bad(image.data, image.size, -EBADMSG, "section headers");
	free(image.data);
	elfbuild_free(&b);
}

static void test_other_files(void **state)
{
	struct elfbuild b;
	struct elfbuf image;
	Elf64_Ehdr *header, good;
	int pipes[2];
	const char *why = NULL;
	struct elfnote_file *file = NULL;

	(void)state;
	check_bad("", 0, -ENOEXEC, "not an ELF file");
	check_bad("#!/bin/sh\necho this is a script, of more than 64 bytes, hello there hello\n",
		  74, -ENOEXEC, "not an ELF file");
	elfbuild_init(&b, ELFBUILD_TEXT_SIZE);
	elfbuild_nop(&b, TEXT);
	elfbuild_marker(elfbuild_data(&b, add_notes(&b)), TEXT, 0, 0, "p", "n", "8@%rdi");
	image = elfbuild_image(&b);
	header = (Elf64_Ehdr *)image.data;
	good = *header;
	check_bad(image.data, 3, -ENOEXEC, "not an ELF file");
	check_bad(image.data, sizeof(*header) - 1, -EBADMSG, "cut");
	check_bad(image.data, 0x300, -EBADMSG, "cut");
	check_bad(image.data, image.size - 1, -EBADMSG, "cut");
	header->e_ident[EI_CLASS] = ELFCLASS32;
	check_bad(image.data, image.size, -EOPNOTSUPP, "32-bit");
	header->e_ident[EI_CLASS] = 9;
	check_bad(image.data, image.size, -ENOEXEC, "not an ELF file");
	*header = good;
	header->e_ident[EI_DATA] = ELFDATA2MSB;
	check_bad(image.data, image.size, -EOPNOTSUPP, "big-endian");
	*header = good;
	header->e_phentsize = 32;
	check_bad(image.data, image.size, -EBADMSG, "program headers");
	*header = good;
	header->e_phnum = 2000;
	check_bad(image.data, image.size, -EBADMSG, "program headers");
	*header = good;
	header->e_phoff = UINT64_MAX - 8;
	check_bad(image.data, image.size, -EBADMSG, "program headers");
	*header = good;
	header->e_shentsize = 40;
	check_bad(image.data, image.size, -EBADMSG, "section headers");
	*header = good;
	header->e_shoff = UINT64_MAX;
	check_bad(image.data, image.size, -EBADMSG, "section headers");
	free(image.data);
	elfbuild_free(&b);

	assert_int_equal(pipe(pipes), 0);
	assert_int_equal(elfnote_read(pipes[0], &file, &why), -ENOEXEC);
	assert_non_null(strstr(why, "regular file"));
	close(pipes[0]);
	close(pipes[1]);
	assert_int_equal(elfnote_read(pipes[0], &file, &why), -EBADF);
	assert_non_null(why);
	assert_null(file);
}

/* Section names that lie outside their table, or no table at all: the notes are found by their
 * type. */
static void test_no_section_names(void **state)
{
	struct elfnote_file *file = NULL;
	struct elfbuild b;
	struct elfbuf image;
	Elf64_Ehdr *header;
	const char *why;
	int notes;

	(void)state;
	elfbuild_init(&b, ELFBUILD_TEXT_SIZE);
	elfbuild_nop(&b, TEXT);
	notes = add_notes(&b);
	elfbuild_marker(elfbuild_data(&b, notes), TEXT, 0, 0, "p", "n", "8@%rdi");
	b.sections[notes].sh_name = UINT32_MAX;
	file = read_good(&b);
	assert_int_equal(file->nsites, 1);
	elfnote_free(&file);
	image = elfbuild_image(&b);
	header = (Elf64_Ehdr *)image.data;
	header->e_shstrndx = 500;
	assert_int_equal(read_bytes(image.data, image.size, &file, &why), 0);
	assert_int_equal(file->nsites, 1);
	elfnote_free(&file);
	free(image.data);
	elfbuild_free(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sections_without_data),
		cmocka_unit_test(test_no_section_headers),
		cmocka_unit_test(test_extended_numbering),
		cmocka_unit_test(test_other_files),
		cmocka_unit_test(test_no_section_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
