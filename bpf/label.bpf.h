/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* Arguments of a marker that stay with its span: labels, and what the span is called by. A number is kept as it is. A
 * string is read once (text.bpf.h), and from then on is a name of eight bytes, made from its text. */
#ifndef SPANTRACE_LABEL_BPF_H
#define SPANTRACE_LABEL_BPF_H

#include "text.bpf.h"

struct label_walk {
	struct pt_regs *ctx;
	const struct wire_site *site;
	u64 labels[LABELS_MAX];
};

/* FAULTS, a constant: this is a sleepable program, which reads strings too. */
static __always_inline long label_step(u32 i, struct label_walk *walk, bool faults)
{
	const struct wire_site *site = walk->site;
	const struct operand *o;
	u64 value = 0;
	long err;

	if (i >= LABELS_MAX)
		return 1;
	o = &site->labels[i];
	if (o->form == OPERAND_NONE)
		return 1;
	if (faults && site->strings >> i & 1) {
		walk->labels[i] =
			read_string(text_context(walk->ctx), o, &site->lengths[i], site->max[i]);
		return 0;
	}
	err = faults ? read_operand_faulting(text_context(walk->ctx), o, &value)
		     : read_operand(walk->ctx, o, &value);
	if (err)
		count_loss(LOSS_UNREADABLE_ARG, 1);
	walk->labels[i] = value;
	return 0;
}

static long read_label(u32 i, struct label_walk *walk)
{
	return label_step(i, walk, false);
}

static long read_label_faulting(u32 i, struct label_walk *walk)
{
	return label_step(i, walk, true);
}

/* Reads the labels of the site that COOKIE names. */
static __always_inline void read_labels(struct pt_regs *ctx, u64 cookie, u64 *labels, bool faults)
{
	u32 index = COOKIE_SITE(cookie);
	struct label_walk walk = {.ctx = ctx};

	walk.site = bpf_map_lookup_elem(&sites, &index);
	if (!walk.site)
		return;
	if (faults)
		bpf_loop(LABELS_MAX, read_label_faulting, &walk, 0);
	else
		bpf_loop(LABELS_MAX, read_label, &walk, 0);
	__builtin_memcpy(labels, walk.labels, sizeof(walk.labels));
}

#endif
