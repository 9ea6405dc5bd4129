/* SPDX-License-Identifier: MIT */
/* See ahead.h. Each of the two sleeps until half of the batches are there for it: a sleep for every batch would cost what
 * the thread saves. */
#include "ahead.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>

#define HALF (AHEAD_BATCHES / 2)
/* So many batches are worth a thread. */
#define ALONE 8

struct ahead {
	ahead_make_fn make;
	void *context;
	u32 next;  /* the caller's */
	bool held; /* … which has the one before */
	u64 taken;

	bool threaded;
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	/* Under the lock. */
	u32 ready;
	bool stop; /* nobody wants another one */
};

int ahead_new(ahead_make_fn make, void *context, struct ahead **out)
{
	struct ahead *a = calloc(1, sizeof(*a));

	if (!a)
		return -ENOMEM;
	a->make = make;
	a->context = context;
	*out = a;
	return 0;
}

static void *ahead_run(void *context)
{
	struct ahead *a = context;
	bool more = true;
	u32 at;

	for (at = 0; more; at = (at + 1) % AHEAD_BATCHES) {
		pthread_mutex_lock(&a->lock);
		while (a->ready == AHEAD_BATCHES && !a->stop)
			pthread_cond_wait(&a->changed, &a->lock);
		more = !a->stop;
		pthread_mutex_unlock(&a->lock);
		if (!more)
			break;
		more = a->make(a->context, at);
		pthread_mutex_lock(&a->lock);
		a->ready++;
		if (a->ready == HALF || !more)
			pthread_cond_signal(&a->changed);
		pthread_mutex_unlock(&a->lock);
	}
	return NULL;
}

static bool several_cpus(void)
{
	cpu_set_t cpus;

	return sched_getaffinity(0, sizeof(cpus), &cpus) || CPU_COUNT(&cpus) > 1;
}

/* The thread, where there can be one. Signals stay the caller's. */
static void ahead_start(struct ahead *a)
{
	sigset_t all, before;

	if (!several_cpus())
		return;
	pthread_mutex_init(&a->lock, NULL);
	pthread_cond_init(&a->changed, NULL);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	a->threaded = !pthread_create(&a->thread, NULL, ahead_run, a);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (a->threaded)
		return;
	pthread_mutex_destroy(&a->lock);
	pthread_cond_destroy(&a->changed);
}

/* Gives back the batch that the caller had, and waits for the next. */
static void ahead_wait(struct ahead *a)
{
	pthread_mutex_lock(&a->lock);
	if (a->held) {
		a->ready--;
		if (a->ready == HALF)
			pthread_cond_signal(&a->changed);
	}
	while (!a->ready)
		pthread_cond_wait(&a->changed, &a->lock);
	pthread_mutex_unlock(&a->lock);
}

u32 ahead_next(struct ahead *a)
{
	u32 place;

	if (a->taken++ == ALONE)
		ahead_start(a);
	if (!a->threaded) {
		a->make(a->context, 0);
		return 0;
	}
	ahead_wait(a);
	place = a->next;
	a->next = (a->next + 1) % AHEAD_BATCHES;
	a->held = true;
	return place;
}

void ahead_free(struct ahead **out)
{
	struct ahead *a = *out;

	if (!a)
		return;
	*out = NULL;
	if (a->threaded) {
		pthread_mutex_lock(&a->lock);
		a->stop = true;
		pthread_cond_signal(&a->changed);
		pthread_mutex_unlock(&a->lock);
		pthread_join(a->thread, NULL);
		pthread_mutex_destroy(&a->lock);
		pthread_cond_destroy(&a->changed);
	}
	free(a);
}
