/* SPDX-License-Identifier: MIT */
/* Tests of user/elfnote.c on ELF files made in elfbuild.h: which sites are found, where, and with
 * what arguments. Those that are refused are in test_elfnote_check.c, symbols in test_elfsym.c,
 * what spantrace.h adds in test_elfmeta.c, and files with other or damaged headers in
 * test_elfimage.c. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* memfd_create() */
#endif
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/stat.h>
#include <time.h>

#include <cmocka.h>

#include "../../user/elf/elfnote.h"
#include "elfread.h"

#define TEXT ELFBUILD_TEXT

static void test_one_site(void **state)
{
	static const uint8_t id[] = {0xde, 0xad, 0x00, 0x7f, 0xf0};
	struct elfbuf desc = {0};
	struct elfnote_file *file;
	struct elfnote_site *site;
	struct elfbuild b;
	int notes;

	(void)state;
	elfbuild_init(&b, ELFBUILD_TEXT_SIZE);
	elfbuf_add(&desc, id, sizeof(id));
	notes = elfbuild_section(&b, ".note.gnu.build-id", SHT_NOTE, 0x1000);
	elfbuild_note(elfbuild_data(&b, notes), "GNU", NT_GNU_BUILD_ID, &desc);
	free(desc.data);
	notes = add_notes(&b);
	elfbuild_nop(&b, TEXT + 0x25);
	elfbuild_marker(elfbuild_data(&b, notes), TEXT + 0x25, 0, elfbuild_data_address(&b, 0x42),
			"app", "job__enter", "8@%rdi -4@12(%rsp) 1@$-56");
	file = read_good(&b);
	assert_int_equal(file->nsites, 1);
	assert_int_equal(file->machine, EM_X86_64);
	assert_string_equal(file->build_id, "dead007ff0");
	assert_null(file->damaged);
	site = &file->sites[0];
	assert_string_equal(site->provider, "app");
	assert_string_equal(site->name, "job__enter");
	assert_string_equal(site->args_text, "8@%rdi -4@12(%rsp) 1@$-56");
	assert_null(site->refused);
	assert_int_equal(site->vaddr, TEXT + 0x25);
	assert_int_equal(site->offset, 0x425);
	assert_int_equal(site->sema_vaddr, ELFBUILD_DATA + 0x842);
	assert_int_equal(site->sema_offset, 0x842);
	assert_int_equal(site->nop, ELFNOTE_NOP1);
	assert_false(site->has_meta);
	assert_null(site->source_file);
	assert_int_equal(site->nargs, 3);
	assert_string_equal(site->args[1].text, "-4@12(%rsp)");
	assert_null(site->args[1].why);
	assert_null(site->args[1].key);
	assert_int_equal(site->args[1].operand.form, OPERAND_MEM);
	assert_int_equal(site->args[1].operand.size, 4);
	assert_int_equal(site->args[1].operand.is_signed, 1);
	assert_int_equal(site->args[1].operand.base, OPERAND_RSP);
	assert_int_equal(site->args[1].operand.disp, 12);
	assert_int_equal(site->args[2].operand.disp, 200);
	elfnote_free(&file);
	assert_null(file);
	elfnote_free(&file);
	elfbuild_free(&b);
}

static void test_identity(void **state)
{
	struct elfbuf image;
	struct elfnote_file *file = NULL;
	struct elfbuild b;
	struct stat st;
	int fd;

	(void)state;
	elfbuild_init(&b, ELFBUILD_TEXT_SIZE);
	image = elfbuild_image(&b);
	fd = elfbuild_file(image.data, image.size);
	lseek(fd, 7, SEEK_SET);
	assert_int_equal(fstat(fd, &st), 0);
	assert_int_equal(elfnote_read(fd, &file, NULL), 0);
	assert_int_equal(file->inode, st.st_ino);
	assert_int_equal(file->device, st.st_dev);
	assert_int_equal(file->nsites, 0);
	assert_string_equal(file->build_id, "");
	assert_int_equal(lseek(fd, 0, SEEK_CUR), 7);
	close(fd);
	elfnote_free(&file);
	free(image.data);
	elfbuild_free(&b);
}

