/* SPDX-License-Identifier: MIT */
/* See names.h. */
#include "names.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../util/grow.h"

#define FIRST_BITS 10 /* of the first bucket: below 2^10 ns */
#define STEP_BITS  2
#define PIECE_BITS 6 /* walls of fewer bits are in the first piece of the kernel's histograms */

_Static_assert(1 << PIECE_BITS == OCTAVE_SIZE, "a piece is an octave from there on");

/* Of walls of so many bits. */
static u32 bucket_of_bits(u32 bits)
{
	u32 bucket = bits <= FIRST_BITS ? 0 : (bits - FIRST_BITS + STEP_BITS - 1) / STEP_BITS;

	return bucket < NAMES_BUCKETS ? bucket : NAMES_BUCKETS - 1;
}

u32 names_bucket(u64 wall_ns)
{
	return bucket_of_bits(wall_ns ? 64 - (u32)__builtin_clzll(wall_ns) : 0);
}

u64 names_bound(u32 bucket)
{
	return bucket + 1 < NAMES_BUCKETS ? (1ull << (FIRST_BITS + STEP_BITS * bucket)) - 1
					  : UINT64_MAX;
}

u64 names_count(const struct names_total *total)
{
	u64 count = 0;

	for (u32 i = 0; i < NAMES_BUCKETS; i++)
		count += total->buckets[i];
	return count;
}

void names_init(struct names *names)
{
	*names = (struct names){0};
}

static void list_clear(struct names_list *list)
{
	for (size_t i = 0; i < list->n; i++) {
		free(list->items[i].provider);
		free(list->items[i].name);
	}
	free(list->items);
}

void names_clear(struct names *names)
{
	list_clear(&names->spans);
	list_clear(&names->events);
	free(names->of_def);
	names_init(names);
}

static int list_add(struct names_list *list, const char *provider, const char *name)
{
	struct names_total total = {.provider = strdup(provider), .name = strdup(name)};

	if (!total.provider || !total.name || GROW(list->items, list->n)) {
		free(total.provider);
		free(total.name);
		return -ENOMEM;
	}
	list->items[list->n++] = total;
	return 0;
}

/* The place of a definition in LIST, made if there is room, and in *PLACE, from 1. 0 or -ENOMEM. */
static int list_find(struct names_list *list, const struct model_def *def, u32 *place)
{
	size_t i;
	int err;

	for (i = 0; i < list->n; i++)
		if (!strcmp(list->items[i].name, def->name) &&
		    !strcmp(list->items[i].provider, def->provider))
			break;
	if (i == list->n && i < NAMES_MAX_SERIES) {
		err = list_add(list, def->provider, def->name);
		if (err)
			return err;
	} else if (i >= list->n) {
		list->folded++;
		if (i == NAMES_MAX_SERIES) {
			err = list_add(list, NAMES_OTHER, NAMES_OTHER);
			if (err)
				return err;
		}
		i = NAMES_MAX_SERIES;
	}
	*place = (u32)i + 1;
	return 0;
}

/* What PATH counts in; NULL: no memory, or it is outside every span. */
static struct names_total *names_total(struct names *names, const struct model_path *path)
{
	const struct model_def *def = path->def;
	struct names_list *list;

	if (!def)
		return NULL;
	list = def->kind == MODEL_EVENT ? &names->events : &names->spans;
	if (def->id >= names->ndefs) {
		u32 n = def->id < 1024 ? 1024 : DEFS_MAX + 1;
		u32 *more = reallocarray(names->of_def, n, sizeof(*more));

		if (!more)
			return NULL;
		memset(more + names->ndefs, 0, (n - names->ndefs) * sizeof(*more));
		names->of_def = more;
		names->ndefs = n;
	}
	if (!names->of_def[def->id] && list_find(list, def, &names->of_def[def->id]))
		return NULL;
	return &list->items[names->of_def[def->id] - 1];
}

static int take_span(void *context, const struct model_span *span)
{
	struct names_total *total = names_total(context, span->path);

	if (!total)
		return -ENOMEM;
	/* Work counts where it ran; that of an async span came in segments. */
	if (!(span->flags & MODEL_ASYNC)) {
		total->self_ns += span->self_ns;
		total->self_cpu_ns += span->self_cpu_ns;
	}
	if (span->flags & MODEL_SEGMENT)
		return 0;
	if (span->flags & MODEL_OPEN) {
		total->open++;
		return 0;
	}
	total->buckets[names_bucket(span->end_ns - span->start_ns)]++;
	total->wall_ns += span->end_ns - span->start_ns;
	total->abandoned += !!(span->flags & MODEL_ABANDONED);
	return 0;
}

static int take_event(void *context, const struct model_event *event)
{
	struct names_total *total = names_total(context, event->path);

	if (!total)
		return -ENOMEM;
	total->buckets[0]++;
	return 0;
}

static int take_row(void *context, const struct model_path *path, const struct wire_row *gained,
		    const struct wire_octave *pieces, size_t n)
{
	struct names_total *total;

	if (!path->def)
		return 0;
	total = names_total(context, path);
	if (!total)
		return -ENOMEM;
	if (path->def->kind == MODEL_EVENT) {
		total->buckets[0] += gained->count;
		return 0;
	}
	for (size_t i = 0; i < n; i++) {
		u64 *bucket = &total->buckets[bucket_of_bits(PIECE_BITS + pieces[i].octave)];

		for (u32 j = 0; j < OCTAVE_SIZE; j++)
			*bucket += pieces[i].counts[j];
	}
	total->wall_ns += gained->wall_ns - gained->open_wall_ns;
	total->abandoned += gained->abandoned;
	total->open += gained->open;
	total->self_ns += gained->segment_ns;
	total->self_cpu_ns += gained->segment_ns - gained->segment_off_ns;
	if (!gained->async) {
		total->self_ns += gained->self_ns;
		total->self_cpu_ns += gained->self_ns - gained->self_off_ns;
	}
	return 0;
}

int names_listen(struct names *names, struct trace *trace)
{
	const struct trace_sink sink = {
		.context = names, .span = take_span, .event = take_event, .row = take_row};

	/* Another trace numbers its definitions anew. */
	free(names->of_def);
	names->of_def = NULL;
	names->ndefs = 0;
	return trace_add_sink(trace, &sink);
}
