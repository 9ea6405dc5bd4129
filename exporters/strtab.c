/* SPDX-License-Identifier: MIT */
/* An open-addressing table of ids over a pool of strings; see strtab.h. */
#include "strtab.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../user/util/grow.h"
#include "../user/util/strpool.h"
#include "hash.h"

struct entry {
	const char *text;
	size_t len;
	u64 hash;
};

struct strtab {
	struct strpool *pool;
	struct entry *entries;
	u32 *slots; /* 1 + id; 0: empty */
	u32 nslots; /* a power of two, at most half of them used */
	u32 count;
};

int strtab_new(struct strtab **out)
{
	struct strtab *t = calloc(1, sizeof(*t));
	int err;

	if (!t)
		return -ENOMEM;
	err = strpool_new(&t->pool);
	if (err) {
		free(t);
		return err;
	}
	*out = t;
	return 0;
}

void strtab_free(struct strtab **t)
{
	if (!*t)
		return;
	strpool_free(&(*t)->pool);
	free((*t)->entries);
	free((*t)->slots);
	free(*t);
	*t = NULL;
}

static int widen(struct strtab *t)
{
	u32 nslots = t->nslots ? t->nslots * 2 : 64;
	u32 *slots = calloc(nslots, sizeof(*slots));

	if (!slots)
		return -ENOMEM;
	for (u32 id = 0; id < t->count; id++) {
		u32 at = (u32)t->entries[id].hash & (nslots - 1);

		while (slots[at])
			at = (at + 1) & (nslots - 1);
		slots[at] = id + 1;
	}
	free(t->slots);
	t->slots = slots;
	t->nslots = nslots;
	return 0;
}

/* The slot that holds 1 + the id of the text, or the empty one where it belongs. */
static u32 *slot_of(const struct strtab *t, const char *text, size_t len, u64 hash)
{
	u32 at;

	for (at = (u32)hash & (t->nslots - 1); t->slots[at]; at = (at + 1) & (t->nslots - 1)) {
		const struct entry *e = &t->entries[t->slots[at] - 1];

		if (e->hash == hash && e->len == len && !memcmp(e->text, text, len))
			break;
	}
	return &t->slots[at];
}

bool strtab_find(const struct strtab *t, const char *text, size_t len, u32 *id)
{
	u32 slot = t->nslots ? *slot_of(t, text, len, hash_bytes(text, len)) : 0;

	if (!slot)
		return false;
	*id = slot - 1;
	return true;
}

int strtab_add(struct strtab *t, const char *text, size_t len, u32 *id)
{
	u64 hash = hash_bytes(text, len);
	const char *copy;
	u32 *slot;
	int err;

	if (t->count * 2 >= t->nslots) {
		err = widen(t);
		if (err)
			return err;
	}
	slot = slot_of(t, text, len, hash);
	if (*slot) {
		*id = *slot - 1;
		return 0;
	}
	err = GROW(t->entries, t->count);
	if (err)
		return err;
	copy = strpool_add(t->pool, text, len);
	if (!copy)
		return -ENOMEM;
	t->entries[t->count] = (struct entry){.text = copy, .len = len, .hash = hash};
	*id = t->count++;
	*slot = t->count;
	return 0;
}

const char *strtab_get(const struct strtab *t, u32 id)
{
	return t->entries[id].text;
}

u32 strtab_count(const struct strtab *t)
{
	return t->count;
}
