/* SPDX-License-Identifier: MIT */
/* The target of `make bench`: does nothing but spans, and times them itself.
 *
 *   bench_loop CPU [CPU]      one thread for each CPU, which stays there
 *
 * It takes orders on stdin, a line each, so that one process serves every tracer in turn:
 *
 *   run WORK MS THREADS       answers "done SPANS NS": how many, and ns a span of the best batch
 *   wait                      does some spans a millisecond until they cost what probes cost;
 *                             answers "ready SPANS", or "idle SPANS" after 10 s without
 *
 * A batch is about 16 ms: longer than the 10 ms between two visits of a loader to its rings, so
 * that what those cost is in every batch.
 *
 * With -DBENCH_SITES="FILE" it carries the markers in FILE as well, which never run. With -DSPANTRACE_BATCHED, and with
 * -DSPANTRACE_TSC, it is the target for the batched lane: thread spans and events go there.
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <spantrace.h>

#define BATCH_NS    16000000.0
#define THREADS_MAX 2
#define WAIT_MS     10000
#define LOOK_SPANS  256 /* more than a buffer of the batched lane holds */
#define PROBED_NS \
	2000 /* so many cost less, two looks at the clock included; in either lane more with probes */

/* --- the work: each function does N rounds -------------------------------------------------- */

/* What is around the markers, to be taken off where a span costs less than that. */
static void work_none(uint64_t n, uint64_t id)
{
	(void)id;
	for (; n; n--)
		__asm__ volatile("");
}

/* What a program that keeps its own times pays for a span. */
static void work_clock(uint64_t n, uint64_t id)
{
	struct timespec now;

	(void)id;
	for (; n; n--) {
		clock_gettime(CLOCK_MONOTONIC, &now);
		clock_gettime(CLOCK_MONOTONIC, &now);
	}
}

static void work_thread(uint64_t n, uint64_t id)
{
	(void)id;
	for (; n; n--) {
		SPAN_ENTER(bench, span);
		SPAN_EXIT(bench, span);
	}
}

static void work_labels(uint64_t n, uint64_t id)
{
	for (; n; n--) {
		SPAN_ENTER_ARGS(bench, labelled, request, id + n, path, "/index.html");
		SPAN_EXIT(bench, labelled);
	}
}

static void work_event(uint64_t n, uint64_t id)
{
	(void)id;
	for (; n; n--)
		SPAN_EVENT(bench, tick);
}

static void work_async(uint64_t n, uint64_t id)
{
	for (; n; n--) {
		SPAN_NEW(bench, job, id + n);
		SPAN_ENTER_ID(bench, job, id + n);
		SPAN_EXIT_ID(bench, job, id + n);
		SPAN_CLOSE(bench, job, id + n);
	}
}

static void work_nested(uint64_t n, uint64_t id)
{
	(void)id;
	for (; n; n--) {
		SPAN_ENTER(bench, n0);
		SPAN_ENTER(bench, n1);
		SPAN_ENTER(bench, n2);
		SPAN_ENTER(bench, n3);
		SPAN_ENTER(bench, n4);
		SPAN_ENTER(bench, n5);
		SPAN_ENTER(bench, n6);
		SPAN_ENTER(bench, n7);
		SPAN_ENTER(bench, n8);
		SPAN_ENTER(bench, n9);
		SPAN_EXIT(bench, n9);
		SPAN_EXIT(bench, n8);
		SPAN_EXIT(bench, n7);
		SPAN_EXIT(bench, n6);
		SPAN_EXIT(bench, n5);
		SPAN_EXIT(bench, n4);
		SPAN_EXIT(bench, n3);
		SPAN_EXIT(bench, n2);
		SPAN_EXIT(bench, n1);
		SPAN_EXIT(bench, n0);
	}
}

/* Two kinds of spans in turn. */
static void work_pair(uint64_t n, uint64_t id)
{
	(void)id;
	for (; n; n--) {
		SPAN_ENTER(bench, left);
		SPAN_EXIT(bench, left);
		SPAN_ENTER(bench, right);
		SPAN_EXIT(bench, right);
	}
}

static __attribute__((noinline)) void recurse(int depth)
{
	SPAN_ENTER(bench, recursive);
	if (depth > 1)
		recurse(depth - 1);
	SPAN_EXIT(bench, recursive);
}

static void work_recursive(uint64_t n, uint64_t id)
{
	(void)id;
	for (; n; n--)
		recurse(10);
}

/* No span: a byte to another thread on this CPU and back, which takes four system calls and two switches. */
static int there[2], back[2];

static void *work_partner(void *unused)
{
	char byte;

	while (read(there[0], &byte, 1) == 1 && write(back[1], &byte, 1) == 1)
		;
	return unused;
}

static void work_switch(uint64_t n, uint64_t id)
{
	pthread_t partner;
	char byte = 0;

	(void)id;
	/* It takes over which CPU its maker stays on. */
	if (!there[1] &&
	    (pipe(there) || pipe(back) || pthread_create(&partner, NULL, work_partner, NULL)))
		exit(1);
	for (; n; n--)
		if (write(there[1], &byte, 1) != 1 || read(back[0], &byte, 1) != 1)
			exit(1);
}

struct work {
	const char *name;
	void (*rounds)(uint64_t n, uint64_t id);
	unsigned spans; /* a round */
};

