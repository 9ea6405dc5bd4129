/* SPDX-License-Identifier: MIT */
/* The hash that tables and colours here use: the same on every machine, so that output is too. */
#ifndef SPANTRACE_HASH_H
#define SPANTRACE_HASH_H

#include <stddef.h>

#include "../include/types.h"

/* Spreads what differs in any bit over all of them. */
static inline u64 hash_mix(u64 x)
{
	x ^= x >> 31;
	x *= 0x9e3779b97f4a7c15u;
	x ^= x >> 29;
	x *= 0xbf58476d1ce4e5b9u;
	return x ^ x >> 32;
}

/* FNV-1a, mixed. */
static inline u64 hash_bytes(const char *bytes, size_t len)
{
	u64 h = 0xcbf29ce484222325u;

	for (size_t i = 0; i < len; i++)
		h = (h ^ (unsigned char)bytes[i]) * 0x100000001b3u;
	return hash_mix(h);
}

#endif
