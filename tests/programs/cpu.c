/* SPDX-License-Identifier: MIT */
/* Threads that compute, wait and stay in system calls, and say themselves what the kernel has counted for them.
 *
 *   cpu mix THREADS MS      threads that do all three in spans, until each has run so long and was pushed off a CPU
 *   cpu calls ROUNDS        spans that compute, and spans that read /dev/zero
 *   cpu short ROUNDS        the same with spans of some microseconds
 *   cpu async ROUNDS        one async span, worked on by two threads
 *   cpu faults ROUNDS       spans that touch fresh memory
 *   cpu late ROUNDS         on a line from stdin a span that reads, and then waits for a signal inside it
 *   cpu others ROUNDS       one thread in spans that compute, one outside all spans that reads
 *
 * Each thread prints what it has used, as read just outside the begin and the end of its outermost span and, but for
 * async, faults, late and others, just inside them. It may lose its CPU between a reading and the probe: what the span
 * has used lies between the two.
 *   outside TID WALL RUNTIME RUN_DELAY USER SYSTEM VOL INVOL MINOR MAJOR
 *   inside  TID …
 * (ns, USER and SYSTEM by getrusage; switches; page faults), and what the calls in its spans have used, by the thread's own
 * clock:
 *   calls TID SYSTEM
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "spantrace.h"

static int times = 100;
static int zero;
static volatile unsigned long sink;
static pthread_mutex_t print_lock = PTHREAD_MUTEX_INITIALIZER;

static unsigned long now_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (unsigned long)t.tv_sec * 1000000000UL + (unsigned long)t.tv_nsec;
}

static void sleep_ns(long ns)
{
	struct timespec t = {0, ns};

	while (nanosleep(&t, &t) && errno == EINTR)
		;
}

/* What the kernel has counted for a thread. */
struct used {
	unsigned long wall, runtime, run_delay, user, system, vol, invol, minor, major;
};

/* At the begin and at the end of a span. */
struct stretch {
	struct used begin, end;
};

static unsigned long ns_of(struct timeval t)
{
	return (unsigned long)t.tv_sec * 1000000000UL + (unsigned long)t.tv_usec * 1000;
}

static struct used used(void)
{
	struct rusage usage;
	struct used u = {0};
	char text[128];
	int fd = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
	ssize_t n;

	getrusage(RUSAGE_THREAD, &usage);
	u.user = ns_of(usage.ru_utime);
	u.system = ns_of(usage.ru_stime);
	u.vol = (unsigned long)usage.ru_nvcsw;
	u.invol = (unsigned long)usage.ru_nivcsw;
	u.minor = (unsigned long)usage.ru_minflt;
	u.major = (unsigned long)usage.ru_majflt;
	/* Reading this clock brings the thread's own up to date. */
	now_ns(CLOCK_THREAD_CPUTIME_ID);
	n = read(fd, text, sizeof(text) - 1);
	close(fd);
	if (n <= 0)
		exit(3);
	text[n] = '\0';
	if (sscanf(text, "%lu %lu", &u.runtime, &u.run_delay) != 2)
		exit(3);
	u.wall = now_ns(CLOCK_MONOTONIC);
	return u;
}

static void say_stretch(const char *where, const struct stretch *s)
{
	const struct used *a = &s->begin, *b = &s->end;

	printf("%s %d %lu %lu %lu %lu %lu %lu %lu %lu %lu\n", where, gettid(), b->wall - a->wall,
	       b->runtime - a->runtime, b->run_delay - a->run_delay, b->user - a->user,
	       b->system - a->system, b->vol - a->vol, b->invol - a->invol, b->minor - a->minor,
	       b->major - a->major);
}

static void say(struct stretch *outside, const struct stretch *inside, unsigned long in_calls)
{
	outside->end = used();
	pthread_mutex_lock(&print_lock);
	say_stretch("outside", outside);
	if (inside)
		say_stretch("inside", inside);
	printf("calls %d %lu\n", gettid(), in_calls);
	fflush(stdout);
	pthread_mutex_unlock(&print_lock);
}

/* No system call in it. */
static void compute(unsigned long steps)
{
	unsigned long x = steps;

	while (steps--)
		x = x * 6364136223846793005UL + 1442695040888963407UL;
	sink = x;
}

/* Returns what the calls have used. */
static unsigned long read_zeros(int calls)
{
	static __thread char buffer[64 << 10];
	unsigned long before = now_ns(CLOCK_THREAD_CPUTIME_ID);

	while (calls--)
		if (read(zero, buffer, sizeof(buffer)) != sizeof(buffer))
			exit(3);
	return now_ns(CLOCK_THREAD_CPUTIME_ID) - before;
}

/* --- modes ---------------------------------------------------------------------------------------- */

