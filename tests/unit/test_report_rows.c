/* SPDX-License-Identifier: MIT */
/* Totals by key of profiles made by hand: recursion, measureme's kinds, several inputs, threads. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../../exporters/text.h"
#include "../../user/report/report_rows.h"
#include "sample_profile.h"

#define S 1000000000ull

static const struct report_source plain = {.total_ns = 10 * S};
static const struct report_source measureme = {
	.naming = REPORT_NAME_ALONE, .kinds = true, .total_ns = 1000};

struct fixture {
	struct report_keys *keys;
	struct report_rows rows;
};

static void make(struct fixture *f, enum report_by by)
{
	*f = (struct fixture){.rows.durations = true};
	assert_int_equal(report_keys_new(by, false, &f->keys), 0);
	f->rows.keys = f->keys;
}

static void release(struct fixture *f)
{
	report_rows_free(&f->rows);
	report_keys_free(&f->keys);
}

/* The item whose key reads TEXT. */
static const struct report_item *find(const struct fixture *f, const char *text)
{
	for (u32 id = 1; id < f->keys->nkeys; id++) {
		AUTO_TEXT name = {0};

		report_key_text(f->keys, id, &name);
		if (!strcmp(name.data, text) && report_item(&f->rows, id)->seen)
			return report_item(&f->rows, id);
	}
	fail_msg("there is no item \"%s\"", text);
	return NULL;
}

static u32 seen(const struct fixture *f)
{
	u32 n = 0;

	for (u32 id = 0; id < f->rows.nitems; id++)
		n += f->rows.items[id].seen;
	return n;
}

static void test_by_name(void **state)
{
	struct sample *s = sample_new();
	const struct report_item *outer;
	struct fixture f;

	(void)state;
	make(&f, REPORT_BY_NAME);
	assert_int_equal(report_rows_add(&f.rows, &s->profile, &plain), 0);
	assert_int_equal(seen(&f), 3);
	outer = find(&f, "app:outer");
	assert_int_equal(outer->v[REPORT_COUNT], 5);
	assert_int_equal(outer->v[REPORT_ABANDONED], 1);
	assert_int_equal(outer->v[REPORT_OPEN], 1);
	assert_int_equal(outer->v[REPORT_TOTAL], 5 * S);
	assert_int_equal(outer->nwalls, 5);
	assert_non_null(outer->durations);
	/* An async span has wall that it was not worked on. */
	assert_int_equal(find(&f, "app:GET /cart")->v[REPORT_WALL], 3 * S);
	assert_int_equal(find(&f, "app:GET /cart")->v[REPORT_TOTAL], S / 2);
	assert_int_equal(f.rows.total_ns, 10 * S);
	assert_int_equal(f.rows.nlosses, 2);
	release(&f);
	sample_free(s);
}

static void test_by_path_and_process(void **state)
{
	struct sample *s = sample_new();
	struct fixture f;

	(void)state;
	make(&f, REPORT_BY_PATH);
	assert_int_equal(report_rows_add(&f.rows, &s->profile, &plain), 0);
	assert_int_equal(find(&f, "app:outer;app:inner")->v[REPORT_COUNT], 10);
	assert_int_equal(find(&f, "app:outer")->v[REPORT_COUNT], 5);
	release(&f);
	make(&f, REPORT_BY_PROCESS);
	assert_int_equal(report_rows_add(&f.rows, &s->profile, &plain), 0);
	/* It is known by its first thread. */
	assert_int_equal(seen(&f), 1);
	assert_int_equal(find(&f, "web (100)")->v[REPORT_COUNT], 16);
	release(&f);
	make(&f, REPORT_BY_THREAD);
	assert_int_equal(report_rows_add(&f.rows, &s->profile, &plain), 0);
	assert_int_equal(find(&f, "web-100")->v[REPORT_TOTAL], 4 * S);
	assert_int_equal(find(&f, "web-100")->v[REPORT_SELF], 4 * S);
	release(&f);
	sample_free(s);
}

static void test_inputs_add_up(void **state)
{
	struct sample *s = sample_new();
	struct fixture f;

	(void)state;
	make(&f, REPORT_BY_NAME);
	assert_int_equal(report_rows_add(&f.rows, &s->profile, &plain), 0);
	s->profile.metrics &= ~METRIC_CPU;
	assert_int_equal(report_rows_add(&f.rows, &s->profile, &plain), 0);
	assert_int_equal(find(&f, "app:outer")->v[REPORT_COUNT], 10);
	assert_int_equal(find(&f, "app:outer")->min_ns, s->rows[SAMPLE_WORKER_OUTER].min_ns);
	assert_int_equal(f.rows.total_ns, 20 * S);
	assert_int_equal(f.rows.ninputs, 2);
	/* What one input does not have is in no sum. */
	assert_int_equal(f.rows.metrics & METRIC_CPU, 0);
	assert_int_equal(f.rows.losses[0].count, 2 * s->losses[0].count);
	report_rows_clear(&f.rows);
	assert_int_equal(seen(&f), 0);
	assert_int_equal(f.rows.total_ns, 0);
	release(&f);
	sample_free(s);
}

