/* SPDX-License-Identifier: MIT */
/* Tests of user/elfnote_check.c: every reason for which a site must be left alone, and the nops. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* memfd_create() */
#endif
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "../../user/elf/elfnote.h"
#include "elfread.h"

#define TEXT ELFBUILD_TEXT

static void check_refused(const struct elfnote_site *site, const char *part)
{
	if (!part && site->refused)
		fail_msg("%s:%s is refused: %s", site->provider, site->name, site->refused);
	if (part && (!site->refused || !strstr(site->refused, part)))
		fail_msg("%s:%s: \"%s\", not \"%s\"", site->provider, site->name,
			 site->refused ? site->refused : "good", part);
}

/* A marker beside a good one: it is refused for PART (NULL: it is not), and the good one never
 * is. */
static void check_site(struct elfbuild *b, uint64_t pc, uint64_t semaphore, const char *part)
{
	struct elfnote_file *file;
	struct elfbuf *notes = elfbuild_data(b, 1);

	notes->size = 0;
	elfbuild_nop(b, TEXT + 0x3f);
	elfbuild_marker(notes, pc, 0, semaphore, "p", "n", "8@%rdi");
	elfbuild_marker(notes, TEXT + 0x3f, 0, 0, "p", "good", "8@%rdi");
	file = read_good(b);
	assert_int_equal(file->nsites, 2);
	for (size_t i = 0; i < 2; i++)
		check_refused(&file->sites[i],
			      strcmp(file->sites[i].name, "good") == 0 ? NULL : part);
	elfnote_free(&file);
}

static void init(struct elfbuild *b)
{
	elfbuild_init(b, ELFBUILD_TEXT_SIZE);
	assert_int_equal(elfbuild_section(b, ".note.stapsdt", SHT_NOTE, 0), 1);
}