static const struct work works[] = {
	{"none", work_none, 1},     {"clock", work_clock, 1},    {"thread", work_thread, 1},
	{"labels", work_labels, 1}, {"event", work_event, 1},    {"async", work_async, 1},
	{"pair", work_pair, 2},     {"nested", work_nested, 10}, {"recursive", work_recursive, 10},
	{"switch", work_switch, 1},
};

#ifdef BENCH_SITES
/* Markers for an attach to find. */
__attribute__((noinline, used)) static void more_sites(void)
{
#include BENCH_SITES
}
#endif

/* --- timing --------------------------------------------------------------------------------- */

struct runner {
	pthread_t thread;
	pthread_barrier_t *start;
	const struct work *work;
	uint64_t run_ns;
	uint64_t id; /* of the next async span */
	int cpu;
	uint64_t rounds; /* out */
	double best;     /* out: ns a round */
};

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000ULL + (uint64_t)now.tv_nsec;
}

/* N rounds: ns a round. */
static double batch(struct runner *r, uint64_t n)
{
	uint64_t begin = now_ns(), took;

	r->work->rounds(n, r->id);
	took = now_ns() - begin;
	r->id += n;
	r->rounds += n;
	return (double)took / (double)n;
}

static void run_batches(struct runner *r)
{
	uint64_t end = now_ns() + r->run_ns;
	uint64_t n = 256;
	double cost;

	/* Until a batch is long enough to tell what one round costs. */
	for (;;) {
		cost = batch(r, n);
		if (cost * (double)n > BATCH_NS / 16)
			break;
		n *= 2;
	}
	n = (uint64_t)(BATCH_NS / cost) + 1;
	do {
		cost = batch(r, n);
		if (r->best == 0 || cost < r->best)
			r->best = cost;
	} while (now_ns() < end);
}

static int pin(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET((unsigned)cpu, &set);
	return pthread_setaffinity_np(pthread_self(), sizeof(set), &set);
}

static void *run_thread(void *arg)
{
	struct runner *r = arg;

	if (pin(r->cpu))
		r->cpu = -1;
	pthread_barrier_wait(r->start);
	run_batches(r);
	return NULL;
}

/* Runs WORK on threads of its own or, with one thread, on this one. 0 or -1. */
static int run(const struct work *work, uint64_t ms, int threads, const int *cpus)
{
	static uint64_t next_id;
	struct runner runners[THREADS_MAX] = {};
	pthread_barrier_t start;
	uint64_t rounds = 0;
	double best = 0;
	int i;

	pthread_barrier_init(&start, NULL, (unsigned)threads);
	for (i = 0; i < threads; i++) {
		runners[i].start = &start;
		runners[i].work = work;
		runners[i].run_ns = ms * 1000000;
		runners[i].id = next_id += 1ULL << 40;
		runners[i].cpu = cpus[i];
	}
	for (i = 1; i < threads; i++) {
		if (pthread_create(&runners[i].thread, NULL, run_thread, &runners[i])) {
			/* The others wait at the barrier for good. */
			fprintf(stderr, "bench_loop: cannot start a thread\n");
			exit(1);
		}
	}
	run_thread(&runners[0]);
	for (i = 1; i < threads; i++)
		pthread_join(runners[i].thread, NULL);
	pthread_barrier_destroy(&start);
	for (i = 0; i < threads; i++) {
		if (runners[i].cpu < 0) {
			fprintf(stderr, "bench_loop: cannot stay on CPU %d\n", cpus[i]);
			return -1;
		}
		rounds += runners[i].rounds;
		best += runners[i].best / threads;
	}
	printf("done %llu %.3f\n", (unsigned long long)rounds * work->spans, best / work->spans);
	return 0;
}

static void wait_for_probes(void)
{
	uint64_t best, begin, took;
	int ms, i;

	for (ms = 0; ms < WAIT_MS; ms++) {
		/* The lowest of a few: an interrupt is no probe. */
		best = UINT64_MAX;
		for (i = 0; i < 8; i++) {
			begin = now_ns();
			work_thread(LOOK_SPANS, 0);
			took = now_ns() - begin;
			best = took < best ? took : best;
		}
		if (best > PROBED_NS)
			break;
		usleep(1000);
	}
	printf("%s %d\n", ms < WAIT_MS ? "ready" : "idle", (ms * 8 + 8) * LOOK_SPANS);
}

static int obey(const char *line, const int *cpus, int ncpus)
{
	char name[16];
	unsigned ms;
	int threads;
	size_t i;

	if (!strcmp(line, "wait\n")) {
		wait_for_probes();
		return 0;
	}
	if (sscanf(line, "run %15s %u %d", name, &ms, &threads) != 3 || threads < 1 ||
	    threads > ncpus) {
		fprintf(stderr, "bench_loop: no such order: %s", line);
		return -1;
	}
	for (i = 0; i < sizeof(works) / sizeof(works[0]); i++)
		if (!strcmp(works[i].name, name))
			return run(&works[i], ms, threads, cpus);
	fprintf(stderr, "bench_loop: no such work: %s\n", name);
	return -1;
}

int main(int argc, char **argv)
{
	char line[128];
	int cpus[THREADS_MAX];
	int i;

	if (argc < 2 || argc > 1 + THREADS_MAX) {
		fprintf(stderr, "usage: bench_loop CPU [CPU]\n");
		return 2;
	}
	for (i = 1; i < argc; i++)
		cpus[i - 1] = atoi(argv[i]);
	setvbuf(stdout, NULL, _IOLBF, 0);
	while (fgets(line, sizeof(line), stdin))
		if (obey(line, cpus, argc - 1))
			return 1;
	return 0;
}
