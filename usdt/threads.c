/* SPDX-License-Identifier: MIT */
/* The same spans on several threads at once: some work, some sleep.
 *
 *	demo:job                         --spans on each of --threads, labels: worker, name
 *	  demo:compute                   on the CPU for --work-us
 *	  demo:pause                     asleep for --sleep-us
 *	  (event) demo:done
 *
 * Times are sums over the threads.
 */
#include <pthread.h>
#include <stdio.h>

#include "example.h"
#include "spantrace.h"

static long threads = 4, spans = 1000, work_us = 10, sleep_us, wait_first;

static const struct example_option options[] = {
	{"--threads", &threads, "threads to start"},
	{"--spans", &spans, "jobs of each thread"},
	{"--work-us", &work_us, "microseconds of work in a job"},
	{"--sleep-us", &sleep_us, "microseconds asleep in a job"},
	{"--wait", &wait_first, "1: wait for a line of input first"},
};

struct worker {
	pthread_t thread;
	long number;
	char name[32];
	long long job_ns, job_cpu_ns;
	long long compute_ns, compute_cpu_ns;
	long long pause_ns;
};

static void compute(struct worker *w)
{
	long long start, cpu;

	SPAN_SCOPE(demo, compute);
	start = example_now();
	cpu = example_cpu();
	example_work(work_us);
	w->compute_cpu_ns += example_cpu() - cpu;
	w->compute_ns += example_now() - start;
}

static void take_a_break(struct worker *w)
{
	long long start;

	SPAN_SCOPE(demo, pause);
	start = example_now();
	if (sleep_us)
		example_sleep(sleep_us);
	w->pause_ns += example_now() - start;
}

static void *run(void *arg)
{
	struct worker *w = (struct worker *)arg;

	for (long i = 0; i < spans; i++) {
		long long start, cpu;

		SPAN_SCOPE_ARGS(demo, job, worker, w->number, name, w->name);
		start = example_now();
		cpu = example_cpu();
		compute(w);
		take_a_break(w);
		SPAN_EVENT(demo, done);
		w->job_cpu_ns += example_cpu() - cpu;
		w->job_ns += example_now() - start;
	}
	return NULL;
}

static void print_truth(const struct worker *workers)
{
	struct worker sum = {0};

	for (long i = 0; i < threads; i++) {
		sum.job_ns += workers[i].job_ns;
		sum.job_cpu_ns += workers[i].job_cpu_ns;
		sum.compute_ns += workers[i].compute_ns;
		sum.compute_cpu_ns += workers[i].compute_cpu_ns;
		sum.pause_ns += workers[i].pause_ns;
	}
	printf("truth demo:job %ld\n", threads * spans);
	printf("truth demo:job;demo:compute %ld\n", threads * spans);
	printf("truth demo:job;demo:pause %ld\n", threads * spans);
	printf("event demo:job;demo:done %ld 0\n", threads * spans);
	printf("time demo:job %lld\n", sum.job_ns);
	printf("time demo:job;demo:compute %lld\n", sum.compute_ns);
	printf("time demo:job;demo:pause %lld\n", sum.pause_ns);
	printf("cpu demo:job %lld\n", sum.job_cpu_ns);
	printf("cpu demo:job;demo:compute %lld\n", sum.compute_cpu_ns);
}

int main(int argc, char **argv)
{
	struct worker *workers;

	example_options(argc, argv, options, sizeof(options) / sizeof(*options));
	workers = (struct worker *)calloc((size_t)threads + 1, sizeof(*workers));
	if (!workers) {
		fprintf(stderr, "threads: no memory for %ld threads\n", threads);
		return 1;
	}
	example_wait(wait_first);
	for (long i = 0; i < threads; i++) {
		struct worker *w = &workers[i];
		int err;

		w->number = i;
		snprintf(w->name, sizeof(w->name), "worker-%ld", i);
		err = pthread_create(&w->thread, NULL, run, w);
		if (err) {
			fprintf(stderr, "threads: cannot start thread %ld: %s\n", i, strerror(err));
			return 1;
		}
	}
	for (long i = 0; i < threads; i++)
		pthread_join(workers[i].thread, NULL);
	print_truth(workers);
	free(workers);
	return 0;
}
