/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* Programs at probes, kept apart from each other.
 *
 * From 6.13 on a program with large frames runs on a stack of its own: one a CPU, not one a run. But a program at a uprobe
 * can be preempted, a sleepable one can wait for a page, and another thread's hit then runs it on the same CPU, on the
 * same stack. So a program at a probe either
 * - keeps to the kernel's stack, and to its 512 bytes (SMALL_STACK): the kernel gives none of its own to a program that
 *   could do a tail call, and this one is never reached, which the verifier knows; or
 * - is not preempted. Then it must not sleep.
 */
#ifndef SPANTRACE_GUARD_BPF_H
#define SPANTRACE_GUARD_BPF_H

#include "maps.bpf.h"

#ifdef SMALL_STACK
static __always_inline void guard_begin(struct pt_regs *ctx)
{
	if (knob_never)
		bpf_tail_call(ctx, NULL, 0);
}

static __always_inline void guard_end(void)
{
}
#else
extern void bpf_preempt_disable(void) __ksym;
extern void bpf_preempt_enable(void) __ksym;

static __always_inline void guard_begin(struct pt_regs *ctx)
{
	bpf_preempt_disable();
}

static __always_inline void guard_end(void)
{
	bpf_preempt_enable();
}
#endif

/* Opens the body of a program at a probe. */
#define HIT_PROGRAM(section, name)                                  \
	static __always_inline int name##_hit(struct pt_regs *ctx); \
	SEC(section) int name(struct pt_regs *ctx)                  \
	{                                                           \
		int result;                                         \
                                                                    \
		guard_begin(ctx);                                   \
		result = name##_hit(ctx);                           \
		guard_end();                                        \
		return result;                                      \
	}                                                           \
	static __always_inline int name##_hit(struct pt_regs *ctx)

#endif
