/* SPDX-License-Identifier: MIT */
/* What allocs.c and confined.c share: allocations in spans, and a ledger of them that is printed at the end, for each span
 *   NAME objects bytes inuse_objects inuse_bytes
 * The ledger and the printing allocate nothing. What an allocator does with a request is its own affair, so the ledger
 * goes by what came back: a null pointer counts as nothing. */
#ifndef SPANTRACE_TEST_LEDGER_H
#define SPANTRACE_TEST_LEDGER_H

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "spantrace.h"

struct ledger {
	const char *name;
	unsigned long objects, bytes, inuse_objects, inuse_bytes;
};

static struct ledger first = {.name = "allocs:first"}, second = {.name = "allocs:second"};

static inline void say(const struct ledger *l)
{
	char line[160];
	int len = snprintf(line, sizeof(line), "%s %lu %lu %lu %lu\n", l->name, l->objects,
			   l->bytes, l->inuse_objects, l->inuse_bytes);

	if (write(1, line, (size_t)len) != len)
		_exit(3);
}

/* A block came back for a request of BYTES, or did not. */
static inline void *got(struct ledger *l, void *block, unsigned long bytes)
{
	if (!block)
		return NULL;
	l->objects++;
	l->bytes += bytes;
	l->inuse_objects++;
	l->inuse_bytes += bytes;
	return block;
}

static inline void gone(struct ledger *l, unsigned long bytes)
{
	l->inuse_objects--;
	l->inuse_bytes -= bytes;
}

/* So that no compiler knows what these are. */
static void *(*volatile do_malloc)(size_t) = malloc;
static void (*volatile do_free)(void *) = free;

static inline void drop(struct ledger *l, void *block, unsigned long bytes)
{
	if (!block)
		return;
	do_free(block);
	gone(l, bytes);
}

/* N blocks that are freed at once, a thousand in a span. */
static inline void do_many(unsigned long n)
{
	unsigned long i;

	for (i = 0; i < n; i++) {
		unsigned long bytes = 8 + (i & 127);

		if (i % 1000 == 0)
			SPAN_ENTER(allocs, first);
		drop(&first, got(&first, do_malloc(bytes), bytes), bytes);
		if (i % 1000 == 999)
			SPAN_EXIT(allocs, first);
	}
}

/* N blocks that are kept. */
static inline void do_hold(unsigned long n)
{
	unsigned long i;

	SPAN_ENTER(allocs, first);
	for (i = 0; i < n; i++)
		if (!got(&first, do_malloc(i % 50), i % 50))
			_exit(4);
	SPAN_EXIT(allocs, first);
}

#endif
