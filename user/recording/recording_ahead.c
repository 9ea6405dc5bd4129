/* SPDX-License-Identifier: MIT */
/* Reads a recording ahead of the one who uses it: bytes, checksums and varints in a thread of its own, names and rows in
 * the caller's. See recording_read.h.
 *
 *   the thread: recording_input ▸ block ▸ recording_decode ─▶ batches, in the file's order ─▶ the caller
 *
 * The two share the batches and nothing else. Each sleeps until half of them are there for it: a sleep for every batch
 * would cost what the thread saves. Short files, and machines with one CPU, need no thread: the caller then makes each
 * batch when it asks for it.
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "../util/cleanup.h"
#include "recording_read.h"

#define BATCHES 4
#define HALF    (BATCHES / 2)
/* A file of so many batches is worth a thread. */
#define ALONE 8

struct recording_ahead {
	struct recording_input *input;
	const struct recording_range *range;
	struct recording_batch batches[BATCHES];
	u32 next;  /* the caller's */
	bool held; /* … which has the one before */
	u64 taken;

	/* Whoever makes batches. */
	const struct recording_block_header
		*pending; /* the first block, where it was read before */
	const u8 *pending_payload;
	struct recording_block_header header;
	struct recording_decoder decoder; /* of a block that had no room in one batch */

	bool threaded;
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	/* Under the lock. */
	u32 ready;
	bool stop; /* nobody wants another one */
};

/* --- making batches ------------------------------------------------------------------------------- */

/* An item takes hardly fewer bytes in a file, and most many more. */
#define ITEM_LEAST 4

/* Room for what stands in LENGTH bytes, or for as much as one batch may hold: of a small file a small one. */
static int batch_reserve(struct recording_items *items, size_t length)
{
	size_t room = length / ITEM_LEAST + 1;
	struct recording_item *grown;
	u64 *words;

	if (room > RECORDING_ITEMS_MAX)
		room = RECORDING_ITEMS_MAX;
	if (room <= items->room)
		return 0;
	grown = realloc(items->items, room * sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	items->items = grown;
	words = realloc(items->words, RECORDING_WORDS(room) * sizeof(*words));
	if (!words)
		return -ENOMEM;
	items->words = words;
	items->room = (u32)room;
	return 0;
}

static void batch_free(struct recording_batch *batch)
{
	free(batch->items.items);
	free(batch->items.words);
	free(batch->payload);
	*batch = (struct recording_batch){0};
}

/* The input's own bytes are gone with its next block. */
static int batch_copy(struct recording_batch *batch, const u8 *payload, size_t length)
{
	u8 *bytes;

	if (length >= batch->room) {
		bytes = realloc(batch->payload, length + 1);
		if (!bytes)
			return -ENOMEM;
		batch->payload = bytes;
		batch->room = length + 1;
	}
	memcpy(batch->payload, payload, length);
	return 0;
}

static int ahead_block(struct recording_ahead *a, const u8 **payload)
{
	if (!a->pending_payload)
		return recording_input_next(a->input, &a->header, payload);
	a->header = *a->pending;
	*payload = TAKE_PTR(a->pending_payload);
	return 1;
}

static bool ahead_wants(const struct recording_ahead *a)
{
	return a->header.last_ns >= a->range->from_ns && a->header.first_ns <= a->range->to_ns;
}

/* The next batch. False: it is the last. */
static bool ahead_make(struct recording_ahead *a, struct recording_batch *batch)
{
	const u8 *payload;

	batch->got = 1;
	batch->err = 0;
	batch->items.n = 0;
	batch->begins = a->decoder.bytes.at == a->decoder.bytes.end;
	if (batch->begins) {
		batch->got = ahead_block(a, &payload);
		if (batch->got <= 0)
			return false;
		if (a->header.kind == RECORDING_SPANS && ahead_wants(a))
			recording_decode_begin(
				&a->decoder,
				(struct recording_bytes){payload, payload + a->header.length});
		else if (a->header.kind != RECORDING_SPANS)
			batch->got = batch_copy(batch, payload, a->header.length) ? -ENOMEM : 1;
	}
	batch->header = a->header;
	if (a->header.kind == RECORDING_SPANS &&
	    batch_reserve(&batch->items, (size_t)(a->decoder.bytes.end - a->decoder.bytes.at)))
		batch->got = -ENOMEM;
	else if (a->header.kind == RECORDING_SPANS)
		batch->err = recording_decode(&a->decoder, &batch->items);
	if (a->header.kind == RECORDING_END)
		batch->goes_on = recording_input_more(a->input);
	return batch->got > 0 && a->header.kind != RECORDING_END;
}

static void *ahead_run(void *context)
{
	struct recording_ahead *a = context;
	bool more = true;
	u32 at;

	for (at = 0; more; at = (at + 1) % BATCHES) {
		pthread_mutex_lock(&a->lock);
		while (a->ready == BATCHES && !a->stop)
			pthread_cond_wait(&a->changed, &a->lock);
		more = !a->stop;
		pthread_mutex_unlock(&a->lock);
		if (!more)
			break;
		more = ahead_make(a, &a->batches[at]);
		pthread_mutex_lock(&a->lock);
		a->ready++;
		if (a->ready == HALF || !more)
			pthread_cond_signal(&a->changed);
		pthread_mutex_unlock(&a->lock);
	}
	return NULL;
}

/* --- the caller's side ---------------------------------------------------------------------------- */

int recording_ahead_new(struct recording_input *input, const struct recording_range *range,
			struct recording_ahead **out)
{
	CLEANUP(recording_ahead_free) struct recording_ahead *a = calloc(1, sizeof(*a));

	if (!a)
		return -ENOMEM;
	a->input = input;
	a->range = range;
	*out = TAKE_PTR(a);
	return 0;
}

void recording_ahead_begin(struct recording_ahead *a, const struct recording_block_header *pending,
			   const u8 *payload)
{
	a->pending = pending;
	a->pending_payload = payload;
}

static bool several_cpus(void)
{
	cpu_set_t cpus;

	return sched_getaffinity(0, sizeof(cpus), &cpus) || CPU_COUNT(&cpus) > 1;
}

/* The thread, where there can be one. Signals stay the caller's. */
static void ahead_start(struct recording_ahead *a)
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
static void ahead_wait(struct recording_ahead *a)
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

const struct recording_batch *recording_ahead_next(struct recording_ahead *a)
{
	const struct recording_batch *batch;

	if (a->taken++ == ALONE)
		ahead_start(a);
	if (!a->threaded) {
		ahead_make(a, &a->batches[0]);
		return &a->batches[0];
	}
	ahead_wait(a);
	batch = &a->batches[a->next];
	a->next = (a->next + 1) % BATCHES;
	a->held = true;
	return batch;
}

void recording_ahead_free(struct recording_ahead **out)
{
	struct recording_ahead *a = *out;
	u32 i;

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
	for (i = 0; i < BATCHES; i++)
		batch_free(&a->batches[i]);
	free(a);
}