static void test_many_sections_in_order(void **state)
{
	struct elfnote_file *file;
	struct elfbuild b;
	int first, second, other;

	(void)state;
	elfbuild_init(&b, ELFBUILD_TEXT_SIZE);
	first = add_notes(&b);
	second = add_notes(&b);
	/* Linker scripts may merge notes under any name. */
	other = elfbuild_section(&b, ".note", SHT_NOTE, 0);
	for (uint64_t at = 0; at < 4; at++)
		elfbuild_nop(&b, TEXT + at);
	elfbuild_marker(elfbuild_data(&b, first), TEXT + 3, 0, 0, "p", "three", "");
	elfbuild_marker(elfbuild_data(&b, first), TEXT + 1, 0, 0, "p", "one", "");
	elfbuild_marker(elfbuild_data(&b, second), TEXT + 2, 0, 0, "p", "one", "4@%eax");
	elfbuild_marker(elfbuild_data(&b, other), TEXT + 0, 0, 0, "p", "zero", "");
	file = read_good(&b);
	assert_int_equal(file->nsites, 4);
	for (size_t i = 0; i < 4; i++) {
		assert_int_equal(file->sites[i].vaddr, TEXT + i);
		assert_null(file->sites[i].refused);
	}
	assert_string_equal(file->sites[0].name, "zero");
	assert_string_equal(file->sites[1].name, "one");
	assert_int_equal(file->sites[1].nargs, 0);
	assert_int_equal(file->sites[2].nargs, 1);
	assert_string_equal(file->sites[3].name, "three");
	elfnote_free(&file);
	elfbuild_free(&b);
}

/* One marker that says PC, BASE and SEMAPHORE, in a file with .stapsdt.base at SECTION (0:
 * without). */
static void check_base(uint64_t section, uint64_t base, uint64_t moved)
{
	struct elfnote_file *file;
	struct elfbuild b;
	uint64_t semaphore;
	int notes;

	elfbuild_init(&b, ELFBUILD_TEXT_SIZE);
	semaphore = elfbuild_data_address(&b, 0x10);
	notes = add_notes(&b);
	if (section)
		elfbuild_section(&b, ".stapsdt.base", SHT_PROGBITS, section);
	elfbuild_nop(&b, TEXT + 0x20);
	elfbuild_marker(elfbuild_data(&b, notes), TEXT + 0x20 - moved, base, semaphore - moved, "p",
			"a", "");
	elfbuild_marker(elfbuild_data(&b, notes), TEXT + 0x20 - moved, base, 0, "p", "b", "");
	file = read_good(&b);
	assert_int_equal(file->nsites, 2);
	assert_int_equal(file->sites[0].vaddr, TEXT + 0x20);
	assert_int_equal(file->sites[0].sema_vaddr, semaphore);
	assert_null(file->sites[0].refused);
	assert_int_equal(file->sites[1].sema_vaddr, 0);
	elfnote_free(&file);
	elfbuild_free(&b);
}

static void test_base(void **state)
{
	(void)state;
	check_base(0x9000, 0x9000, 0);
	check_base(0x9000, 0x8000, 0x1000);           /* prelink moved the file up … */
	check_base(0x9000, 0x9800, (uint64_t)-0x800); /* … or down */
	check_base(0, 0x9000, 0);                     /* the section is left out: gold, lld, mold */
	check_base(0x9000, 0, 0);                     /* only the note's copy of it is */
}