/* A profile of thread spans and events on one thread, for recursion and for measureme's kinds. */
struct made {
	struct profile profile;
	struct model_thread thread;
	struct model_def defs[16];
	struct model_path paths[16];
	struct model_row rows[16];
	struct model_event_row events[16];
};

static const struct model_path *add(struct made *m, const struct model_path *parent,
				    const char *provider, const char *name, u64 busy, u64 self)
{
	size_t n = m->profile.nrows++;

	m->defs[n] =
		(struct model_def){.kind = MODEL_THREAD_SPAN, .provider = provider, .name = name};
	m->paths[n + 1] = (struct model_path){
		.id = (u32)n + 1, .depth = parent->depth + 1, .parent = parent, .def = &m->defs[n]};
	m->rows[n] = (struct model_row){.thread = &m->thread,
					.path = &m->paths[n + 1],
					.count = 1,
					.wall_ns = busy,
					.busy_ns = busy,
					.self_ns = self,
					.min_ns = busy,
					.max_ns = busy,
					.mean_ns = busy,
					.work.busy_ns = self};
	m->profile.rows = m->rows;
	return &m->paths[n + 1];
}

static void add_event(struct made *m, const char *provider, const char *name, u64 count, s64 sum)
{
	size_t n = m->profile.nevents++;

	m->defs[8 + n] = (struct model_def){
		.id = 8 + (u32)n, .kind = MODEL_EVENT, .provider = provider, .name = name};
	m->events[n] = (struct model_event_row){.thread = &m->thread,
						.def = &m->defs[8 + n],
						.count = count,
						.sum = sum,
						.has_sum = sum != 0};
	m->profile.events = m->events;
}

/* a 100 ▸ b 60 ▸ a 40 ▸ a 10: only the outermost a and b hold what is not in another of them. */
static void test_recursion(void **state)
{
	struct made m = {.thread.comm = "t"};
	const struct model_path *at;
	struct fixture f;

	(void)state;
	at = add(&m, &m.paths[0], "p", "a", 100, 40);
	at = add(&m, at, "p", "b", 60, 20);
	at = add(&m, at, "p", "a", 40, 30);
	add(&m, at, "p", "a", 10, 10);
	make(&f, REPORT_BY_NAME);
	assert_int_equal(report_rows_add(&f.rows, &m.profile, &plain), 0);
	assert_int_equal(find(&f, "p:a")->v[REPORT_SELF], 80);
	assert_int_equal(find(&f, "p:a")->v[REPORT_TOTAL], 100);
	assert_int_equal(find(&f, "p:a")->v[REPORT_COUNT], 3);
	assert_int_equal(find(&f, "p:a")->min_ns, 10);
	assert_int_equal(find(&f, "p:b")->v[REPORT_TOTAL], 60);
	release(&f);
	make(&f, REPORT_BY_PATH);
	assert_int_equal(report_rows_add(&f.rows, &m.profile, &plain), 0);
	assert_int_equal(seen(&f), 4);
	assert_int_equal(find(&f, "p:a;p:b;p:a")->v[REPORT_TOTAL], 40);
	release(&f);
}

/* A span beside one of its name, below the same parent: neither is inside the other. */
static void test_siblings_are_not_recursion(void **state)
{
	struct made m = {.thread.comm = "t"};
	const struct model_path *top, *left;
	struct fixture f;

	(void)state;
	top = add(&m, &m.paths[0], "p", "top", 100, 0);
	left = add(&m, top, "p", "left", 50, 20);
	add(&m, left, "p", "x", 30, 30);
	add(&m, top, "p", "x", 50, 50);
	make(&f, REPORT_BY_NAME);
	assert_int_equal(report_rows_add(&f.rows, &m.profile, &plain), 0);
	assert_int_equal(find(&f, "p:x")->v[REPORT_TOTAL], 80);
	release(&f);
}

