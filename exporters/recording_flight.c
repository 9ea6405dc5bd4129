/* SPDX-License-Identifier: MIT */
/* See recording_flight.h. */
#include "recording_flight.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct kept_block {
	struct kept_block *next;
	struct recording_block_header header;
	u8 payload[];
};

_Static_assert(offsetof(struct kept_block, payload) ==
		       offsetof(struct kept_block, header) + sizeof(struct recording_block_header),
	       "a header and its payload stand together");

/* From the oldest on. */
struct block_list {
	struct kept_block *first, *last;
};

struct recording_flight {
	u64 last_ns, last_bytes;
	struct block_list names, spans;
	u64 bytes;     /* of the spans */
	u64 newest_ns; /* the latest time that was heard of */
	bool dropped;
	u64 squeezed;
	u64 squeezed_ns; /* the latest end among those */
};

int recording_flight_new(u64 last_ns, u64 last_bytes, struct recording_flight **out)
{
	struct recording_flight *flight = calloc(1, sizeof(*flight));

	if (!flight)
		return -ENOMEM;
	flight->last_ns = last_ns;
	flight->last_bytes = last_bytes;
	*out = flight;
	return 0;
}

static void list_add(struct block_list *list, struct kept_block *block)
{
	if (list->last)
		list->last->next = block;
	else
		list->first = block;
	list->last = block;
}

static void list_drop_first(struct block_list *list)
{
	struct kept_block *block = list->first;

	list->first = block->next;
	if (!list->first)
		list->last = NULL;
	free(block);
}

void recording_flight_free(struct recording_flight **out)
{
	struct recording_flight *flight = *out;

	if (!flight)
		return;
	*out = NULL;
	while (flight->names.first)
		list_drop_first(&flight->names);
	while (flight->spans.first)
		list_drop_first(&flight->spans);
	free(flight);
}

static void flight_drop(struct recording_flight *flight)
{
	flight->bytes -= flight->spans.first->header.length;
	flight->dropped = true;
	list_drop_first(&flight->spans);
}

static bool is_past(const struct recording_flight *flight, u64 end_ns)
{
	return flight->newest_ns > flight->last_ns && end_ns < flight->newest_ns - flight->last_ns;
}

void recording_flight_pass(struct recording_flight *flight, u64 now_ns)
{
	if (now_ns > flight->newest_ns)
		flight->newest_ns = now_ns;
	while (flight->spans.first && is_past(flight, flight->spans.first->header.last_ns))
		flight_drop(flight);
	if (is_past(flight, flight->squeezed_ns))
		flight->squeezed = 0;
}

int recording_flight_add(struct recording_flight *flight,
			 const struct recording_block_header *header)
{
	struct kept_block *block = malloc(sizeof(*block) + header->length);

	if (!block)
		return -ENOMEM;
	block->next = NULL;
	memcpy(&block->header, header, sizeof(*header) + header->length);
	if (header->kind != RECORDING_SPANS) {
		list_add(&flight->names, block);
		return 0;
	}
	list_add(&flight->spans, block);
	flight->bytes += header->length;
	recording_flight_pass(flight, header->last_ns);
	while (flight->spans.first && flight->bytes > flight->last_bytes) {
		const struct recording_block_header *first = &flight->spans.first->header;

		flight->squeezed += first->spans + first->events;
		if (first->last_ns > flight->squeezed_ns)
			flight->squeezed_ns = first->last_ns;
		flight_drop(flight);
	}
	return 0;
}

static int list_each(struct block_list *list,
		     int (*fn)(void *context, struct recording_block_header *header), void *context)
{
	struct kept_block *block;
	int err = 0;

	for (block = list->first; block && !err; block = block->next)
		err = fn(context, &block->header);
	return err;
}

int recording_flight_each(struct recording_flight *flight,
			  int (*fn)(void *context, struct recording_block_header *header),
			  void *context)
{
	int err = list_each(&flight->names, fn, context);

	return err ? err : list_each(&flight->spans, fn, context);
}

bool recording_flight_start(const struct recording_flight *flight, u64 *start_ns)
{
	const struct kept_block *block;

	*start_ns = UINT64_MAX;
	for (block = flight->spans.first; block; block = block->next)
		if (block->header.first_ns < *start_ns)
			*start_ns = block->header.first_ns;
	return flight->dropped;
}

u64 recording_flight_squeezed(const struct recording_flight *flight)
{
	return flight->squeezed;
}
