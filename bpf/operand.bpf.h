/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* Reads an argument of a marker from the registers of the trap, as the note's operand says. */
#ifndef SPANTRACE_OPERAND_BPF_H
#define SPANTRACE_OPERAND_BPF_H

#include "ring.bpf.h"

/* A load at a fixed offset from the context: left to itself the compiler computes the offset first and
 * loads once, which the verifier refuses. */
#define REGISTER(ctx, field)                                                              \
	({                                                                                \
		u64 value_;                                                               \
		asm volatile("%0 = *(u64 *)(%1 + %2)"                                     \
			     : "=r"(value_)                                               \
			     : "r"(ctx), "i"(__builtin_offsetof(struct pt_regs, field))); \
		value_;                                                                   \
	})

static __always_inline u64 read_register(struct pt_regs *ctx, u8 reg)
{
	switch (reg) {
	case OPERAND_RAX:
		return REGISTER(ctx, ax);
	case OPERAND_RDX:
		return REGISTER(ctx, dx);
	case OPERAND_RCX:
		return REGISTER(ctx, cx);
	case OPERAND_RBX:
		return REGISTER(ctx, bx);
	case OPERAND_RSI:
		return REGISTER(ctx, si);
	case OPERAND_RDI:
		return REGISTER(ctx, di);
	case OPERAND_RBP:
		return REGISTER(ctx, bp);
	case OPERAND_RSP:
		return REGISTER(ctx, sp);
	case OPERAND_R8:
		return REGISTER(ctx, r8);
	case OPERAND_R9:
		return REGISTER(ctx, r9);
	case OPERAND_R10:
		return REGISTER(ctx, r10);
	case OPERAND_R11:
		return REGISTER(ctx, r11);
	case OPERAND_R12:
		return REGISTER(ctx, r12);
	case OPERAND_R13:
		return REGISTER(ctx, r13);
	case OPERAND_R14:
		return REGISTER(ctx, r14);
	case OPERAND_R15:
		return REGISTER(ctx, r15);
	case OPERAND_PC:
		return REGISTER(ctx, ip);
	default:
		return 0;
	}
}

static __always_inline u64 extend(u64 value, u8 size, bool is_signed)
{
	u8 shift = 64 - size * 8;

	if (shift > 56)
		return value;
	value <<= shift;
	return is_signed ? (u64)((s64)value >> shift) : value >> shift;
}

static __always_inline u64 operand_address(struct pt_regs *ctx, const struct operand *o)
{
	u64 address = o->disp + read_register(ctx, o->base);

	if (o->index != OPERAND_NO_REG)
		address += read_register(ctx, o->index) * o->scale;
	return address;
}

/* 0, or -1 when the target's memory could not be read. */
static __always_inline int read_operand(struct pt_regs *ctx, const struct operand *o, u64 *value)
{
	u64 raw = o->disp;
	long err;

	if (o->form == OPERAND_CONST) {
		*value = raw;
		return 0;
	}
	if (o->form == OPERAND_REG) {
		raw = read_register(ctx, o->base);
		if (o->high_byte)
			raw >>= 8;
		*value = extend(raw, o->size, o->is_signed);
		return 0;
	}
	if (o->form != OPERAND_MEM)
		return -1;
	raw = operand_address(ctx, o);
	*value = 0;
	if (o->size == 8)
		err = bpf_probe_read_user(value, 8, (void *)raw);
	else if (o->size == 4)
		err = bpf_probe_read_user(value, 4, (void *)raw);
	else if (o->size == 2)
		err = bpf_probe_read_user(value, 2, (void *)raw);
	else
		err = bpf_probe_read_user(value, 1, (void *)raw);
	if (err)
		return -1;
	*value = extend(*value, o->size, o->is_signed);
	return 0;
}

/* The site's id (of an event: its value); counted when it cannot be read. */
static __noinline int read_id(struct pt_regs *ctx, u64 cookie, u64 *id)
{
	u32 index = COOKIE_SITE(cookie);
	struct wire_site *site = bpf_map_lookup_elem(&sites, &index);

	if (site && read_operand(ctx, &site->id, id) == 0)
		return 0;
	count_loss(LOSS_UNREADABLE_ARG, 1);
	return -1;
}

#endif
