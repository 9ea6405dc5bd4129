/* SPDX-License-Identifier: MIT */
/* Spans at a steady rate from processes that come and go, for long: what a service sees. Known numbers of each.
 *
 *	soak SECONDS RATE PROCESSES LIFE_MS
 *
 * PROCESSES at a time, each of which lives about LIFE_MS and is another then, make RATE spans a second in all: a
 * soak:request with three soak:query in it, on two threads, and every hundredth time an async soak:job. At the end it
 * prints "processes N request N query N job N".
 */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "spantrace.h"

#define QUERIES 3
#define THREADS 2

struct truth {
	atomic_ulong processes, request, query, job;
};

static struct truth *truth;
static double seconds_to_live, requests_a_second;

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static void request(unsigned long id)
{
	SPAN_SCOPE(soak, request);
	for (int i = 0; i < QUERIES; i++) {
		SPAN_SCOPE(soak, query);
	}
	if (id % 100)
		return;
	SPAN_NEW(soak, job, id);
	SPAN_ENTER_ID(soak, job, id);
	SPAN_EXIT_ID(soak, job, id);
	SPAN_CLOSE(soak, job, id);
}

/* As many as are due every millisecond; what a loaded machine makes late comes later. */
static void *work(void *arg)
{
	unsigned long first = (unsigned long)arg << 40, done = 0, jobs = 0;
	double begin = now(), age;

	while ((age = now() - begin) < seconds_to_live) {
		unsigned long due = (unsigned long)(age * requests_a_second);

		for (; done < due; done++) {
			jobs += (first + done) % 100 == 0;
			request(first + done);
		}
		usleep(1000);
	}
	truth->request += done;
	truth->query += done * QUERIES;
	truth->job += jobs;
	return NULL;
}

static int live(void)
{
	pthread_t other;

	if (pthread_create(&other, NULL, work, (void *)1ul))
		return 1;
	work((void *)2ul);
	pthread_join(other, NULL);
	truth->processes++;
	return 0;
}

static pid_t start(char **argv, int fd)
{
	char place[16], life[32], rate[32];
	pid_t pid = fork();

	if (pid)
		return pid;
	/* Lives differ, so that not all end at once. */
	srand((unsigned)getpid());
	snprintf(place, sizeof(place), "%d", fd);
	snprintf(life, sizeof(life), "%f", atof(argv[4]) / 1000 * (0.5 + rand() % 1000 / 1000.0));
	snprintf(rate, sizeof(rate), "%f",
		 atof(argv[2]) / atof(argv[3]) / THREADS / (1 + QUERIES + 0.01));
	execl("/proc/self/exe", "soak", "worker", place, life, rate, NULL);
	_exit(127);
}

static struct truth *share(int fd)
{
	void *shared = mmap(NULL, sizeof(struct truth), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	return shared == MAP_FAILED ? NULL : shared;
}

int main(int argc, char **argv)
{
	double end;
	int fd, n;

	if (argc < 5)
		return 2;
	if (!strcmp(argv[1], "worker")) {
		truth = share(atoi(argv[2]));
		seconds_to_live = atof(argv[3]);
		requests_a_second = atof(argv[4]);
		return truth ? live() : 1;
	}
	fd = memfd_create("truth", 0);
	if (fd < 0 || ftruncate(fd, sizeof(struct truth)))
		return 1;
	truth = share(fd);
	if (!truth)
		return 1;
	end = now() + atof(argv[1]);
	for (n = 0; n < atoi(argv[3]); n++)
		start(argv, fd);
	while (n && wait(NULL) > 0) {
		n--;
		if (now() < end && start(argv, fd) > 0)
			n++;
	}
	printf("processes %lu request %lu query %lu job %lu\n", truth->processes, truth->request,
	       truth->query, truth->job);
	return 0;
}
