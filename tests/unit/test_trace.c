/* SPDX-License-Identifier: MIT */
/* The tables of a trace: definitions, threads, and paths from a table that may be hostile. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "../../user/trace/trace_impl.h"
#include "traced.h"

static int add(struct trace *trace, enum model_kind kind, const char *provider, const char *name,
	       u32 *id)
{
	const struct model_def def = {.kind = kind, .provider = provider, .name = name};

	return trace_add_def(trace, &def, id);
}

static void test_empty(void **state)
{
	struct trace *trace = NULL;
	struct trace_counts counts = {1, 1, 1, 1};
	struct profile profile = {0};

	(void)state;
	assert_int_equal(trace_new(NULL, 0, METRIC_WALL, &trace), 0);
	trace_counts(trace, &counts);
	assert_int_equal(counts.spans, 0);
	assert_int_equal(counts.events, 0);
	assert_int_equal(counts.threads, 0);
	assert_int_equal(trace_error(trace), 0);
	assert_int_equal(trace_damaged(trace), 0);
	assert_int_equal(trace_no_memory(trace), 0);
	assert_int_equal(trace_process_of(trace, 1), 0);
	assert_int_equal(trace_def_of(trace, PATHS_RESERVED), DEFS_MAX);
	assert_int_equal(trace_profile(trace, 5, &profile), 0);
	assert_int_equal(profile.nrows, 0);
	assert_int_equal(profile.nevents, 0);
	assert_int_equal(profile.nthreads, 0);
	assert_int_equal(profile.end_ns, 5);
	trace_free(&trace);
	assert_null(trace);
	trace_free(&trace);
}

/* A definition is what its provider, name and kind say together. */
static void test_defs_are_found_again(void **state)
{
	struct traced *t = *state;
	u32 id = UINT32_MAX;

	assert_int_equal(add(t->trace, MODEL_THREAD_SPAN, "app", "a", &id), 0);
	assert_int_equal(id, DEF_A);
	assert_int_equal(add(t->trace, MODEL_ASYNC_SPAN, "app", "a", &id), 0);
	assert_int_equal(id, TRACED_DEFS);
	assert_int_equal(add(t->trace, MODEL_EVENT, "app", "a", &id), 0);
	assert_int_equal(id, TRACED_DEFS + 1);
	assert_int_equal(add(t->trace, MODEL_THREAD_SPAN, "lib", "a", &id), 0);
	assert_int_equal(id, TRACED_DEFS + 2);
	/* The same letters, cut elsewhere. */
	assert_int_equal(add(t->trace, MODEL_THREAD_SPAN, "ap", "pa", &id), 0);
	assert_int_equal(id, TRACED_DEFS + 3);
	assert_int_equal(add(t->trace, MODEL_THREAD_SPAN, "", "", &id), 0);
	assert_int_equal(id, TRACED_DEFS + 4);
	assert_int_equal(add(t->trace, MODEL_ASYNC_SPAN, "app", "a", &id), 0);
	assert_int_equal(id, TRACED_DEFS);
}

/* The caller's strings may go; those of the first file that brought the definition stay. */
static void test_defs_are_copied(void **state)
{
	char provider[] = "lib", name[] = "work", binary[] = "/bin/first", build_id[] = "abcd",
	     source[] = "work.c";
	struct model_def def = {
		.kind = MODEL_THREAD_SPAN,
		.provider = provider,
		.name = name,
		.binary = binary,
		.build_id = build_id,
		.source_file = source,
		.source_line = 42,
	};
	struct traced *t = *state;
	const struct model_def *kept;
	u32 id, again;

	assert_int_equal(trace_add_def(t->trace, &def, &id), 0);
	binary[5] = 'F';
	def.source_line = 43;
	assert_int_equal(trace_add_def(t->trace, &def, &again), 0);
	assert_int_equal(again, id);
	provider[0] = name[0] = build_id[0] = source[0] = '!';
	traced_path(t, TRACED_USED, PATH_ROOT, id);
	feed_span(t, 1, TRACED_USED, 1, 1, 1);
	kept = traced_row(t, 1, TRACED_USED)->path->def;
	assert_int_equal(kept->id, id);
	assert_string_equal(kept->provider, "lib");
	assert_string_equal(kept->name, "work");
	assert_string_equal(kept->binary, "/bin/first");
	assert_string_equal(kept->build_id, "abcd");
	assert_string_equal(kept->source_file, "work.c");
	assert_int_equal(kept->source_line, 42);
	kept = traced_row(t, 1, TRACED_USED)->path->parent->def;
	assert_null(kept); /* the root's */
}

