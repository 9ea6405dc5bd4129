/* SPDX-License-Identifier: MIT */
/* See perfetto_hold.h. */
#include "perfetto_hold.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* Instants that wait on one thread: more than it has levels. Beyond that the order of begins is left to chance. */
#define HELD_MAX 1024u

struct perfetto_held {
	struct perfetto_begin begin;
	struct model_span span;
};

static void write_held(struct perfetto_held *held, bool begins, perfetto_write write, void *context)
{
	held->begin.span = &held->span;
	write(context, &held->begin, begins);
}

/* The first of those of the last instant. */
static u32 first_of_last(const struct perfetto_hold *hold)
{
	u64 time = hold->items[hold->n - 1].span.start_ns;
	u32 first = hold->n - 1;

	while (first && hold->items[first - 1].span.start_ns == time)
		first--;
	return first;
}

/* Writes those of the last instant: they came from the inside to the outside. */
static void write_last(struct perfetto_hold *hold, perfetto_write write, void *context)
{
	u32 first = first_of_last(hold), i;

	for (i = hold->n; i > first; i--)
		write_held(&hold->items[i - 1], true, write, context);
	for (i = first; i < hold->n; i++)
		if (hold->items[i].span.end_ns == hold->items[i].span.start_ns)
			write_held(&hold->items[i], false, write, context);
	hold->n = first;
}

void perfetto_hold_flush(struct perfetto_hold *hold, perfetto_write write, void *context)
{
	while (hold->n)
		write_last(hold, write, context);
}

static int add(struct perfetto_hold *hold, const struct perfetto_begin *begin)
{
	struct perfetto_held *held;

	if (hold->n == hold->room) {
		u32 room = hold->room ? hold->room * 2 : 4;
		struct perfetto_held *items = reallocarray(hold->items, room, sizeof(*items));

		if (!items)
			return -ENOMEM;
		hold->items = items;
		hold->room = room;
	}
	held = &hold->items[hold->n++];
	held->begin = *begin;
	/* The labels that there are: most spans have none. */
	memcpy(&held->span, begin->span,
	       offsetof(struct model_span, labels) +
		       begin->span->nlabels * sizeof(*begin->span->labels));
	return 0;
}

/* Whether it has a sibling before item FIRST, and so a parent that began before it. */
static bool has_elder(const struct perfetto_hold *hold, u32 first,
		      const struct perfetto_begin *begin)
{
	return first && hold->items[first - 1].begin.depth >= begin->depth;
}

int perfetto_hold(struct perfetto_hold *hold, const struct perfetto_begin *begin, bool outermost,
		  perfetto_write write, void *context)
{
	const struct model_span *span = begin->span;
	bool tied;
	int err;

	/* What lies inside this one and began after it waits no more. */
	while (hold->n && hold->items[hold->n - 1].span.start_ns > span->start_ns)
		write_last(hold, write, context);
	tied = hold->n && hold->items[hold->n - 1].span.start_ns == span->start_ns;
	if (!tied && (hold->n ? has_elder(hold, hold->n, begin) : outermost)) {
		write(context, begin, true);
		write(context, begin, false);
		return 0;
	}
	err = add(hold, begin);
	if (err)
		return err;
	if (outermost || hold->n > HELD_MAX)
		perfetto_hold_flush(hold, write, context);
	else if (has_elder(hold, first_of_last(hold), begin))
		write_last(hold, write, context);
	if (span->end_ns != span->start_ns)
		write(context, begin, false);
	return 0;
}

void perfetto_hold_free(struct perfetto_hold *hold)
{
	free(hold->items);
	*hold = (struct perfetto_hold){0};
}