static void *mix(void *unused)
{
	struct stretch outside = {.begin = used()}, inside;
	unsigned long in_calls = 0;

	(void)unused;
	SPAN_ENTER(cpu, thread);
	inside.begin = used();
	do {
		SPAN_ENTER(cpu, round);
		SPAN_ENTER(cpu, compute);
		compute(1500000);
		SPAN_EXIT(cpu, compute);
		SPAN_ENTER(cpu, wait);
		sleep_ns(700000);
		SPAN_EXIT(cpu, wait);
		SPAN_ENTER(cpu, read);
		in_calls += read_zeros(100);
		SPAN_EXIT(cpu, read);
		SPAN_EXIT(cpu, round);
		inside.end = used();
	} while (inside.end.runtime - inside.begin.runtime < (unsigned long)times * 1000000UL ||
		 inside.end.invol == inside.begin.invol);
	SPAN_EXIT(cpu, thread);
	say(&outside, &inside, in_calls);
	return NULL;
}

static void mode_mix(int threads)
{
	pthread_t ids[64];
	int i;

	for (i = 0; i < threads && i < 64; i++)
		pthread_create(&ids[i], NULL, mix, NULL);
	while (i--)
		pthread_join(ids[i], NULL);
}

static void calls(unsigned long steps, int reads)
{
	struct stretch outside = {.begin = used()}, inside;
	unsigned long in_calls = 0;

	SPAN_ENTER(cpu, thread);
	inside.begin = used();
	for (int i = 0; i < times; i++) {
		SPAN_ENTER(cpu, compute);
		compute(steps);
		SPAN_EXIT(cpu, compute);
		SPAN_ENTER(cpu, read);
		in_calls += read_zeros(reads);
		SPAN_EXIT(cpu, read);
	}
	inside.end = used();
	SPAN_EXIT(cpu, thread);
	say(&outside, &inside, in_calls);
}

static pthread_barrier_t turn;

static void *work_on(void *number)
{
	unsigned long in_calls = 0;
	struct stretch outside = {.begin = used()};
	bool reads = *(int *)number;

	for (int i = 0; i < times; i++) {
		SPAN_ENTER_ID(cpu, job, 7);
		if (reads)
			in_calls += read_zeros(2000);
		else
			compute(1000000);
		SPAN_EXIT_ID(cpu, job, 7);
	}
	say(&outside, NULL, in_calls);
	pthread_barrier_wait(&turn);
	return NULL;
}

static void mode_async(void)
{
	int numbers[2] = {0, 1};
	pthread_t ids[2];

	pthread_barrier_init(&turn, NULL, 3);
	SPAN_NEW(cpu, job, 7);
	for (int i = 0; i < 2; i++)
		pthread_create(&ids[i], NULL, work_on, &numbers[i]);
	pthread_barrier_wait(&turn);
	SPAN_CLOSE(cpu, job, 7);
	for (int i = 0; i < 2; i++)
		pthread_join(ids[i], NULL);
}

static void mode_faults(void)
{
	const size_t bytes = 8 << 20, page = (size_t)sysconf(_SC_PAGESIZE);
	unsigned long in_faults = 0;
	struct stretch outside = {.begin = used()};

	for (int i = 0; i < times; i++) {
		char *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
				    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		unsigned long start;

		if (memory == MAP_FAILED)
			exit(3);
		madvise(memory, bytes, MADV_NOHUGEPAGE);
		SPAN_ENTER(cpu, touch);
		start = now_ns(CLOCK_THREAD_CPUTIME_ID);
		for (size_t at = 0; at < bytes; at += page)
			memory[at] = 1;
		in_faults += now_ns(CLOCK_THREAD_CPUTIME_ID) - start;
		SPAN_EXIT(cpu, touch);
		munmap(memory, bytes);
	}
	say(&outside, NULL, in_faults);
}

static void mode_late(void)
{
	unsigned long in_calls = 0;
	struct stretch outside;

	getchar();
	outside.begin = used();

	SPAN_ENTER(cpu, waits);
	for (int i = 0; i < times; i++)
		in_calls += read_zeros(200);
	say(&outside, NULL, in_calls);
	pause();
	SPAN_EXIT(cpu, waits);
}

static void *read_outside(void *unused)
{
	(void)unused;
	for (int i = 0; i < times; i++)
		read_zeros(200);
	return NULL;
}

static void mode_others(void)
{
	struct stretch outside;
	pthread_t id;

	pthread_create(&id, NULL, read_outside, NULL);
	outside.begin = used();
	for (int i = 0; i < times; i++) {
		SPAN_ENTER(cpu, compute);
		compute(2000000);
		SPAN_EXIT(cpu, compute);
	}
	say(&outside, NULL, 0);
	pthread_join(id, NULL);
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "";

	if (argc > 2)
		times = atoi(argv[argc - 1]);
	zero = open("/dev/zero", O_RDONLY | O_CLOEXEC);
	if (zero < 0)
		return 3;
	/* A page that the kernel takes away meanwhile would be waited for, or be system time. */
	mlockall(MCL_CURRENT);
	if (!strcmp(mode, "mix") && argc == 4)
		mode_mix(atoi(argv[2]));
	else if (!strcmp(mode, "calls"))
		calls(2000000, 200);
	else if (!strcmp(mode, "short"))
		calls(2000, 1);
	else if (!strcmp(mode, "async"))
		mode_async();
	else if (!strcmp(mode, "faults"))
		mode_faults();
	else if (!strcmp(mode, "late"))
		mode_late();
	else if (!strcmp(mode, "others"))
		mode_others();
	else
		return 2;
	return 0;
}
