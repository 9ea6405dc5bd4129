/* SPDX-License-Identifier: MIT */
/* The kernel's table of live blocks, played by plain memory: batches come in the order of the array, and what is deleted
 * is gone. Comes behind <cmocka.h>. */
#ifndef SPANTRACE_TEST_BLOCKS_H
#define SPANTRACE_TEST_BLOCKS_H

#include <bpf/bpf.h>
#include <errno.h>
#include <stdbool.h>

#include "../../include/wire.h"

enum { BLOCKS_MAX = 30000 };

struct blocks {
	struct wire_object_key keys[BLOCKS_MAX];
	struct wire_object objects[BLOCKS_MAX];
	bool gone[BLOCKS_MAX];
	u32 n;
	u32 freed_meanwhile; /* the program frees that one before the loader deletes it; 0: none */
	int error;           /* of the next look */
	u32 looks, deletions;
};

static struct blocks blocks;

static inline void blocks_add(u64 address, u32 process, u32 row, u64 bytes, u64 time_ns)
{
	assert_true(blocks.n < BLOCKS_MAX);
	blocks.keys[blocks.n] = (struct wire_object_key){.address = address, .process = process};
	blocks.objects[blocks.n++] =
		(struct wire_object){.bytes = bytes, .time_ns = time_ns, .row = row, .objects = 1};
}

static inline u32 blocks_left(void)
{
	u32 i, left = 0;

	for (i = 0; i < blocks.n; i++)
		left += !blocks.gone[i];
	return left;
}

/* In the place of libbpf's. */
int bpf_map_lookup_batch(int fd, void *in, void *out, void *keys, void *values, __u32 *count,
			 const struct bpf_map_batch_opts *opts)
{
	u32 at = in ? *(u32 *)in : 0, n = 0;

	(void)fd;
	(void)opts;
	blocks.looks++;
	if (blocks.error)
		return blocks.error;
	for (; at < blocks.n && n < *count; at++) {
		if (blocks.gone[at])
			continue;
		((struct wire_object_key *)keys)[n] = blocks.keys[at];
		((struct wire_object *)values)[n++] = blocks.objects[at];
	}
	*count = n;
	*(u32 *)out = at;
	return at == blocks.n ? -ENOENT : 0;
}

int bpf_map_delete_batch(int fd, const void *keys, __u32 *count,
			 const struct bpf_map_batch_opts *opts)
{
	const struct wire_object_key *wanted = keys;
	u32 n, i;

	(void)fd;
	(void)opts;
	for (n = 0; n < *count; n++) {
		for (i = 0; i < blocks.n; i++)
			if (blocks.keys[i].address == wanted[n].address &&
			    blocks.keys[i].process == wanted[n].process)
				break;
		assert_true(i < blocks.n);
		if (blocks.freed_meanwhile == i && i) {
			blocks.freed_meanwhile = 0;
			blocks.gone[i] = true;
			*count = n;
			return -ENOENT;
		}
		assert_false(blocks.gone[i]);
		blocks.gone[i] = true;
		blocks.deletions++;
	}
	return 0;
}

#endif
