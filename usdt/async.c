/* SPDX-License-Identifier: MIT */
/* Async spans: work that has an id, is made on one thread and goes from thread to thread.
 *
 *	demo:request             --spans of them, made and closed by the main thread
 *	  demo:stage             a thread span inside it: --stages times, on the threads in turn
 *	  demo:fetch             an async child, made by the first stage and closed by the last
 *
 * The main thread makes all requests first, so that all of them live at once, then hands each to
 * its first thread; the last --leak requests are never closed, and neither are their fetches. A request
 * is entered for the time of each of its stages.
 */
#include <pthread.h>
#include <stdio.h>

#include "example.h"
#include "spantrace.h"

static long spans = 1000, threads = 3, stages = 3, leak, work_us = 10, wait_first;

static const struct example_option options[] = {
	{"--spans", &spans, "requests to make"},
	{"--threads", &threads, "threads that work on them, at least 1"},
	{"--stages", &stages, "stages of a request, at least 1"},
	{"--leak", &leak, "requests that are never closed"},
	{"--work-us", &work_us, "microseconds of work in a stage"},
	{"--wait", &wait_first, "1: wait for a line of input first"},
};

struct request {
	struct request *next;
	unsigned long long id;
	unsigned long long fetch_id;
	long stage;
	long long busy_ns;
};

/* First in, first out; a thread ends when its queue is closed and empty. */
struct queue {
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t wake;
	struct request *head, **tail;
	int closed;
};

static struct queue *queues;
static pthread_mutex_t done_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t done_wake = PTHREAD_COND_INITIALIZER;
static long done;

static void queue_put(struct queue *q, struct request *r)
{
	pthread_mutex_lock(&q->lock);
	r->next = NULL;
	*q->tail = r;
	q->tail = &r->next;
	pthread_cond_signal(&q->wake);
	pthread_mutex_unlock(&q->lock);
}

static struct request *queue_take(struct queue *q)
{
	struct request *r;

	pthread_mutex_lock(&q->lock);
	while (!q->head && !q->closed)
		pthread_cond_wait(&q->wake, &q->lock);
	r = q->head;
	if (r) {
		q->head = r->next;
		if (!q->head)
			q->tail = &q->head;
	}
	pthread_mutex_unlock(&q->lock);
	return r;
}

static void queue_close(struct queue *q)
{
	pthread_mutex_lock(&q->lock);
	q->closed = 1;
	pthread_cond_signal(&q->wake);
	pthread_mutex_unlock(&q->lock);
}

static int leaks(const struct request *r)
{
	return r->id > (unsigned long long)(spans - leak);
}

static void work_on(struct request *r)
{
	long long start;

	SPAN_ENTER_ID(demo, request, r->id);
	start = example_now();
	if (r->stage == 0)
		SPAN_NEW_UNDER(demo, fetch, r->fetch_id, r->id);
	{
		SPAN_SCOPE_ARGS(demo, stage, number, r->stage);
		example_work(work_us);
	}
	if (r->stage == stages - 1 && !leaks(r))
		SPAN_CLOSE(demo, fetch, r->fetch_id);
	r->busy_ns += example_now() - start;
	SPAN_EXIT_ID(demo, request, r->id);
	r->stage++;
}

static void *run(void *arg)
{
	struct queue *q = (struct queue *)arg;
	struct request *r;

	while ((r = queue_take(q))) {
		work_on(r);
		if (r->stage < stages) {
			queue_put(&queues[(r->id + (unsigned long long)r->stage) %
					  (unsigned long long)threads],
				  r);
			continue;
		}
		pthread_mutex_lock(&done_lock);
		done++;
		pthread_cond_signal(&done_wake);
		pthread_mutex_unlock(&done_lock);
	}
	return NULL;
}

static void print_truth(const struct request *requests)
{
	long long busy_ns = 0;

	for (long i = 0; i < spans; i++)
		busy_ns += requests[i].busy_ns;
	printf("truth demo:request %ld\n", spans - leak);
	printf("truth demo:request;demo:fetch %ld\n", spans - leak);
	printf("truth demo:request;demo:stage %ld\n", spans * stages);
	if (leak) {
		printf("open demo:request %ld\n", leak);
		printf("open demo:request;demo:fetch %ld\n", leak);
	}
	printf("time demo:request %lld\n", busy_ns);
}

static int start_threads(void)
{
	for (long i = 0; i < threads; i++) {
		struct queue *q = &queues[i];
		int err;

		pthread_mutex_init(&q->lock, NULL);
		pthread_cond_init(&q->wake, NULL);
		q->tail = &q->head;
		err = pthread_create(&q->thread, NULL, run, q);
		if (err) {
			fprintf(stderr, "async: cannot start thread %ld: %s\n", i, strerror(err));
			return -1;
		}
	}
	return 0;
}

int main(int argc, char **argv)
{
	struct request *requests;

	example_options(argc, argv, options, sizeof(options) / sizeof(*options));
	if (!threads || !stages)
		example_usage(argv[0], options, sizeof(options) / sizeof(*options));
	if (leak > spans)
		leak = spans;
	requests = (struct request *)calloc((size_t)spans + 1, sizeof(*requests));
	queues = (struct queue *)calloc((size_t)threads, sizeof(*queues));
	if (!requests || !queues) {
		fprintf(stderr, "async: no memory for %ld requests\n", spans);
		return 1;
	}
	example_wait(wait_first);
	if (start_threads() < 0)
		return 1;

	for (long i = 0; i < spans; i++) {
		/* Different also from each other's: a parent is named by its id alone. */
		requests[i].id = (unsigned long long)i + 1;
		requests[i].fetch_id = requests[i].id << 32;
		SPAN_NEW(demo, request, requests[i].id);
	}
	for (long i = 0; i < spans; i++)
		queue_put(&queues[requests[i].id % (unsigned long long)threads], &requests[i]);

	pthread_mutex_lock(&done_lock);
	while (done < spans)
		pthread_cond_wait(&done_wake, &done_lock);
	pthread_mutex_unlock(&done_lock);
	for (long i = 0; i < spans - leak; i++)
		SPAN_CLOSE(demo, request, requests[i].id);

	for (long i = 0; i < threads; i++) {
		queue_close(&queues[i]);
		pthread_join(queues[i].thread, NULL);
	}
	print_truth(requests);
	free(requests);
	free(queues);
	return 0;
}
