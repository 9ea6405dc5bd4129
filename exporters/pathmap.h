/* SPDX-License-Identifier: MIT */
/* From paths to numbers without a search: paths have small ids of their own. For who looks up one for every span. Starts
 * as zeroes. */
#ifndef SPANTRACE_PATHMAP_H
#define SPANTRACE_PATHMAP_H

#include "../include/model.h"

struct pathmap {
	struct pathmap_item {
		const struct model_path *path;
		u32 number;
	} * items; /* by the paths' ids */
	size_t n;
};

static inline bool pathmap_get(const struct pathmap *m, const struct model_path *path, u32 *number)
{
	if (path->id >= m->n || m->items[path->id].path != path)
		return false;
	*number = m->items[path->id].number;
	return true;
}

/* Without memory, or where two paths have one id, it may not be found again: for who can look elsewhere. */
void pathmap_put(struct pathmap *m, const struct model_path *path, u32 number);
void pathmap_free(struct pathmap *m);

#endif
