/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* Strings of the target: a text becomes a name of eight bytes, made from its bytes, and the first time it is seen it is
 * told to the loader together with that name.
 *
 * Programs of their own read strings, sleepable ones where the kernel lets those use all maps. Others cannot wait for a page: a constant that the target has not touched
 * yet, or one that was paged out, would not be there. The plain read comes first and mostly succeeds. */
#ifndef SPANTRACE_TEXT_BPF_H
#define SPANTRACE_TEXT_BPF_H

#include "operand.bpf.h"
#include "task.bpf.h"

#define PAGE_BYTES 4096

/* Bits of the values of `strings`. */
#define STRING_KNOWN  0x1u /* told to the loader */
#define STRING_CALLED 0x2u /* spans are called by it: among names_used */

/* Brings the page at ADDRESS in, where a program may sleep: guard.bpf.h. */
static __always_inline void fault_in(u64 address)
{
#ifdef SMALL_STACK
	char byte;

	if (knob_faults)
		bpf_copy_from_user(&byte, 1, (void *)address);
#endif
}

/* What reads texts is not static, so that the verifier looks once, and not at each call, at all the ways through it: they
 * were most of the time until probes stand. Such a function takes the context of a probe by the name that the kernel has
 * for it only. */
struct bpf_user_pt_regs_t {
};

static __always_inline struct bpf_user_pt_regs_t *text_context(struct pt_regs *ctx)
{
	return (struct bpf_user_pt_regs_t *)ctx;
}

/* As read_operand(), and waits for the page. */
__noinline int read_operand_faulting(struct bpf_user_pt_regs_t *context, const struct operand *o,
				     u64 *value)
{
	struct pt_regs *ctx = (struct pt_regs *)context;

	if (!o || !value)
		return -1;
	if (read_operand(ctx, o, value) == 0)
		return 0;
	if (o->form != OPERAND_MEM)
		return -1;
	fault_in(operand_address(ctx, o));
	return read_operand(ctx, o, value);
}

