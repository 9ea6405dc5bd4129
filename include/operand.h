/* SPDX-License-Identifier: MIT */
/* How to read one argument of a marker at a site: decoded in user/ from the note's text ("-4@8(%rbp)"),
 * evaluated in bpf/ from the registers of the trap. */
#ifndef SPANTRACE_OPERAND_H
#define SPANTRACE_OPERAND_H

#include "types.h"

enum operand_form {
	OPERAND_NONE = 0,
	OPERAND_CONST = 1, /* disp is the value */
	OPERAND_REG = 2,   /* base's low SIZE bytes */
	OPERAND_MEM = 3,   /* SIZE bytes at base + index * scale + disp */
	OPERAND_FLOAT = 4, /* a floating-point value: decoded for `list`, never read */
};

/* Register numbers: x86-64 below; on arm64 0 to 30 are x0 to x30, 31 is sp. PC is the site's own address:
 * a symbol named relative to it becomes base PC with disp = symbol - site. */
enum operand_reg {
	OPERAND_RAX = 0,
	OPERAND_RDX = 1,
	OPERAND_RCX = 2,
	OPERAND_RBX = 3,
	OPERAND_RSI = 4,
	OPERAND_RDI = 5,
	OPERAND_RBP = 6,
	OPERAND_RSP = 7,
	OPERAND_R8 = 8,
	OPERAND_R9 = 9,
	OPERAND_R10 = 10,
	OPERAND_R11 = 11,
	OPERAND_R12 = 12,
	OPERAND_R13 = 13,
	OPERAND_R14 = 14,
	OPERAND_R15 = 15,
	OPERAND_PC = 64,
	OPERAND_NO_REG = 255,
};

struct operand {
	u8 form;      /* enum operand_form */
	u8 size;      /* 1, 2, 4 or 8 */
	u8 is_signed; /* sign-extend from SIZE */
	u8 base;      /* register or OPERAND_NO_REG */
	u8 index;     /* register or OPERAND_NO_REG */
	u8 scale;     /* 1, 2, 4, 8 */
	u8 high_byte; /* OPERAND_REG of size 1: %ah and friends, bits 8 to 15 */
	u8 reserved;
	s64 disp;
};

_Static_assert(sizeof(struct operand) == 16, "part of the site table");

#endif