static void test_nops(void **state)
{
	static const struct {
		uint8_t code[12];
		size_t size;
		enum elfnote_nop nop;
		const char *name;
	} cases[] = {
		{{0x90, 0xc3}, 2, ELFNOTE_NOP1, "nop"},
		{{0x0f, 0x1f, 0x44, 0, 0}, 5, ELFNOTE_NOP5, "nop5"},
		{{0x90, 0x0f, 0x1f, 0x44, 0, 0}, 6, ELFNOTE_NOP1_NOP5, "nop+nop5"},
		{{0x90, 0x66, 0x2e, 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0},
		 11,
		 ELFNOTE_NOP1_NOP10,
		 "nop+nop10"},
		{{0x90, 0x0f, 0x1f, 0x44, 0, 1}, 6, ELFNOTE_NOP1, "nop"},
		{{0x0f, 0x1f, 0x44, 0, 1}, 5, ELFNOTE_NOP_UNKNOWN, "none"},
		{{0x0f, 0x1f, 0x40, 0}, 4, ELFNOTE_NOP_UNKNOWN, "none"},
		{{0x66, 0x2e, 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0}, 10, ELFNOTE_NOP_UNKNOWN, "none"},
		{{0x55}, 1, ELFNOTE_NOP_UNKNOWN, "none"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct elfnote_file *file;
		struct elfbuild b;

		init(&b);
		memcpy(b.text + 0x10, cases[i].code, cases[i].size);
		elfbuild_marker(elfbuild_data(&b, 1), TEXT + 0x10, 0, 0, "p", "n", "");
		file = read_good(&b);
		assert_int_equal(file->sites[0].nop, cases[i].nop);
		assert_string_equal(elfnote_nop_name(file->sites[0].nop), cases[i].name);
		check_refused(&file->sites[0],
			      cases[i].nop == ELFNOTE_NOP_UNKNOWN ? "not a nop" : NULL);
		elfnote_free(&file);
		elfbuild_free(&b);
	}
}

static void test_code(void **state)
{
	const uint64_t end = TEXT + ELFBUILD_TEXT_SIZE;
	struct elfbuild b;

	(void)state;
	init(&b);
	elfbuild_nop(&b, TEXT);
	elfbuild_nop(&b, end - 1);
	check_site(&b, TEXT, 0, NULL);
	check_site(&b, end - 1, 0, NULL);
	check_site(&b, TEXT - 1, 0, "not in executable code");
	check_site(&b, end, 0, "not in executable code");
	check_site(&b, elfbuild_data_address(&b, 0), 0, "not in executable code");
	check_site(&b, UINT64_MAX, 0, "not in executable code");
	check_site(&b, TEXT + 1, 0, "not a nop");
	check_site(&b, 0, 0, "left out by the linker");
	b.type = ET_EXEC;
	check_site(&b, TEXT, 0, NULL);
	elfbuild_free(&b);
}

static void test_object_file(void **state)
{
	struct elfnote_file *file;
	struct elfbuild b;

	(void)state;
	init(&b);
	b.type = ET_REL;
	elfbuild_nop(&b, TEXT);
	elfbuild_marker(elfbuild_data(&b, 1), TEXT, 0, 0, "p", "n", "");
	file = read_good(&b);
	check_refused(&file->sites[0], "neither a linked program nor a library");
	elfnote_free(&file);
	elfbuild_free(&b);
}

/* A nop in the last byte of the file: there is nothing behind it to tell which kind it is. */
static void test_end_of_file(void **state)
{
	const uint8_t nop = 0x90;
	struct elfnote_file *file = NULL;
	Elf64_Phdr *segment;
	struct elfbuf image;
	struct elfbuild b;
	const char *why;

	(void)state;
	init(&b);
	b.no_sections = true;
	elfbuild_marker(elfbuild_data(&b, 1), 0x900000, 0, 0, "p", "n", "");
	elfbuild_segment(&b, PT_NOTE, PF_R, 1);
	segment = elfbuild_segment(&b, PT_LOAD, PF_R | PF_X, 0);
	segment->p_vaddr = 0x900000;
	segment->p_filesz = segment->p_memsz = 1;
	image = elfbuild_image(&b);
	segment = (Elf64_Phdr *)(image.data + sizeof(Elf64_Ehdr)) + 3;
	segment->p_offset = image.size;
	elfbuf_add(&image, &nop, 1);
	assert_int_equal(read_bytes(image.data, image.size, &file, &why), 0);
	assert_int_equal(file->nsites, 1);
	check_refused(&file->sites[0], NULL);
	assert_int_equal(file->sites[0].nop, ELFNOTE_NOP1);
	assert_int_equal(file->sites[0].offset, image.size - 1);
	elfnote_free(&file);
	free(image.data);
	elfbuild_free(&b);
}

/* Executable memory that is not backed by the file, or by a part of it that is not there. */
static void test_code_outside_the_file(void **state)
{
	struct elfbuild b;
	Elf64_Phdr *segment;

	(void)state;
	init(&b);
	segment = elfbuild_segment(&b, PT_LOAD, PF_R | PF_X, 0);
	segment->p_vaddr = 0x900000;
	segment->p_offset = ELFBUILD_TEXT_OFFSET;
	segment->p_filesz = 0x10;
	segment->p_memsz = 0x20;
	elfbuild_nop(&b, TEXT + 0xf);
	check_site(&b, 0x90000f, 0, NULL);
	check_site(&b, 0x900010, 0, "does not hold");
	segment->p_offset = 1u << 30;
	check_site(&b, 0x90000f, 0, "does not hold");
	segment->p_offset = UINT64_MAX - 4;
	check_site(&b, 0x90000f, 0, "does not hold");
	segment->p_vaddr = UINT64_MAX - 0x10;
	segment->p_memsz = segment->p_filesz = UINT64_MAX;
	segment->p_offset = ELFBUILD_TEXT_OFFSET;
	check_site(&b, UINT64_MAX - 1, 0, NULL);
	elfbuild_free(&b);
}

static void test_semaphores(void **state)
{
	struct elfbuild b;
	Elf64_Phdr *relro;
	uint64_t data;

	(void)state;
	init(&b);
	elfbuild_nop(&b, TEXT);
	data = elfbuild_data_address(&b, 0);
	check_site(&b, TEXT, data, NULL);
	check_site(&b, TEXT, data + ELFBUILD_DATA_SIZE - 2, NULL);
	check_site(&b, TEXT, data + 1, "odd offset");
	check_site(&b, TEXT, data + ELFBUILD_DATA_SIZE - 1, ".bss");
	check_site(&b, TEXT, data + ELFBUILD_DATA_SIZE, ".bss");
	check_site(&b, TEXT, data + 2 * ELFBUILD_DATA_SIZE - 2, ".bss");
	check_site(&b, TEXT, data + 2 * ELFBUILD_DATA_SIZE, "not in writable data");
	check_site(&b, TEXT, data - 2, "not in writable data");
	check_site(&b, TEXT, TEXT + 0x10, "not in writable data");
	check_site(&b, TEXT, 2, "not in writable data");
	check_site(&b, TEXT, UINT64_MAX - 1, "not in writable data");
	/* Data at 0x400800: what ends at 0x400900 protects no whole page, what ends at 0x401000
	 * does. */
	relro = elfbuild_segment(&b, PT_GNU_RELRO, PF_R, 0);
	relro->p_vaddr = data;
	relro->p_memsz = 0x100;
	check_site(&b, TEXT, data + 0x10, NULL);
	relro->p_memsz = 0x1000 - (data & 0xfff);
	check_site(&b, TEXT, data + 0x10, "read-only");
	elfbuild_free(&b);
}

/* An odd file offset under an even address: the kernel counts in the file. */
static void test_semaphore_offset(void **state)
{
	struct elfbuild b;
	Elf64_Phdr *segment;

	(void)state;
	init(&b);
	elfbuild_nop(&b, TEXT);
	segment = elfbuild_segment(&b, PT_LOAD, PF_R | PF_W, 0);
	segment->p_vaddr = 0x900000;
	segment->p_offset = ELFBUILD_TEXT_OFFSET + 1;
	segment->p_filesz = segment->p_memsz = 0x20;
	check_site(&b, TEXT, 0x900010, "odd offset");
	elfbuild_free(&b);
}

static void test_names(void **state)
{
	char long_name[258];
	struct elfbuild b;
	static const struct {
		const char *provider, *name, *part, *shown_provider, *shown_name;
	} cases[] = {
		{"p", "n", NULL, "p", "n"},
		{"spa ce;\"'", "\xc3\xa9\xff<>", NULL, "spa ce;\"'", "\xc3\xa9\xff<>"},
		{"", "n", "empty", "?", "n"},
		{"p", "", "empty", "p", "?"},
		{"p\n", "n", "control", "p ", "n"},
		{"p", "\033[2Jn", "control", "p", "?[2Jn"},
		{"p", "n\x7f", "control", "p", "n?"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct elfnote_file *file;

		init(&b);
		elfbuild_nop(&b, TEXT);
		elfbuild_marker(elfbuild_data(&b, 1), TEXT, 0, 0, cases[i].provider, cases[i].name,
				"8@%rdi");
		file = read_good(&b);
		check_refused(&file->sites[0], cases[i].part);
		assert_string_equal(file->sites[0].provider, cases[i].shown_provider);
		assert_string_equal(file->sites[0].name, cases[i].shown_name);
		assert_int_equal(file->sites[0].nargs, 1);
		elfnote_free(&file);
		elfbuild_free(&b);
	}
	memset(long_name, 'x', sizeof(long_name));
	for (size_t len = 255; len <= 256; len++) {
		struct elfnote_file *file;

		init(&b);
		elfbuild_nop(&b, TEXT);
		long_name[len] = '\0';
		elfbuild_marker(elfbuild_data(&b, 1), TEXT, 0, 0, "p", long_name, "");
		long_name[len] = 'x';
		file = read_good(&b);
		check_refused(&file->sites[0], len == 255 ? NULL : "longer than 255");
		assert_int_equal(strlen(file->sites[0].name), 255);
		elfnote_free(&file);
		elfbuild_free(&b);
	}
}

/* A marker's note with SIZE bytes of description, of TYPE, and what is read of it. */
static void check_cut(const char *strings, size_t size, uint32_t type, const char *part,
		      const char *shown)
{
	struct elfbuf desc = {0};
	struct elfnote_file *file;
	struct elfbuild b;
	char marker[64];

	init(&b);
	elfbuild_nop(&b, TEXT);
	elfbuild_nop(&b, TEXT + 1);
	elfbuf_u64(&desc, TEXT);
	elfbuf_u64(&desc, 0);
	elfbuf_u64(&desc, 0);
	elfbuf_add(&desc, strings, size > 24 ? size - 24 : 0);
	desc.size = size;
	elfbuild_note(elfbuild_data(&b, 1), "stapsdt", type, &desc);
	elfbuild_marker(elfbuild_data(&b, 1), TEXT + 1, 0, 0, "p", "good", "8@%rdi");
	free(desc.data);
	file = read_good(&b);
	assert_null(file->damaged);
	assert_int_equal(file->nsites, 2);
	check_refused(&file->sites[0], part);
	snprintf(marker, sizeof(marker), "%s:%s:%s", file->sites[0].provider, file->sites[0].name,
		 file->sites[0].args_text);
	assert_string_equal(marker, shown);
	check_refused(&file->sites[1], NULL);
	elfnote_free(&file);
	elfbuild_free(&b);
}

static void test_cut_notes(void **state)
{
	(void)state;
	check_cut("p\0n\0a", 24 + 6, 3, NULL, "p:n:a");
	check_cut("p\0n\0a", 24 + 5, 3, "cut", "p:n:a");
	check_cut("p\0n\0a", 24 + 4, 3, "cut", "p:n:");
	check_cut("p\0n\0a", 24 + 3, 3, "cut", "p:n:");
	check_cut("p\0n\0a", 24 + 1, 3, "cut", "p:?:");
	check_cut("", 24, 3, "cut", "?:?:");
	check_cut("", 23, 3, "cut", "?:?:");
	check_cut("", 0, 3, "cut", "?:?:");
	check_cut("p\0n\0a", 24 + 6, 2, "version", "?:?:");
}

static void test_long_arguments(void **state)
{
	static char text[16386];
	struct elfnote_file *file;
	struct elfbuild b;

	(void)state;
	memset(text, '1', sizeof(text) - 1);
	for (int i = 0; i < 2; i++) {
		init(&b);
		elfbuild_nop(&b, TEXT);
		elfbuild_marker(elfbuild_data(&b, 1), TEXT, 0, 0, "p", "n", text + 1 - i);
		file = read_good(&b);
		check_refused(&file->sites[0], i ? "longer than 16384" : NULL);
		assert_non_null(file->sites[0].args[0].why);
		elfnote_free(&file);
		elfbuild_free(&b);
	}
}

static void test_neighbours(void **state)
{
	struct elfnote_file *file;
	struct elfbuild b;
	struct elfbuf *notes;
	uint64_t data;

	(void)state;
	init(&b);
	data = elfbuild_data_address(&b, 0);
	notes = elfbuild_data(&b, 1);
	for (uint64_t at = 0; at < 4; at++)
		elfbuild_nop(&b, TEXT + at);
	/* Twice the same; two names at one place; two names with different semaphores; the same
	 * elsewhere. */
	elfbuild_marker(notes, TEXT, 0, 0, "p", "a", "8@%rdi");
	elfbuild_marker(notes, TEXT, 0, 0, "p", "a", "8@%rdi");
	elfbuild_marker(notes, TEXT + 1, 0, data, "p", "b", "");
	elfbuild_marker(notes, TEXT + 1, 0, data, "p", "c", "");
	elfbuild_marker(notes, TEXT + 2, 0, data, "p", "d", "");
	elfbuild_marker(notes, TEXT + 2, 0, 0, "p", "e", "");
	elfbuild_marker(notes, TEXT + 2, 0, data, "p", "f", "");
	elfbuild_marker(notes, TEXT + 3, 0, 0, "p", "a", "8@%rdi");
	file = read_good(&b);
	assert_int_equal(file->nsites, 8);
	check_refused(&file->sites[0], NULL);
	check_refused(&file->sites[1], "another note for the same marker");
	check_refused(&file->sites[2], NULL);
	check_refused(&file->sites[3], NULL);
	check_refused(&file->sites[4], NULL);
	check_refused(&file->sites[5], "different semaphore");
	check_refused(&file->sites[6], NULL);
	check_refused(&file->sites[7], NULL);
	elfnote_free(&file);
	elfbuild_free(&b);
}

/* A site that is refused for something else is no neighbour. */
static void test_refused_neighbour(void **state)
{
	struct elfnote_file *file;
	struct elfbuild b;

	(void)state;
	init(&b);
	elfbuild_nop(&b, TEXT);
	elfbuild_marker(elfbuild_data(&b, 1), TEXT, 0, 3, "p", "a", "");
	elfbuild_marker(elfbuild_data(&b, 1), TEXT, 0, 0, "p", "b", "");
	file = read_good(&b);
	check_refused(&file->sites[0], "semaphore");
	check_refused(&file->sites[1], NULL);
	elfnote_free(&file);
	elfbuild_free(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nops),
		cmocka_unit_test(test_code),
		cmocka_unit_test(test_object_file),
		cmocka_unit_test(test_end_of_file),
		cmocka_unit_test(test_code_outside_the_file),
		cmocka_unit_test(test_semaphores),
		cmocka_unit_test(test_semaphore_offset),
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_cut_notes),
		cmocka_unit_test(test_long_arguments),
		cmocka_unit_test(test_neighbours),
		cmocka_unit_test(test_refused_neighbour),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
