/* SPDX-License-Identifier: MIT */
/* The span loop that peers.py measures: a root span and one nested in it, as often as asked, and nothing else.
 *
 *   loop CPU ROUNDS
 *
 * stays on CPU and takes orders on stdin, a line each: "wait" does a round now and then until it costs what probes cost,
 * and answers "ready ROUNDS"; "go" does ROUNDS of them and answers "done NS". It ends with its input.
 *
 * Each way to see the spans is a program of its own, built from this file:
 *   (nothing)                       markers of spantrace.h, also for bpftrace and perf
 *   -DSPANTRACE_BATCHED             the same in the batched lane
 *   -DSPANTRACE_DISABLE             no spans at all
 *   -DSPANTRACE_DISABLE -pg         calls, for uftrace
 *   -DSPANTRACE_DISABLE -DLTTNG     tracepoints of LTTng-UST
 */
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <spantrace.h>

#ifdef LTTNG
#define LTTNG_UST_TRACEPOINT_DEFINE
#define LTTNG_UST_TRACEPOINT_CREATE_PROBES
#include "loop_lttng.h"
#define POINT(name) lttng_ust_tracepoint(peers, name)
#else
#define POINT(name) \
	do {        \
	} while (0)
#endif

#define UNTRACED  __attribute__((no_instrument_function))
#define WAIT_MS   10000
#define PROBED_NS 800 /* a round with probes costs more */

static __attribute__((noinline)) void nested(void)
{
	SPAN_ENTER(peers, nested);
	POINT(nested_enter);
	__asm__ volatile("");
	POINT(nested_exit);
	SPAN_EXIT(peers, nested);
}

static __attribute__((noinline)) void root(void)
{
	SPAN_ENTER(peers, root);
	POINT(root_enter);
	nested();
	__asm__ volatile(""); /* no tail call: the span ends here */
	POINT(root_exit);
	SPAN_EXIT(peers, root);
}

static UNTRACED uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000ULL + (uint64_t)now.tv_nsec;
}

static UNTRACED uint64_t run(uint64_t rounds)
{
	uint64_t begin = now_ns();

	for (; rounds; rounds--)
		root();
	return now_ns() - begin;
}

static UNTRACED int wait_for_probes(void)
{
	int ms, i;

	for (ms = 0; ms < WAIT_MS; ms++) {
		uint64_t best = UINT64_MAX;

		/* The lowest of a few: an interrupt is no probe. */
		for (i = 0; i < 8; i++) {
			uint64_t took = run(1);

			best = took < best ? took : best;
		}
		if (best > PROBED_NS) {
			printf("ready %d\n", ms * 8 + 8);
			return 0;
		}
		usleep(1000);
	}
	fprintf(stderr, "loop: no probes after %d s\n", WAIT_MS / 1000);
	return 1;
}

UNTRACED int main(int argc, char **argv)
{
	char line[16];
	cpu_set_t set;
	int err = 0;

	if (argc != 3) {
		fprintf(stderr, "usage: loop CPU ROUNDS\n");
		return 2;
	}
	CPU_ZERO(&set);
	CPU_SET((unsigned)atoi(argv[1]), &set);
	if (sched_setaffinity(0, sizeof(set), &set)) {
		fprintf(stderr, "loop: cannot stay on CPU %s\n", argv[1]);
		return 1;
	}
	setvbuf(stdout, NULL, _IOLBF, 0);
	while (!err && fgets(line, sizeof(line), stdin)) {
		if (!strcmp(line, "wait\n"))
			err = wait_for_probes();
		else if (!strcmp(line, "go\n"))
			printf("done %llu\n", (unsigned long long)run(strtoull(argv[2], NULL, 10)));
	}
	return err;
}
