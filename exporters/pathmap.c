/* SPDX-License-Identifier: MIT */
/* See pathmap.h. */
#include "pathmap.h"

#include <stdlib.h>
#include <string.h>

void pathmap_put(struct pathmap *m, const struct model_path *path, u32 number)
{
	size_t n = m->n ? m->n : 64;
	struct pathmap_item *items;

	while (n <= path->id)
		n *= 2;
	if (n != m->n) {
		items = reallocarray(m->items, n, sizeof(*items));
		if (!items)
			return;
		memset(items + m->n, 0, (n - m->n) * sizeof(*items));
		m->items = items;
		m->n = n;
	}
	m->items[path->id] = (struct pathmap_item){.path = path, .number = number};
}

void pathmap_free(struct pathmap *m)
{
	free(m->items);
	*m = (struct pathmap){0};
}
