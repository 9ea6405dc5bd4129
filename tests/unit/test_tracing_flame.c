/* SPDX-License-Identifier: MIT */
/* tracing-flame's own output against ours: the spans that its golden files tell of (flame_workload.h), fed as a trace
 * and folded with the same options, give the same stacks with the same nanoseconds.
 *
 * Where the library is known to be wrong, correct_*() below says how, and what is right is asserted. Its threads are
 * called "ThreadId(1)-main"; ours "main-1".
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "flame_workload.h"
#include "sample_profile.h"
#include "traced.h"

/* What stands on no line of the library's, so that the test may choose it. */
#define UNTOLD 1000000ull /* between two steps */
#define TAIL   4242ull    /* from the last exit of a thread to its end */

enum { LINES_MAX = 128, STACK_MAX = 160 };

struct line {
	char stack[STACK_MAX];
	u64 ns;
	bool used;
};

struct lines {
	struct line at[LINES_MAX];
	size_t n;
};

struct run {
	struct export_options options;
	struct lines golden; /* as the file has them */
	struct lines want;   /* by stack, in our words */
	u64 ns[FLAME_STEPS]; /* since the thread's step before */
	bool told[FLAME_STEPS];
	u64 begin[FLAME_THREADS]; /* of the thread, since the trace's */
	u64 end[FLAME_THREADS];
};

static void add_line(struct lines *lines, const char *stack, size_t length, u64 ns)
{
	struct line *line = &lines->at[lines->n++];

	assert_in_range(lines->n, 1, LINES_MAX);
	assert_in_range(length, 1, STACK_MAX - 1);
	memcpy(line->stack, stack, length);
	line->stack[length] = '\0';
	line->ns = ns;
}

/* TEXT is "STACK NS\n" … */
static void parse_lines(struct lines *lines, const char *text)
{
	const char *end, *space;

	for (; *text; text = end + 1) {
		end = strchr(text, '\n');
		assert_non_null(end);
		space = memrchr(text, ' ', (size_t)(end - text));
		assert_non_null(space);
		add_line(lines, text, (size_t)(space - text), strtoull(space, NULL, 10));
	}
}

static struct line *find_line(struct lines *lines, const char *stack)
{
	for (size_t i = 0; i < lines->n; i++)
		if (!lines->at[i].used && !strcmp(lines->at[i].stack, stack))
			return &lines->at[i];
	return NULL;
}

enum words { THEIRS, OURS };

static const char *const thread_frames[][FLAME_THREADS] = {
	[THEIRS] = {"ThreadId(1)-main", "ThreadId(2)-worker-a", "ThreadId(3)"},
	/* A thread that names itself nothing has the name of the one that made it. */
	[OURS] = {"main-1", "worker-a-2", "main-3"},
};

static size_t write_frames(const struct run *run, enum words words, u32 span, char *out)
{
	const struct flame_span *s = &flame_spans[span];
	size_t n, i;

	if (!span)
		return 0;
	n = write_frames(run, words, s->parent, out);
	i = n + 1;
	n += (size_t)sprintf(out + n, ";%s%s", run->options.module_path ? FLAME_MODULE "::" : "",
			     s->name);
	/* Defect: a ';' in a name makes two frames of it. */
	for (; words == OURS && i < n; i++)
		if (out[i] == ';')
			out[i] = ':';
	if (run->options.file_and_line)
		n += (size_t)sprintf(out + n, ":" FLAME_FILE ":%u", s->line);
	return n;
}

/* The line's stack for SPAN on THREAD; NO_SPAN: the thread's own frame. */
static const char *stack_of(const struct run *run, enum words words, u32 thread, u32 span)
{
	static char text[STACK_MAX * 4];
	size_t n;

	n = (size_t)sprintf(text, "%s",
			    run->options.threads_collapsed ? "all-threads"
							   : thread_frames[words][thread]);
	write_frames(run, words, span, text + n);
	return text;
}

static void want(struct run *run, u32 thread, u32 span, s64 ns)
{
	const char *stack = stack_of(run, OURS, thread, span);
	struct line *line = find_line(&run->want, stack);

	if (!line) {
		add_line(&run->want, stack, strlen(stack), 0);
		line = &run->want.at[run->want.n - 1];
	}
	line->ns += (u64)ns;
}

/* Time outside spans is wanted only where the option asks for it. */
static void want_idle(struct run *run, u32 thread, s64 ns)
{
	if (run->options.empty_samples)
		want(run, thread, NO_SPAN, ns);
}

/* The span whose stack the library bills a step to. */
static u32 billed(const struct flame_step *step)
{
	return step->op == ENTER ? flame_spans[step->span].parent : step->span;
}

