/* SPDX-License-Identifier: MIT */
/* A target for coz: markers, and beside them the same points by coz's own macros, under other names. Built with debug
 * information that coz 0.2.2 can read.
 *
 *   counts THREADS VISITS   so many visits on each thread: spans app:request, events app:done
 *   stages SECONDS          visits by one thread: three quarters of each in stage_long(), one in stage_short(); another
 *                           thread is mostly in stage_beside(), which no visit waits for. Says how many visits there were.
 *   idle SECONDS            visits, and a span and an event that come once
 *   leave SECONDS           visits on a thread, while the main thread ends by pthread_exit()
 *   exec SECONDS            visits, then the same again in a program that this becomes
 */
#include <coz.h>
#include <pthread.h>
#include <spantrace.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define THREADS_MAX 64
#define UNIT        40000 /* turns of a loop: some 20 to 40 µs */

static volatile bool over;

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* Each loop is one line: what coz selects. Their comments keep the compiler from making one function of them. */
/* clang-format off */
static __attribute__((noinline)) void stage_long(unsigned long n)
{
	for (unsigned long i = 0; i < n; i++) __asm__ volatile("# long" : "+r"(i)); /* LONG */
}

static __attribute__((noinline)) void stage_short(unsigned long n)
{
	for (unsigned long i = 0; i < n; i++) __asm__ volatile("# short" : "+r"(i)); /* SHORT */
}

static __attribute__((noinline)) void stage_beside(unsigned long n)
{
	for (unsigned long i = 0; i < n; i++) __asm__ volatile("# beside" : "+r"(i)); /* BESIDE */
}
/* clang-format on */

static void visit(void)
{
	SPAN_ENTER(app, request);
	COZ_BEGIN("native_request");
	stage_long(3 * UNIT);
	stage_short(UNIT);
	COZ_END("native_request");
	SPAN_EXIT(app, request);
	SPAN_EVENT(app, done);
	COZ_PROGRESS_NAMED("native_done");
}

static void *run_visits(void *arg)
{
	unsigned long n = *(unsigned long *)arg;

	while (n--)
		visit();
	return NULL;
}

static void *run_until(void *arg)
{
	double end = now() + *(double *)arg;

	while (now() < end)
		visit();
	return NULL;
}

static void *run_beside(void *arg)
{
	while (!over) {
		stage_beside(50 * UNIT);
		usleep(1000);
	}
	return arg;
}

static int counts(unsigned long threads, unsigned long visits)
{
	pthread_t ids[THREADS_MAX];
	unsigned long i;

	for (i = 0; i < threads && i < THREADS_MAX; i++)
		pthread_create(&ids[i], NULL, run_visits, &visits);
	while (i--)
		pthread_join(ids[i], NULL);
	printf("%lu\n", threads * visits);
	return 0;
}

static int stages(double seconds)
{
	double end = now() + seconds;
	unsigned long visits = 0;
	pthread_t beside;

	pthread_create(&beside, NULL, run_beside, NULL);
	for (; now() < end; visits++)
		visit();
	over = true;
	pthread_join(beside, NULL);
	printf("%lu\n", visits);
	return 0;
}

static int idle(double seconds)
{
	{
		SPAN_SCOPE(app, setup);
		SPAN_EVENT(app, ready);
	}
	run_until(&seconds);
	return 0;
}

int main(int argc, char **argv)
{
	static double seconds; /* outlives the main thread */
	pthread_t thread;

	if (argc == 4 && !strcmp(argv[1], "counts"))
		return counts(strtoul(argv[2], NULL, 10), strtoul(argv[3], NULL, 10));
	if (argc != 3)
		return 2;
	seconds = strtod(argv[2], NULL);
	if (!strcmp(argv[1], "stages"))
		return stages(seconds);
	if (!strcmp(argv[1], "idle"))
		return idle(seconds);
	if (!strcmp(argv[1], "leave")) {
		pthread_create(&thread, NULL, run_until, &seconds);
		pthread_detach(thread);
		pthread_exit(NULL);
	}
	if (!strcmp(argv[1], "exec")) {
		run_until(&seconds);
		execl("/proc/self/exe", argv[0], "idle", argv[2], NULL);
	}
	return 2;
}
