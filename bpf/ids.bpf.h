/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* The ids of a trace, which go down: what runs inside a span with an id is part of that span's profile. A label that is one
 * (site.ids) stands with the frame, each frame begins with those of the one below it, and an async span keeps those of
 * where it was made. What has an id of its own has that in place of the inherited one.
 */
#ifndef SPANTRACE_IDS_BPF_H
#define SPANTRACE_IDS_BPF_H

#include "path.bpf.h"

static __always_inline void ids_of_frame(struct wire_ids *ids, const struct frame *f)
{
	ids->values[0] = f->ids[0];
	ids->values[1] = f->ids[1];
	ids->kinds = f->flags >> FRAME_IDS_SHIFT & WIRE_ID_KINDS;
	ids->reserved = 0;
}

static __always_inline void ids_to_frame(struct frame *f, const struct wire_ids *ids)
{
	f->ids[0] = ids->values[0];
	f->ids[1] = ids->values[1];
	f->flags = (f->flags & ~FRAME_IDS) | ids->kinds << FRAME_IDS_SHIFT;
}

/* Those of what is open on the thread. */
static __always_inline void ids_of_top(struct thread_state *t, struct wire_ids *ids)
{
	struct frame *top = t->depth ? frame_at(t, t->depth - 1) : NULL;

	if (top)
		ids_of_frame(ids, top);
}

/* F is to stand on top. */
static __always_inline void ids_inherit(struct thread_state *t, struct frame *f)
{
	struct wire_ids ids = {};

	ids_of_top(t, &ids);
	ids_to_frame(f, &ids);
}

/* Of the LABELS of site INDEX those that are ids. */
static __noinline void ids_of_labels(struct wire_ids *ids, u32 index, const u64 *labels)
{
	const struct wire_site *site = bpf_map_lookup_elem(&sites, &index);
	u32 i;

	for (i = 0; site && i < IDS; i++) {
		u32 label = site->ids[i] - 1;

		if (label >= LABELS_MAX)
			continue;
		barrier_var(label);
		ids->values[i] = labels[label & (LABELS_MAX - 1)];
		ids->kinds |= WIRE_ID(i);
		if (site->strings >> label & 1)
			ids->kinds |= WIRE_ID_TEXT(i);
		else
			ids->kinds &= ~WIRE_ID_TEXT(i);
	}
}

/* The same of a frame that has them. */
static __always_inline void ids_of_frame_labels(struct frame *f, u64 cookie)
{
	struct wire_ids ids;

	ids_of_frame(&ids, f);
	ids_of_labels(&ids, COOKIE_SITE(cookie), f->labels);
	ids_to_frame(f, &ids);
}

#endif
