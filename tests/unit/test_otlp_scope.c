/* SPDX-License-Identifier: MIT */
/* Spans that wait for their trace: each is handed on once, with the id of the trace in its place. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../../exporters/otlp_scope.h"

#define ID 32 /* of a trace, in JSON */

struct fixture {
	struct otlp_encoding encoding;
	struct otlp_scopes scopes;
	char passed[64][ID + 2]; /* a letter that names the span, and its trace */
	u32 n;
};

static void pass(void *context, struct otlp_process *process, const char *bytes, size_t len)
{
	struct fixture *f = context;

	assert_null(process);
	assert_int_equal(len, ID + 1);
	assert_true(f->n < 64);
	memcpy(f->passed[f->n++], bytes, len);
}

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	assert_non_null(f);
	f->encoding.json = true;
	f->scopes = (struct otlp_scopes){
		.encoding = &f->encoding, .pass = pass, .context = f, .limit = 1000};
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(f->scopes.held, 0);
	assert_null(f->scopes.oldest);
	free(f);
	return 0;
}

static void hold(struct fixture *f, struct otlp_scope *scope, char name)
{
	const struct otlp_record record = {.len = 1 + ID, .traces = {1}, .ntraces = 1};
	char bytes[1 + ID] = {name};

	assert_int_equal(otlp_scope_hold(&f->scopes, scope, bytes, &record), 0);
}

/* The span NAME was handed on once, to the trace of ROOT. */
static void assert_passed(const struct fixture *f, char name, u64 root)
{
	char want[ID];
	u32 times = 0;

	otlp_set_trace(&f->encoding, want, root);
	for (u32 i = 0; i < f->n; i++) {
		if (f->passed[i][0] != name)
			continue;
		assert_memory_equal(f->passed[i] + 1, want, ID);
		times++;
	}
	assert_int_equal(times, 1);
}

static void test_resolve(void **state)
{
	struct fixture *f = *state;
	struct otlp_scope *scope = otlp_scope_new(&f->scopes, NULL, 7);

	hold(f, scope, 'a');
	hold(f, scope, 'b');
	assert_int_equal(f->n, 0);
	assert_int_equal(otlp_scope_root(scope), 0);
	otlp_scope_resolve(&f->scopes, scope, 42);
	otlp_scope_resolve(&f->scopes, scope, 43);
	hold(f, scope, 'c');
	assert_int_equal(otlp_scope_root(scope), 42);
	for (char name = 'a'; name <= 'c'; name++)
		assert_passed(f, name, 42);
	otlp_scope_unref(&f->scopes, &scope);
	assert_null(scope);
}

/* A chain of three, in both directions of size, of which the last is known in the end. */
static void test_merge(void **state)
{
	struct fixture *f = *state;
	struct otlp_scope *scopes[3];

	for (u64 i = 0; i < 3; i++)
		scopes[i] = otlp_scope_new(&f->scopes, NULL, i + 1);
	hold(f, scopes[0], 'a');
	hold(f, scopes[0], 'b');
	hold(f, scopes[1], 'c');
	assert_int_equal(otlp_scope_merge(&f->scopes, scopes[0], scopes[1]), 0);
	assert_int_equal(otlp_scope_merge(&f->scopes, scopes[1], scopes[2]), 0);
	assert_int_equal(otlp_scope_merge(&f->scopes, scopes[2], scopes[0]), 0);
	hold(f, scopes[0], 'd');
	otlp_scope_unref(&f->scopes, &scopes[1]);
	assert_int_equal(f->n, 0);
	otlp_scope_resolve(&f->scopes, scopes[0], 9);
	assert_int_equal(otlp_scope_root(scopes[2]), 9);
	for (char name = 'a'; name <= 'd'; name++)
		assert_passed(f, name, 9);
	otlp_scope_unref(&f->scopes, &scopes[0]);
	otlp_scope_unref(&f->scopes, &scopes[2]);
}

static void test_merge_into_known(void **state)
{
	struct fixture *f = *state;
	struct otlp_scope *a = otlp_scope_new(&f->scopes, NULL, 1);
	struct otlp_scope *b = otlp_scope_new(&f->scopes, NULL, 2);

	hold(f, a, 'a');
	otlp_scope_resolve(&f->scopes, b, 5);
	assert_int_equal(otlp_scope_merge(&f->scopes, a, b), 0);
	assert_passed(f, 'a', 5);
	otlp_scope_unref(&f->scopes, &a);
	otlp_scope_unref(&f->scopes, &b);
}

/* Beyond the limit the oldest become traces of their own. */
static void test_limit(void **state)
{
	struct fixture *f = *state;
	struct otlp_scope *scopes[40];

	for (int i = 0; i < 40; i++) {
		scopes[i] = otlp_scope_new(&f->scopes, NULL, (u64)i + 1);
		hold(f, scopes[i], (char)('0' + i));
		assert_true(f->scopes.held <= 1000);
	}
	assert_true(f->n >= 10 && f->n < 40);
	assert_int_equal(f->scopes.forced, f->n);
	assert_passed(f, '0', 1);
	assert_int_equal(otlp_scope_root(scopes[39]), 0);
	otlp_scope_resolve_all(&f->scopes);
	for (int i = 0; i < 40; i++) {
		assert_passed(f, (char)('0' + i), (u64)i + 1);
		otlp_scope_unref(&f->scopes, &scopes[i]);
	}
}

/* What nobody asks for any more does not vanish. */
static void test_forgotten(void **state)
{
	struct fixture *f = *state;
	struct otlp_scope *a = otlp_scope_new(&f->scopes, NULL, 11);
	struct otlp_scope *b = otlp_scope_new(&f->scopes, NULL, 12);

	hold(f, a, 'a');
	hold(f, b, 'b');
	assert_int_equal(otlp_scope_merge(&f->scopes, a, b), 0);
	otlp_scope_unref(&f->scopes, &b);
	assert_int_equal(f->n, 0);
	otlp_scope_unref(&f->scopes, &a);
	assert_passed(f, 'a', 12);
	assert_passed(f, 'b', 12);
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(test_resolve), CASE(test_merge),     CASE(test_merge_into_known),
		CASE(test_limit),   CASE(test_forgotten),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
