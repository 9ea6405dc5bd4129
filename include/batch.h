/* SPDX-License-Identifier: MIT */
/* The batched lane: the buffer that usdt/spantrace.h keeps for each thread, and that bpf/ reads.
 *
 * A thread writes ops into it: an enter, an exit or an event, with its time, its marker and the stack pointer. state counts
 * them, and grows only when one is whole. The kernel side fetches what is new when the marker of NOTE_FETCH fires (the
 * buffer is full, or its deadline has passed), and whenever the order of things on the thread asks for it. A full buffer
 * begins again at its front once it was fetched. All of it is memory of the program: nothing in it is true.
 */
#ifndef SPANTRACE_BATCH_H
#define SPANTRACE_BATCH_H

#include "types.h"

#define BATCH_OPS 200u
#define BATCH_MAGIC \
	0x7370616e62617463ULL /* xor the buffer's address: it is a buffer that was fetched once */

#define BATCH_OP_MARKER(what) ((u32)(what)&0xffff)
#define BATCH_OP_SP(what)     ((what) >> 16)
#define BATCH_MARKERS_MAX     0xffffu /* in one binary; also: */
#define BATCH_OP_VALUE        0xffffu /* the op's time is the value of the event behind it */

struct batch_op {
	u64 time;
	u64 what; /* stack pointer << 16 | number of the marker */
};

struct batch_head {
	u64 magic;
	u64 state;    /* how often it was full << 32 | ops in it */
	u64 dropped;  /* ops that a signal handler could not write */
	u64 deadline; /* for the program alone */
	u64 clock;    /* BATCH_CLOCK_TSC: the clock of the ops and CLOCK_MONOTONIC at one instant */
	u64 clock_ns;
	u64 busy; /* for the program alone */
	u64 born; /* when it was fetched first: another buffer can have the address of one that is gone */
};

struct batch_buffer {
	struct batch_head head;
	struct batch_op ops[BATCH_OPS];
};

/* What times of ops are on, in NOTE_FETCH. */
#define BATCH_CLOCK_MONOTONIC 0
#define BATCH_CLOCK_TSC       1 /* x86-64: the time stamp counter, arm64: cntvct_el0 */

_Static_assert(sizeof(struct batch_head) == 64, "as in usdt/spantrace.h");
_Static_assert(sizeof(struct batch_buffer) == 3264, "as in usdt/spantrace.h");

#endif
