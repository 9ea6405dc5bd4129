/* SPDX-License-Identifier: MIT */
/* Tests of user/elfmeta.c: which site a note of spantrace.h belongs to, and what it says about
 * it. */
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

static void test_meta(void **state)
{
	static const char *const none[] = {NULL};
	static const char *const labels[] = {"user", "si\x01ze", NULL};
	static const char *const value[] = {"value", NULL};
	static const char *const many[] = {"a", "b", "c", NULL};
	struct elfnote_file *file;
	struct elfnote_site *s;
	struct elfbuild b;
	int notes, meta;

	(void)state;
	elfbuild_init(&b, ELFBUILD_TEXT_SIZE);
	notes = add_notes(&b);
	meta = elfbuild_section(&b, ".note.spantrace", SHT_NOTE, 0);
	for (uint64_t at = 0; at < 0x80; at++)
		elfbuild_nop(&b, TEXT + at);
	elfbuild_marker(elfbuild_data(&b, notes), TEXT + 0x10, 0, 0, "p", "job__new",
			"8@%rdi 8@%rsi 8@%rdx -4@%ecx");
	elfbuild_marker(elfbuild_data(&b, notes), TEXT + 0x20, 0, 0, "p", "job__new",
			"8@%rdi 8@%rsi");
	elfbuild_marker(elfbuild_data(&b, notes), TEXT + 0x20, 0, 0, "p", "tick", "8@%rdi");
	elfbuild_marker(elfbuild_data(&b, notes), TEXT + 0x30, 0, 0, "p", "tick", "8@%rdi");
	elfbuild_marker(elfbuild_data(&b, notes), TEXT + 0x40, 0, 0, "p", "few", "8@%rdi");
	elfbuild_marker(elfbuild_data(&b, notes), TEXT + 0x50, 0, 0, "q", "tick", "8@%rdi");
	/* Out of order, with one before all sites of its marker, one for no marker, and two for
	 * one site. */
	elfbuild_meta(elfbuild_data(&b, meta), TEXT + 0x35, 77, "p", "tick", "far.c", none);
	elfbuild_meta(elfbuild_data(&b, meta), TEXT + 0x31, 3, "p", "tick", "t.c", value);
	elfbuild_meta(elfbuild_data(&b, meta), TEXT + 0x11, 1, "p", "job__new", "dir/a.c", labels);
	elfbuild_meta(elfbuild_data(&b, meta), TEXT + 0x20, 2, "p", "job__new", "a.c", none);
	elfbuild_meta(elfbuild_data(&b, meta), TEXT + 0x1f, 9, "p", "tick", "early.c", none);
	elfbuild_meta(elfbuild_data(&b, meta), TEXT + 0x51, 9, "p", "nobody", "x.c", none);
	elfbuild_meta(elfbuild_data(&b, meta), TEXT + 0x41, 4, "p", "few", "", many);
	file = read_good(&b);
	assert_null(file->damaged);
	assert_int_equal(file->nsites, 6);

	s = &file->sites[0];
	assert_true(s->has_meta);
	assert_string_equal(s->source_file, "dir/a.c");
	assert_int_equal(s->source_line, 1);
	assert_null(s->args[0].key);
	assert_null(s->args[1].key);
	assert_string_equal(s->args[2].key, "user");
	assert_string_equal(s->args[3].key, "si?ze");
	s = &file->sites[1];
	assert_true(s->has_meta);
	assert_int_equal(s->source_line, 2);
	assert_null(s->args[1].key);
	s = &file->sites
		     [2]; /* tick at 0x20: every note of its name stands before it or behind 0x30 */
	assert_string_equal(s->name, "tick");
	assert_false(s->has_meta);
	assert_null(s->source_file);
	s = &file->sites[3];
	assert_string_equal(s->source_file, "t.c");
	assert_int_equal(s->source_line, 3);
	assert_string_equal(s->args[0].key, "value");
	s = &file->sites[4]; /* more labels than arguments, and no file name */
	assert_true(s->has_meta);
	assert_null(s->source_file);
	assert_null(s->args[0].key);
	assert_false(file->sites[5].has_meta);
	elfnote_free(&file);
	elfbuild_free(&b);
}

/* Damage here does not make a file without markers one that cannot be read. */
static void test_damaged_meta_alone(void **state)
{
	struct elfbuf data = {0};
	struct elfnote_file *file;
	struct elfbuild b;
	int meta;

	(void)state;
	elfbuild_init(&b, ELFBUILD_TEXT_SIZE);
	meta = elfbuild_section(&b, ".note.spantrace", SHT_NOTE, 0);
	elfbuild_note(elfbuild_data(&b, meta), "spantrace", 1, &data);
	file = read_good(&b);
	assert_int_equal(file->nsites, 0);
	assert_non_null(file->damaged);
	elfnote_free(&file);
	elfbuild_free(&b);
}

/* SIZE bytes of a spantrace note's description, which are not enough or too many. */
static void check_damaged_meta(const void *desc, size_t size)
{
	struct elfbuf data = {0};
	struct elfnote_file *file;
	struct elfbuild b;
	int notes, meta;

	elfbuild_init(&b, ELFBUILD_TEXT_SIZE);
	notes = add_notes(&b);
	meta = elfbuild_section(&b, ".note.spantrace", SHT_NOTE, 0);
	elfbuild_nop(&b, TEXT);
	elfbuild_marker(elfbuild_data(&b, notes), TEXT, 0, 0, "p", "n", "8@%rdi");
	elfbuf_add(&data, desc, size);
	elfbuild_note(elfbuild_data(&b, meta), "spantrace", 1, &data);
	free(data.data);
	file = read_good(&b);
	assert_int_equal(file->nsites, 1);
	assert_null(file->sites[0].refused);
	assert_false(file->sites[0].has_meta);
	assert_non_null(strstr(file->damaged, ".note.spantrace"));
	elfnote_free(&file);
	elfbuild_free(&b);
}

static void test_damaged_meta(void **state)
{
	static const char no_end[] = "AAAAAAAALLLLp\0n\0f.c\0key";
	static const char keys[] =
		"AAAAAAAALLLLp\0n\0f.c\0"
		"1\0002\0003\0004\0005\0006\0007\0008\0009\00010\00011\00012\00013\0";

	(void)state;
	check_damaged_meta("", 0);
	check_damaged_meta("AAAAAAAALLL", 11);
	check_damaged_meta("AAAAAAAALLLL", 12);
	check_damaged_meta("AAAAAAAALLLLp\0n", 15);
	check_damaged_meta(no_end, sizeof(no_end) - 1);
	check_damaged_meta(no_end, sizeof(no_end));
	check_damaged_meta(keys, sizeof(keys));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_meta),
		cmocka_unit_test(test_damaged_meta),
		cmocka_unit_test(test_damaged_meta_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
