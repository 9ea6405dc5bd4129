/* SPDX-License-Identifier: MIT */
/* The tree of frames: weights, merging, time outside spans, order, depth. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../../exporters/stacks.h"
#include "sample_profile.h"

#define S 1000000000ull

static int setup(void **state)
{
	*state = sample_new();
	return 0;
}

static int teardown(void **state)
{
	sample_free(*state);
	return 0;
}

static struct stacks *build(struct sample *s, const struct export_options *o)
{
	struct stacks *stacks = NULL;

	assert_int_equal(stacks_new(&s->profile, o, STACKS_PLAIN, &stacks), 0);
	return stacks;
}

static void assert_frame(const struct stacks *s, u32 i, const char *label, u32 depth, u64 self,
			 u64 total)
{
	assert_true(i < s->nframes);
	assert_string_equal(s->frames[i].label, label);
	assert_int_equal(s->frames[i].depth, depth);
	assert_int_equal(s->frames[i].self, self);
	assert_int_equal(s->frames[i].total, total);
}

/* What holds for any tree: children lie within their parents, totals are sums. */
static void assert_sound(const struct stacks *s)
{
	u64 *below = calloc(s->nframes, sizeof(*below));
	u32 deepest = 0;

	assert_non_null(below);
	assert_null(s->frames[0].label);
	for (u32 i = s->nframes; i-- > 1;) {
		const struct stacks_frame *frame = &s->frames[i];
		const struct stacks_frame *parent = &s->frames[frame->parent];

		assert_true(frame->parent < i);
		assert_true(frame->end <= parent->end && frame->end > i);
		assert_int_equal(frame->depth, parent->depth + 1);
		assert_int_equal(frame->total, frame->self + below[i]);
		assert_true(frame->total > 0);
		below[frame->parent] += frame->total;
		deepest = frame->depth > deepest ? frame->depth : deepest;
	}
	assert_int_equal(s->frames[0].total, below[0]);
	assert_int_equal(s->frames[0].end, s->nframes);
	assert_int_equal(s->max_depth, deepest);
	free(below);
}

static void test_busy(void **state)
{
	struct export_options o = EXPORT_OPTIONS_DEFAULT;
	struct stacks *s = build(*state, &o);

	assert_sound(s);
	assert_int_equal(s->nframes, 7);
	assert_int_equal(s->frames[0].total, 14 * S);
	assert_frame(s, 1, "web-100", 1, 6 * S, 10 * S);
	assert_frame(s, 2, "app::outer", 2, 3 * S, 4 * S);
	assert_frame(s, 3, "app::inner", 3, 1 * S, 1 * S);
	assert_frame(s, 4, "worker-101", 1, 5 * S / 2, 4 * S);
	assert_frame(s, 5, "app::GET /cart", 2, S / 2, S / 2);
	assert_frame(s, 6, "app::outer", 2, 1 * S, 1 * S);
	stacks_free(&s);
	assert_null(s);
}

static void test_empty_samples_off(void **state)
{
	struct export_options o = EXPORT_OPTIONS_DEFAULT;
	struct stacks *s;

	o.empty_samples = false;
	s = build(*state, &o);
	assert_sound(s);
	assert_frame(s, 1, "web-100", 1, 0, 4 * S);
	assert_frame(s, 4, "worker-101", 1, 0, 3 * S / 2);
	stacks_free(&s);
}

/* Time outside spans is neither CPU time nor memory. */
static void test_empty_samples_of_other_values(void **state)
{
	struct export_options o = EXPORT_OPTIONS_DEFAULT;
	struct sample *sample = *state;
	struct stacks *s;

	o.value = EXPORT_CPU;
	s = build(sample, &o);
	assert_frame(s, 1, "web-100", 1, 0, 2 * S);
	assert_frame(s, 4, "worker-101", 1, 0, 5 * S / 4);
	stacks_free(&s);

	sample->profile.metrics |= METRIC_ALLOC;
	o.value = EXPORT_ALLOC_SPACE;
	s = build(sample, &o);
	assert_sound(s);
	assert_int_equal(s->nframes, 3);
	assert_frame(s, 1, "web-100", 1, 0, 3072);
	assert_frame(s, 2, "app::outer", 2, 3072, 3072);
	stacks_free(&s);
}

