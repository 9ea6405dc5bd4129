/* SPDX-License-Identifier: MIT */
/* Many bytes at any offset, in little memory: the blocks used last are kept, the rest stands somewhere else. That is
 * either a source that is read only (a part of a file), or a file without a name that is made when memory does not do. */
#ifndef SPANTRACE_BLOCKCACHE_H
#define SPANTRACE_BLOCKCACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "../../include/types.h"

struct blockcache;

/* Reads SIZE bytes at OFFSET of the source; what it does not have is zero. 0 or -errno. */
typedef int (*blockcache_read_fn)(void *source, u64 offset, void *buf, size_t size);

/* READ is NULL: a scratch area, zero wherever nothing was written. */
int blockcache_new(blockcache_read_fn read, void *source, struct blockcache **out);
void blockcache_free(struct blockcache **cache);
/* Through the table of blocks. 0 or -errno. */
int blockcache_read_block(struct blockcache *cache, u64 offset, void *buf, size_t size);
int blockcache_write_block(struct blockcache *cache, u64 offset, const void *buf, size_t size);

/* What each blockcache begins with: the block used last, as most reads and writes are in it. */
struct blockcache_last {
	u8 *data; /* NULL: none */
	u64 start;
	size_t size;
	bool *changed;
};

static inline u8 *blockcache_near(const struct blockcache *cache, u64 offset, size_t size)
{
	const struct blockcache_last *last = (const struct blockcache_last *)cache;
	u64 at = offset - last->start;

	return last->data && size <= last->size && at <= last->size - size ? last->data + at : NULL;
}

/* Both 0 or -errno. */
static inline int blockcache_read(struct blockcache *cache, u64 offset, void *buf, size_t size)
{
	const u8 *near = blockcache_near(cache, offset, size);

	if (!near)
		return blockcache_read_block(cache, offset, buf, size);
	memcpy(buf, near, size);
	return 0;
}

static inline int blockcache_write(struct blockcache *cache, u64 offset, const void *buf,
				   size_t size)
{
	u8 *near = blockcache_near(cache, offset, size);

	if (!near)
		return blockcache_write_block(cache, offset, buf, size);
	memcpy(near, buf, size);
	*((struct blockcache_last *)cache)->changed = true;
	return 0;
}

/* Points *AT to the byte at OFFSET and returns how many lie behind it in one piece, at least 1; good until the next
 * call. -errno. */
long blockcache_peek(struct blockcache *cache, u64 offset, const u8 **at);

#endif