/* 64 bits of LENGTH bytes; what stands behind them in the buffer does not count. */
__noinline u64 hash_text(const struct text *text, u32 length)
{
	u64 hash = 0xcbf29ce484222325ULL ^ length;
	u32 i;

	if (!text)
		return 0;
	for (i = 0; i < STRING_MAX / 8; i++) {
		u64 word = ((const u64 *)text->bytes)[i];
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

/* Tells the loader the LENGTH bytes of TEXT under NAME. */
static __noinline u64 tell_string(const struct text *text, u64 name, u32 length, u8 known)
{
	struct wire_string *record = control_reserve(sizeof(*record));

	if (!record) {
		count_loss(LOSS_STRINGS_FULL, 1);
		return WIRE_STRING_LOST;
	}
	set_head(&record->head, sizeof(*record), WIRE_STRING, 0, 0);
	record->name = name;
	record->length = length;
	record->cut = length == STRING_MAX - 1;
	bpf_probe_read_kernel(record->text, sizeof(record->text), text->bytes);
	ring_submit(record);
	if (bpf_map_update_elem(&strings, &name, &known, BPF_ANY) == 0)
		return name;
	/* It would be told again at every hit. */
	count_loss(LOSS_STRINGS_FULL, 1);
	return WIRE_STRING_LOST;
}

/* The name of the LENGTH bytes of TEXT. CALLED: for a span to be called by, of which there are fewer. */
static __noinline u64 name_text(struct text *text, u32 length, bool called)
{
	u8 bits = called ? STRING_KNOWN | STRING_CALLED : STRING_KNOWN;
	u64 name = hash_text(text, length);
	u8 *known = bpf_map_lookup_elem(&strings, &name);

	if (known && (*known & bits) == bits)
		return name;
	if (called) {
		if (names_used >= NAMES_MAX) {
			count_loss(LOSS_NAMES_FULL, 1);
			return WIRE_STRING_OTHER;
		}
		__sync_fetch_and_add(&names_used, 1);
	}
	if (known) {
		*known = bits;
		return name;
	}
	name = tell_string(text, name, length, bits);
	return called && name == WIRE_STRING_LOST ? WIRE_STRING_OTHER : name;
}

/* Copies the text at ADDRESS to offset AT of TEXT: up to a NUL if LENGTH is negative, at most MAX bytes. Returns how
 * many, or a negative number. */
static __always_inline long copy_once(struct text *text, u32 at, u64 address, s64 length, u32 max)
{
	u32 bytes;
	long got;

	at &= STRING_MAX - 1;
	max &= STRING_MAX - 1;
	if (length < 0) {
		got = bpf_probe_read_user_str(text->bytes + at, max + 1, (void *)address);
		/* Some kernels do not count the NUL of an empty string. */
		return got > 0 ? got - 1 : got;
	}
	bytes = length < max ? length : max;
	barrier_var(bytes); /* or the mask, which older verifiers need to see, is optimised away */
	bytes &= STRING_MAX - 1;
	if (!bytes)
		return 0;
	return bpf_probe_read_user(text->bytes + at, bytes, (void *)address) ? -1 : bytes;
}

__noinline long copy_text(struct text *text, u32 at, u64 address, s64 length, u32 max)
{
	long got;

	if (!text)
		return -1;
	got = copy_once(text, at, address, length, max);
	if (likely(got >= 0))
		return got;
	fault_in(address);
	got = copy_once(text, at, address, length, max);
	if (got >= 0)
		return got;
	/* It may go on in the next page, which is as long as any string. */
	fault_in((address | (PAGE_BYTES - 1)) + 1);
	return copy_once(text, at, address, length, max);
}

/* Where the string that operand O points to begins, and its length: negative if it ends with a NUL. */
static __always_inline int locate(struct bpf_user_pt_regs_t *ctx, const struct operand *o,
				  const struct operand *length_operand, u64 *address, s64 *length)
{
	u64 bytes = 0;

	*length = -1;
	if (read_operand_faulting(ctx, o, address))
		return -1;
	if (length_operand->form == OPERAND_NONE)
		return 0;
	if (read_operand_faulting(ctx, length_operand, &bytes))
		return -1;
	*length = (s64)bytes < 0 ? 0 : bytes;
	return 0;
}

/* The name of a label's string. */
__noinline u64 read_string(struct bpf_user_pt_regs_t *ctx, const struct operand *o,
			   const struct operand *length_operand, u32 max)
{
	struct text *text = bpf_task_storage_get(&texts, bpf_get_current_task_btf(), NULL,
						 BPF_LOCAL_STORAGE_GET_F_CREATE);
	u64 address = 0;
	s64 length;
	long got = -1;

	if (!text || !o || !length_operand) {
		count_loss(LOSS_STRINGS_FULL, 1);
		return WIRE_STRING_LOST;
	}
	if (locate(ctx, o, length_operand, &address, &length) == 0) {
		if (!address)
			return WIRE_STRING_NULL;
		got = copy_text(text, 0, address, length, max);
	}
	if (got < 0) {
		count_loss(LOSS_UNREADABLE_ARG, 1);
		return WIRE_STRING_UNREADABLE;
	}
	return name_text(text, got, false);
}

/* Appends one part of a name at AT. Returns where it ends; AT where it is null or empty, negative if it cannot be read. */
static __noinline long append_text(struct bpf_user_pt_regs_t *ctx, struct text *text,
				   const struct operand *o, const struct operand *length_operand,
				   u32 at)
{
	u64 address = 0;
	s64 length;
	long got;

	if (!text || locate(ctx, o, length_operand, &address, &length))
		return -1;
	if (!address || at >= STRING_MAX - 1)
		return at;
	got = copy_text(text, at, address, length, STRING_MAX - 1);
	if (got < 0)
		return -1;
	return at + got < STRING_MAX - 1 ? at + got : STRING_MAX - 1;
}

/* What the span of the site that COOKIE names is called by: one string, or two with a joint between them. 0: nothing,
 * since they are null or empty. */
__noinline u64 read_name(struct bpf_user_pt_regs_t *ctx, u64 cookie)
{
	struct text *text = bpf_task_storage_get(&texts, bpf_get_current_task_btf(), NULL,
						 BPF_LOCAL_STORAGE_GET_F_CREATE);
	u32 index = COOKIE_SITE(cookie);
	const struct wire_site *site = bpf_map_lookup_elem(&sites, &index);
	long first, end;
	u32 at, i;

	if (!text || !site) {
		count_loss(LOSS_STRINGS_FULL, 1);
		return WIRE_STRING_OTHER;
	}
	end = first = append_text(ctx, text, &site->name[0], &site->name_lengths[0], 0);
	if (first >= 0 && site->name[1].form != OPERAND_NONE) {
		at = first;
		for (i = 0; i < JOINT_MAX && first > 0 && i < site->joint_length; i++)
			text->bytes[at++ & (2 * STRING_MAX - 1)] = site->joint[i];
		end = append_text(ctx, text, &site->name[1], &site->name_lengths[1], at);
		if (end == at)
			end = first;
	}
	if (end < 0) {
		count_loss(LOSS_UNREADABLE_ARG, 1);
		return WIRE_STRING_UNREADABLE;
	}
	return end ? name_text(text, end, true) : 0;
}

#endif
