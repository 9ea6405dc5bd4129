/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* Spans of which nothing is recorded but one count, when they begin. Each has its frame on the stack as any other, so all
 * rules of pairing hold for it.
 *
 * --sample: a root span is unsampled by chance. Its path is PATH_UNSAMPLED, which all that runs inside it inherits,
 * allocations and async spans on other threads too; no clock is read.
 * --max-overhead: a definition is shed, a short time before its probes are taken out. Its spans have the path of what they
 * stand on, so that what runs inside them is recorded as it will be when the probes are gone.
 */
#ifndef SPANTRACE_SAMPLE_BPF_H
#define SPANTRACE_SAMPLE_BPF_H

#include "ring.bpf.h"

static __always_inline bool may_leave_out(void)
{
	return knob_chance || knob_meter;
}

static __always_inline bool is_unsampled(u32 path)
{
	return may_leave_out() && path == PATH_UNSAMPLED;
}

/* Whether there is no record of frame F. */
static __always_inline bool is_left_out(const struct frame *f)
{
	return may_leave_out() && (f->path == PATH_UNSAMPLED || f->flags & FRAME_SHED);
}

/* One span or event, left out under PATH. */
static __always_inline void count_left_out(u32 path)
{
	count_loss(path == PATH_UNSAMPLED ? LOSS_UNSAMPLED : LOSS_SHED, 1);
}

/* The time where nothing can be left out, else 0: then it is read when it is known to be needed. */
static __always_inline u64 time_at_once(void)
{
	return may_leave_out() ? 0 : bpf_ktime_get_ns();
}

static __always_inline u64 time_if_late(u64 now)
{
	return may_leave_out() ? bpf_ktime_get_ns() : now;
}

static __always_inline bool is_shed(u32 def)
{
	struct wire_def_state *state = bpf_map_lookup_elem(&def_states, &def);

	return state && unlikely(state->shed);
}

/* Counts HITS of DEF; returns whether it is shed. */
static __always_inline bool meter(const struct thread_state *t, u32 def, u64 hits)
{
	struct wire_meter_key key = {.process = t->process, .def = def};
	u64 *count;

	if (!knob_meter)
		return false;
	count = bpf_map_lookup_elem(&meters, &key);
	if (likely(count))
		*count += hits;
	else
		bpf_map_update_elem(&meters, &key, &hits, BPF_NOEXIST);
	return is_shed(def);
}

/* One that does not fit to what was seen of DEF before. While its probes are put in and taken out that is no loss. */
static __always_inline void count_orphan(u32 def, u32 cause)
{
	if (!knob_meter || !is_shed(def))
		count_loss(cause, 1);
}

/* A span begins under PARENT: PATH_UNSAMPLED where it is left out, else PARENT. */
static __always_inline u32 sample(u32 parent)
{
	if (knob_chance && parent == PATH_ROOT && bpf_get_prandom_u32() >= knob_chance)
		return PATH_UNSAMPLED;
	return parent;
}

#endif
