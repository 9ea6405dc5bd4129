/* SPDX-License-Identifier: MIT */
/* The causes of loss: every one has a name that stays, a line for people, and is added up. */
#include <ctype.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "../../user/session/losses.h"

/* Other programs read these from the JSON. */
static void test_names(void **state)
{
	static const char *const names[LOSS_CAUSES] = {
		[LOSS_RING_FULL] = "ring_full",
		[LOSS_CONTROL_FULL] = "control_ring_full",
		[LOSS_ORPHAN_EXIT] = "orphan_exit",
		[LOSS_ORPHAN_ENTER] = "orphan_enter",
		[LOSS_TOO_DEEP] = "too_deep",
		[LOSS_NO_STATE] = "no_thread_state",
		[LOSS_PATHS_FULL] = "paths_full",
		[LOSS_ASYNC_FULL] = "async_full",
		[LOSS_ID_REUSED] = "id_reused",
		[LOSS_UNKNOWN_PARENT] = "unknown_parent",
		[LOSS_UNREADABLE_ARG] = "unreadable_argument",
		[LOSS_STRINGS_FULL] = "strings_full",
		[LOSS_NAMES_FULL] = "names_full",
		[LOSS_ALLOC_ROWS] = "alloc_no_row",
		[LOSS_HEAP_FULL] = "heap_full",
		[LOSS_HEAP_UNSEEN] = "heap_unseen",
		[LOSS_UNSAMPLED] = "unsampled",
		[LOSS_SHED] = "shed",
		[LOSS_BATCH_OPS] = "batch_lost",
		[LOSS_BATCH_DAMAGED] = "batch_damaged",
		[LOSS_BATCH_SOURCES] = "batch_sources",
		[LOSS_MISSED] = "missed_hits",
		[LOSS_DAMAGED] = "damaged",
		[LOSS_NO_MEMORY] = "no_memory",
		[LOSS_MAPPINGS] = "mappings_lost",
		[LOSS_THREADS] = "threads_full",
		[LOSS_ROWS] = "rows_full",
	};
	struct model_loss losses[LOSS_CAUSES];
	int i;

	(void)state;
	losses_init(losses);
	for (i = 0; i < LOSS_CAUSES; i++) {
		assert_non_null(names[i]);
		assert_non_null(losses[i].name);
		assert_string_equal(losses[i].name, names[i]);
	}
}

static void test_texts(void **state)
{
	struct model_loss losses[LOSS_CAUSES];
	int i;

	(void)state;
	losses_init(losses);
	for (i = 0; i < LOSS_CAUSES; i++) {
		assert_non_null(losses[i].text);
		assert_true(strlen(losses[i].text) > 10);
		assert_true(strlen(losses[i].text) <= 80);
		assert_null(strchr(losses[i].text, '\n'));
		assert_false(isupper(losses[i].text[0]));
	}
}

/* The limits that texts name are those that hold. */
static void test_limits(void **state)
{
	static const struct {
		int cause;
		u32 limit;
	} limits[] = {
		{LOSS_TOO_DEEP, FRAMES_MAX},
		{LOSS_PATHS_FULL, PATHS_MAX},
		{LOSS_ASYNC_FULL, ASYNC_MAX},
	};
	struct model_loss losses[LOSS_CAUSES];
	char number[32];
	size_t i;

	(void)state;
	losses_init(losses);
	for (i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
		snprintf(number, sizeof(number), "more than %u ", limits[i].limit);
		assert_non_null(strstr(losses[limits[i].cause].text, number));
	}
}

static void test_sum(void **state)
{
	struct model_loss losses[LOSS_CAUSES];
	int i;

	(void)state;
	memset(losses, 0xff, sizeof(losses));
	losses_init(losses);
	assert_int_equal(losses_sum(losses), 0);
	for (i = 0; i < LOSS_CAUSES; i++)
		losses[i].count = 1ull << i;
	/* What was asked for is no loss. */
	assert_int_equal(losses_sum(losses),
			 ((1ull << LOSS_CAUSES) - 1) & ~(1ull << LOSS_UNSAMPLED));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_texts),
		cmocka_unit_test(test_limits),
		cmocka_unit_test(test_sum),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