static void test_defs_without_details(void **state)
{
	struct traced *t = *state;
	const struct model_def *kept;

	feed_span(t, 1, PATH_A, 1, 1, 1);
	kept = traced_row(t, 1, PATH_A)->path->def;
	assert_null(kept->binary);
	assert_null(kept->build_id);
	assert_null(kept->source_file);
	assert_int_equal(kept->source_line, 0);
}

static void test_defs_are_bounded(void **state)
{
	struct traced *t = *state;
	char name[16];
	u32 i, id;

	for (i = TRACED_DEFS; i < DEFS_MAX; i++) {
		snprintf(name, sizeof(name), "n%u", i);
		if (add(t->trace, MODEL_THREAD_SPAN, "many", name, &id) || id != i)
			fail_msg("definition %u is number %u", i, id);
	}
	id = 7;
	assert_int_equal(add(t->trace, MODEL_THREAD_SPAN, "many", "more", &id), -ENOSPC);
	assert_int_equal(id, 7);
	/* Those that are there are found all the same. */
	assert_int_equal(add(t->trace, MODEL_THREAD_SPAN, "many", "n777", &id), 0);
	assert_int_equal(id, 777);
	assert_int_equal(add(t->trace, MODEL_EVENT, "app", "tick", &id), 0);
	assert_int_equal(id, DEF_TICK);
}

static void test_paths(void **state)
{
	struct traced *t = *state;
	const struct model_path *c = trace_path(t->trace, PATH_A_B_C);
	const struct model_path *a;

	assert_non_null(c);
	assert_int_equal(c->id, PATH_A_B_C);
	assert_int_equal(c->depth, 3);
	assert_string_equal(c->def->name, "c");
	assert_null(c->name);
	assert_int_equal(c->parent->id, PATH_A_B);
	assert_string_equal(c->parent->def->name, "b");
	a = c->parent->parent;
	assert_int_equal(a->id, PATH_A);
	assert_int_equal(a->depth, 1);
	assert_int_equal(a->parent->depth, 0);
	assert_null(a->parent->def);
	assert_null(a->parent->parent);
	/* Each is made once, whoever asks. */
	assert_ptr_equal(trace_path(t->trace, PATH_A), a);
	assert_ptr_equal(trace_path(t->trace, PATH_A_B_C), c);
	assert_ptr_equal(trace_path(t->trace, PATH_A_TICK)->parent, a);
	assert_ptr_equal(trace_path(t->trace, PATH_ROOT), a->parent);
}

static void test_def_of(void **state)
{
	struct traced *t = *state;

	assert_int_equal(trace_def_of(t->trace, PATH_A), DEF_A);
	assert_int_equal(trace_def_of(t->trace, PATH_JOB_C), DEF_C);
	assert_int_equal(trace_def_of(t->trace, PATH_A_TICK), DEF_TICK);
	assert_int_equal(trace_def_of(t->trace, PATH_ROOT), DEFS_MAX);
	assert_int_equal(trace_def_of(t->trace, PATH_OVERFLOW), DEFS_MAX);
	assert_int_equal(trace_def_of(t->trace, TRACED_PATHS), DEFS_MAX);
}

static void test_overflow_path(void **state)
{
	struct traced *t = *state;
	const struct model_path *path;

	/* What the table says about it does not matter. */
	traced_path(t, PATH_OVERFLOW, 30, UINT32_MAX);
	path = trace_path(t->trace, PATH_OVERFLOW);
	assert_non_null(path);
	assert_int_equal(path->depth, 1);
	assert_string_equal(path->def->provider, "spantrace");
	assert_string_equal(path->def->name, "(other paths)");
}

