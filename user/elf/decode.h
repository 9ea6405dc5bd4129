/* SPDX-License-Identifier: MIT */
/* What must be known of a function's machine code to put a probe on it: where the probe is cheap and sees the arguments,
 * and which other functions it goes on to. x86-64 only.
 *
 * The kernel emulates nop, push, call, jmp and jcc; on any other instruction a probe costs a single step, ten times as
 * much. So a probe moves on to the first emulated instruction, over those that leave the stack pointer and the arguments
 * alone. All code comes from a target's file: any bytes do.
 */
#ifndef SPANTRACE_DECODE_H
#define SPANTRACE_DECODE_H

#include <stdbool.h>
#include <stddef.h>

#include "../../include/types.h"

/* Arguments in registers, as bits: 0 is the first. */
#define DECODE_ARGS_MAX 3

struct decode_entry {
	u32 shift;    /* where the probe goes, counted from the entry */
	bool stepped; /* the instruction there is single-stepped */
};

/* Looks at the SIZE bytes of a function whose arguments ARGS (bits) a probe wants to read. 0, -EBADMSG where its first
 * instruction is none, -ENOMEM. */
int decode_entry(const u8 *code, size_t size, u32 args, struct decode_entry *out);

/* Called for each direct call, and for each jmp or jcc out of the function; SLOT: TARGET is where the address stands
 * (a jmp or call through memory), else the address itself. Not 0 ends the walk. */
typedef int (*decode_target_fn)(void *context, u64 target, bool slot);
/* Walks the function at address VADDR, at most SIZE bytes of it. Without EXACT, SIZE is only a bound, and the function
 * ends where its code does: behind the last ret or jmp that no branch passes over. 0, what FN returned, or -ENOMEM. */
int decode_targets(const u8 *code, size_t size, bool exact, u64 vaddr, decode_target_fn fn,
		   void *context);

#endif
