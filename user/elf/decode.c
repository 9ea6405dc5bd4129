/* SPDX-License-Identifier: MIT */
/* See decode.h. */
#include "decode.h"

#include <capstone/capstone.h>
#include <errno.h>

#include "../util/cleanup.h"

/* The entry block of a real function is far shorter. */
#define ENTRY_MAX 96u

struct decoder {
	csh handle;
	cs_insn *insn;
};

static void decoder_close(struct decoder *d)
{
	if (d->insn)
		cs_free(d->insn, 1);
	if (d->handle)
		cs_close(&d->handle);
}

static int decoder_open(struct decoder *d)
{
	if (cs_open(CS_ARCH_X86, CS_MODE_64, &d->handle) != CS_ERR_OK) {
		d->handle = 0;
		return -ENOMEM;
	}
	cs_option(d->handle, CS_OPT_DETAIL, CS_OPT_ON);
	d->insn = cs_malloc(d->handle);
	return d->insn ? 0 : -ENOMEM;
}

/* Those that every supported kernel emulates; a prefix makes any of them another matter. */
static bool is_emulated(const cs_insn *insn)
{
	const u8 *b = insn->bytes;

	if (b[0] == 0x90 || b[0] == 0xe8 || b[0] == 0xe9 || b[0] == 0xeb)
		return true;
	if ((b[0] >= 0x50 && b[0] <= 0x57) || (b[0] >= 0x70 && b[0] <= 0x7f))
		return true;
	if (insn->size < 2)
		return false;
	return (b[0] == 0x41 && b[1] >= 0x50 && b[1] <= 0x57) ||
	       (b[0] == 0x0f && b[1] >= 0x80 && b[1] <= 0x8f);
}

static bool in_group(const struct decoder *d, u8 group)
{
	return cs_insn_group(d->handle, d->insn, group);
}

/* Any way of leaving the straight line. */
static bool is_flow(const struct decoder *d)
{
	return in_group(d, CS_GRP_JUMP) || in_group(d, CS_GRP_CALL) || in_group(d, CS_GRP_RET) ||
	       in_group(d, CS_GRP_IRET) || in_group(d, CS_GRP_INT);
}

/* The bit of the argument that REG is or is a part of; bit 31 for the stack pointer. */
static u32 bit_of(unsigned reg)
{
	switch (reg) {
	case X86_REG_RDI:
	case X86_REG_EDI:
	case X86_REG_DI:
	case X86_REG_DIL:
		return 1u << 0;
	case X86_REG_RSI:
	case X86_REG_ESI:
	case X86_REG_SI:
	case X86_REG_SIL:
		return 1u << 1;
	case X86_REG_RDX:
	case X86_REG_EDX:
	case X86_REG_DX:
	case X86_REG_DL:
	case X86_REG_DH:
		return 1u << 2;
	case X86_REG_RSP:
	case X86_REG_ESP:
	case X86_REG_SP:
	case X86_REG_SPL:
		return 1u << 31;
	}
	return 0;
}

/* Whether the instruction writes one of the registers MASK. What cannot be told counts as written. */
static bool writes(const struct decoder *d, u32 mask)
{
	cs_regs read, written;
	u8 nread = 0, nwritten = 0, i;

	if (cs_regs_access(d->handle, d->insn, read, &nread, written, &nwritten) != CS_ERR_OK)
		return true;
	for (i = 0; i < nwritten; i++)
		if (bit_of(written[i]) & mask)
			return true;
	return false;
}

/* The target of a direct branch or call; false where it is none. */
static bool direct_target(const struct decoder *d, u64 *target)
{
	const cs_x86 *x86 = &d->insn->detail->x86;

	if (!in_group(d, CS_GRP_JUMP) && !in_group(d, CS_GRP_CALL))
		return false;
	if (x86->op_count < 1 || x86->operands[0].type != X86_OP_IMM)
		return false;
	*target = (u64)x86->operands[0].imm;
	return true;
}

/* Where a jmp or call through memory at a fixed place finds its target. */
static bool slot_target(const struct decoder *d, u64 *slot)
{
	const cs_x86_op *op = &d->insn->detail->x86.operands[0];

	if (!in_group(d, CS_GRP_JUMP) && !in_group(d, CS_GRP_CALL))
		return false;
	if (d->insn->detail->x86.op_count < 1 || op->type != X86_OP_MEM ||
	    op->mem.base != X86_REG_RIP || op->mem.index != X86_REG_INVALID)
		return false;
	*slot = d->insn->address + d->insn->size + (u64)op->mem.disp;
	return true;
}

/* Whether anything in the function may jump to somewhere after its entry and up to SHIFT. Code that does not decode, and
 * jumps through registers or tables, may. */
static bool is_jumped_to(struct decoder *d, const u8 *code, size_t size, u32 shift)
{
	u64 address = 0, target;

	while (size) {
		if (!cs_disasm_iter(d->handle, &code, &size, &address, d->insn))
			return true;
		if (direct_target(d, &target)) {
			if (target > 0 && target <= shift)
				return true;
		} else if (in_group(d, CS_GRP_JUMP) && !slot_target(d, &target)) {
			return true;
		}
	}
	return false;
}

int decode_entry(const u8 *code, size_t size, u32 args, struct decode_entry *out)
{
	CLEANUP(decoder_close) struct decoder d = {0};
	const u8 *at = code;
	size_t left = size < ENTRY_MAX ? size : ENTRY_MAX;
	u64 address = 0;
	int err = decoder_open(&d);

	if (err)
		return err;
	*out = (struct decode_entry){.stepped = true};
	while (cs_disasm_iter(d.handle, &at, &left, &address, d.insn)) {
		u32 shift = (u32)d.insn->address;

		if (is_emulated(d.insn)) {
			if (shift && is_jumped_to(&d, code, size, shift))
				return 0;
			*out = (struct decode_entry){.shift = shift};
			return 0;
		}
		if (is_flow(&d) || writes(&d, args | 1u << 31))
			return 0;
	}
	return address ? 0 : -EBADMSG;
}

int decode_targets(const u8 *code, size_t size, bool exact, u64 vaddr, decode_target_fn fn,
		   void *context)
{
	CLEANUP(decoder_close) struct decoder d = {0};
	u64 address = vaddr, farthest = vaddr, target;
	size_t left = size;
	int err = decoder_open(&d);

	while (!err && left && cs_disasm_iter(d.handle, &code, &left, &address, d.insn)) {
		bool call = in_group(&d, CS_GRP_CALL);
		bool ends = in_group(&d, CS_GRP_RET) || d.insn->id == X86_INS_JMP ||
			    d.insn->id == X86_INS_UD2 || d.insn->id == X86_INS_HLT;

		if (slot_target(&d, &target)) {
			err = fn(context, target, true);
		} else if (direct_target(&d, &target)) {
			bool near = target >= vaddr && target < vaddr + size;

			/* With a bound alone, a jmp forward may be to the next function. */
			if (call || !near || (!exact && ends && target > farthest))
				err = fn(context, target, false);
			else if (target > farthest)
				farthest = target;
		}
		if (!exact && ends && address > farthest)
			break;
	}
	return err;
}
