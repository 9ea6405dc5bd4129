/* SPDX-License-Identifier: MIT */
/* See preorder.h. */
#include "preorder.h"

#include <errno.h>
#include <stdlib.h>

#include "../user/util/cleanup.h"

/* The root is nobody's child, so 0 serves as "none" in both lists. */
int preorder(u32 nnodes, const u32 *parent, u32 nranked, const u32 *ranked, u32 *order)
{
	AUTO_FREE u32 *first = calloc(nnodes, sizeof(*first));
	AUTO_FREE u32 *next = calloc(nnodes, sizeof(*next));
	u32 at = 0, n = 0;

	if (!first || !next)
		return -ENOMEM;
	for (u32 i = nranked; i-- > 0;) {
		u32 node = ranked[i];

		next[node] = first[parent[node]];
		first[parent[node]] = node;
	}
	order[n++] = 0;
	for (;;) {
		if (first[at]) {
			at = first[at];
		} else {
			while (at && !next[at])
				at = parent[at];
			if (!at)
				return 0;
			at = next[at];
		}
		order[n++] = at;
	}
}
