/* SPDX-License-Identifier: MIT */
/* Begins come before ends, outer ones before inner ones, also where they share a nanosecond; and nothing waits longer than
 * it has to. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../../exporters/perfetto_hold.h"
#include "../../exporters/text.h"

struct written {
	struct perfetto_hold hold;
	struct text_buf text;
};

/* Spans are called by their flow. */
static void write_one(void *context, const struct perfetto_begin *begin, bool begins)
{
	struct written *w = context;
	char piece[32];

	snprintf(piece, sizeof(piece), "%s%c%llu ", begins ? "" : "/", (char)begin->flow,
		 (unsigned long long)(begins ? begin->span->start_ns : begin->span->end_ns));
	text_add_str(&w->text, piece);
}

static void put(struct written *w, char name, u32 depth, u64 start, u64 end)
{
	const struct model_span span = {.start_ns = start, .end_ns = end};
	const struct perfetto_begin begin = {.span = &span, .flow = (u64)name, .depth = depth};

	assert_int_equal(perfetto_hold(&w->hold, &begin, depth == 1, write_one, w), 0);
}

static void assert_written(struct written *w, const char *want)
{
	text_add(&w->text, "", 0);
	assert_string_equal(w->text.data, want);
	text_cut(&w->text, 0);
}

static void done(struct written *w)
{
	perfetto_hold_flush(&w->hold, write_one, w);
	assert_written(w, "");
	perfetto_hold_free(&w->hold);
	text_buf_free(&w->text);
}

static void test_no_ties(void **state)
{
	struct written w = {0};

	(void)state;
	put(&w, 'c', 2, 20, 30);
	assert_written(&w, "/c30 ");
	put(&w, 'd', 2, 40, 50);
	assert_written(&w, "d40 /d50 ");
	put(&w, 'e', 2, 60, 60);
	assert_written(&w, "e60 /e60 ");
	put(&w, 'p', 1, 10, 70);
	assert_written(&w, "c20 p10 /p70 ");
	put(&w, 'q', 1, 80, 90);
	assert_written(&w, "q80 /q90 ");
	done(&w);
}

/* A parent, its first child and that one's first child, of any length. */
static void test_ties(void **state)
{
	struct written w = {0};

	(void)state;
	put(&w, 'g', 3, 10, 10);
	assert_written(&w, "");
	put(&w, 'c', 2, 10, 20);
	assert_written(&w, "/c20 ");
	put(&w, 's', 2, 20, 20);
	assert_written(&w, "s20 /s20 ");
	put(&w, 'p', 1, 10, 30);
	assert_written(&w, "p10 c10 g10 /g10 /p30 ");
	/* The next one begins where that ended, and has a child that begins there too. */
	put(&w, 'c', 2, 30, 35);
	put(&w, 'p', 1, 30, 40);
	assert_written(&w, "/c35 p30 c30 /p40 ");
	put(&w, 'g', 3, 50, 50);
	put(&w, 'c', 2, 50, 50);
	put(&w, 'p', 1, 50, 50);
	assert_written(&w, "p50 c50 g50 /g50 /c50 /p50 ");
	done(&w);
}

/* Only a first child's parent can have begun with it. */
static void test_levels(void **state)
{
	struct written w = {0};

	(void)state;
	put(&w, 'a', 3, 10, 12);
	put(&w, 'b', 4, 14, 16);
	put(&w, 'c', 3, 14, 18);
	assert_written(&w, "/a12 /b16 c14 b14 /c18 ");
	put(&w, 'd', 3, 20, 22);
	assert_written(&w, "d20 /d22 ");
	put(&w, 'e', 2, 9, 23);
	assert_written(&w, "a10 /e23 ");
	put(&w, 'p', 1, 9, 24);
	assert_written(&w, "p9 e9 /p24 ");
	done(&w);
}

/* What waits at the end of the trace, and what waits where levels make no sense. */
static void test_rest(void **state)
{
	struct written w = {0};

	(void)state;
	put(&w, 'c', 2, 20, 30);
	assert_written(&w, "/c30 ");
	perfetto_hold_flush(&w.hold, write_one, &w);
	assert_written(&w, "c20 ");
	for (u32 i = 0; i < 5000; i++)
		put(&w, 'x', 2 + i, 100 + i, 100 + i);
	perfetto_hold_flush(&w.hold, write_one, &w);
	assert_int_equal(w.hold.n, 0);
	assert_true(w.hold.room <= 2048);
	text_cut(&w.text, 0);
	done(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_no_ties),
		cmocka_unit_test(test_ties),
		cmocka_unit_test(test_levels),
		cmocka_unit_test(test_rest),
	};

	return cmocka_run_group_tests_name("perfetto_hold", tests, NULL, NULL);
}