static void test_arguments(void **state)
{
	struct elfnote_file *file;
	struct elfnote_site *site;
	struct elfbuild b;
	struct elfbuf *notes;

	(void)state;
	elfbuild_init(&b, ELFBUILD_TEXT_SIZE);
	notes = elfbuild_data(&b, add_notes(&b));
	for (uint64_t at = 0; at < 4; at++)
		elfbuild_nop(&b, TEXT + at);
	elfbuild_marker(notes, TEXT, 0, 0, "p", "n",
			"8f@%rax 8@%rdi rubbish 3@%eax 4@%edx 8@none(%rip)");
	elfbuild_marker(notes, TEXT + 1, 0, 0, "p", "n",
			"4@$1 4@$2 4@$3 4@$4 4@$5 4@$6 4@$7 4@$8 4@$9 4@$10 4@$11 4@$12");
	elfbuild_marker(notes, TEXT + 2, 0, 0, "p", "n",
			"4@$1 4@$2 4@$3 4@$4 4@$5 4@$6 4@$7 4@$8 4@$9 4@$10 4@$11 4@$12 4@$13");
	elfbuild_marker(notes, TEXT + 3, 0, 0, "p", "n", "\t4@%eax\n4@\033[31m%ebx ");
	file = read_good(&b);
	assert_int_equal(file->nsites, 4);
	for (size_t i = 0; i < file->nsites; i++)
		assert_null(file->sites[i].refused);

	/* What cannot be read takes neither the site nor the other arguments with it. */
	site = &file->sites[0];
	assert_int_equal(site->nargs, 5);
	assert_int_equal(site->args[0].operand.form, OPERAND_FLOAT);
	assert_non_null(strstr(site->args[0].why, "floating-point"));
	assert_string_equal(site->args[1].text, "8@%rdi rubbish");
	assert_non_null(strstr(site->args[1].why, "form"));
	assert_int_equal(site->args[2].operand.form, OPERAND_NONE);
	assert_non_null(site->args[2].why);
	assert_null(site->args[3].why);
	assert_int_equal(site->args[3].operand.base, OPERAND_RDX);
	assert_non_null(strstr(site->args[4].why, "no symbol"));

	assert_int_equal(file->sites[1].nargs, 12);
	assert_int_equal(file->sites[1].args[11].operand.disp, 12);
	assert_int_equal(file->sites[2].nargs, ELFNOTE_MAX_ARGS);
	assert_non_null(strstr(file->sites[2].args_text, "4@$13"));

	/* Nothing that could drive a terminal comes out. */
	assert_string_equal(file->sites[3].args_text, " 4@%eax 4@?[31m%ebx ");
	assert_null(file->sites[3].args[0].why);
	assert_non_null(file->sites[3].args[1].why);
	elfnote_free(&file);
	elfbuild_free(&b);
}

static void test_arm64(void **state)
{
	static const uint8_t nop[] = {0x1f, 0x20, 0x03, 0xd5};
	struct elfnote_file *file;
	struct elfbuild b;
	struct elfbuf *notes;

	(void)state;
	elfbuild_init(&b, ELFBUILD_TEXT_SIZE);
	b.machine = EM_AARCH64;
	memcpy(b.text + 8, nop, sizeof(nop));
	notes = elfbuild_data(&b, add_notes(&b));
	elfbuild_marker(notes, TEXT + 8, 0, 0, "p", "n", "8@x0 -4@[sp, 16] 4@[x1, x2]");
	file = read_good(&b);
	assert_int_equal(file->machine, EM_AARCH64);
	assert_null(file->sites[0].refused);
	assert_int_equal(file->sites[0].nop, ELFNOTE_NOP_ARM64);
	assert_int_equal(file->sites[0].offset, 0x408);
	assert_int_equal(file->sites[0].nargs, 3);
	assert_int_equal(file->sites[0].args[1].operand.base, 31);
	assert_int_equal(file->sites[0].args[1].operand.disp, 16);
	assert_int_equal(file->sites[0].args[2].operand.index, 2);
	elfnote_free(&file);
	elfbuild_free(&b);
}

