/* SPDX-License-Identifier: MIT */
/* A map from two numbers (ids, or addresses of what outlives it) to one: (parent, label) to a
 * frame, (process, path) to a row. Starts as zeroes. */
#ifndef SPANTRACE_PAIRMAP_H
#define SPANTRACE_PAIRMAP_H

#include <stdbool.h>
#include <stddef.h>

#include "../include/types.h"

struct pairmap {
	struct pairmap_slot *slots;
	size_t nslots;
	size_t count;
};

bool pairmap_get(const struct pairmap *m, u64 a, u64 b, u32 *value);
/* For a pair that is not in M yet. VALUE below UINT32_MAX. 0 or -ENOMEM. */
int pairmap_put(struct pairmap *m, u64 a, u64 b, u32 value);
void pairmap_free(struct pairmap *m);

static inline u64 pairmap_key(const void *p)
{
	return (u64)(uintptr_t)p;
}

#endif