static void test_wall(void **state)
{
	struct export_options o = EXPORT_OPTIONS_DEFAULT;
	struct stacks *s;

	o.value = EXPORT_WALL;
	s = build(*state, &o);
	assert_sound(s);
	assert_frame(s, 5, "app::GET /cart", 2, 3 * S, 3 * S);
	stacks_free(&s);
}

/* A thread that ended, one that began before the trace, one that was inside longer than it was
 * seen. */
static void test_lifetimes(void **state)
{
	struct export_options o = EXPORT_OPTIONS_DEFAULT;
	struct sample *sample = *state;
	struct stacks *s;

	sample->web.start_ns = 0;
	sample->threads[0].end_ns = 20 * S;
	sample->threads[1].inside_ns = 5 * S;
	s = build(sample, &o);
	assert_sound(s);
	assert_frame(s, 1, "web-100", 1, 6 * S, 10 * S);
	assert_frame(s, 4, "worker-101", 1, 0, 3 * S / 2);
	stacks_free(&s);
}

static void test_threads_collapsed(void **state)
{
	struct export_options o = EXPORT_OPTIONS_DEFAULT;
	struct stacks *s;

	o.threads_collapsed = true;
	s = build(*state, &o);
	assert_sound(s);
	assert_int_equal(s->nframes, 5);
	assert_frame(s, 1, "all-threads", 1, 17 * S / 2, 14 * S);
	assert_frame(s, 2, "app::GET /cart", 2, S / 2, S / 2);
	assert_frame(s, 3, "app::outer", 2, 4 * S, 5 * S);
	assert_frame(s, 4, "app::inner", 3, S, S);
	stacks_free(&s);
}

static void test_labels(void **state)
{
	struct export_options o = EXPORT_OPTIONS_DEFAULT;
	struct stacks *s;

	o.module_path = false;
	o.file_and_line = true;
	s = build(*state, &o);
	assert_frame(s, 2, "outer:src/main.c:12", 2, 3 * S, 4 * S);
	assert_frame(s, 3, "inner", 3, S, S);
	stacks_free(&s);
}

/* Without the provider two definitions read the same: one frame then. */
static void test_equal_labels_merge(void **state)
{
	struct export_options o = EXPORT_OPTIONS_DEFAULT;
	struct sample *sample = *state;
	struct stacks *s;

	sample->job.provider = "other";
	sample->paths[SAMPLE_JOB_PATH].name = NULL;
	sample->job.name = "outer";
	o.module_path = false;
	s = build(sample, &o);
	assert_sound(s);
	assert_int_equal(s->nframes, 6);
	assert_frame(s, 5, "outer", 2, 3 * S / 2, 3 * S / 2);
	stacks_free(&s);
}

/* A frame above without a row of its own, and the root's path as a row. */
static void test_gaps(void **state)
{
	struct export_options o = EXPORT_OPTIONS_DEFAULT;
	struct sample *sample = *state;
	struct stacks *s;

	sample->profile.rows = &sample->rows[SAMPLE_INNER];
	sample->profile.nrows = 2;
	sample->rows[SAMPLE_WORKER_OUTER].path = &sample->paths[SAMPLE_ROOT_PATH];
	s = build(sample, &o);
	assert_sound(s);
	assert_int_equal(s->nframes, 5);
	assert_frame(s, 2, "app::outer", 2, 0, S);
	assert_frame(s, 3, "app::inner", 3, S, S);
	assert_frame(s, 4, "worker-101", 1, 7 * S / 2, 7 * S / 2);
	stacks_free(&s);
}

static void test_odd_threads(void **state)
{
	struct export_options o = EXPORT_OPTIONS_DEFAULT;
	struct sample *sample = *state;
	struct stacks *s;

	/* As long as the kernel allows, without room for a NUL; and empty. */
	memcpy(sample->web.comm, "0123456789abcdef", MODEL_COMM_LEN);
	memset(sample->worker.comm, 0, MODEL_COMM_LEN);
	s = build(sample, &o);
	assert_string_equal(s->frames[1].label, "0123456789abcdef-100");
	assert_string_equal(s->frames[4].label, "?-101");
	stacks_free(&s);
}

