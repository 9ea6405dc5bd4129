/* SPDX-License-Identifier: MIT */
/* What the threads of several runs did, in the order of ends, kept in a file without a name and read back from its end:
 * memory is a block for each thread, however long the runs are. */
#ifndef SPANTRACE_SEQUENCE_STORE_H
#define SPANTRACE_SEQUENCE_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "../../include/types.h"

#define SEQUENCE_INSTANT UINT64_MAX

struct sequence_record {
	u64 start_ns; /* SEQUENCE_INSTANT: an event, at end_ns */
	u64 end_ns;
	u64 what; /* a hash of its kind and name */
};

/* One thread's records of one run. Starts as zeroes. */
struct sequence_chain {
	u64 n;
	off_t last;                   /* the block before the one in memory; 0: none */
	struct sequence_block *block; /* under way; NULL once the chain is closed */
};

struct sequence_store {
	int fd;
	off_t size;
};

/* 0 or -errno. */
int sequence_store_open(struct sequence_store *store);
void sequence_store_close(struct sequence_store *store);
/* Each returns 0 or -errno. */
int sequence_append(struct sequence_store *store, struct sequence_chain *chain,
		    const struct sequence_record *record);
/* Nothing comes after this. */
int sequence_close(struct sequence_store *store, struct sequence_chain *chain);
void sequence_chain_free(struct sequence_chain *chain);

/* Reads a closed chain from its end. */
struct sequence_cursor {
	const struct sequence_store *store;
	struct sequence_block *block;
	off_t before; /* the block before it */
	u32 left;     /* records of the block that were not read */
	u64 at;       /* number of the record that comes next, from the chain's start, plus 1 */
};

void sequence_cursor_start(struct sequence_cursor *cursor, const struct sequence_store *store,
			   const struct sequence_chain *chain);
/* The record before, without taking it; *OUT is NULL at the chain's start. 0 or -errno. */
int sequence_peek(struct sequence_cursor *cursor, const struct sequence_record **out);
void sequence_take(struct sequence_cursor *cursor);
void sequence_cursor_free(struct sequence_cursor *cursor);

#endif
