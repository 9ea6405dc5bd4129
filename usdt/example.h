/* SPDX-License-Identifier: MIT */
/* What the example programs share: options, a clock, work that takes a known time, and waiting to
 * be traced. Each program prints its own ground truth, one fact a line:
 *
 *   truth PATH COUNT           spans finished with this path, frames joined by ';'
 *   abandoned PATH COUNT       of those, the ones that had no exit of their own
 *   open PATH COUNT            spans still open at the end, not in truth
 *   event PATH COUNT SUM       events with this path, and the sum of their values
 *   time PATH NANOSECONDS      time inside those spans, from right after enter to right before exit
 *   cpu PATH NANOSECONDS       the same on the CPU clock of the thread
 *
 * With --wait 1 a program prints `ready PID`, and goes on once it reads a line or the end of its
 * input: time for a tracer to attach.
 */
#ifndef SPANTRACE_EXAMPLE_H
#define SPANTRACE_EXAMPLE_H

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

struct example_option {
	const char *name; /* with its dashes */
	long *value;
	const char *help;
};

static inline void example_usage(const char *program, const struct example_option *options,
				 size_t count)
{
	fprintf(stderr, "usage: %s [OPTION NUMBER]...\n", program);
	for (size_t i = 0; i < count; i++)
		fprintf(stderr, "  %-12s %s (default %ld)\n", options[i].name, options[i].help,
			*options[i].value);
	exit(2);
}

/* Takes `--name NUMBER` pairs; anything else is bad usage and ends the program. */
static inline void example_options(int argc, char **argv, const struct example_option *options,
				   size_t count)
{
	for (int i = 1; i < argc; i += 2) {
		size_t at = 0;
		char *end;

		while (at < count && strcmp(argv[i], options[at].name) != 0)
			at++;
		if (at == count || i + 1 == argc)
			example_usage(argv[0], options, count);
		errno = 0;
		*options[at].value = strtol(argv[i + 1], &end, 10);
		if (errno || end == argv[i + 1] || *end || *options[at].value < 0) {
			fprintf(stderr, "%s: %s takes a number from 0 up, not '%s'\n", argv[0],
				argv[i], argv[i + 1]);
			exit(2);
		}
	}
}

static inline void example_wait(long wait)
{
	char line[64];

	if (!wait)
		return;
	printf("ready %ld\n", (long)getpid());
	fflush(stdout);
	if (!fgets(line, sizeof(line), stdin))
		clearerr(stdin);
}

static inline long long example_clock(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (long long)t.tv_sec * 1000000000 + t.tv_nsec;
}

static inline long long example_now(void)
{
	return example_clock(CLOCK_MONOTONIC);
}

static inline long long example_cpu(void)
{
	return example_clock(CLOCK_THREAD_CPUTIME_ID);
}

/* Keeps the CPU busy until so much time has passed. */
static inline void example_work(long microseconds)
{
	long long end = example_now() + microseconds * 1000LL;

	while (example_now() < end)
		;
}

static inline void example_sleep(long microseconds)
{
	struct timespec t;

	t.tv_sec = microseconds / 1000000;
	t.tv_nsec = microseconds % 1000000 * 1000;
	while (nanosleep(&t, &t) != 0 && errno == EINTR)
		;
}

#endif