static void test_other_machine(void **state)
{
	struct elfnote_file *file;
	struct elfbuild b;

	(void)state;
	elfbuild_init(&b, ELFBUILD_TEXT_SIZE);
	b.machine = EM_RISCV;
	elfbuild_nop(&b, TEXT);
	elfbuild_marker(elfbuild_data(&b, add_notes(&b)), TEXT, 0, 0, "p", "n", "8@a0");
	file = read_good(&b);
	assert_int_equal(file->nsites, 1);
	assert_int_equal(file->sites[0].vaddr, TEXT);
	assert_int_equal(file->sites[0].nargs, 1);
	assert_int_equal(file->sites[0].args[0].operand.form, OPERAND_NONE);
	assert_non_null(file->sites[0].args[0].why);
	assert_non_null(strstr(file->sites[0].refused, "machine"));
	elfnote_free(&file);
	elfbuild_free(&b);
}

/* Three notes, the middle one with FIELD (0: owner's length, 1: description's) set to VALUE. */
static void check_lying_length(int field, uint32_t value)
{
	struct elfnote_file *file;
	struct elfbuild b;
	struct elfbuf *notes;
	size_t second;

	elfbuild_init(&b, ELFBUILD_TEXT_SIZE);
	notes = elfbuild_data(&b, add_notes(&b));
	for (uint64_t at = 0; at < 3; at++)
		elfbuild_nop(&b, TEXT + at);
	elfbuild_marker(notes, TEXT, 0, 0, "p", "first", "8@%rdi");
	second = notes->size;
	elfbuild_marker(notes, TEXT + 1, 0, 0, "p", "second", "8@%rdi");
	elfbuild_marker(notes, TEXT + 2, 0, 0, "p", "third", "8@%rdi");
	memcpy(notes->data + second + (size_t)field * 4, &value, sizeof(value));
	file = read_good(&b);
	assert_int_equal(file->nsites, 1);
	assert_string_equal(file->sites[0].name, "first");
	assert_null(file->sites[0].refused);
	assert_non_null(strstr(file->damaged, "missing"));
	elfnote_free(&file);
	elfbuild_free(&b);
}

static void test_lying_lengths(void **state)
{
	(void)state;
	check_lying_length(0, UINT32_MAX);
	check_lying_length(0, UINT32_MAX - 2);
	check_lying_length(0, 1000);
	check_lying_length(1, UINT32_MAX);
	check_lying_length(1, UINT32_MAX - 3);
	check_lying_length(1, 1000);
}

/* The last note without its padding, as some linkers leave it; and a section that ends in padding
 * of its own. */
static void test_padding(void **state)
{
	struct elfnote_file *file;
	struct elfbuild b;
	struct elfbuf *notes;
	size_t size;

	(void)state;
	elfbuild_init(&b, ELFBUILD_TEXT_SIZE);
	elfbuild_nop(&b, TEXT);
	notes = elfbuild_data(&b, add_notes(&b));
	elfbuild_marker(notes, TEXT, 0, 0, "p", "n", "8@%r12");
	size = notes->size;
	assert_int_equal(notes->data[size - 2], 0);
	notes->size = size - 1;
	file = read_good(&b);
	assert_int_equal(file->nsites, 1);
	assert_null(file->sites[0].refused);
	assert_null(file->damaged);
	elfnote_free(&file);
	notes->size = size;
	elfbuf_zero(notes, 8);
	file = read_good(&b);
	assert_int_equal(file->nsites, 1);
	assert_null(file->damaged);
	elfnote_free(&file);
	notes->data[size + 7] = 1;
	file = read_good(&b);
	assert_int_equal(file->nsites, 1);
	assert_non_null(file->damaged);
	elfnote_free(&file);
	elfbuild_free(&b);
}

