/* SPDX-License-Identifier: MIT */
/* Open addressing with linear probing; see pairmap.h. */
#include "pairmap.h"

#include <errno.h>
#include <stdlib.h>

#include "hash.h"

struct pairmap_slot {
	u64 a;
	u64 b;
	u32 value; /* 1 + value; 0: empty */
};

/* The slot that holds the pair, or the empty one where it belongs. */
static struct pairmap_slot *find(struct pairmap_slot *slots, size_t nslots, u64 a, u64 b)
{
	size_t at = hash_mix(a * 31 + hash_mix(b)) & (nslots - 1);

	while (slots[at].value && (slots[at].a != a || slots[at].b != b))
		at = (at + 1) & (nslots - 1);
	return &slots[at];
}

static int widen(struct pairmap *m)
{
	size_t nslots = m->nslots ? m->nslots * 2 : 64;
	struct pairmap_slot *slots = calloc(nslots, sizeof(*slots));

	if (!slots)
		return -ENOMEM;
	for (size_t i = 0; i < m->nslots; i++) {
		if (m->slots[i].value)
			*find(slots, nslots, m->slots[i].a, m->slots[i].b) = m->slots[i];
	}
	free(m->slots);
	m->slots = slots;
	m->nslots = nslots;
	return 0;
}

bool pairmap_get(const struct pairmap *m, u64 a, u64 b, u32 *value)
{
	const struct pairmap_slot *slot;

	if (!m->nslots)
		return false;
	slot = find(m->slots, m->nslots, a, b);
	if (!slot->value)
		return false;
	*value = slot->value - 1;
	return true;
}

int pairmap_put(struct pairmap *m, u64 a, u64 b, u32 value)
{
	if (m->count * 2 >= m->nslots) {
		int err = widen(m);

		if (err)
			return err;
	}
	*find(m->slots, m->nslots, a, b) =
		(struct pairmap_slot){.a = a, .b = b, .value = value + 1};
	m->count++;
	return 0;
}

void pairmap_free(struct pairmap *m)
{
	free(m->slots);
	*m = (struct pairmap){0};
}
