/* SPDX-License-Identifier: MIT */
/* One mode for each rule of the README, each doing a number of things known beforehand.
 *
 *   rules MODE [N]     N: how often, 100 if not given
 */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include "spantrace.h"

static int times = 100;
static volatile unsigned long sink;

static unsigned long now_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (unsigned long)t.tv_sec * 1000000000UL + (unsigned long)t.tv_nsec;
}

static void sleep_ms(long ms)
{
	struct timespec t = {ms / 1000, ms % 1000 * 1000000};

	while (nanosleep(&t, &t) && errno == EINTR)
		;
}

/* --- recursion ---------------------------------------------------------------------------------- */

__attribute__((noinline)) static void recurse(int depth)
{
	SPAN_ENTER(rules, recurse);
	if (depth > 1)
		recurse(depth - 1);
	sink++;
	SPAN_EXIT(rules, recurse);
}

static void mode_recursion(void)
{
	for (int i = 0; i < times; i++)
		recurse(5);
}

/* --- an exit that never comes --------------------------------------------------------------------- */

static jmp_buf out;

__attribute__((noinline)) static void leave_by_longjmp(void)
{
	SPAN_ENTER(rules, lost);
	SPAN_ENTER(rules, inner);
	sink++;
	longjmp(out, 1);
}

/* The next enter of the same span, from the same place, ends the one that longjmp left. */
static void mode_longjmp(void)
{
	for (volatile int i = 0; i < times; i++)
		if (!setjmp(out))
			leave_by_longjmp();
}

/* The exit of the span around ends both. */
static void mode_longjmp_outer(void)
{
	for (volatile int i = 0; i < times; i++) {
		SPAN_ENTER(rules, outer);
		if (!setjmp(out))
			leave_by_longjmp();
		SPAN_EXIT(rules, outer);
	}
}

/* --- exits that nobody entered -------------------------------------------------------------------- */

static void mode_orphan(void)
{
	for (int i = 0; i < times; i++) {
		SPAN_EXIT(rules, never);
		SPAN_ENTER(rules, good);
		SPAN_EXIT(rules, never);
		SPAN_EXIT(rules, good);
	}
}

/* The other halves of what some modes leave out: a marker that has none in its file is an event. */
static void never_called(void) __attribute__((used));
static void never_called(void)
{
	SPAN_ENTER(rules, never);
	SPAN_EXIT(rules, lost);
	SPAN_EXIT(rules, inner);
	SPAN_EXIT(rules, open);
}

/* --- deeper than the limit ------------------------------------------------------------------------ */

__attribute__((noinline)) static void deep(int n)
{
	SPAN_ENTER(rules, deep);
	if (n > 1)
		deep(n - 1);
	sink++;
	SPAN_EXIT(rules, deep);
}

static void mode_deep(void)
{
	deep(times);
	SPAN_ENTER(rules, after);
	SPAN_EXIT(rules, after);
	deep(10);
}

/* --- ends of threads and processes ------------------------------------------------------------------ */

static void *end_in_span(void *arg)
{
	(void)arg;
	SPAN_ENTER(rules, whole);
	SPAN_EXIT(rules, whole);
	SPAN_ENTER(rules, open);
	sink++;
	pthread_exit(NULL);
}

static void mode_thread_end(void)
{
	for (int i = 0; i < times; i++) {
		pthread_t thread;

		pthread_create(&thread, NULL, end_in_span, NULL);
		pthread_join(thread, NULL);
	}
}

/* A span open in the parent is not the child's. */
static void mode_fork(void)
{
	for (int i = 0; i < times; i++) {
		pid_t child;

		SPAN_ENTER(rules, parent);
		child = fork();
		if (child == 0) {
			SPAN_ENTER(rules, child);
			SPAN_EXIT(rules, child);
			SPAN_EXIT(rules, parent); /* an orphan: the parent entered it */
			_exit(0);
		}
		waitpid(child, NULL, 0);
		SPAN_EXIT(rules, parent);
	}
}

