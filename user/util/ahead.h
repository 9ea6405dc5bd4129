/* SPDX-License-Identifier: MIT */
/* Work in two steps, batch by batch: one thread makes batches, the caller uses them in the same order. The batches
 * themselves are the owner's, AHEAD_BATCHES of them; the two share nothing else.
 *
 * Few batches, and machines with one CPU, need no thread: each is then made when it is asked for. */
#ifndef SPANTRACE_AHEAD_H
#define SPANTRACE_AHEAD_H

#include <stdbool.h>

#include "../../include/types.h"

#define AHEAD_BATCHES 4u

struct ahead;

/* Makes batch PLACE, below AHEAD_BATCHES. False: it is the last one. */
typedef bool (*ahead_make_fn)(void *context, u32 place);

/* 0 or -ENOMEM. */
int ahead_new(ahead_make_fn make, void *context, struct ahead **out);
/* The place of the next batch; not to be called after the last. The one before may be made anew. */
u32 ahead_next(struct ahead *a);
/* Waits for the thread, wherever it is. */
void ahead_free(struct ahead **a);

#endif