static void test_an_async_span_under_its_own_name(void **state)
{
	struct made m = {.thread.comm = "t"};
	struct fixture f;

	(void)state;
	add(&m, add(&m, &m.paths[0], "p", "job", 100, 100), "p", "job", 30, 30);
	m.defs[0].kind = m.defs[1].kind = MODEL_ASYNC_SPAN;
	make(&f, REPORT_BY_NAME);
	assert_int_equal(report_rows_add(&f.rows, &m.profile, &plain), 0);
	assert_int_equal(find(&f, "p:job")->v[REPORT_TOTAL], 130);
	release(&f);
}

static void test_kinds(void **state)
{
	struct made m = {.thread.tid = 7};
	const struct model_path *query;
	const struct report_item *q;
	struct fixture f;

	(void)state;
	query = add(&m, &m.paths[0], "Query", "q", 100, 70);
	add(&m, query, "IncrementalResultHashing", "q", 30, 25);
	add(&m, &m.paths[0], "IncrementalLoadResult", "q", 20, 15);
	add(&m, &m.paths[0], "QueryBlocked", "q", 9, 8);
	add(&m, &m.paths[0], "Work", "q", 4, 4);
	add_event(&m, "QueryCacheHit", "q", 3, 0);
	add_event(&m, "QueryCacheHitCount", "q", 2, 50);
	add_event(&m, "QueryCacheHit", "other", 6, 0);
	add_event(&m, "ArtifactSize", "rlib", 2, 700);
	add_event(&m, "Work", "q", 1, 5);
	make(&f, REPORT_BY_NAME);
	assert_int_equal(report_rows_add(&f.rows, &m.profile, &measureme), 0);
	q = find(&f, "q");
	assert_int_equal(q->v[REPORT_SELF], 70 + 25 + 15 + 8 + 4);
	/* Hashing goes on inside the query. */
	assert_int_equal(q->v[REPORT_TOTAL], 100 + 20 + 9 + 4);
	/* Loaded, blocked and hashed is not executed. */
	assert_int_equal(q->v[REPORT_COUNT], 2);
	assert_int_equal(q->v[REPORT_CACHE_MISSES], 1);
	assert_int_equal(q->nwalls, 2);
	assert_int_equal(q->v[REPORT_HASHING_TIME], 25);
	assert_int_equal(q->v[REPORT_LOAD_TIME], 15);
	assert_int_equal(q->v[REPORT_BLOCKED_TIME], 9);
	/* The counts hold the single hits too. */
	assert_int_equal(q->v[REPORT_CACHE_HITS], 50);
	assert_int_equal(find(&f, "other")->v[REPORT_CACHE_HITS], 6);
	assert_int_equal(find(&f, "other")->v[REPORT_COUNT], 0);
	release(&f);

	/* The same names in a recording mean nothing. */
	make(&f, REPORT_BY_NAME);
	assert_int_equal(report_rows_add(&f.rows, &m.profile, &plain), 0);
	assert_int_equal(find(&f, "IncrementalLoadResult:q")->v[REPORT_COUNT], 1);
	assert_int_equal(find(&f, "IncrementalLoadResult:q")->v[REPORT_LOAD_TIME], 0);
	release(&f);
}

static void test_events_and_artifacts(void **state)
{
	struct made m = {.thread.tid = 7};
	struct fixture f;
	u32 id;

	(void)state;
	add_event(&m, "ArtifactSize", "rlib", 2, 700);
	add_event(&m, "Work", "rlib", 1, -5);
	make(&f, REPORT_BY_PATH);
	assert_int_equal(report_rows_add(&f.rows, &m.profile, &measureme), 0);
	assert_int_equal(report_rows_add(&f.rows, &m.profile, &measureme), 0);
	assert_int_equal(strtab_add(f.keys->events, "rlib", 4, &id), 0);
	assert_int_equal(report_artifact(&f.rows, id)->sum, 1400);
	assert_int_equal(report_event(&f.rows, id)->count, 0);
	assert_int_equal(strtab_add(f.keys->events, "Work:rlib", 9, &id), 0);
	assert_int_equal(report_event(&f.rows, id)->count, 2);
	assert_int_equal(report_event(&f.rows, id)->sum, -10);
	assert_int_equal(report_artifact(&f.rows, UINT32_MAX)->count, 0);
	release(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_by_name),
		cmocka_unit_test(test_by_path_and_process),
		cmocka_unit_test(test_inputs_add_up),
		cmocka_unit_test(test_recursion),
		cmocka_unit_test(test_siblings_are_not_recursion),
		cmocka_unit_test(test_an_async_span_under_its_own_name),
		cmocka_unit_test(test_kinds),
		cmocka_unit_test(test_events_and_artifacts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
