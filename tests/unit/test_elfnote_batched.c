/* SPDX-License-Identifier: MIT */
/* Tests of user/elf: markers of the batched lane, which depend all on one that has their buffer fetched. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* memfd_create() */
#endif
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "../../include/batch.h"
#include "../../user/elf/elfnote.h"
#include "elfread.h"

#define TEXT      ELFBUILD_TEXT
#define TABLE     0x700000u
#define SEMAPHORE 8 /* in the data */

enum { META = 1 };

static void init(struct elfbuild *b)
{
	elfbuild_init(b, ELFBUILD_TEXT_SIZE);
	assert_int_equal(elfbuild_section(b, ".note.spantrace", SHT_NOTE, 0), META);
	elfbuild_nop(b, TEXT + 0x10);
}

static void add_marker(struct elfbuild *b, uint64_t address, uint64_t place)
{
	elfbuild_batched(elfbuild_data(b, META), address, place, "app", "job__enter", "-8@%rsi");
}

static void add_fetch(struct elfbuild *b, uint64_t begin, uint64_t end, uint32_t clock)
{
	elfbuild_fetch(elfbuild_data(b, META), TEXT + 0x10, elfbuild_data_address(b, SEMAPHORE),
		       begin, end, clock);
}

/* The one marker of the file is refused for PART; NULL: it is not. */
static void check(struct elfbuild *b, const char *part)
{
	struct elfnote_file *file = read_good(b);
	const char *why;

	assert_int_equal(file->nsites, 1);
	why = file->sites[0].refused;
	if (!part && why)
		fail_msg("refused: %s", why);
	if (part && (!why || !strstr(why, part)))
		fail_msg("\"%s\", not \"%s\"", why ? why : "good", part);
	elfnote_free(&file);
	elfbuild_free(b);
}

static void test_markers(void **state)
{
	struct elfnote_file *file;
	struct elfbuild b;
	size_t i;

	(void)state;
	init(&b);
	/* Not in the order of their places. */
	add_marker(&b, TEXT + 0x20, TABLE + 2);
	add_marker(&b, TEXT + 0x30, TABLE);
	add_marker(&b, TEXT + 0x40, TABLE + 1);
	add_fetch(&b, TABLE, TABLE + 3, BATCH_CLOCK_TSC);
	file = read_good(&b);
	assert_int_equal(file->nsites, 3);
	for (i = 0; i < 3; i++) {
		const struct elfnote_site *site = &file->sites[i];

		assert_null(site->refused);
		assert_true(site->batched);
		assert_int_equal(site->vaddr, TEXT + 0x20 + 0x10 * i);
		assert_int_equal(site->number, (i + 2) % 3);
		assert_int_equal(site->nop, ELFNOTE_NOP_NONE);
		assert_string_equal(site->provider, "app");
		assert_string_equal(site->name, "job__enter");
		assert_int_equal(site->nargs, 1);
		/* All have the one of the fetch. */
		assert_int_equal(site->sema_vaddr, elfbuild_data_address(&b, SEMAPHORE));
	}
	assert_int_equal(file->nfetches, 1);
	assert_null(file->fetches[0].site.refused);
	assert_int_equal(file->fetches[0].clock, BATCH_CLOCK_TSC);
	assert_int_equal(file->fetches[0].site.offset, ELFBUILD_TEXT_OFFSET + 0x10);
	assert_int_equal(file->fetches[0].site.sema_offset,
			 ELFBUILD_TEXT_OFFSET + ELFBUILD_TEXT_SIZE + SEMAPHORE);
	elfnote_free(&file);
	elfbuild_free(&b);
}

static void test_one_by_one(void **state)
{
	/* At both ends of the table, and beyond them. */
	static const struct {
		uint64_t place;
		const char *part;
	} places[] = {{TABLE, NULL},
		      {TABLE + 9, NULL},
		      {TABLE - 1, "not in the table"},
		      {TABLE + 10, "not in the table"},
		      {0, "not in the table"},
		      {UINT64_MAX, "not in the table"}};
	struct elfbuild b;

	(void)state;
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		init(&b);
		add_marker(&b, TEXT + 0x20, places[i].place);
		add_fetch(&b, TABLE, TABLE + 10, BATCH_CLOCK_MONOTONIC);
		check(&b, places[i].part);
	}
	init(&b);
	add_marker(&b, 0, TABLE);
	add_fetch(&b, TABLE, TABLE + 10, BATCH_CLOCK_MONOTONIC);
	check(&b, "left out by the linker");
	init(&b);
	elfbuild_batched(elfbuild_data(&b, META), TEXT, TABLE, "app", "", "");
	add_fetch(&b, TABLE, TABLE + 10, BATCH_CLOCK_MONOTONIC);
	check(&b, "its name is empty");
}

