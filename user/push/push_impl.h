/* SPDX-License-Identifier: MIT */
/* What push.c (the caller's side) and push_thread.c (the thread's) share.
 *
 * Two lists, each from the oldest to the newest: what is in memory, and what is in the spool, which is older. The thread
 * takes from the spool first; while the server does not answer it moves what is in memory there.
 */
#ifndef SPANTRACE_PUSH_IMPL_H
#define SPANTRACE_PUSH_IMPL_H

#include <pthread.h>
#include <time.h>

#include "push.h"
#include "push_http.h"
#include "push_spool.h"

#define PUSH_SECOND    1000000000ULL
#define PUSH_ITEMS_MAX 65536u /* in each list: small ones take memory too */
#define PUSH_SAID_MAX  16u    /* refusals, each with a status of its own */

struct push_list {
	struct push_item *first, *last;
	size_t n;
	u64 bytes;
};

struct push {
	struct push_options options;
	struct push_access access; /* the one that they point to */
	u64 queue_bytes, spool_bytes;
	struct push_http *http;
	struct push_spool *spool; /* NULL: none */
	pthread_t thread;
	bool started, closed;

	/* Under the lock, but for what an item holds while it is the thread's. */
	pthread_mutex_t lock;
	pthread_cond_t changed;
	struct push_list queued, spooled;
	struct push_counts current; /* its one item on its way, which is in no list */
	bool ending;
	u64 deadline_ns; /* with ENDING */
	u64 next_ns;     /* nothing is sent before it */
	u64 asked_ns;    /* the same, by the server's wish */
	u32 failures;    /* in a row */
	u64 last_serial;
	u64 pushed_out; /* of counts.dropped, those for which there was no room */
	struct push_counts counts;

	/* The thread's own. */
	long said[PUSH_SAID_MAX]; /* statuses of refusals that were said */
	size_t nsaid;
	u64 known_out; /* of pushed_out */
	bool said_drop, said_spool;
};

static inline u64 push_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (u64)now.tv_sec * PUSH_SECOND + (u64)now.tv_nsec;
}

void push_list_add(struct push_list *list, struct push_item *item);
void push_list_add_first(struct push_list *list, struct push_item *item);
/* The oldest; NULL: there is none. */
struct push_item *push_list_take(struct push_list *list);
void push_list_free(struct push_list *list);

/* Takes the oldest out until LEN more bytes fit into MOST; returns them, for push_forget(). With the lock held. */
struct push_item *push_make_room(struct push *p, struct push_list *list, u64 most, size_t len);
/* Releases ITEM and those behind it, and their files. Without the lock: files are slow. */
void push_forget(struct push *p, struct push_item *item);

/* The thread; CONTEXT is the push. */
void *push_run(void *context);

#endif
