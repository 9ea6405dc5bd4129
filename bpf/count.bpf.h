/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* Counting in place of recording, for who wants to know at any moment how often: what would become a record adds one to a
 * number of its definition, which the loader reads through its mapping. Nothing can be lost on the way.
 *
 * The rules of spans hold: a span that is abandoned has ended, an exit without an enter counts nowhere. */
#ifndef SPANTRACE_COUNT_BPF_H
#define SPANTRACE_COUNT_BPF_H

#include "maps.bpf.h"

/* Each CPU has its own numbers, so that hits on two of them do not wait for each other; added to as a whole, for a
 * program can be preempted by another thread's. DEF is beyond the table where the loader said so. */
static __always_inline struct wire_count *count_of(u32 def)
{
	u32 index = (bpf_get_smp_processor_id() & (knob_cpus - 1)) * COUNTS_MAX + def;

	return def < COUNTS_MAX ? bpf_map_lookup_elem(&counts, &index) : NULL;
}

static __always_inline void count_begun(u32 def)
{
	struct wire_count *count = count_of(def);

	if (count)
		__sync_fetch_and_add(&count->begun, 1);
}

static __always_inline void count_ended(u32 def)
{
	struct wire_count *count = count_of(def);

	if (count)
		__sync_fetch_and_add(&count->ended, 1);
}

static __always_inline void count_event(u32 def)
{
	struct wire_count *count = count_of(def);

	if (count)
		__sync_fetch_and_add(&count->events, 1);
}

#endif