/* A path that makes no sense costs the records that name it, nothing else. */
static void test_hostile_paths(void **state)
{
	const u32 last = TRACED_PATHS - 1;
	struct traced *t = *state;

	assert_null(trace_path(t->trace, TRACED_PATHS)); /* beyond the table */
	assert_null(trace_path(t->trace, UINT32_MAX));
	traced_path(t, 20, 20, DEF_A); /* its own parent */
	assert_null(trace_path(t->trace, 20));
	traced_path(t, 21, 22, DEF_A); /* two in a circle */
	traced_path(t, 22, 21, DEF_A);
	assert_null(trace_path(t->trace, 21));
	assert_null(trace_path(t->trace, 22));
	traced_path(t, 23, last, DEF_A); /* a parent above */
	traced_path(t, last, PATH_ROOT, DEF_A);
	assert_null(trace_path(t->trace, 23));
	assert_non_null(trace_path(t->trace, last));
	assert_null(trace_path(t->trace, 23)); /* also when the parent is known */
	traced_path(t, 24, UINT32_MAX, DEF_A); /* a parent beyond */
	assert_null(trace_path(t->trace, 24));
	traced_path(t, 25, PATH_A, TRACED_DEFS); /* no such definition */
	assert_null(trace_path(t->trace, 25));
	traced_path(t, 26, 25, DEF_A); /* a parent that cannot be */
	assert_null(trace_path(t->trace, 26));
	traced_path(t, 27, PATH_A, UINT32_MAX);
	assert_null(trace_path(t->trace, 27));
	/* The good ones stay good, and so does one that becomes good. */
	assert_non_null(trace_path(t->trace, PATH_A_B_C));
	traced_path(t, 25, PATH_A, DEF_B);
	assert_int_equal(trace_path(t->trace, 26)->depth, 3);
}

static void test_deep_chain(void **state)
{
	enum { DEPTH = 10000 };
	struct wire_path *table = calloc(DEPTH + PATHS_RESERVED, sizeof(*table));
	const struct model_path *path;
	struct trace *trace = NULL;
	u32 i, id;

	(void)state;
	assert_non_null(table);
	assert_int_equal(trace_new(table, DEPTH + PATHS_RESERVED, METRIC_WALL, &trace), 0);
	assert_int_equal(add(trace, MODEL_THREAD_SPAN, "app", "deep", &id), 0);
	for (i = 1; i < DEPTH; i++)
		table[PATHS_RESERVED + i] = (struct wire_path){.parent = PATHS_RESERVED + i - 1};
	path = trace_path(trace, PATHS_RESERVED + DEPTH - 1);
	for (i = DEPTH; i > 0; i--, path = path->parent)
		if (!path || path->depth != i)
			fail_msg("not %u deep", i);
	assert_int_equal(path->depth, 0);
	trace_free(&trace);
	free(table);
}

/* PATHS may grow: a record's path is looked up when the record comes. */
static void test_path_made_later(void **state)
{
	struct traced *t = *state;

	feed_span(t, 1, 28, 1, 1, 1);
	assert_int_equal(trace_damaged(t->trace), 1);
	traced_path(t, 28, PATH_C, DEF_A);
	feed_span(t, 1, 28, 1, 1, 1);
	assert_int_equal(trace_damaged(t->trace), 1);
	assert_int_equal(traced_row(t, 1, 28)->path->depth, 2);
}

static void test_process_of(void **state)
{
	struct traced *t = *state;

	feed_span(t, 3, PATH_A, 1, 1, 1);
	assert_int_equal(trace_process_of(t->trace, 3), 0);
	feed_thread(t, 3, 10, 11, "worker");
	assert_int_equal(trace_process_of(t->trace, 3), 110);
	assert_int_equal(trace_process_of(t->trace, 4), 0);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, traced_setup, traced_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_empty),
		TEST(test_defs_are_found_again),
		TEST(test_defs_are_copied),
		TEST(test_defs_without_details),
		TEST(test_defs_are_bounded),
		TEST(test_paths),
		TEST(test_def_of),
		TEST(test_overflow_path),
		TEST(test_hostile_paths),
		cmocka_unit_test(test_deep_chain),
		TEST(test_path_made_later),
		TEST(test_process_of),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
