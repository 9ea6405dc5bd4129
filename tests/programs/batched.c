/* SPDX-License-Identifier: MIT */
/* What only the batched lane can get wrong: buffers that are not full when something happens.
 *
 *   batched MODE [N] [LIBRARY]     N: how many spans, 1000 if not given
 */
#define SPANTRACE_BATCHED
#ifdef SPANTRACE_TSC
#define BUFFER "spantrace_tsc_buffer"
#else
#define BUFFER "spantrace_batch_buffer"
#endif
#include "spantrace.h"

#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static long times = 1000;
static volatile unsigned long sink;

__attribute__((noinline)) static void spans(long n)
{
	for (long i = 0; i < n; i++) {
		SPAN_SCOPE(lane, span);
		sink++;
	}
}

static void say(const char *word)
{
	puts(word);
	fflush(stdout);
}

static void wait_for_line(void)
{
	char line[16];

	if (!fgets(line, sizeof(line), stdin))
		exit(1);
}

/* --- ends that ask nobody --- */

static void mode_kill(void)
{
	SPAN_SCOPE(lane, open);
	spans(times);
	raise(SIGKILL);
}

static void mode_exit(void)
{
	SPAN_SCOPE(lane, open);
	spans(times);
	_exit(0);
}

static void mode_exec(const char *self)
{
	SPAN_SCOPE(lane, open);
	spans(times);
	execl(self, self, "exit", "7", (char *)NULL);
	_exit(1);
}

/* The child's copy of the buffer has spans of the parent's in it. */
static void mode_fork(void)
{
	SPAN_SCOPE(lane, open);
	spans(times);
	if (fork() == 0) {
		for (long i = 0; i < times; i++) {
			SPAN_SCOPE(lane, child);
			sink++;
		}
		raise(SIGKILL);
	}
	spans(times);
	wait(NULL);
}

/* --- threads that do nothing more, as far as their buffers show --- */

static volatile int stop;

static void *spin(void *arg)
{
	spans(times);
	say("done");
	while (!stop)
		sink++;
	return arg;
}

static void mode_spin(void)
{
	pthread_t thread;

	say("ready");
	wait_for_line();
	pthread_create(&thread, NULL, spin, NULL);
	wait_for_line();
	stop = 1;
	pthread_join(thread, NULL);
}

static void mode_idle(void)
{
	say("ready");
	wait_for_line();
	spans(times);
	say("done");
	wait_for_line();
}

/* Spans for ever, until a line comes; then says how many there were. */
static unsigned long made;

static void *make(void *arg)
{
	while (!stop) {
		spans(1);
		made++;
	}
	return arg;
}

static void mode_make(void)
{
	pthread_t thread;

	say("ready");
	pthread_create(&thread, NULL, make, NULL);
	wait_for_line();
	stop = 1;
	pthread_join(thread, NULL);
	printf("truth lane:span %lu\n", made);
}

/* --- what happens inside --- */

static void mode_alloc(void)
{
	void *volatile block;

	for (long i = 0; i < times; i++) {
		SPAN_SCOPE(lane, outer);
		block = malloc(100);
		free(block);
		{
			SPAN_SCOPE(lane, inner);
			block = malloc(1000);
			free(block);
		}
		SPAN_EVENT_VALUE(lane, value, i);
	}
	block = malloc(10);
	free(block);
}

/* Sleeps in some spans, computes in others, many of them in one buffer's time. */
static void mode_sleep(void)
{
	struct timespec ms = {0, 1000000}, start, now;

	for (long i = 0; i < times; i++) {
		{
			SPAN_SCOPE(lane, asleep);
			nanosleep(&ms, NULL);
		}
		{
			SPAN_SCOPE(lane, awake);
			clock_gettime(CLOCK_THREAD_CPUTIME_ID, &start);
			do
				clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
			while ((now.tv_sec - start.tv_sec) * 1000000000 + now.tv_nsec -
				       start.tv_nsec <
			       100000);
		}
	}
}

/* A signal can come while an op is written. */
static volatile unsigned long handled;

static void on_signal(int number)
{
	(void)number;
	SPAN_ENTER(lane, handler);
	handled++;
	SPAN_EXIT(lane, handler);
}

static void mode_signals(void)
{
	struct itimerval often = {{0, 50}, {0, 50}};

	signal(SIGALRM, on_signal);
	setitimer(ITIMER_REAL, &often, NULL);
	spans(times);
	memset(&often, 0, sizeof(often));
	setitimer(ITIMER_REAL, &often, NULL);
	printf("truth lane:handler %lu\n", handled);
}

/* A library has a buffer of its own. */
static void mode_library(const char *path)
{
	for (int turn = 0; turn < 3; turn++) {
		void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
		void (*work)(void);

		if (!library)
			exit(3);
		*(void **)&work = dlsym(library, "work");
		say("ready");
		wait_for_line();
		for (long i = 0; i < times; i++) {
			SPAN_SCOPE(lane, outer);
			work();
			SPAN_EVENT(lane, tick);
		}
		dlclose(library);
	}
}

/* --- a program that lies --- */

extern __thread unsigned long long lies[] __asm__(BUFFER) __attribute__((visibility("hidden")));

static void mode_lies(void)
{
	unsigned long long magic;

	spans(1);
	magic = lies[0];
	for (long i = 0; i < times; i++) {
		lies[1] = (unsigned long long)(i % 7)
			  << 32; /* keep it where the program itself can go on */
		for (int j = 8; j < 408; j++)
			lies[j] = (unsigned long long)random() << 33 ^ (unsigned long long)random();
		lies[1] += (unsigned long long)(i % 200);
		lies[2] = (unsigned long long)i * 0x9e3779b97f4a7c15ULL;
		lies[3] = 0;
		if (i % 5 == 0)
			lies[0] = (unsigned long long)i;
		usleep(i % 100 == 0);
		SPAN_EVENT(lane, tick);
		lies[0] = magic;
	}
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "";

	if (argc > 2)
		times = atol(argv[2]);
	if (!strcmp(mode, "kill"))
		mode_kill();
	else if (!strcmp(mode, "exit"))
		mode_exit();
	else if (!strcmp(mode, "exec"))
		mode_exec(argv[0]);
	else if (!strcmp(mode, "fork"))
		mode_fork();
	else if (!strcmp(mode, "spin"))
		mode_spin();
	else if (!strcmp(mode, "idle"))
		mode_idle();
	else if (!strcmp(mode, "make"))
		mode_make();
	else if (!strcmp(mode, "alloc"))
		mode_alloc();
	else if (!strcmp(mode, "sleep"))
		mode_sleep();
	else if (!strcmp(mode, "signals"))
		mode_signals();
	else if (!strcmp(mode, "library") && argc > 3)
		mode_library(argv[3]);
	else if (!strcmp(mode, "lies"))
		mode_lies();
	else
		return 2;
	return 0;
}
