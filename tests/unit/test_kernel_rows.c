/* SPDX-License-Identifier: MIT */
/* Rows of the aggregated mode: each gain is handed on once. The kernel is played by plain memory. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "../../user/kernel/kernel_impl.h"

enum { ROWS = 16, OCTAVES = 24 };

struct fake {
	struct spantrace_bpf__data data;
	struct spantrace_bpf skel;
	struct kernel kernel;
	struct wire_row gained[8];
	struct wire_octave pieces[8]; /* the first of each */
	size_t npieces[8];
	size_t n;
};

static void note(void *context, const struct wire_row *gained, const struct wire_octave *pieces,
		 size_t n)
{
	struct fake *f = context;

	assert_true(f->n < 8);
	f->gained[f->n] = *gained;
	f->npieces[f->n] = n;
	if (n)
		f->pieces[f->n] = pieces[0];
	f->n++;
}

static int setup(void **state)
{
	struct fake *f = calloc(1, sizeof(*f));

	*state = f;
	f->data.rows_used = 3;
	f->skel.data = &f->data;
	f->kernel.skel = &f->skel;
	f->data.octaves_used = OCTAVES;
	f->kernel.nrows = ROWS;
	f->kernel.noctaves = OCTAVES;
	f->kernel.rows_mapped = ROWS * sizeof(*f->kernel.rows); /* nothing more to map */
	f->kernel.octaves_mapped = OCTAVES * sizeof(*f->kernel.octaves);
	f->kernel.rows = calloc(ROWS, sizeof(*f->kernel.rows));
	f->kernel.octaves = calloc(OCTAVES, sizeof(*f->kernel.octaves));
	f->kernel.rows_taken = calloc(ROWS, sizeof(*f->kernel.rows_taken));
	f->kernel.octaves_taken = calloc(OCTAVES, sizeof(*f->kernel.octaves_taken));
	return f->kernel.octaves_taken ? 0 : -1;
}

static int teardown(void **state)
{
	struct fake *f = *state;

	free(f->kernel.rows);
	free(f->kernel.octaves);
	free(f->kernel.rows_taken);
	free(f->kernel.octaves_taken);
	free(f);
	return 0;
}

static void test_gains_are_told_once(void **state)
{
	struct fake *f = *state;
	struct wire_row *row = &f->kernel.rows[2];

	*row = (struct wire_row){.thread = 7,
				 .path = 9,
				 .octave = 5,
				 .count = 3,
				 .wall_ns = 300,
				 .least_ns = ~50ull};
	f->kernel.octaves[5] = (struct wire_octave){.octave = 1, .counts = {[4] = 3}};
	kernel_take_rows(&f->kernel, note, f);
	assert_int_equal(f->n, 1);
	assert_int_equal(f->gained[0].thread, 7);
	assert_int_equal(f->gained[0].path, 9);
	assert_int_equal(f->gained[0].count, 3);
	assert_int_equal(f->gained[0].wall_ns, 300);
	assert_int_equal(f->npieces[0], 1);
	assert_int_equal(f->pieces[0].octave, 1);
	assert_int_equal(f->pieces[0].counts[4], 3);

	kernel_take_rows(&f->kernel, note, f);
	assert_int_equal(f->n, 1);

	row->count = 5;
	row->wall_ns = 1000;
	f->kernel.octaves[5].counts[4] = 4;
	f->kernel.octaves[5].counts[63] = 1;
	kernel_take_rows(&f->kernel, note, f);
	assert_int_equal(f->n, 2);
	assert_int_equal(f->gained[1].count, 2);
	assert_int_equal(f->gained[1].wall_ns, 700);
	assert_int_equal(f->gained[1].least_ns, ~50ull);
	assert_int_equal(f->pieces[1].counts[4], 1);
	assert_int_equal(f->pieces[1].counts[63], 1);
}

/* Each field of a row comes through, and only what is new of it. */
static void test_every_sum_is_told(void **state)
{
	static const size_t sums[] = {
		offsetof(struct wire_row, off_ns),
		offsetof(struct wire_row, run_delay_ns),
		offsetof(struct wire_row, self_off_ns),
		offsetof(struct wire_row, self_run_delay_ns),
		offsetof(struct wire_row, system_ns),
		offsetof(struct wire_row, self_system_ns),
		offsetof(struct wire_row, vol_switches),
		offsetof(struct wire_row, segment_ns),
		offsetof(struct wire_row, segment_off_ns),
		offsetof(struct wire_row, segment_run_delay_ns),
		offsetof(struct wire_row, segment_system_ns),
	};
	struct fake *f = *state;
	char *row = (char *)&f->kernel.rows[2];
	u64 told;

	f->kernel.rows[2] = (struct wire_row){.thread = 7, .path = 9};
	for (u64 round = 1; round <= 2; round++) {
		f->n = 0;
		f->kernel.rows[2].count++;
		for (size_t i = 0; i < sizeof(sums) / sizeof(*sums); i++)
			*(u64 *)(row + sums[i]) += 100 * round + i;
		kernel_take_rows(&f->kernel, note, f);
		assert_int_equal(f->n, 1);
		for (size_t i = 0; i < sizeof(sums) / sizeof(*sums); i++) {
			memcpy(&told, (char *)&f->gained[0] + sums[i], sizeof(told));
			assert_int_equal(told, 100 * round + i);
		}
	}
}

static void test_counters_of_the_histogram_wrap(void **state)
{
	struct fake *f = *state;

	f->kernel.rows[1] = (struct wire_row){.thread = 1, .path = 2, .octave = 1, .count = 1};
	f->kernel.octaves[1].counts[0] = UINT32_MAX;
	kernel_take_rows(&f->kernel, note, f);
	f->kernel.octaves[1].counts[0] = 9;
	kernel_take_rows(&f->kernel, note, f);
	assert_int_equal(f->n, 2);
	assert_int_equal(f->pieces[1].counts[0], 10);
}

static void test_rows_that_are_not_in_use(void **state)
{
	struct fake *f = *state;

	f->kernel.rows[1].count = 5;                        /* no thread */
	f->kernel.rows[2] = (struct wire_row){.thread = 4}; /* nothing gained */
	f->kernel.rows[3] =
		(struct wire_row){.thread = 4, .count = 1}; /* beyond what was given out */
	kernel_take_rows(&f->kernel, note, f);
	assert_int_equal(f->n, 0);
}

/* A list that the tables' damage made a ring, or that leads out of the table, ends. */
static void test_damaged_links(void **state)
{
	struct fake *f = *state;

	f->kernel.rows[1] = (struct wire_row){.thread = 1, .path = 2, .octave = 1, .count = 1};
	f->kernel.octaves[1] = (struct wire_octave){.next = 1, .counts = {1}};
	f->kernel.rows[2] =
		(struct wire_row){.thread = 1, .path = 3, .octave = OCTAVES, .count = 1};
	kernel_take_rows(&f->kernel, note, f);
	assert_int_equal(f->n, 2);
	assert_int_equal(f->npieces[0], 1);
	assert_int_equal(f->npieces[1], 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_gains_are_told_once, setup, teardown),
		cmocka_unit_test_setup_teardown(test_every_sum_is_told, setup, teardown),
		cmocka_unit_test_setup_teardown(test_counters_of_the_histogram_wrap, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_rows_that_are_not_in_use, setup, teardown),
		cmocka_unit_test_setup_teardown(test_damaged_links, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
