/* SPDX-License-Identifier: MIT */
/* See histogram.h for what it promises; here is how a value finds its bucket.
 *
 *   octave 0: 0 … 63, one value a bucket
 *   octave k: 64 << (k - 1) up to 128 << (k - 1), in 64 buckets of 1 << (k - 1)
 *
 * Counters are 32 bits wide, because there is a histogram for each path on each thread and memory
 * is the scarce thing. A counter that wraps leaves its carry in a list that in practice stays
 * empty.
 *
 * A value first leaves its bucket's number in a list of recent ones, which goes into the octaves when
 * it is full. So a row that is seen a few times takes no octave at all, and one that is seen often
 * waits for the memory of many counters at once, not for one after the other.
 */
#include "histogram.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../../include/model.h"
#include "../../include/wire.h"

#define SUB_BITS HISTOGRAM_SUB_BITS
#define SUBS     OCTAVE_SIZE /* the kernel's histograms are cut in the same way */
#define OCTAVES  HISTOGRAM_OCTAVES

#define RECENT_MIN 4
#define RECENT_MAX 64

_Static_assert(SUBS >> SUB_BITS == 1, "as many as the bits say");
_Static_assert(UINT16_MAX >= OCTAVES * SUBS, "the list holds any bucket's number");

struct histogram_octave {
	u32 counts[SUBS];
};

struct histogram_carry {
	u32 bucket;
	u64 wraps; /* times that its counter passed 2^32 */
};

static u32 bucket_of(u64 value)
{
	unsigned shift;

	if (value < SUBS)
		return (u32)value;
	shift = 63 - (unsigned)__builtin_clzll(value) - SUB_BITS;
	return (shift + 1) * SUBS + (u32)((value >> shift) - SUBS);
}

static u64 middle_of(u32 bucket)
{
	u32 octave = bucket / SUBS;
	u64 sub = bucket % SUBS;
	unsigned shift;

	if (!octave)
		return sub;
	shift = octave - 1;
	return ((SUBS + sub) << shift) + (((u64)1 << shift) >> 1);
}

int histogram_new(struct histogram **out)
{
	struct histogram *h = calloc(1, sizeof(*h));

	if (!h)
		return -ENOMEM;
	*out = h;
	return 0;
}

void histogram_clear(struct histogram *h)
{
	free(h->recent);
	free(h->blocks);
	free(h->carries);
	*h = (struct histogram){0};
}

void histogram_free(struct histogram **h)
{
	if (!*h)
		return;
	histogram_clear(*h);
	free(*h);
	*h = NULL;
}

static int octave_open(struct histogram *h, u32 octave)
{
	struct histogram_octave *blocks = realloc(h->blocks, (h->nblocks + 1u) * sizeof(*blocks));

	if (!blocks)
		return -ENOMEM;
	h->blocks = blocks;
	memset(&blocks[h->nblocks], 0, sizeof(*blocks));
	h->block_of[octave] = ++h->nblocks;
	return 0;
}

static int carry_add(struct histogram *h, u32 bucket, u64 wraps)
{
	struct histogram_carry *carries;

	for (u32 i = 0; i < h->ncarries; i++) {
		if (h->carries[i].bucket == bucket) {
			h->carries[i].wraps += wraps;
			return 0;
		}
	}
	carries = realloc(h->carries, (h->ncarries + 1u) * sizeof(*carries));
	if (!carries)
		return -ENOMEM;
	h->carries = carries;
	carries[h->ncarries++] = (struct histogram_carry){.bucket = bucket, .wraps = wraps};
	return 0;
}

static int octaves_add(struct histogram *h, u32 bucket, u64 times)
{
	u32 octave = bucket / SUBS;
	u64 low, wraps;
	u32 *counter;
	int err;

	if (!h->block_of[octave]) {
		err = octave_open(h, octave);
		if (err)
			return err;
	}
	counter = &h->blocks[h->block_of[octave] - 1].counts[bucket % SUBS];
	low = *counter + (times & UINT32_MAX);
	wraps = (low >> 32) + (times >> 32);
	if (wraps) {
		err = carry_add(h, bucket, wraps);
		if (err)
			return err;
	}
	*counter = (u32)low;
	return 0;
}

/* From the list to the octaves, whose counters are asked for all at once first. */
static int recent_settle(struct histogram *h)
{
	for (u32 i = 0; i < h->nrecent; i++) {
		u32 block = h->block_of[h->recent[i] / SUBS];

		if (block)
			__builtin_prefetch(&h->blocks[block - 1].counts[h->recent[i] % SUBS], 1);
	}
	for (; h->nrecent; h->nrecent--) {
		int err = octaves_add(h, h->recent[h->nrecent - 1], 1);

		if (err)
			return err;
	}
	return 0;
}

static int recent_grow(struct histogram *h)
{
	u8 room = h->room ? h->room * 2 : RECENT_MIN;
	u16 *recent = realloc(h->recent, room * sizeof(*recent));

	if (!recent)
		return -ENOMEM;
	h->recent = recent;
	h->room = room;
	return 0;
}

