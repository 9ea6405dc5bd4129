/* SPDX-License-Identifier: MIT */
/* A stack of paths, to walk from a path up its parents and then down again: depth is the traced
 * program's choice, so recursion is none. Starts as zeroes and keeps its memory from one walk to
 * the next. */
#ifndef SPANTRACE_CHAIN_H
#define SPANTRACE_CHAIN_H

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>

#include "../include/model.h"

struct chain {
	const struct model_path **items;
	size_t n;
	size_t size;
};

static inline int chain_push(struct chain *c, const struct model_path *path)
{
	if (c->n == c->size) {
		size_t size = c->size ? c->size * 2 : 64;
		void *items = reallocarray((void *)c->items, size, sizeof(*c->items));

		if (!items)
			return -ENOMEM;
		c->items = items;
		c->size = size;
	}
	c->items[c->n++] = path;
	return 0;
}

static inline const struct model_path *chain_pop(struct chain *c)
{
	return c->n ? c->items[--c->n] : NULL;
}

static inline void chain_free(struct chain *c)
{
	free((void *)c->items);
	*c = (struct chain){0};
}

#endif