/* The line of each step, and all lines are some step's. */
static void read_golden(struct run *run, const char *name)
{
	char path[128], text[8192];
	size_t used = 0;
	struct line *line;
	FILE *file;

	snprintf(path, sizeof(path), "tests/golden/tracing-flame/main-%s.folded", name);
	file = fopen(path, "re");
	if (!file)
		fail_msg("%s is not here: run the test at the root of the source tree", path);
	text[fread(text, 1, sizeof(text) - 1, file)] = '\0';
	assert_int_equal(fclose(file), 0);
	parse_lines(&run->golden, text);

	for (size_t i = 0; i < FLAME_STEPS; i++) {
		const struct flame_step *step = &flame_steps[i];
		u32 span = billed(step);

		run->ns[i] = UNTOLD;
		/* Defect: what ends while a panic unwinds is on no line. */
		if (step->op == EXIT_BY_PANIC || (!span && !run->options.empty_samples))
			continue;
		line = find_line(&run->golden, stack_of(run, THEIRS, step->thread, span));
		if (!line)
			fail_msg("%s: no line for step %zu: %s", path, i,
				 stack_of(run, THEIRS, step->thread, span));
		line->used = true;
		used++;
		run->ns[i] = line->ns;
		run->told[i] = true;
		want(run, step->thread, span, (s64)line->ns);
	}
	assert_int_equal(used, run->golden.n);
}

static size_t step_of(u32 thread, enum flame_op op, u32 span, u32 nth)
{
	for (size_t i = 0; i < FLAME_STEPS; i++) {
		const struct flame_step *s = &flame_steps[i];

		if (s->thread == thread && s->op == op && s->span == span && !nth--)
			return i;
	}
	fail_msg("no such step");
	return 0;
}

/* Defect: of two spans left in the order they were entered in, the first is billed all the time that both are open,
 * though the second is the one at work. */
static void correct_out_of_order(struct run *run)
{
	s64 both = (s64)run->ns[step_of(MAIN, EXIT, OOO_FIRST, 0)];

	want(run, MAIN, OOO_FIRST, -both);
	want(run, MAIN, OOO_SECOND, both);
}

/* Defect: time in a span before it is entered once more is billed to the span's parent, here to none; so without
 * empty samples it is gone. */
static void correct_reentry(struct run *run)
{
	size_t second = step_of(MAIN, ENTER, REENTERED, 4);

	if (run->told[second])
		want(run, MAIN, NO_SPAN, -(s64)run->ns[second]);
	want(run, MAIN, REENTERED, (s64)run->ns[second]);
}

/* Defect: what ran before and in a panic is on no line, since the clock is reset and nothing written. */
static void correct_panic(struct run *run)
{
	want(run, MAIN, PANIC_CHILD, UNTOLD);
	want(run, MAIN, WILL_PANIC, UNTOLD);
}

/* Defect: a thread's first line counts from the start of the trace, not of the thread; and where its first span has
 * its parent on another thread, that time stands on the parent, which never ran here. */
static void correct_new_threads(struct run *run)
{
	size_t unnamed = step_of(UNNAMED, ENTER, ON_UNNAMED_THREAD, 0);
	size_t worker = step_of(WORKER_A, ENTER, ON_NAMED_THREAD, 0);

	if (run->told[unnamed])
		want_idle(run, UNNAMED, -(s64)run->begin[UNNAMED]);
	want(run, WORKER_A, SPAWNER, -(s64)run->ns[worker]);
	want_idle(run, WORKER_A, (s64)(run->ns[worker] - run->begin[WORKER_A]));
}

/* Defect: the time from a thread's last exit to its end is on no line. */
static void correct_tails(struct run *run)
{
	for (u32 thread = 0; thread < FLAME_THREADS; thread++)
		want_idle(run, thread, TAIL);
}

/* One thread as the kernel side follows it: what is open, and time charged to the top. */
struct stack {
	struct open {
		u32 span;
		u64 start;
		u64 self;
	} open[FLAME_DEPTH];
	u32 depth;
	u64 now;
	u64 inside;
};

static void advance(struct stack *s, u64 ns)
{
	s->now += ns;
	if (!s->depth)
		return;
	s->inside += ns;
	s->open[s->depth - 1].self += ns;
}

static void enter(struct stack *s, u32 span)
{
	assert_in_range(s->depth, 0, FLAME_DEPTH - 1);
	s->open[s->depth++] = (struct open){.span = span, .start = s->now};
}

/* Sends what ended: SPAN's innermost stretch, wherever it is in the stack. */
static void leave(struct traced *t, struct stack *s, u32 thread, u32 span)
{
	u32 at = s->depth;
	struct wire_span record;
	struct open open;

	do
		assert_int_not_equal(at--, 0);
	while (s->open[at].span != span);
	open = s->open[at];
	memmove(&s->open[at], &s->open[at + 1], (s->depth-- - at - 1) * sizeof(open));
	record = make_span(1 + thread, PATHS_RESERVED + span, TRACED_BEGIN + open.start,
			   s->now - open.start, open.self);
	if (flame_spans[span].async) {
		record.head.flags |= WIRE_SEGMENT;
		record.id = span;
	}
	feed(t, &record);
}

static void feed_thread_of(struct traced *t, const struct run *run, u32 thread)
{
	static const char *const comms[FLAME_THREADS] = {"main", "worker-a", "main"};
	struct wire_thread begins = make_thread(1 + thread, 1, 1 + thread,
						TRACED_BEGIN + run->begin[thread], comms[thread]);

	feed(t, &begins);
}

