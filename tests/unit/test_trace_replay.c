/* SPDX-License-Identifier: MIT */
/* The tables of a trace that a file fills: paths found again, threads that change, texts kept once. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../../user/trace/trace.h"

struct replayed {
	struct trace *trace;
	u32 a, b;
	bool full;
};

static int setup(void **state)
{
	const struct model_def a = {.kind = MODEL_THREAD_SPAN, .provider = "app", .name = "a"};
	const struct model_def b = {.kind = MODEL_THREAD_SPAN, .provider = "app", .name = "b"};
	struct replayed *r = calloc(1, sizeof(*r));

	if (!r || trace_new(NULL, 0, METRIC_WALL, &r->trace) ||
	    trace_add_def(r->trace, &a, &r->a) || trace_add_def(r->trace, &b, &r->b))
		return -1;
	trace_begin(r->trace, 100, 0);
	*state = r;
	return 0;
}

static int teardown(void **state)
{
	struct replayed *r = *state;

	trace_free(&r->trace);
	free(r);
	return 0;
}

static const struct model_path *add(struct replayed *r, const struct model_path *parent, u32 def,
				    const char *name)
{
	return trace_add_path(r->trace, parent, def, name, &r->full);
}

static void test_paths_are_found_again(void **state)
{
	struct replayed *r = *state;
	const struct model_path *a = add(r, NULL, r->a, NULL), *b = add(r, a, r->b, NULL);

	assert_non_null(a);
	assert_non_null(b);
	assert_ptr_not_equal(a, b);
	assert_ptr_equal(add(r, NULL, r->a, NULL), a);
	assert_ptr_equal(add(r, a, r->b, NULL), b);
	assert_ptr_not_equal(add(r, NULL, r->b, NULL), b);
	assert_int_equal(a->depth, 1);
	assert_int_equal(b->depth, 2);
	assert_ptr_equal(b->parent, a);
	assert_null(a->parent->def);
	assert_string_equal(b->def->name, "b");
	assert_null(b->name);
	/* Parents before children, as trace_profile() wants it. */
	assert_true(a->id < b->id);
	assert_false(r->full);
}

static void test_names_of_their_own(void **state)
{
	struct replayed *r = *state;
	char name[] = "GET /";
	const struct model_path *plain = add(r, NULL, r->a, NULL),
				*named = add(r, NULL, r->a, name);
	const struct model_path *empty = add(r, NULL, r->a, "");

	assert_ptr_not_equal(plain, named);
	assert_ptr_not_equal(plain, empty);
	name[0] = 'P';
	assert_string_equal(named->name, "GET /");
	assert_ptr_equal(add(r, NULL, r->a, "GET /"), named);
	assert_ptr_not_equal(add(r, NULL, r->a, name), named);
	assert_ptr_equal(add(r, NULL, r->a, ""), empty);
	assert_string_equal(empty->name, "");
}

static void test_no_such_definition(void **state)
{
	struct replayed *r = *state;

	assert_null(add(r, NULL, r->b + 1, NULL));
	assert_null(add(r, NULL, UINT32_MAX, NULL));
	assert_false(r->full);
}

/* Too many become one, which says so; those that are there stay what they are. */
static void test_too_many_paths(void **state)
{
	struct replayed *r = *state;
	const struct model_path *first = add(r, NULL, r->a, NULL), *parent = first, *other;
	u32 i;

	for (i = 1; i < PATHS_MAX - PATHS_RESERVED; i++) {
		parent = add(r, parent, i & 1 ? r->b : r->a, NULL);
		assert_non_null(parent);
	}
	assert_false(r->full);
	assert_int_equal(parent->id, PATHS_MAX - 1);
	other = add(r, parent, r->b, NULL);
	assert_true(r->full);
	assert_int_equal(other->id, PATH_OVERFLOW);
	assert_int_equal(other->depth, 1);
	assert_string_equal(other->def->name, "(other paths)");
	assert_ptr_equal(add(r, first, r->a, "another"), other);
	r->full = false;
	assert_ptr_equal(add(r, NULL, r->a, NULL), first);
	assert_false(r->full);
}

static void test_threads(void **state)
{
	struct model_thread values = {.serial = 7, .pid = 1, .tid = 2, .comm = "old"};
	struct replayed *r = *state;
	const struct model_thread *thread = trace_set_thread(r->trace, &values), *other;
	struct profile profile;

	assert_non_null(thread);
	memcpy(values.comm, "new", 4);
	values.end_ns = 500;
	assert_ptr_equal(trace_set_thread(r->trace, &values), thread);
	assert_string_equal(thread->comm, "new");
	values.serial = 8;
	values.end_ns = 0;
	other = trace_set_thread(r->trace, &values);
	assert_ptr_not_equal(other, thread);
	assert_int_equal(trace_set_inside(r->trace, 7, 33), 0);
	assert_int_equal(trace_profile(r->trace, 900, &profile), 0);
	assert_int_equal(profile.nthreads, 2);
	assert_ptr_equal(profile.threads[0].thread, thread);
	assert_int_equal(profile.threads[0].inside_ns, 33);
	assert_int_equal(profile.threads[0].end_ns, 500);
	assert_int_equal(profile.threads[1].inside_ns, 0);
	assert_int_equal(profile.threads[1].end_ns, 900);
}

static void test_spans_fill_rows(void **state)
{
	const struct model_thread values = {.serial = 1, .pid = 1, .tid = 1};
	struct replayed *r = *state;
	struct model_span span = {.start_ns = 100, .end_ns = 150, .busy_ns = 50, .self_ns = 20};
	struct trace_counts counts;
	struct profile profile;

	span.thread = trace_set_thread(r->trace, &values);
	span.path = add(r, NULL, r->a, NULL);
	trace_take_span(r->trace, &span);
	span.end_ns = 170;
	span.busy_ns = 70;
	trace_take_span(r->trace, &span);
	trace_counts(r->trace, &counts);
	assert_int_equal(counts.spans, 2);
	assert_int_equal(trace_profile(r->trace, 900, &profile), 0);
	assert_int_equal(profile.nrows, 1);
	assert_int_equal(profile.rows[0].count, 2);
	assert_int_equal(profile.rows[0].wall_ns, 120);
	assert_int_equal(profile.rows[0].self_ns, 40);
	assert_int_equal(profile.rows[0].min_ns, 50);
	assert_int_equal(profile.rows[0].max_ns, 70);
	/* Nobody said how long it was inside spans: what they add up to. */
	assert_int_equal(profile.threads[0].inside_ns, 40);
}

static void test_texts_are_kept_once(void **state)
{
	struct replayed *r = *state;
	char text[] = "hello world";
	const char *kept = trace_keep_text(r->trace, text, 5);

	assert_string_equal(kept, "hello");
	text[0] = 'j';
	assert_string_equal(kept, "hello");
	assert_ptr_equal(trace_keep_text(r->trace, "hello", 5), kept);
	assert_ptr_not_equal(trace_keep_text(r->trace, "hello", 4), kept);
	assert_string_equal(trace_keep_text(r->trace, "", 0), "");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_paths_are_found_again),
		TEST(test_names_of_their_own),
		TEST(test_no_such_definition),
		TEST(test_too_many_paths),
		TEST(test_threads),
		TEST(test_spans_fill_rows),
		TEST(test_texts_are_kept_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
