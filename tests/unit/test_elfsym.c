/* SPDX-License-Identifier: MIT */
/* Tests of user/elfsym.c through the operands that name symbols. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* memfd_create() */
#endif
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "../../user/elf/elfnote.h"
#include "elfread.h"

#define TEXT ELFBUILD_TEXT

/* A file with symbols, of which those in .symtab are left out if STRIPPED. */
static struct elfnote_file *read_with_symbols(uint16_t type, bool stripped, const char *args)
{
	struct elfnote_file *file;
	int notes, symbols, strings;
	struct elfbuild b;

	elfbuild_init(&b, ELFBUILD_TEXT_SIZE);
	b.type = type;
	elfbuild_nop(&b, TEXT);
	notes = add_notes(&b);
	elfbuild_marker(elfbuild_data(&b, notes), TEXT, 0, 0, "p", "n", args);
	strings = elfbuild_section(&b, ".dynstr", SHT_STRTAB, 0);
	symbols = elfbuild_section(&b, ".dynsym", SHT_DYNSYM, 0);
	elfbuild_symbol(&b, symbols, strings, "exported", TEXT + 0x100, STT_OBJECT, 1);
	elfbuild_symbol(&b, symbols, strings, "elsewhere", 0, STT_OBJECT, SHN_UNDEF);
	if (!stripped) {
		strings = elfbuild_section(&b, ".strtab", SHT_STRTAB, 0);
		symbols = elfbuild_section(&b, ".symtab", SHT_SYMTAB, 0);
		elfbuild_symbol(&b, symbols, strings, "exported", TEXT + 0x100, STT_OBJECT, 1);
		elfbuild_symbol(&b, symbols, strings, "hidden", TEXT + 0x200, STT_OBJECT, 1);
		elfbuild_symbol(&b, symbols, strings, "twin.0", TEXT + 0x300, STT_OBJECT, 1);
		elfbuild_symbol(&b, symbols, strings, "twin.0", TEXT + 0x310, STT_OBJECT, 1);
		elfbuild_symbol(&b, symbols, strings, "tls", 0x10, STT_TLS, 1);
	}
	file = read_good(&b);
	elfbuild_free(&b);
	assert_int_equal(file->nsites, 1);
	assert_null(file->sites[0].refused);
	return file;
}

static void test_symbols(void **state)
{
	struct elfnote_file *file;
	struct elfnote_arg *args;

	(void)state;
	file = read_with_symbols(ET_DYN, false,
				 "-4@40+exported(%rip) 8@hidden(%rip) 4@twin.0(%rip) 4@tls(%rip) "
				 "4@elsewhere(%rip) 4@hidden 4@hidde(%rip) 4@hiddenn(%rip)");
	args = file->sites[0].args;
	assert_int_equal(file->sites[0].nargs, 8);
	assert_null(args[0].why);
	assert_int_equal(args[0].operand.base, OPERAND_PC);
	assert_int_equal(args[0].operand.disp, 0x128);
	assert_null(args[1].why);
	assert_int_equal(args[1].operand.disp, 0x200);
	assert_non_null(strstr(args[2].why, "several symbols"));
	for (size_t i = 3; i < 8; i++)
		assert_non_null(args[i].why);
	assert_non_null(strstr(args[5].why, "position-independent"));
	elfnote_free(&file);

	file = read_with_symbols(ET_DYN, true, "-4@exported(%rip) 8@hidden(%rip)");
	args = file->sites[0].args;
	assert_null(args[0].why);
	assert_int_equal(args[0].operand.disp, 0x100);
	assert_non_null(strstr(args[1].why, "stripped"));
	elfnote_free(&file);

	file = read_with_symbols(ET_EXEC, false, "4@hidden+4 8@$hidden");
	args = file->sites[0].args;
	assert_null(args[0].why);
	assert_int_equal(args[0].operand.form, OPERAND_MEM);
	assert_int_equal(args[0].operand.base, OPERAND_NO_REG);
	assert_int_equal(args[0].operand.disp, TEXT + 0x204);
	assert_null(args[1].why);
	assert_int_equal(args[1].operand.form, OPERAND_CONST);
	assert_int_equal(args[1].operand.disp, TEXT + 0x200);
	elfnote_free(&file);
}

/* Tables that do not hold together make arguments unreadable, and no more. */
static void test_damaged_tables(void **state)
{
	(void)state;
	for (int damage = 0; damage < 5; damage++) {
		struct elfnote_file *file;
		int notes, symbols, strings;
		struct elfbuild b;

		elfbuild_init(&b, ELFBUILD_TEXT_SIZE);
		elfbuild_nop(&b, TEXT);
		notes = elfbuild_section(&b, ".note.stapsdt", SHT_NOTE, 0);
		elfbuild_marker(elfbuild_data(&b, notes), TEXT, 0, 0, "p", "n",
				"8@symbol(%rip) 8@%rdi 8@symbol(%rip)");
		strings = elfbuild_section(&b, ".strtab", SHT_STRTAB, 0);
		symbols = elfbuild_section(&b, ".symtab", SHT_SYMTAB, 0);
		elfbuild_symbol(&b, symbols, strings, "symbol", TEXT + 0x100, STT_OBJECT, 1);
		if (damage == 1)
			b.sections[symbols].sh_link = 99;
		else if (damage == 2)
			b.sections[symbols].sh_entsize = 16;
		else if (damage == 3)
			b.sections[strings].sh_offset = UINT64_MAX / 2;
		else if (damage == 4)
			b.sections[symbols].sh_link = (Elf64_Word)notes;
		file = read_good(&b);
		assert_int_equal(file->nsites, 1);
		assert_null(file->sites[0].refused);
		assert_int_equal(file->sites[0].nargs, 3);
		assert_null(file->sites[0].args[1].why);
		for (size_t i = 0; i < 3; i += 2) {
			if (!damage)
				assert_null(file->sites[0].args[i].why);
			else
				assert_non_null(
					strstr(file->sites[0].args[i].why, "cannot be read"));
		}
		elfnote_free(&file);
		elfbuild_free(&b);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_symbols),
		cmocka_unit_test(test_damaged_tables),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