/* The steps as the records that a trace of them makes. */
static void feed_steps(struct traced *t, struct run *run)
{
	struct stack stacks[FLAME_THREADS] = {0};
	size_t spawned = step_of(MAIN, ENTER, SPAWNER, 0);

	feed_thread_of(t, run, MAIN);
	for (size_t i = 0; i < FLAME_STEPS; i++) {
		const struct flame_step *step = &flame_steps[i];
		struct stack *s = &stacks[step->thread];

		/* Lines count from the thread's last one, its first from the trace's start. Those that are not there
		 * count from where the thread begins. */
		if (!s->now && !run->told[i])
			s->now = run->begin[step->thread];
		advance(s, run->ns[i]);
		if (step->op == ENTER)
			enter(s, step->span);
		else
			leave(t, s, step->thread, step->span);
		if (i != spawned)
			continue;
		for (u32 other = MAIN + 1; other < FLAME_THREADS; other++) {
			run->begin[other] = s->now;
			feed_thread_of(t, run, other);
		}
	}
	for (u32 thread = 0; thread < FLAME_THREADS; thread++) {
		struct stack *s = &stacks[thread];

		assert_int_equal(s->depth, 0);
		run->end[thread] = s->now + TAIL;
		if (thread != MAIN)
			feed_thread_end(t, 1 + thread, TRACED_BEGIN + run->end[thread], s->inside,
					thread == WORKER_A ? "worker-a" : "main");
	}
}

static void make_trace(struct traced *t)
{
	assert_int_equal(trace_new(t->paths, TRACED_PATHS, METRIC_WALL, &t->trace), 0);
	for (u32 i = 1; i < FLAME_SPANS; i++) {
		const struct flame_span *s = &flame_spans[i];
		const struct model_def def = {
			.kind = s->async ? MODEL_ASYNC_SPAN : MODEL_THREAD_SPAN,
			.provider = FLAME_MODULE,
			.name = s->name,
			.source_file = FLAME_FILE,
			.source_line = s->line,
		};
		u32 id;

		assert_int_equal(trace_add_def(t->trace, &def, &id), 0);
		traced_path(t, PATHS_RESERVED + i,
			    s->parent ? PATHS_RESERVED + s->parent : PATH_ROOT, id);
	}
	trace_begin(t->trace, TRACED_BEGIN, TRACED_REALTIME);
}

static void assert_same(struct run *run, const char *folded)
{
	struct lines got = {0};

	parse_lines(&got, folded);
	for (size_t i = 0; i < run->want.n; i++) {
		const struct line *line = &run->want.at[i];
		struct line *ours = find_line(&got, line->stack);

		/* What was all another's leaves a stack of no weight, which is no line. */
		if (!ours && !line->ns)
			continue;
		if (!ours || ours->ns != line->ns)
			fail_msg("%s: want %llu, have %llu", line->stack,
				 (unsigned long long)line->ns,
				 ours ? (unsigned long long)ours->ns : 0);
		ours->used = true;
	}
	for (size_t i = 0; i < got.n; i++)
		if (!got.at[i].used)
			fail_msg("%s: %llu are too many", got.at[i].stack,
				 (unsigned long long)got.at[i].ns);
}

static void compare(const char *name, struct export_options options)
{
	static struct run run;
	struct traced t = {0};
	char *folded;

	run = (struct run){.options = options};
	make_trace(&t);
	read_golden(&run, name);
	feed_steps(&t, &run);
	correct_out_of_order(&run);
	correct_reentry(&run);
	correct_panic(&run);
	correct_new_threads(&run);
	correct_tails(&run);
	assert_int_equal(trace_profile(t.trace, TRACED_BEGIN + run.end[MAIN], &t.profile), 0);
	folded = sample_export("folded", &t.profile, &run.options);
	assert_same(&run, folded);
	free(folded);
	trace_free(&t.trace);
}

static struct export_options options_by(const char *text)
{
	struct export_options o = EXPORT_OPTIONS_DEFAULT;
	const struct exporter_ops *ops = exporter_by_name("folded");

	assert_int_equal(export_option_set(ops, &o, text, strlen(text)), 0);
	return o;
}

static void test_default(void **state)
{
	(void)state;
	compare("default", EXPORT_OPTIONS_DEFAULT);
}

static void test_empty_samples(void **state)
{
	(void)state;
	compare("empty_samples_false", options_by("empty_samples=0"));
}

static void test_threads_collapsed(void **state)
{
	(void)state;
	compare("threads_collapsed", options_by("threads_collapsed=1"));
}

static void test_module_path(void **state)
{
	(void)state;
	compare("module_path_false", options_by("module_path=0"));
}

static void test_file_and_line(void **state)
{
	(void)state;
	compare("file_and_line_true", options_by("file_and_line=1"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_default),           cmocka_unit_test(test_empty_samples),
		cmocka_unit_test(test_threads_collapsed), cmocka_unit_test(test_module_path),
		cmocka_unit_test(test_file_and_line),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
