/* SPDX-License-Identifier: MIT */
/* Spans by known numbers, for --sample and --max-overhead.
 *
 *   hot roots N     N root spans, each with three children (one of them in another), an event and two allocations inside;
 *                   an allocation and an event outside
 *   hot async N     N async spans without a parent, made on one thread, worked on and closed on another, each with a child
 *                   of its own and a thread span inside
 *   hot abandon N   N root spans that a longjmp leaves, from inside a child, each followed by one that ends
 *   hot forks N     N root spans inside which a child process is forked; it makes one root span
 *   hot deep N      N root spans, each with 300 nested in it
 *   hot loop        until a line comes: one span after the other, and once in 5 ms a calm one with a child. Prints "ready"
 *                   and waits for a line before, and prints the numbers "hot N", "calm N" then
 *   hot paced       the same with work in place of the spans, until it has made 200 calm ones
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <spantrace.h>

static volatile unsigned sink;
static void *volatile block; /* so that the compiler leaves the allocation alone */

static void work(void)
{
	unsigned i;

	for (i = 0; i < 20; i++)
		sink += i;
}

static __attribute__((noinline)) void child(void)
{
	SPAN_SCOPE(hot, child);
	block = malloc(1000);
	free(block);
	work();
}

static __attribute__((noinline)) void parent(void)
{
	SPAN_SCOPE(hot, parent);
	child();
}

static __attribute__((noinline)) void root(void)
{
	SPAN_SCOPE(hot, root);
	child();
	parent();
	SPAN_EVENT(hot, inside);
}

static void roots(long n)
{
	long i;

	for (i = 0; i < n; i++) {
		root();
		block = malloc(100);
		free(block);
		SPAN_EVENT(hot, outside);
	}
}

#define BATCH 64

static void *work_on(void *context)
{
	long first = *(long *)context, i;

	for (i = first; i < first + BATCH; i++) {
		SPAN_ENTER_ID(hot, job, i);
		child();
		SPAN_EXIT_ID(hot, job, i);
		SPAN_CLOSE(hot, part, i);
		SPAN_CLOSE(hot, job, i);
	}
	return NULL;
}

static void async(long n)
{
	long first, i;

	for (first = 1; first <= n; first += BATCH) {
		pthread_t thread;

		for (i = first; i < first + BATCH; i++) {
			SPAN_NEW(hot, job, i);
			SPAN_NEW_UNDER(hot, part, i, i);
		}
		if (pthread_create(&thread, NULL, work_on, &first))
			exit(1);
		pthread_join(thread, NULL);
	}
}

static jmp_buf out;

static __attribute__((noinline)) void leave(void)
{
	SPAN_ENTER(hot, root);
	SPAN_ENTER(hot, child);
	work();
	longjmp(out, 1);
}

static void abandon(long n)
{
	volatile long i;

	for (i = 0; i < n; i++) {
		if (!setjmp(out))
			leave();
		root();
	}
}

static void forks(long n)
{
	long i;

	for (i = 0; i < n; i++) {
		SPAN_ENTER(hot, root);
		if (fork() == 0) {
			SPAN_ENTER(hot, forked);
			SPAN_EXIT(hot, forked);
			_exit(0);
		}
		wait(NULL);
		SPAN_EXIT(hot, root);
	}
}

static __attribute__((noinline)) void nest(int left)
{
	SPAN_SCOPE(hot, nested);
	if (left)
		nest(left - 1);
	work();
}

static void deep(long n)
{
	long i;

	for (i = 0; i < n; i++) {
		SPAN_ENTER(hot, root);
		nest(299);
		SPAN_EXIT(hot, root);
	}
}

static volatile int stop;

static void *wait_for_line(void *context)
{
	(void)context;
	getchar();
	stop = 1;
	return NULL;
}

static long now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static __attribute__((noinline)) void calm(void)
{
	SPAN_SCOPE(hot, calm);
	SPAN_ENTER(hot, detail);
	work();
	SPAN_EXIT(hot, detail);
}

static void paced(void)
{
	long n;

	puts("ready");
	fflush(stdout);
	getchar();
	for (n = 0; n < 200; n++) {
		long next = now_ms() + 5;

		while (now_ms() < next)
			work();
		calm();
	}
	printf("calm %ld\n", n);
}

static void loop(void)
{
	long n_hot = 0, n_calm = 0, next = now_ms();
	pthread_t thread;
	int i;

	puts("ready");
	fflush(stdout);
	getchar();
	if (pthread_create(&thread, NULL, wait_for_line, NULL))
		exit(1);
	while (!stop) {
		for (i = 0; i < 100; i++) {
			SPAN_ENTER(hot, tiny);
			SPAN_EXIT(hot, tiny);
		}
		n_hot += 100;
		if (now_ms() < next)
			continue;
		next = now_ms() + 5;
		calm();
		n_calm++;
	}
	pthread_join(thread, NULL);
	printf("hot %ld\ncalm %ld\n", n_hot, n_calm);
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	long n = argc > 2 ? atol(argv[2]) : 0;

	if (!strcmp(what, "roots"))
		roots(n);
	else if (!strcmp(what, "async"))
		async(n);
	else if (!strcmp(what, "abandon"))
		abandon(n);
	else if (!strcmp(what, "forks"))
		forks(n);
	else if (!strcmp(what, "deep"))
		deep(n);
	else if (!strcmp(what, "paced"))
		paced();
	else if (!strcmp(what, "loop"))
		loop();
	else
		return 2;
	return 0;
}