static void test_notes_out_of_reach(void **state)
{
	struct elfnote_file *file;
	struct elfbuild b;
	struct elfbuf image;
	int lost, other;

	(void)state;
	/* Nothing but a section that is not there: damaged. */
	elfbuild_init(&b, ELFBUILD_TEXT_SIZE);
	elfbuild_nop(&b, TEXT);
	lost = add_notes(&b);
	b.sections[lost].sh_offset = 1u << 30;
	elfbuild_marker(elfbuild_data(&b, lost), TEXT, 0, 0, "p", "lost", "");
	image = elfbuild_image(&b);
	check_bad(image.data, image.size, -EBADMSG, "notes");
	free(image.data);
	/* A second one that is: its site is found. */
	other = add_notes(&b);
	elfbuild_marker(elfbuild_data(&b, other), TEXT, 0, 0, "p", "found", "");
	file = read_good(&b);
	assert_int_equal(file->nsites, 1);
	assert_string_equal(file->sites[0].name, "found");
	assert_non_null(file->damaged);
	elfnote_free(&file);
	/* Lengths that wrap around, of a section that has nothing to do with markers: not our
	 * trouble. */
	b.sections[lost].sh_offset = UINT64_MAX - 0x100000;
	b.sections[lost].sh_name = b.sections[0].sh_name;
	file = read_good(&b);
	assert_int_equal(file->nsites, 1);
	assert_null(file->damaged);
	elfnote_free(&file);
	elfbuild_free(&b);
}

static double cpu_seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* 50,000 sites of one marker, each with a note of its own and a symbol to look up: anything that
 * compared them all with each other would take minutes. */
static void test_many_sites(void **state)
{
	static const char *const keys[] = {"value", NULL};
	const uint32_t count = 50000;
	struct elfnote_file *file;
	struct elfbuild b;
	int notes, meta, strings, symbols;
	double start;

	(void)state;
	elfbuild_init(&b, count);
	memset(b.text, 0x90, count);
	notes = add_notes(&b);
	meta = elfbuild_section(&b, ".note.spantrace", SHT_NOTE, 0);
	strings = elfbuild_section(&b, ".strtab", SHT_STRTAB, 0);
	symbols = elfbuild_section(&b, ".symtab", SHT_SYMTAB, 0);
	for (uint32_t i = 0; i < count; i++) {
		char name[32], args[64];

		snprintf(name, sizeof(name), "symbol%u", i);
		snprintf(args, sizeof(args), "8@%s(%%rip) -4@%%eax", name);
		elfbuild_symbol(&b, symbols, strings, name, TEXT + count - i, STT_OBJECT, 1);
		elfbuild_marker(elfbuild_data(&b, notes), TEXT + i, 0, 0, "p", "n", args);
		elfbuild_meta(elfbuild_data(&b, meta), TEXT + i, i + 1, "p", "n", "f.c", keys);
	}
	start = cpu_seconds();
	file = read_good(&b);
	assert_true(cpu_seconds() - start < 5);
	assert_int_equal(file->nsites, count);
	for (uint32_t i = 0; i < count; i++) {
		assert_null(file->sites[i].refused);
		assert_int_equal(file->sites[i].vaddr, TEXT + i);
		assert_int_equal(file->sites[i].source_line, i + 1);
		assert_int_equal(file->sites[i].args[0].operand.disp, (int64_t)count - 2 * i);
	}
	elfnote_free(&file);
	elfbuild_free(&b);
}

static void test_too_many_sites(void **state)
{
	struct elfbuild b;
	struct elfbuf image;
	int notes;

	(void)state;
	elfbuild_init(&b, ELFBUILD_TEXT_SIZE);
	notes = add_notes(&b);
	for (uint32_t i = 0; i <= ELFNOTE_MAX_SITES; i++)
		elfbuild_marker(elfbuild_data(&b, notes), TEXT + i, 0, 0, "p", "n", "");
	image = elfbuild_image(&b);
	check_bad(image.data, image.size, -E2BIG, "100,000");
	free(image.data);
	elfbuild_free(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_one_site),
		cmocka_unit_test(test_identity),
		cmocka_unit_test(test_many_sections_in_order),
		cmocka_unit_test(test_base),
		cmocka_unit_test(test_arguments),
		cmocka_unit_test(test_arm64),
		cmocka_unit_test(test_other_machine),
		cmocka_unit_test(test_lying_lengths),
		cmocka_unit_test(test_padding),
		cmocka_unit_test(test_notes_out_of_reach),
		cmocka_unit_test(test_many_sites),
		cmocka_unit_test(test_too_many_sites),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
