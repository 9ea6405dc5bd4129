/* SPDX-License-Identifier: MIT */
/* What a malloc of 64 bytes and its free take: bench_alloc CPU [ROUNDS]. Prints the least of all rounds in ns, so that other work
 * on the machine falls out. */
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define PAIRS 20000

static void *(*volatile do_malloc)(size_t) = malloc;
static void (*volatile do_free)(void *) = free;

static double now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

int main(int argc, char **argv)
{
	int rounds = argc > 2 ? atoi(argv[2]) : 20;
	double least = 0;
	cpu_set_t cpus;
	int round, i;

	CPU_ZERO(&cpus);
	CPU_SET(argc > 1 ? atoi(argv[1]) : 0, &cpus);
	sched_setaffinity(0, sizeof(cpus), &cpus);
	for (round = 0; round < rounds; round++) {
		double began = now_ns(), took;

		for (i = 0; i < PAIRS; i++)
			do_free(do_malloc(64));
		took = (now_ns() - began) / PAIRS;
		if (!round || took < least)
			least = took;
	}
	printf("%.1f\n", least);
	return 0;
}
