/* SPDX-License-Identifier: MIT */
/* See intmap.h. */
#include "intmap.h"

#include <errno.h>
#include <stdlib.h>

static size_t intmap_hash(u64 key)
{
	key ^= key >> 32;
	key *= 0x9e3779b97f4a7c15ULL;
	return (size_t)(key ^ key >> 29);
}

static struct intmap_slot *intmap_slot(const struct intmap *map, u64 key)
{
	size_t mask = map->capacity - 1;
	size_t i = intmap_hash(key) & mask;

	while (map->slots[i].value && map->slots[i].key != key)
		i = (i + 1) & mask;
	return &map->slots[i];
}

void **intmap_find(const struct intmap *map, u64 key)
{
	struct intmap_slot *slot;

	if (!map->capacity)
		return NULL;
	slot = intmap_slot(map, key);
	return slot->value ? &slot->value : NULL;
}

static int intmap_grow(struct intmap *map)
{
	struct intmap bigger = {.capacity = map->capacity ? map->capacity * 2 : 64};
	size_t i;

	bigger.slots = calloc(bigger.capacity, sizeof(*bigger.slots));
	if (!bigger.slots)
		return -ENOMEM;
	for (i = 0; i < map->capacity; i++)
		if (map->slots[i].value)
			*intmap_slot(&bigger, map->slots[i].key) = map->slots[i];
	bigger.used = map->used;
	free(map->slots);
	*map = bigger;
	return 0;
}

int intmap_set(struct intmap *map, u64 key, void *value)
{
	struct intmap_slot *slot;

	if (map->used * 2 >= map->capacity && intmap_grow(map))
		return -ENOMEM;
	slot = intmap_slot(map, key);
	if (!slot->value)
		map->used++;
	slot->key = key;
	slot->value = value;
	return 0;
}

void intmap_free(struct intmap *map)
{
	free(map->slots);
	*map = (struct intmap){0};
}
