/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* Handing records to the loader: no wakeups (the loader comes by itself), every loss counted. */
#ifndef SPANTRACE_RING_BPF_H
#define SPANTRACE_RING_BPF_H

#include "maps.bpf.h"

static __always_inline void count_loss(u32 cause, u64 n)
{
	u64 *counter = bpf_map_lookup_elem(&losses, &cause);

	if (counter)
		*counter += n;
}

/* Room for SIZE bytes (a constant on each path) on this CPU's ring, or NULL, counted. */
static __always_inline void *ring_reserve(u32 size)
{
	u32 cpu = bpf_get_smp_processor_id() & (knob_cpus - 1);
	void *ring = bpf_map_lookup_elem(&rings, &cpu);
	void *record = NULL;

	if (likely(ring))
		record = bpf_ringbuf_reserve(ring, size, 0);
	if (unlikely(!record))
		count_loss(LOSS_RING_FULL, 1);
	return record;
}

static __always_inline void *control_reserve(u32 size)
{
	void *record = bpf_ringbuf_reserve(&control, size, 0);

	if (unlikely(!record))
		count_loss(LOSS_CONTROL_FULL, 1);
	return record;
}

static __always_inline void ring_submit(void *record)
{
	bpf_ringbuf_submit(record, BPF_RB_NO_WAKEUP);
}

static __always_inline void set_head(struct wire_head *head, u32 size, u8 kind, u8 flags,
				     u32 thread)
{
	head->size = size;
	head->kind = kind;
	head->flags = flags;
	head->thread = thread;
}

#endif