static void test_nothing(void **state)
{
	struct export_options o = EXPORT_OPTIONS_DEFAULT;
	struct profile profile = {.metrics = METRIC_WALL};
	struct stacks *s = NULL;

	(void)state;
	assert_int_equal(stacks_new(&profile, &o, STACKS_PLAIN, &s), 0);
	assert_sound(s);
	assert_int_equal(s->nframes, 1);
	stacks_free(&s);
	o.value = EXPORT_CPU;
	assert_int_equal(stacks_new(&profile, &o, STACKS_PLAIN, &s), -ENODATA);
	assert_null(s);
}

static void test_huge_weights(void **state)
{
	struct export_options o = EXPORT_OPTIONS_DEFAULT;
	struct sample *sample = *state;
	struct stacks *s;

	sample->rows[SAMPLE_OUTER].work.busy_ns = UINT64_MAX - 5;
	s = build(sample, &o);
	assert_int_equal(s->frames[0].total, UINT64_MAX);
	assert_int_equal(s->frames[1].total, UINT64_MAX);
	stacks_free(&s);
}

#define DEPTH 20000

/* The deepest row comes first, so every frame above it is missing at once. */
static void test_deep(void **state)
{
	struct export_options o = EXPORT_OPTIONS_DEFAULT;
	struct sample *sample = *state;
	struct model_path *paths = calloc(DEPTH + 1, sizeof(*paths));
	struct model_row *rows = calloc(DEPTH, sizeof(*rows));
	struct stacks *s;

	assert_true(paths && rows);
	for (u32 i = 1; i <= DEPTH; i++) {
		paths[i] = (struct model_path){.id = i, .depth = i, .parent = &paths[i - 1]};
		paths[i].def = &sample->inner;
		rows[DEPTH - i].thread = &sample->web;
		rows[DEPTH - i].path = &paths[i];
		rows[DEPTH - i].work.busy_ns = i;
	}
	sample->profile.rows = rows;
	sample->profile.nrows = DEPTH;
	sample->profile.nthreads = 0;
	s = build(sample, &o);
	assert_sound(s);
	assert_int_equal(s->max_depth, DEPTH + 1);
	assert_int_equal(s->frames[0].total, (u64)DEPTH * (DEPTH + 1) / 2);
	assert_int_equal(s->frames[DEPTH + 1].self, DEPTH);
	stacks_free(&s);
	free(paths);
	free(rows);
}

#define WIDTH 30000

static void test_wide(void **state)
{
	struct export_options o = EXPORT_OPTIONS_DEFAULT;
	struct sample *sample = *state;
	struct model_path *paths = calloc(WIDTH, sizeof(*paths));
	struct model_row *rows = calloc(WIDTH, sizeof(*rows));
	char(*names)[16] = calloc(WIDTH, sizeof(*names));
	struct stacks *s;

	assert_true(paths && rows && names);
	for (u32 i = 0; i < WIDTH; i++) {
		snprintf(names[i], sizeof(names[i]), "%06u", i * 7919 % WIDTH);
		paths[i] = (struct model_path){.parent = &sample->paths[0], .def = &sample->inner};
		paths[i].name = names[i];
		rows[i].thread = &sample->web;
		rows[i].path = &paths[i];
		rows[i].work.busy_ns = 1;
	}
	sample->profile.rows = rows;
	sample->profile.nrows = WIDTH;
	sample->profile.nthreads = 0;
	s = build(sample, &o);
	assert_sound(s);
	assert_int_equal(s->nframes, WIDTH + 2);
	for (u32 i = 3; i < s->nframes; i++)
		assert_true(strcmp(s->frames[i - 1].label, s->frames[i].label) < 0);
	stacks_free(&s);
	free(paths);
	free(rows);
	free(names);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_busy),
		TEST(test_empty_samples_off),
		TEST(test_empty_samples_of_other_values),
		TEST(test_wall),
		TEST(test_lifetimes),
		TEST(test_threads_collapsed),
		TEST(test_labels),
		TEST(test_equal_labels_merge),
		TEST(test_gaps),
		TEST(test_odd_threads),
		TEST(test_nothing),
		TEST(test_huge_weights),
		TEST(test_deep),
		TEST(test_wide),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
