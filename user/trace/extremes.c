/* SPDX-License-Identifier: MIT */
/* Short sorted arrays. A value that once had to go is beyond all that are kept and never comes back, so counts are whole.
 * See extremes.h. */
#include "extremes.h"

#include <string.h>

/* Puts VALUE at AT of the *N that LIST has. */
static void put(struct extreme *list, size_t *n, size_t at, u64 value,
		const struct stretch *stretch)
{
	memmove(&list[at + 1], &list[at], (*n - at) * sizeof(*list));
	list[at] = (struct extreme){.value = value, .count = 1, .first = *stretch};
	++*n;
}

/* The first element that is not below VALUE. */
static size_t find(const struct extreme *list, size_t n, u64 value)
{
	size_t at = 0;

	while (at < n && list[at].value < value)
		at++;
	return at;
}

void extremes_add_small(struct extremes *e, u64 value, const struct stretch *stretch)
{
	size_t at = find(e->smallest, e->nsmallest, value);

	if (at < e->nsmallest && e->smallest[at].value == value) {
		e->smallest[at].count++;
		return;
	}
	if (at == EXTREMES_MOST)
		return;
	if (e->nsmallest == EXTREMES_MOST)
		e->nsmallest--;
	put(e->smallest, &e->nsmallest, at, value, stretch);
}

void extremes_add_large(struct extremes *e, u64 value, const struct stretch *stretch)
{
	size_t at = find(e->largest, e->nlargest, value);

	if (at < e->nlargest && e->largest[at].value == value) {
		e->largest[at].count++;
		return;
	}
	if (e->nlargest == EXTREMES_MOST) {
		if (!at)
			return;
		memmove(e->largest, e->largest + 1, --e->nlargest * sizeof(*e->largest));
		at--;
	}
	put(e->largest, &e->nlargest, at, value, stretch);
}
