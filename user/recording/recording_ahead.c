/* SPDX-License-Identifier: MIT */
/* Reads a recording ahead of the one who uses it: bytes, checksums and varints in a thread of its own, names and rows in
 * the caller's. See recording_read.h.
 *
 *   the thread: recording_input ▸ block ▸ recording_decode ─▶ batches, in the file's order ─▶ the caller
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../util/ahead.h"
#include "../util/cleanup.h"
#include "recording_read.h"

struct recording_ahead {
	struct recording_input *input;
	const struct recording_range *range;
	struct recording_batch batches[AHEAD_BATCHES];
	struct ahead *ahead;

	/* Whoever makes batches. */
	const struct recording_block_header
		*pending; /* the first block, where it was read before */
	const u8 *pending_payload;
	struct recording_block_header header;
	struct recording_decoder decoder; /* of a block that had no room in one batch */
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
static bool ahead_make(void *context, u32 place)
{
	struct recording_ahead *a = context;
	struct recording_batch *batch = &a->batches[place];
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

/* --- the caller's side ---------------------------------------------------------------------------- */

int recording_ahead_new(struct recording_input *input, const struct recording_range *range,
			struct recording_ahead **out)
{
	CLEANUP(recording_ahead_free) struct recording_ahead *a = calloc(1, sizeof(*a));

	if (!a)
		return -ENOMEM;
	a->input = input;
	a->range = range;
	if (ahead_new(ahead_make, a, &a->ahead))
		return -ENOMEM;
	*out = TAKE_PTR(a);
	return 0;
}

void recording_ahead_begin(struct recording_ahead *a, const struct recording_block_header *pending,
			   const u8 *payload)
{
	a->pending = pending;
	a->pending_payload = payload;
}

const struct recording_batch *recording_ahead_next(struct recording_ahead *a)
{
	return &a->batches[ahead_next(a->ahead)];
}

void recording_ahead_free(struct recording_ahead **out)
{
	struct recording_ahead *a = *out;
	u32 i;

	if (!a)
		return;
	*out = NULL;
	ahead_free(&a->ahead);
	for (i = 0; i < AHEAD_BATCHES; i++)
		batch_free(&a->batches[i]);
	free(a);
}
