/* SPDX-License-Identifier: MIT */
/* SPANS blocks of a recording, from bytes to items of plain numbers. See recording_read.h. It knows no names and no
 * trace, so that it can run ahead of what uses them. */
#include <errno.h>

#include "recording_read.h"

void recording_decode_begin(struct recording_decoder *d, struct recording_bytes bytes)
{
	*d = (struct recording_decoder){.bytes = bytes};
}

static bool decode_counters(struct recording_bytes *b, u64 counters[RECORDING_COUNTERS])
{
	u64 mask, value;
	int i;

	for (i = 0; i < RECORDING_COUNTERS; i++)
		counters[i] = 0;
	if (!bytes_get(b, &mask))
		return false;
	for (i = 0; mask; i++, mask >>= 1) {
		if (!(mask & 1))
			continue;
		if (!bytes_get(b, &value))
			return false;
		if (i < RECORDING_COUNTERS)
			counters[i] = value;
	}
	return true;
}

/* The number of the set of keys and how many, then the values. Returns how many words that is; 0 where it makes no
 * sense. */
static u32 decode_labels(struct recording_bytes *b, u64 words[1 + MODEL_MAX_LABELS])
{
	u32 i, n;

	if (!bytes_get(b, &words[0]))
		return 0;
	n = words[0] & 7;
	if (n > MODEL_MAX_LABELS)
		return 0;
	for (i = 0; i < n; i++)
		if (!bytes_get(b, &words[1 + i]))
			return 0;
	return 1 + n;
}

static bool decode_span(struct recording_bytes *b, struct recording_item *item)
{
	u32 kind = item->tag & RECORDING_KIND;

	item->id = 0;
	if (kind == RECORDING_ASYNC && !bytes_get(b, &item->wall_ns))
		return false;
	if (!bytes_get(b, &item->busy_ns))
		return false;
	if (kind != RECORDING_ASYNC)
		item->wall_ns = item->busy_ns;
	item->self_ns = item->busy_ns;
	if (!(item->tag & RECORDING_LEAF)) {
		if (!bytes_get(b, &item->self_ns))
			return false;
		if (item->self_ns > item->busy_ns)
			item->self_ns = item->busy_ns;
	}
	return kind == RECORDING_SPAN || bytes_get(b, &item->id);
}

/* What every item begins with, and what is its kind's own. */
static bool decode_item(struct recording_decoder *d, struct recording_item *item)
{
	bool event = (item->tag & RECORDING_KIND) == RECORDING_EVENT;
	u64 ref, delta;

	if (!bytes_get(&d->bytes, &ref) || !bytes_get(&d->bytes, &delta))
		return false;
	item->number = ref <= RECORDING_NUMBER_MAX ? (u32)ref : 0;
	d->last_end_ns += (u64)varint_unzigzag(delta);
	item->end_ns = d->last_end_ns;
	if (!event)
		return decode_span(&d->bytes, item);
	return !(item->tag & RECORDING_VALUE) || bytes_get(&d->bytes, &item->value);
}

/* The item behind TAG, with its words from WORDS on. How many those are, or -EBADMSG. */
static int decode_one(struct recording_decoder *d, struct recording_item *item, u64 *words)
{
	u32 n = 0, labels;

	switch (item->tag & RECORDING_KIND) {
	case RECORDING_ON:
		if (item->tag != RECORDING_ON || !bytes_get_u32(&d->bytes, &item->number))
			return -EBADMSG;
		return 0;
	case RECORDING_SPAN:
	case RECORDING_SEGMENT:
	case RECORDING_ASYNC:
		if (!decode_item(d, item))
			return -EBADMSG;
		if (!(item->tag & RECORDING_COUNTED))
			break;
		if (!decode_counters(&d->bytes, words))
			return -EBADMSG;
		n = RECORDING_COUNTERS;
		break;
	case RECORDING_EVENT:
		if (!decode_item(d, item))
			return -EBADMSG;
		break;
	default:
		return -EBADMSG;
	}
	if (!(item->tag & RECORDING_LABELLED))
		return (int)n;
	labels = decode_labels(&d->bytes, words + n);
	return labels ? (int)(n + labels) : -EBADMSG;
}

int recording_decode(struct recording_decoder *d, struct recording_items *out)
{
	out->n = 0;
	out->nwords = 0;
	while (d->bytes.at < d->bytes.end) {
		struct recording_item *item = &out->items[out->n];
		int words;

		if (out->n == RECORDING_ITEMS_MAX ||
		    out->nwords > RECORDING_WORDS_MAX - RECORDING_ITEM_WORDS)
			return 0;
		item->tag = *d->bytes.at++;
		words = decode_one(d, item, &out->words[out->nwords]);
		if (words < 0) {
			d->bytes.at = d->bytes.end;
			return words;
		}
		out->nwords += (u32)words;
		out->n++;
	}
	return 0;
}
