/* SPDX-License-Identifier: MIT */
/* What sequence.c (runs in, differences out) and sequence_text.c (names of what is extreme) share. */
#ifndef SPANTRACE_SEQUENCE_IMPL_H
#define SPANTRACE_SEQUENCE_IMPL_H

#include "../util/intmap.h"
#include "../util/strpool.h"
#include "sequence.h"
#include "sequence_store.h"

struct sequence_thread {
	u32 serial;
	u32 tid;
	u32 place; /* the same in each run: the tid of a thread without a name, else which one of that name */
	char comm[MODEL_COMM_LEN + 1];
	struct sequence_chain chain;
};

/* One run; its threads sorted by comm and place once it has ended. */
struct sequence_run {
	struct sequence_thread *threads;
	u32 nthreads;
};

/* A record whose name is wanted. */
struct sequence_name {
	u32 thread; /* of the first run */
	u64 record;
	const char *text; /* NULL: not found yet */
};

struct sequence {
	struct sequence_store store;
	struct sequence_run *runs;
	size_t nruns;
	struct intmap serials; /* of the run under way: serial → 1 + index of its thread */
	struct sequence_result result;
	int err; /* the first of the run under way */

	struct sequence_name *names; /* sorted by thread and record */
	size_t nnames;
	struct strpool *texts;
};

#endif