static void mode_exec(const char *self)
{
	char count[16];

	SPAN_ENTER(rules, before);
	SPAN_EXIT(rules, before);
	SPAN_ENTER(rules, open);
	snprintf(count, sizeof(count), "%d", times);
	execl(self, self, "recursion", count, (char *)NULL);
	perror("execl");
	_exit(1);
}

/* N spans, then one more, in which it waits to be killed. */
static void mode_killed(void)
{
	for (int i = 0; i < times; i++) {
		SPAN_ENTER(rules, done);
		SPAN_EXIT(rules, done);
	}
	SPAN_ENTER(rules, open);
	puts("ready");
	fflush(stdout);
	pause();
}

/* --- attach at any time ------------------------------------------------------------------------------- */

static void wait_for_line(void)
{
	char line[16];

	if (!fgets(line, sizeof(line), stdin))
		exit(1);
}

/* Enters a span, waits for a line, leaves it, makes N more, waits for another line. */
static void mode_late(void)
{
	SPAN_ENTER(rules, early);
	puts("ready");
	fflush(stdout);
	wait_for_line();
	SPAN_EXIT(rules, early);
	for (int i = 0; i < times; i++) {
		SPAN_ENTER_ARGS(rules, labelled, turn, i, name, "late");
		SPAN_EXIT(rules, labelled);
	}
	puts("done");
	fflush(stdout);
	wait_for_line();
}

/* Makes spans for ever, until a line comes; then prints how many. */
static volatile int stop;

static void *endless(void *arg)
{
	unsigned long *count = arg;

	while (!stop) {
		SPAN_ENTER_ARGS(rules, labelled, turn, *count);
		sink++;
		SPAN_EXIT(rules, labelled);
		++*count;
	}
	return NULL;
}

static void mode_endless(void)
{
	unsigned long count[2] = {0};
	pthread_t threads[2];

	for (int i = 0; i < 2; i++)
		pthread_create(&threads[i], NULL, endless, &count[i]);
	puts("ready");
	fflush(stdout);
	wait_for_line();
	stop = 1;
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	printf("truth rules:labelled %lu\n", count[0] + count[1]);
}

/* --- time ------------------------------------------------------------------------------------------- */

/* Each span computes for 50 ms of its own CPU time and sleeps 50 ms. */
static void mode_cpu(void)
{
	for (int i = 0; i < times; i++) {
		unsigned long cpu, wall = now_ns(CLOCK_MONOTONIC);

		SPAN_ENTER(rules, half);
		cpu = now_ns(CLOCK_THREAD_CPUTIME_ID);
		while (now_ns(CLOCK_THREAD_CPUTIME_ID) - cpu < 50000000)
			sink++;
		sleep_ms(50);
		cpu = now_ns(CLOCK_THREAD_CPUTIME_ID) - cpu;
		SPAN_EXIT(rules, half);
		wall = now_ns(CLOCK_MONOTONIC) - wall;
		printf("span %lu %lu\n", wall, cpu);
	}
}

/* Spans of 1 to N ms, as long as they say. */
static void mode_sleeps(void)
{
	for (int i = 1; i <= times; i++) {
		unsigned long wall;

		SPAN_ENTER(rules, sleep);
		wall = now_ns(CLOCK_MONOTONIC);
		sleep_ms(i);
		wall = now_ns(CLOCK_MONOTONIC) - wall;
		SPAN_EXIT(rules, sleep);
		printf("span %lu\n", wall);
	}
}

/* --- order ---------------------------------------------------------------------------------------------- */

