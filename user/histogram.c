/* SPDX-License-Identifier: MIT */
/* See histogram.h for what it promises; here is how a value finds its bucket.
 *
 *   octave 0: 0 … 63, one value a bucket
 *   octave k: 64 << (k - 1) up to 128 << (k - 1), in 64 buckets of 1 << (k - 1)
 *
 * Counters are 32 bits wide, because there is a histogram for each path on each thread and memory
 * is the scarce thing. A counter that wraps leaves its carry in a list that in practice stays
 * empty.
 */
#include "histogram.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../include/model.h"
#include "../include/wire.h"

#define SUB_BITS 6
#define SUBS     (1u << SUB_BITS)
#define OCTAVES  (64 - SUB_BITS + 1)

_Static_assert(SUBS == OCTAVE_SIZE, "the kernel's histograms are cut in the same way");

struct octave {
	u32 counts[SUBS];
};

struct carry {
	u32 bucket;
	u64 wraps; /* times that its counter passed 2^32 */
};

struct histogram {
	u64 count;
	struct octave *blocks; /* in the order of first use */
	struct carry *carries;
	u32 ncarries;
	u8 nblocks;
	u8 block_of[OCTAVES]; /* 1 + index into blocks; 0: no value yet */
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

void histogram_free(struct histogram **h)
{
	if (!*h)
		return;
	free((*h)->blocks);
	free((*h)->carries);
	free(*h);
	*h = NULL;
}

static int octave_open(struct histogram *h, u32 octave)
{
	struct octave *blocks = realloc(h->blocks, (h->nblocks + 1u) * sizeof(*blocks));

	if (!blocks)
		return -ENOMEM;
	h->blocks = blocks;
	memset(&blocks[h->nblocks], 0, sizeof(*blocks));
	h->block_of[octave] = ++h->nblocks;
	return 0;
}

static int carry_add(struct histogram *h, u32 bucket, u64 wraps)
{
	struct carry *carries;

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
	carries[h->ncarries++] = (struct carry){.bucket = bucket, .wraps = wraps};
	return 0;
}

static int bucket_add(struct histogram *h, u32 bucket, u64 times)
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
	h->count += times;
	return 0;
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
	return bucket_add(h, bucket_of(value), 1);
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
	return sizeof(*h) + h->nblocks * sizeof(*h->blocks) + h->ncarries * sizeof(*h->carries);
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

u64 histogram_quantile(const struct histogram *h, double q)
{
	u64 rank, seen = 0;

	if (!h->count)
		return 0;
	rank = rank_of(h->count, q);
	for (u32 octave = 0; octave < OCTAVES; octave++) {
		if (!h->block_of[octave])
			continue;
		for (u32 bucket = octave * SUBS; bucket < (octave + 1) * SUBS; bucket++) {
			seen += bucket_count(h, bucket);
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
