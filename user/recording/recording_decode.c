/* SPDX-License-Identifier: MIT */
/* SPANS blocks of a recording, from bytes to items of plain numbers. See recording_read.h. It knows no names and no
 * trace, so that it can run ahead of what uses them. */
#include <errno.h>

#include "recording_read.h"

/* So many items ahead, the place of one is asked for. */
#define WRITE_AHEAD 16

void recording_decode_begin(struct recording_decoder *d, struct recording_bytes bytes)
{
	*d = (struct recording_decoder){.bytes = bytes};
}

/* Each puts words where *WORDS points and moves it on; false where the bytes make no sense. */
static bool decode_counters(struct recording_bytes *b, u64 **words)
{
	u64 *counters = *words;

	*words += RECORDING_COUNTERS;
	return bytes_get_set(b, counters, RECORDING_COUNTERS);
}

static bool decode_labels(struct recording_bytes *b, u64 **words)
{
	u64 *set = (*words)++;
	u32 i, n;

	if (!bytes_get(b, set))
		return false;
	n = *set & 7;
	if (n > MODEL_MAX_LABELS)
		return false;
	for (i = 0; i < n; i++)
		if (!bytes_get(b, (*words)++))
			return false;
	return true;
}

static bool decode_span(struct recording_bytes *b, u8 tag, struct recording_item *item, u64 **words)
{
	u32 kind = tag & RECORDING_KIND;
	u64 busy, self;

	if (kind == RECORDING_ASYNC && !bytes_get(b, (*words)++))
		return false;
	if (!bytes_get(b, &busy))
		return false;
	self = busy;
	if (!(tag & RECORDING_LEAF) && !bytes_get(b, &self))
		return false;
	item->busy_ns = busy;
	item->self_ns = self < busy ? self : busy;
	if (kind != RECORDING_SPAN && !bytes_get(b, (*words)++))
		return false;
	return !(tag & RECORDING_COUNTED) || decode_counters(b, words);
}

static bool decode_event(struct recording_bytes *b, u8 tag, struct recording_item *item)
{
	return !(tag & RECORDING_VALUE) || bytes_get(b, &item->busy_ns);
}

static bool decode_item(struct recording_decoder *d, struct recording_item *item, u64 **words)
{
	struct recording_bytes *b = &d->bytes;
	u8 tag = *b->at++;
	u32 kind = tag & RECORDING_KIND;
	u64 ref, delta;

	item->tag = tag;
	if (tag == RECORDING_ON)
		return bytes_get_u32(b, &item->number);
	if (kind < RECORDING_SPAN || kind > RECORDING_EVENT || !bytes_get(b, &ref) ||
	    !bytes_get(b, &delta))
		return false;
	d->last_end_ns += (u64)varint_unzigzag(delta);
	item->end_ns = d->last_end_ns;
	item->number = ref <= RECORDING_NUMBER_MAX ? (u32)ref : 0;
	if (kind == RECORDING_EVENT ? !decode_event(b, tag, item)
				    : !decode_span(b, tag, item, words))
		return false;
	return !(tag & RECORDING_LABELLED) || decode_labels(b, words);
}

int recording_decode(struct recording_decoder *d, struct recording_items *out)
{
	const u64 *full = out->words + RECORDING_WORDS(out->room) - RECORDING_ITEM_WORDS;
	struct recording_decoder at = *d;
	u64 *words = out->words;
	int err = 0;
	u32 n;

	for (n = 0; n < out->room && words <= full && at.bytes.at < at.bytes.end; n++) {
		/* Another processor has read what stood there before. */
		__builtin_prefetch(&out->items[n + WRITE_AHEAD], 1);
		if (!decode_item(&at, &out->items[n], &words)) {
			at.bytes.at = at.bytes.end;
			err = -EBADMSG;
			break;
		}
	}
	out->n = n;
	*d = at;
	return err;
}
