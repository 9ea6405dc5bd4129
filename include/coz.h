/* SPDX-License-Identifier: MIT */
/* What the shim in the target (usdt/coz_shim.c) and the loader (user/coz) say to each other, in packets on a Unix socket
 * that the target inherits; COZ_SHIM_ENV holds its number.
 *
 *   shim ▸ loader   COZ_HELLO once; an answer to each question
 *   loader ▸ shim   COZ_ASK: the counter of a point
 *
 * Either end may close at any moment; the other then goes on without it. */
#ifndef SPANTRACE_COZ_H
#define SPANTRACE_COZ_H

#include "types.h"

#define COZ_SHIM_ENV    "SPANTRACE_COZ"
#define COZ_SHIM_THREAD "spantrace-coz" /* what the shim's thread is called */
#define COZ_NAME_MAX    240

/* Of coz: the first argument of _coz_get_counter(). */
enum coz_counter {
	COZ_THROUGHPUT = 1,
	COZ_BEGIN = 2,
	COZ_END = 3,
};

enum coz_packet_kind {
	COZ_HELLO = 1, /* value: 1 where libcoz is there; point: the shim's thread */
	COZ_ASK = 2,   /* the counter of NAME */
	COZ_ANSWER = 3,
};

struct coz_packet {
	u32 kind;
	u32 counter; /* enum coz_counter */
	u64 point;   /* the loader's number of it, in question and answer */
	u64 address; /* COZ_ANSWER: of the counter in the target; 0: there is none */
	u64 value;   /* COZ_ANSWER: what it says already */
	char name[COZ_NAME_MAX];
};

_Static_assert(sizeof(struct coz_packet) == 32 + COZ_NAME_MAX, "no padding");

#endif
