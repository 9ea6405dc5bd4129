/* SPDX-License-Identifier: MIT */
/* Live blocks while a trace runs: whose are taken out when, and which are suspects. The kernel's table is plain memory. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "../../user/kernel/kernel_impl.h"
#include "../../user/trace/heap.h"
#include "blocks.h"
#include "traced.h"

#define SECOND 1000000000ull

enum { ROW_A = 1, ROW_B, ROWS };

struct setting {
	struct wire_row rows[ROWS];
	struct spantrace_bpf__data data;
	struct spantrace_bpf skel;
	struct kernel kernel;
	struct heap *heap;
	size_t given_back;
};

static void note_row(void *context, const struct wire_row *gained, const struct wire_octave *pieces,
		     size_t n)
{
	struct setting *s = context;

	(void)gained;
	(void)pieces;
	(void)n;
	s->given_back++;
}

/* Two threads of two processes, a row of each. */
static void begin(struct traced *t, struct setting *s, u64 leaks_ns)
{
	memset(&blocks, 0, sizeof(blocks));
	memset(s, 0, sizeof(*s));
	feed_thread(t, 1, 10, 10, "one");
	feed_thread(t, 2, 20, 20, "two");
	s->rows[ROW_A] = (struct wire_row){.thread = 1, .path = PATH_A};
	s->rows[ROW_B] = (struct wire_row){.thread = 2, .path = PATH_A_B};
	s->data.rows_used = ROWS;
	s->skel.data = &s->data;
	s->kernel.skel = &s->skel;
	s->kernel.rows = s->rows;
	s->kernel.rows_mapped = sizeof(s->rows);
	assert_int_equal(heap_new(&s->kernel, t->trace, leaks_ns, &s->heap), 0);
}

/* The row of PATH in the profile; NULL: there is none. */
static const struct model_row *row_of(const struct profile *profile, u32 pid)
{
	size_t i;

	for (i = 0; i < profile->nrows; i++)
		if (profile->rows[i].thread->pid == pid && profile->rows[i].leak_objects)
			return &profile->rows[i];
	return NULL;
}

/* Process images are 100 + pid, see traced.h. */
static void test_blocks_of_ended_images_go(void **state)
{
	struct traced *t = *state;
	struct setting s;

	begin(t, &s, 0);
	blocks_add(0x10, 110, ROW_A, 5, 0);
	blocks_add(0x20, 120, ROW_B, 6, 0);
	blocks_add(0x30, 110, ROW_A, 7, 0);
	heap_tick(s.heap, 2 * SECOND, note_row, &s);
	assert_int_equal(blocks_left(), 3);
	assert_int_equal(blocks.looks, 0); /* nothing has ended: nothing to look for */
	assert_int_equal(heap_end_image(s.heap, 110, 3 * SECOND), 0);
	/* Not at each process that ends, but once a second. */
	heap_tick(s.heap, 2 * SECOND + 1, note_row, &s);
	assert_int_equal(blocks_left(), 3);
	heap_tick(s.heap, 4 * SECOND, note_row, &s);
	assert_int_equal(blocks_left(), 1);
	assert_false(blocks.gone[1]);
	heap_tick(s.heap, 6 * SECOND, note_row, &s);
	assert_int_equal(blocks.looks, 1);
	heap_free(&s.heap);
	assert_null(s.heap);
}

static void test_a_look_that_fails_is_made_up_for(void **state)
{
	struct traced *t = *state;
	struct setting s;

	begin(t, &s, 0);
	blocks_add(0x10, 110, ROW_A, 5, 0);
	assert_int_equal(heap_end_image(s.heap, 110, SECOND), 0);
	blocks.error = -EAGAIN;
	heap_tick(s.heap, 2 * SECOND, note_row, &s);
	assert_int_equal(blocks_left(), 1);
	blocks.error = 0;
	heap_tick(s.heap, 4 * SECOND, note_row, &s);
	assert_int_equal(blocks_left(), 0);
	heap_free(&s.heap);
}

/* As old as at the end of its process, or of the trace. */
static void test_suspects(void **state)
{
	struct traced *t = *state;
	const struct profile *profile;
	const struct model_row *row;
	struct setting s;

	begin(t, &s, 10 * SECOND);
	blocks_add(0x10, 110, ROW_A, 100, 1 * SECOND);  /* 14 s at its end */
	blocks_add(0x20, 110, ROW_A, 200, 10 * SECOND); /* 5 s */
	blocks_add(0x30, 120, ROW_B, 300, 1 * SECOND);  /* 39 s at the trace's */
	blocks_add(0x40, 120, ROW_B, 400, 30 * SECOND); /* 10 s, which is old enough */
	blocks_add(0x50, 120, ROW_B, 500, 31 * SECOND);
	blocks_add(0x60, 120, ROWS, 600, 1 * SECOND);   /* of no row */
	blocks_add(0x70, 120, ROW_B, 700, 50 * SECOND); /* from after the end */
	assert_int_equal(heap_end_image(s.heap, 110, 15 * SECOND), 0);
	heap_tick(s.heap, 16 * SECOND, note_row, &s);
	assert_int_equal(blocks_left(), 5);
	assert_int_equal(heap_finish(s.heap, 40 * SECOND), 0);
	profile = traced_profile(t);
	row = row_of(profile, 10);
	assert_non_null(row);
	assert_int_equal(row->leak_objects, 1);
	assert_int_equal(row->leak_bytes, 100);
	assert_int_equal(row->leak_oldest_ns, 14 * SECOND);
	row = row_of(profile, 20);
	assert_non_null(row);
	assert_int_equal(row->leak_objects, 2);
	assert_int_equal(row->leak_bytes, 700);
	assert_int_equal(row->leak_oldest_ns, 39 * SECOND);
	heap_free(&s.heap);
}

static void test_no_suspects_asked_for(void **state)
{
	struct traced *t = *state;
	struct setting s;

	begin(t, &s, 0);
	blocks_add(0x10, 110, ROW_A, 5, 0);
	assert_int_equal(heap_finish(s.heap, 40 * SECOND), 0);
	assert_int_equal(blocks.looks, 0);
	assert_null(row_of(traced_profile(t), 10));
	heap_free(&s.heap);
	heap_free(&s.heap);
}

static void test_the_last_look_fails(void **state)
{
	struct traced *t = *state;
	struct setting s;

	begin(t, &s, 1);
	blocks.error = -EPERM;
	assert_int_equal(heap_finish(s.heap, 40 * SECOND), -EPERM);
	heap_free(&s.heap);
}

#define TEST(fn) cmocka_unit_test_setup_teardown(fn, traced_setup, traced_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_blocks_of_ended_images_go),
		TEST(test_a_look_that_fails_is_made_up_for),
		TEST(test_suspects),
		TEST(test_no_suspects_asked_for),
		TEST(test_the_last_look_fails),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
