/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* Labels: arguments of a marker that stay with its span. A number is kept as it is. A string is read once,
 * and from then on is a name of eight bytes, made from its text: the first time a text is seen it is told to
 * the loader together with its name. */
#ifndef SPANTRACE_LABEL_BPF_H
#define SPANTRACE_LABEL_BPF_H

#include "operand.bpf.h"
#include "task.bpf.h"

/* 64 bits of LENGTH bytes; what stands behind them in the buffer does not count. */
static __always_inline u64 hash_text(const char *text, u32 length)
{
	u64 hash = 0xcbf29ce484222325ULL ^ length;
	u32 i;

	for (i = 0; i < STRING_MAX / 8; i++) {
		u64 word = ((const u64 *)text)[i];
		u32 left = length - i * 8;

		if (i * 8 >= length)
			break;
		if (left < 8)
			word &= (1ULL << left * 8) - 1;
		hash = (hash ^ word) * 0x9e3779b97f4a7c15ULL;
		hash ^= hash >> 29;
	}
	return hash < WIRE_STRING_FIRST ? WIRE_STRING_FIRST : hash;
}

/* Tells the loader the text in T under NAME. */
static __noinline u64 tell_string(struct thread_state *t, u64 name, u32 length)
{
	struct wire_string *record = control_reserve(sizeof(*record));
	u8 known = 1;

	if (!record) {
		count_loss(LOSS_STRINGS_FULL, 1);
		return WIRE_STRING_LOST;
	}
	set_head(&record->head, sizeof(*record), WIRE_STRING, 0, 0);
	record->name = name;
	record->length = length;
	record->cut = length == STRING_MAX - 1;
	bpf_probe_read_kernel(record->text, sizeof(record->text), t->text);
	ring_submit(record);
	if (bpf_map_update_elem(&strings, &name, &known, BPF_ANY) == 0)
		return name;
	/* It would be told again at every hit. */
	count_loss(LOSS_STRINGS_FULL, 1);
	return WIRE_STRING_LOST;
}

/* The name of the C string at ADDRESS in the target. */
static __noinline u64 name_string(struct thread_state *t, u64 address)
{
	u32 length;
	long size;
	u64 name;

	if (!address)
		return WIRE_STRING_NULL;
	size = bpf_probe_read_user_str(t->text, sizeof(t->text), (void *)address);
	if (size < 0)
		return WIRE_STRING_UNREADABLE;
	/* Some kernels do not count the NUL of an empty string. */
	length = size ? size - 1 : 0;
	name = hash_text(t->text, length);
	if (bpf_map_lookup_elem(&strings, &name))
		return name;
	return tell_string(t, name, length);
}

struct label_walk {
	struct pt_regs *ctx;
	struct thread_state *t;
	const struct wire_site *site;
	u64 labels[LABELS_MAX];
};

static long read_label(u32 i, struct label_walk *walk)
{
	const struct operand *o;
	u64 value = 0;
	bool text;

	if (i >= LABELS_MAX)
		return 1;
	o = &walk->site->labels[i];
	if (o->form == OPERAND_NONE)
		return 1;
	text = walk->site->strings >> i & 1;
	if (read_operand(walk->ctx, o, &value)) {
		value = text ? WIRE_STRING_UNREADABLE : 0;
		count_loss(LOSS_UNREADABLE_ARG, 1);
	} else if (text) {
		value = name_string(walk->t, value);
	}
	walk->labels[i] = value;
	return 0;
}

/* Reads the labels of the site that COOKIE names. */
static __noinline void read_labels(struct pt_regs *ctx, struct thread_state *t, u64 cookie,
				   u64 *labels)
{
	u32 index = COOKIE_SITE(cookie);
	struct label_walk walk = {.ctx = ctx, .t = t};

	walk.site = bpf_map_lookup_elem(&sites, &index);
	if (!walk.site)
		return;
	bpf_loop(LABELS_MAX, read_label, &walk, 0);
	__builtin_memcpy(labels, walk.labels, sizeof(walk.labels));
}

#endif