/* What is wrong with the fetch is wrong with all. */
static void test_fetches(void **state)
{
	static const struct {
		uint64_t pc, begin, end;
		int semaphore; /* in the data; -1: none */
		uint32_t clock;
		const char *part;
	} cases[] = {
		{TEXT + 0x10, TABLE, TABLE + BATCH_MARKERS_MAX, SEMAPHORE, BATCH_CLOCK_TSC, NULL},
		{TEXT + 0x10, TABLE, TABLE + BATCH_MARKERS_MAX + 1, SEMAPHORE, BATCH_CLOCK_TSC,
		 "more than 65,535"},
		{TEXT + 0x10, TABLE + 1, TABLE, SEMAPHORE, BATCH_CLOCK_TSC, "more than 65,535"},
		{TEXT + 0x10, TABLE, TABLE, SEMAPHORE, BATCH_CLOCK_TSC, "not in the table"},
		{TEXT + 0x10, TABLE, TABLE + 1, SEMAPHORE, BATCH_CLOCK_TSC + 1, "a clock that"},
		{TEXT + 0x10, TABLE, TABLE + 1, -1, BATCH_CLOCK_TSC, "no semaphore"},
		{TEXT + 0x10, TABLE, TABLE + 1, SEMAPHORE + 1, BATCH_CLOCK_TSC, "odd offset"},
		{TEXT + 0x10, TABLE, TABLE + 1, ELFBUILD_DATA_SIZE, BATCH_CLOCK_TSC, "(.bss)"},
		{TEXT + 0x11, TABLE, TABLE + 1, SEMAPHORE, BATCH_CLOCK_TSC, "not a nop"},
		{TEXT - 1, TABLE, TABLE + 1, SEMAPHORE, BATCH_CLOCK_TSC, "not in executable code"},
		{0, TABLE, TABLE + 1, SEMAPHORE, BATCH_CLOCK_TSC, "lacks the marker"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct elfbuild b;

		init(&b);
		add_marker(&b, TEXT + 0x20, TABLE);
		elfbuild_fetch(elfbuild_data(&b, META), cases[i].pc,
			       cases[i].semaphore < 0
				       ? 0
				       : elfbuild_data_address(&b, (size_t)cases[i].semaphore),
			       cases[i].begin, cases[i].end, cases[i].clock);
		check(&b, cases[i].part);
	}
}

static void test_several_fetches(void **state)
{
	struct elfbuild b;

	(void)state;
	/* The linker left out the first, with whatever it says. */
	init(&b);
	add_marker(&b, TEXT + 0x20, TABLE);
	elfbuild_fetch(elfbuild_data(&b, META), 0, 1, 2, 3, 4);
	add_fetch(&b, TABLE, TABLE + 1, BATCH_CLOCK_TSC);
	add_fetch(&b, TABLE, TABLE + 1, BATCH_CLOCK_TSC);
	check(&b, NULL);
	init(&b);
	add_marker(&b, TEXT + 0x20, TABLE);
	add_fetch(&b, TABLE, TABLE + 1, BATCH_CLOCK_TSC);
	add_fetch(&b, TABLE, TABLE + 2, BATCH_CLOCK_TSC);
	check(&b, "two tables");
	init(&b);
	add_marker(&b, TEXT + 0x20, TABLE);
	check(&b, "lacks the marker");
}

/* Notes that end within what must be there. */
static void test_cut_notes(void **state)
{
	static const uint8_t bytes[36] = {0};

	(void)state;
	for (size_t size = 0; size < 16; size++) {
		struct elfbuf desc = {.data = (uint8_t *)bytes, .size = size};
		struct elfbuild b;

		init(&b);
		elfbuild_note(elfbuild_data(&b, META), "spantrace", 2, &desc);
		check(&b, "its note is cut");
	}
	for (size_t size = 0; size < sizeof(bytes); size++) {
		struct elfbuf desc = {.data = (uint8_t *)bytes, .size = size};
		struct elfbuild b;

		init(&b);
		add_marker(&b, TEXT + 0x20, TABLE);
		elfbuild_note(elfbuild_data(&b, META), "spantrace", 3, &desc);
		check(&b, "lacks the marker");
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_markers),   cmocka_unit_test(test_one_by_one),
		cmocka_unit_test(test_fetches),   cmocka_unit_test(test_several_fetches),
		cmocka_unit_test(test_cut_notes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
