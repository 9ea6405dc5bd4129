/* SPDX-License-Identifier: MIT */
/* A map from 64-bit numbers to pointers, for the tables that every record is looked up in: open
 * addressing, one cache line a lookup in the common case. Key 0 is allowed; a value is never NULL. */
#ifndef SPANTRACE_INTMAP_H
#define SPANTRACE_INTMAP_H

#include <stddef.h>

#include "../../include/types.h"

struct intmap_slot {
	u64 key;
	void *value;
};

struct intmap {
	struct intmap_slot *slots;
	size_t capacity; /* a power of two, or 0 */
	size_t used;
};

/* The place of KEY's value; NULL when it is not there. */
void **intmap_find(const struct intmap *map, u64 key);
/* Sets KEY, new or not. 0 or -ENOMEM. */
int intmap_set(struct intmap *map, u64 key, void *value);
/* Releases the slots, not the values. */
void intmap_free(struct intmap *map);

#endif