static int bucket_add(struct histogram *h, u32 bucket, u64 times)
{
	int err = 0;

	if (times > 1) {
		err = octaves_add(h, bucket, times);
	} else {
		if (h->nrecent == h->room)
			err = h->room < RECENT_MAX ? recent_grow(h) : recent_settle(h);
		if (!err)
			h->recent[h->nrecent++] = (u16)bucket;
	}
	if (!err)
		h->count += times;
	return err;
}

static u64 bucket_count(const struct histogram *h, u32 bucket)
{
	u32 block = h->block_of[bucket / SUBS];
	u64 count;

	if (!block)
		return 0;
	count = h->blocks[block - 1].counts[bucket % SUBS];
	for (u32 i = 0; i < h->ncarries; i++) {
		if (h->carries[i].bucket == bucket)
			count += h->carries[i].wraps << 32;
	}
	return count;
}

int histogram_add(struct histogram *h, u64 value)
{
	u32 bucket = bucket_of(value);

	if (h->nrecent == h->room)
		return bucket_add(h, bucket, 1);
	h->recent[h->nrecent++] = (u16)bucket;
	h->count++;
	return 0;
}

int histogram_add_many(struct histogram *h, u64 value, u64 times)
{
	return times ? bucket_add(h, bucket_of(value), times) : 0;
}

int histogram_add_octave(struct histogram *h, u32 octave, const u32 counts[64])
{
	u32 i;

	if (octave >= OCTAVES)
		return -EINVAL;
	for (i = 0; i < SUBS; i++) {
		int err = counts[i] ? bucket_add(h, octave * SUBS + i, counts[i]) : 0;

		if (err)
			return err;
	}
	return 0;
}

int histogram_merge(struct histogram *into, const struct histogram *from)
{
	for (u32 i = 0; i < from->nrecent; i++) {
		int err = bucket_add(into, from->recent[i], 1);

		if (err)
			return err;
	}
	for (u32 octave = 0; octave < OCTAVES; octave++) {
		if (!from->block_of[octave])
			continue;
		for (u32 bucket = octave * SUBS; bucket < (octave + 1) * SUBS; bucket++) {
			u64 times = bucket_count(from, bucket);
			int err = times ? bucket_add(into, bucket, times) : 0;

			if (err)
				return err;
		}
	}
	return 0;
}

u64 histogram_count(const struct histogram *h)
{
	return h->count;
}

size_t histogram_size(const struct histogram *h)
{
	return sizeof(*h) + h->room * sizeof(*h->recent) + h->nblocks * sizeof(*h->blocks) +
	       h->ncarries * sizeof(*h->carries);
}

/* Which of COUNT values in order, from 1, stands at the fraction Q. */
static u64 rank_of(u64 count, double q)
{
	double at = q * (double)count;
	u64 rank;

	if (!(at > 1))
		return 1;
	if (at >= (double)count)
		return count;
	rank = (u64)at;
	/* 0.9 * 10 is a hair more than 9: such a hair must not ask for the next value. */
	if (at - (double)rank > 1e-9 * at)
		rank++;
	return rank;
}

/* Of one octave. */
static u64 octave_count(const struct histogram *h, u32 octave)
{
	u32 block = h->block_of[octave];
	u64 count = 0;

	if (!block)
		return 0;
	for (u32 i = 0; i < SUBS; i++)
		count += h->blocks[block - 1].counts[i];
	for (u32 i = 0; i < h->ncarries; i++) {
		if (h->carries[i].bucket / SUBS == octave)
			count += h->carries[i].wraps << 32;
	}
	return count;
}

/* The list, in order. */
static void recent_sort(const struct histogram *h, u16 sorted[RECENT_MAX])
{
	for (u32 i = 0, at; i < h->nrecent; i++) {
		for (at = i; at && sorted[at - 1] > h->recent[i]; at--)
			sorted[at] = sorted[at - 1];
		sorted[at] = h->recent[i];
	}
}

u64 histogram_quantile(const struct histogram *h, double q)
{
	u64 rank, seen = 0, here;
	u16 recent[RECENT_MAX];
	u32 at = 0, end = 0;

	if (!h->count)
		return 0;
	rank = rank_of(h->count, q);
	recent_sort(h, recent);
	for (u32 octave = 0; octave < OCTAVES; octave++, at = end) {
		while (end < h->nrecent && recent[end] / SUBS == octave)
			end++;
		here = octave_count(h, octave) + end - at;
		if (seen + here < rank) {
			seen += here;
			continue;
		}
		for (u32 bucket = octave * SUBS; bucket < (octave + 1) * SUBS; bucket++) {
			seen += bucket_count(h, bucket);
			for (; at < end && recent[at] == bucket; at++)
				seen++;
			if (seen >= rank)
				return middle_of(bucket);
		}
	}
	return 0;
}

u64 model_quantile(const struct model_row *row, double q)
{
	u64 value;

	if (!row->count || !row->durations)
		return 0;
	value = histogram_quantile(row->durations, q);
	/* The extremes are known exactly, and a p99 above the maximum would look like a mistake. */
	if (value < row->min_ns)
		return row->min_ns;
	return value > row->max_ns ? row->max_ns : value;
}
