/* SPDX-License-Identifier: MIT */
/* A histogram of durations, for quantiles to 1 % in a few kilobytes.
 *
 * Log-linear: values below 64 have a bucket each; above, every octave (a factor of two) is cut into
 * 64 buckets of equal width. A value is told by the middle of its bucket, so it is at most 1/128
 * off. The first 64 values take 2 bytes each; beyond that an octave takes memory (256 bytes) when the
 * first value falls into it: spans of one path usually stay within a handful.
 */
#ifndef SPANTRACE_HISTOGRAM_H
#define SPANTRACE_HISTOGRAM_H

#include <stddef.h>

#include "../../include/types.h"

#define HISTOGRAM_SUB_BITS 6
#define HISTOGRAM_OCTAVES  (64 - HISTOGRAM_SUB_BITS + 1)

/* Open only so that it can stand in another struct, as zeroes at first, and be found without a pointer. */
struct histogram {
	u64 count;
	u16 *recent; /* buckets of values that are in no block yet */
	u8 nrecent;
	u8 room; /* of recent */
	u8 nblocks;
	u32 ncarries;
	struct histogram_octave *blocks; /* in the order of first use */
	struct histogram_carry *carries;
	u8 block_of[HISTOGRAM_OCTAVES]; /* 1 + index into blocks; 0: no value yet */
};

/* Each returns 0 or -ENOMEM; after -ENOMEM the histogram holds all that it held before, except that
 * a failed merge may have taken a part of FROM. */
int histogram_new(struct histogram **out);
int histogram_add(struct histogram *h, u64 value);
int histogram_add_many(struct histogram *h, u64 value, u64 times);
/* Adds the counters of a piece of the kernel's histograms, see struct wire_octave. */
int histogram_add_octave(struct histogram *h, u32 octave, const u32 counts[64]);
int histogram_merge(struct histogram *into, const struct histogram *from);

/* How many values it holds. */
u64 histogram_count(const struct histogram *h);
/* The value at or below which a fraction Q (0 to 1) of all lie; 0 if there is none. */
u64 histogram_quantile(const struct histogram *h, double q);

/* Bytes it takes. */
size_t histogram_size(const struct histogram *h);
/* Empties one that stands in another struct. */
void histogram_clear(struct histogram *h);
void histogram_free(struct histogram **h);

#endif
