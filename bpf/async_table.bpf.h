/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* Where the async spans that live are: by process, definition and id.
 *
 * An array of slots first: a span has two that it may be in, next to each other. A hit finds it there without a call, and
 * no memory is asked for or given back. Where both are another's it goes to a hash table; that is asked only while it has
 * any. Who ends a span claims it by its end_ns, and takes it out when it has been told.
 */
#ifndef SPANTRACE_ASYNC_TABLE_BPF_H
#define SPANTRACE_ASYNC_TABLE_BPF_H

#include "maps.bpf.h"

/* The slot that KEY is in, or NULL. */
static __always_inline struct wire_async_slot *async_slot(const struct wire_async_key *key)
{
	u32 index = async_slot_of(key), i;
	struct wire_async_slot *slot;

	for (i = 0; i < 2; i++, index ^= 1) {
		slot = bpf_map_lookup_elem(&async_slots, &index);
		if (slot && slot->state == ASYNC_SLOT_LIVE && slot->key.id == key->id &&
		    slot->key.process == key->process && slot->key.def == key->def)
			return slot;
	}
	return NULL;
}

/* The span of KEY, or NULL; SLOT is what async_slot() says. */
static __always_inline struct wire_async *async_in(struct wire_async_slot *slot,
						   const struct wire_async_key *key)
{
	if (likely(slot))
		return &slot->span;
	return async_far ? bpf_map_lookup_elem(&async_spans, key) : NULL;
}

static __always_inline struct wire_async *async_find(const struct wire_async_key *key)
{
	return async_in(async_slot(key), key);
}

static __always_inline u32 async_slot_number(const struct wire_async_slot *slot)
{
	return slot ? slot->number : 0;
}

/* The span of a frame of PROCESS, or NULL. */
static __always_inline struct wire_async *async_of_frame(const struct frame *f, u32 process)
{
	struct wire_async_key key;
	struct wire_async_slot *slot;
	u32 index = f->slot - 1;

	if (unlikely(!f->slot)) {
		key = (struct wire_async_key){.id = f->id, .process = process, .def = f->def};
		return bpf_map_lookup_elem(&async_spans, &key);
	}
	slot = bpf_map_lookup_elem(&async_slots, &index);
	/* It may be over, and the slot another's. */
	if (!slot || slot->state != ASYNC_SLOT_LIVE || slot->key.id != f->id ||
	    slot->key.process != process || slot->key.def != f->def)
		return NULL;
	return &slot->span;
}

static __always_inline void count_in_cell(u64 *cells)
{
	u32 cell = bpf_get_smp_processor_id() & (ASYNC_CELLS - 1);

	__sync_fetch_and_add(&cells[cell * ASYNC_CELL_STRIDE], 1);
}

/* A slot for a span of KEY, to be filled and then given to async_slot_done(); NULL: both are another's. */
static __always_inline struct wire_async_slot *async_slot_take(const struct wire_async_key *key)
{
	u32 index = async_slot_of(key), i;
	struct wire_async_slot *slot;

	for (i = 0; i < 2; i++, index ^= 1) {
		slot = bpf_map_lookup_elem(&async_slots, &index);
		if (!slot || slot->state != ASYNC_SLOT_FREE ||
		    __sync_val_compare_and_swap(&slot->state, ASYNC_SLOT_FREE, ASYNC_SLOT_TAKEN))
			continue;
		slot->key = *key;
		slot->number = index + 1;
		return slot;
	}
	return NULL;
}

static __always_inline void async_slot_done(struct wire_async_slot *slot)
{
	__sync_lock_test_and_set(&slot->state, ASYNC_SLOT_LIVE);
	count_in_cell(async_made);
}

/* Puts SPAN where there is more room. 0, or what the table says. */
static __always_inline long async_put_far(const struct wire_async_key *key,
					  const struct wire_async *span)
{
	long err = bpf_map_update_elem(&async_spans, key, span, BPF_NOEXIST);

	if (err)
		return err;
	__sync_fetch_and_add(&async_far, 1);
	count_in_cell(async_made);
	return 0;
}

/* Takes out the span of KEY, which is in SLOT if that is not NULL. */
static __always_inline void async_remove(struct wire_async_slot *slot,
					 const struct wire_async_key *key)
{
	if (likely(slot))
		__sync_lock_test_and_set(&slot->state, ASYNC_SLOT_FREE);
	else if (bpf_map_delete_elem(&async_spans, key))
		return;
	else
		__sync_fetch_and_add(&async_far, -1);
	count_in_cell(async_ended);
}

#endif
