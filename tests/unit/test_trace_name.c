/* SPDX-License-Identifier: MIT */
/* Spans and events that an argument names: each name a path and a row of its own. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "traced.h"

enum { NAME_ONE = WIRE_STRING_FIRST, NAME_TWO, NAME_LATE };

enum { PATH_ONE = TRACED_USED, PATH_TWO, PATH_OTHER, PATH_GONE, PATH_TICK_ONE, PATH_TICK_TWO };

static void named_path(struct traced *t, u32 id, u32 def, u64 name)
{
	t->paths[id] = (struct wire_path){.parent = PATH_ROOT, .def = def, .name = name};
}

static void feed_text(struct traced *t, u64 name, const char *text, u32 length)
{
	struct wire_string record = {
		.head = {.size = sizeof(record), .kind = WIRE_STRING},
		.name = name,
		.length = length,
	};

	memcpy(record.text, text, strlen(text) + 1);
	feed(t, &record);
}

static void feed_tick(struct traced *t, u32 thread, u32 path, u64 value)
{
	struct wire_event event = make_event(thread, path, 2000);

	event.head.flags = WIRE_VALUE;
	event.value = value;
	feed(t, &event);
}

static void test_spans(void **state)
{
	struct traced *t = *state;

	named_path(t, PATH_ONE, DEF_A, NAME_ONE);
	named_path(t, PATH_TWO, DEF_A, NAME_TWO);
	named_path(t, PATH_OTHER, DEF_A, WIRE_STRING_OTHER);
	named_path(t, PATH_GONE, DEF_A, WIRE_STRING_UNREADABLE);
	/* The text ends where the record says, whatever stands behind it. */
	feed_text(t, NAME_ONE, "one#", 3);
	feed_text(t, NAME_TWO, "two", 3);
	feed_span(t, 1, PATH_ONE, 1000, 10, 10);
	feed_span(t, 1, PATH_ONE, 1000, 10, 10);
	feed_span(t, 1, PATH_TWO, 1000, 10, 10);
	feed_span(t, 1, PATH_A, 1000, 10, 10);
	feed_span(t, 1, PATH_OTHER, 1000, 10, 10);
	feed_span(t, 1, PATH_GONE, 1000, 10, 10);
	assert_int_equal(traced_row(t, 1, PATH_ONE)->count, 2);
	assert_string_equal(traced_row(t, 1, PATH_ONE)->path->name, "one");
	assert_string_equal(traced_row(t, 1, PATH_TWO)->path->name, "two");
	assert_null(traced_row(t, 1, PATH_A)->path->name);
	assert_string_equal(traced_row(t, 1, PATH_OTHER)->path->name, "(other names)");
	assert_string_equal(traced_row(t, 1, PATH_GONE)->path->name, "<unreadable>");
}

static void test_prefix(void **state)
{
	struct traced *t = *state;

	assert_int_equal(trace_name_def(t->trace, DEF_A, "import "), 0);
	assert_int_equal(trace_name_def(t->trace, DEF_A, "again "), 0); /* it stands already */
	assert_int_equal(trace_name_def(t->trace, DEF_B, ""), 0);
	named_path(t, PATH_ONE, DEF_A, NAME_ONE);
	named_path(t, PATH_TWO, DEF_B, NAME_ONE);
	feed_text(t, NAME_ONE, "json", 4);
	feed_span(t, 1, PATH_ONE, 1000, 10, 10);
	feed_span(t, 1, PATH_TWO, 1000, 10, 10);
	assert_string_equal(traced_row(t, 1, PATH_ONE)->path->name, "import json");
	assert_string_equal(traced_row(t, 1, PATH_TWO)->path->name, "json");
}

static struct traced *asked;

static void answer(void *context)
{
	(void)context;
	feed_text(asked, NAME_LATE, "late", 4);
}

/* The text may be on another ring, or be lost. */
static void test_text_that_is_late(void **state)
{
	struct traced *t = *state;

	named_path(t, PATH_ONE, DEF_A, NAME_ONE);
	named_path(t, PATH_TWO, DEF_A, NAME_LATE);
	asked = t;
	feed_span(t, 1, PATH_ONE, 1000, 10, 10);
	assert_string_equal(traced_row(t, 1, PATH_ONE)->path->name, "<lost>");
	trace_ask_more(t->trace, answer, NULL);
	feed_span(t, 1, PATH_TWO, 1000, 10, 10);
	assert_string_equal(traced_row(t, 1, PATH_TWO)->path->name, "late");
}

static void test_events(void **state)
{
	struct traced *t = *state;
	const struct profile *profile;

	named_path(t, PATH_TICK_ONE, DEF_TICK, NAME_ONE);
	named_path(t, PATH_TICK_TWO, DEF_TICK, NAME_TWO);
	feed_text(t, NAME_ONE, "one", 3);
	feed_text(t, NAME_TWO, "two", 3);
	feed_tick(t, 1, PATH_TICK_TWO, 5);
	feed_tick(t, 1, PATH_TICK, 7);
	feed_tick(t, 1, PATH_TICK_ONE, 1);
	feed_tick(t, 1, PATH_TICK_TWO, 6);
	feed_tick(t, 2, PATH_TICK_TWO, 9);
	profile = traced_profile(t);
	assert_int_equal(profile->nevents, 4);
	assert_null(profile->events[0].name);
	assert_int_equal(profile->events[0].sum, 7);
	assert_string_equal(profile->events[1].name, "one");
	assert_int_equal(profile->events[1].sum, 1);
	assert_string_equal(profile->events[2].name, "two");
	assert_int_equal(profile->events[2].count, 2);
	assert_int_equal(profile->events[2].sum, 11);
	assert_int_equal(profile->events[3].thread->serial, 2);
	assert_int_equal(profile->events[3].sum, 9);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_spans, traced_setup, traced_teardown),
		cmocka_unit_test_setup_teardown(test_prefix, traced_setup, traced_teardown),
		cmocka_unit_test_setup_teardown(test_text_that_is_late, traced_setup,
						traced_teardown),
		cmocka_unit_test_setup_teardown(test_events, traced_setup, traced_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
