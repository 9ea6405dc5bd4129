/* SPDX-License-Identifier: MIT */
/* See reorder.h. */
#include "reorder.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "../../include/wire.h"
#include "../util/cleanup.h"

struct kept {
	u64 end_ns;
	u32 at; /* in units of 8 bytes */
	u32 size;
};

struct reorder {
	u64 *bytes;        /* the records, each at a multiple of 8 bytes */
	size_t used, room; /* bytes */
	struct kept *items;
	size_t n, nroom;
	struct kept *merged; /* as long as items */
};

int reorder_new(struct reorder **out)
{
	struct reorder *reorder = calloc(1, sizeof(*reorder));

	if (!reorder)
		return -ENOMEM;
	*out = reorder;
	return 0;
}

void reorder_free(struct reorder **out)
{
	struct reorder *reorder = *out;

	if (!reorder)
		return;
	*out = NULL;
	free(reorder->bytes);
	free(reorder->items);
	free(reorder->merged);
	free(reorder);
}

static bool end_of(const void *record, size_t size, u64 *end)
{
	const struct wire_head *head = record;
	const struct wire_async *async = record;
	const struct wire_event *event = record;
	const struct wire_span *span = record;

	if (size < sizeof(*head))
		return false;
	if (head->kind == WIRE_SPAN && size >= WIRE_SPAN_SHORT)
		*end = span->start_ns + span->busy_ns;
	else if (head->kind == WIRE_ASYNC && size >= sizeof(*async))
		*end = async->end_ns;
	else if (head->kind == WIRE_EVENT && size >= WIRE_EVENT_SHORT)
		*end = event->time_ns;
	else
		return false;
	return true;
}

/* Makes room for SIZE more bytes, and one more record. */
static int reorder_room(struct reorder *reorder, size_t size)
{
	if (reorder->used + size > reorder->room) {
		size_t room = reorder->room ? reorder->room * 2 : 1u << 20;
		u64 *bytes = realloc(reorder->bytes, room);

		if (!bytes)
			return -ENOMEM;
		reorder->bytes = bytes;
		reorder->room = room;
	}
	if (reorder->n == reorder->nroom) {
		size_t room = reorder->nroom ? reorder->nroom * 2 : 1u << 14;
		struct kept *items = reallocarray(reorder->items, room, sizeof(*items));

		if (!items)
			return -ENOMEM;
		reorder->items = items;
		items = reallocarray(reorder->merged, room, sizeof(*items));
		if (!items)
			return -ENOMEM;
		reorder->merged = items;
		reorder->nroom = room;
	}
	return 0;
}

int reorder_add(struct reorder *reorder, const void *record, size_t size)
{
	size_t padded = (size + 7) & ~(size_t)7;
	u64 end;

	if (!end_of(record, size, &end))
		return -EINVAL;
	if (reorder_room(reorder, padded))
		return -ENOMEM;
	memcpy((char *)reorder->bytes + reorder->used, record, size);
	reorder->items[reorder->n++] = (struct kept){
		.end_ns = end,
		.at = (u32)(reorder->used / 8),
		.size = (u32)size,
	};
	reorder->used += padded;
	return 0;
}

/* Where the run of ordered items that begins at AT ends. */
static size_t run_end(const struct kept *items, size_t at, size_t n)
{
	while (++at < n && items[at].end_ns >= items[at - 1].end_ns)
		;
	return at;
}

/* One round: each two neighbouring runs of FROM become one in TO. Returns how many runs there are then. */
static size_t merge_round(const struct kept *from, struct kept *to, size_t n)
{
	size_t at = 0, runs = 0;

	while (at < n) {
		size_t a = at, a_end = run_end(from, at, n);
		size_t b = a_end, b_end = b < n ? run_end(from, b, n) : n;

		for (; a < a_end || b < b_end; at++)
			to[at] = b == b_end || (a < a_end && from[a].end_ns <= from[b].end_ns)
					 ? from[a++]
					 : from[b++];
		runs++;
	}
	return runs;
}

/* A ring's records are one run but for a few, so a handful of rounds does it. */
static void sort(struct reorder *reorder)
{
	size_t runs = run_end(reorder->items, 0, reorder->n) < reorder->n ? 2 : 1;

	while (runs > 1) {
		struct kept *from = reorder->items;

		runs = merge_round(from, reorder->merged, reorder->n);
		reorder->items = reorder->merged;
		reorder->merged = from;
	}
}

/* Moves the records from item FIRST on to the front. */
static int keep_rest(struct reorder *reorder, size_t first)
{
	size_t n = reorder->n - first, used = 0, i;
	AUTO_FREE char *rest = NULL;

	for (i = first; i < reorder->n; i++)
		used += (reorder->items[i].size + 7u) & ~7u;
	rest = malloc(used + 1);
	if (!rest)
		return -ENOMEM;
	used = 0;
	for (i = 0; i < n; i++) {
		struct kept item = reorder->items[first + i];

		memcpy(rest + used, reorder->bytes + item.at, item.size);
		item.at = (u32)(used / 8);
		reorder->items[i] = item;
		used += (item.size + 7u) & ~7u;
	}
	if (used)
		memcpy(reorder->bytes, rest, used);
	reorder->used = used;
	reorder->n = n;
	return 0;
}

int reorder_pass(struct reorder *reorder, u64 cut_ns, reorder_fn fn, void *context)
{
	size_t i;

	if (!reorder->n)
		return 0;
	sort(reorder);
	for (i = 0; i < reorder->n && reorder->items[i].end_ns <= cut_ns; i++)
		fn(context, reorder->bytes + reorder->items[i].at, reorder->items[i].size);
	if (keep_rest(reorder, i) == 0)
		return 0;
	for (; i < reorder->n; i++)
		fn(context, reorder->bytes + reorder->items[i].at, reorder->items[i].size);
	reorder->n = 0;
	reorder->used = 0;
	return -ENOMEM;
}