/* Async spans overlap on one thread without harm, and a thread span around them ends first. */
static void mode_overlap(void)
{
	for (unsigned long i = 0; i < (unsigned long)times; i++) {
		SPAN_NEW(rules, task, i * 2);
		SPAN_NEW(rules, task, i * 2 + 1);
		SPAN_ENTER(rules, around);
		SPAN_ENTER_ID(rules, task, i * 2);
		SPAN_ENTER_ID(rules, task, i * 2 + 1);
		SPAN_EXIT_ID(rules, task, i * 2);
		SPAN_EXIT(rules, around);
		SPAN_EXIT_ID(rules, task, i * 2 + 1);
		SPAN_CLOSE(rules, task, i * 2);
		if (i % 2)
			SPAN_CLOSE(rules, task, i * 2 + 1); /* the others stay open */
	}
}

/* A task made under another one, on another thread than its parent's. */
static void *make_children(void *arg)
{
	(void)arg;
	for (unsigned long i = 0; i < (unsigned long)times; i++) {
		SPAN_NEW_UNDER(rules, subtask, 5000 + i, 1);
		SPAN_ENTER_ID(rules, subtask, 5000 + i);
		SPAN_ENTER(rules, step);
		SPAN_EXIT(rules, step);
		SPAN_EXIT_ID(rules, subtask, 5000 + i);
		SPAN_CLOSE(rules, subtask, 5000 + i);
		SPAN_NEW_UNDER(rules, subtask, 9000 + i, 77); /* no such parent */
		SPAN_CLOSE(rules, subtask, 9000 + i);
	}
	return NULL;
}

static void mode_parents(void)
{
	pthread_t thread;

	SPAN_NEW(rules, task, 1);
	pthread_create(&thread, NULL, make_children, NULL);
	pthread_join(thread, NULL);
	SPAN_CLOSE(rules, task, 1);
}

/* Two stacks on one thread: an exit takes the span that was entered on its own stack. */
static ucontext_t main_context, fiber_context;

__attribute__((noinline)) static void fiber_span(int index)
{
	SPAN_ENTER(rules, fiber);
	if (index == 1)
		swapcontext(&fiber_context, &main_context);
	sink++;
	SPAN_EXIT(rules, fiber);
}

static void fiber_main(void)
{
	fiber_span(1);
}

static void mode_fibers(void)
{
	static char stack[65536];

	for (volatile int i = 0; i < times; i++) {
		getcontext(&fiber_context);
		fiber_context.uc_stack.ss_sp = stack;
		fiber_context.uc_stack.ss_size = sizeof(stack);
		fiber_context.uc_link = &main_context;
		makecontext(&fiber_context, fiber_main, 0);
		SPAN_ENTER(rules, fiber);
		swapcontext(&main_context, &fiber_context);
		SPAN_EXIT(rules, fiber);
		swapcontext(&main_context, &fiber_context);
	}
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "";

	if (argc > 2)
		times = atoi(argv[2]);
	if (!strcmp(mode, "recursion"))
		mode_recursion();
	else if (!strcmp(mode, "longjmp"))
		mode_longjmp();
	else if (!strcmp(mode, "longjmp-outer"))
		mode_longjmp_outer();
	else if (!strcmp(mode, "orphan"))
		mode_orphan();
	else if (!strcmp(mode, "deep"))
		mode_deep();
	else if (!strcmp(mode, "thread-end"))
		mode_thread_end();
	else if (!strcmp(mode, "fork"))
		mode_fork();
	else if (!strcmp(mode, "exec"))
		mode_exec(argv[0]);
	else if (!strcmp(mode, "killed"))
		mode_killed();
	else if (!strcmp(mode, "late"))
		mode_late();
	else if (!strcmp(mode, "endless"))
		mode_endless();
	else if (!strcmp(mode, "cpu"))
		mode_cpu();
	else if (!strcmp(mode, "sleeps"))
		mode_sleeps();
	else if (!strcmp(mode, "overlap"))
		mode_overlap();
	else if (!strcmp(mode, "parents"))
		mode_parents();
	else if (!strcmp(mode, "fibers"))
		mode_fibers();
	else
		return 2;
	return 0;
}
