/* SPDX-License-Identifier: MIT */
/* Many bytes at any offset, in little memory: the blocks used last are kept, the rest stands somewhere else. That is
 * either a source that is read only (a part of a file), or a file without a name that is made when memory does not do. */
#ifndef SPANTRACE_BLOCKCACHE_H
#define SPANTRACE_BLOCKCACHE_H

#include <stddef.h>

#include "../../include/types.h"

struct blockcache;

/* Reads SIZE bytes at OFFSET of the source; what it does not have is zero. 0 or -errno. */
typedef int (*blockcache_read_fn)(void *source, u64 offset, void *buf, size_t size);

/* READ is NULL: a scratch area, zero wherever nothing was written. */
int blockcache_new(blockcache_read_fn read, void *source, struct blockcache **out);
void blockcache_free(struct blockcache **cache);
/* 0 or -errno. */
int blockcache_read(struct blockcache *cache, u64 offset, void *buf, size_t size);
int blockcache_write(struct blockcache *cache, u64 offset, const void *buf, size_t size);
/* Points *AT to the byte at OFFSET and returns how many lie behind it in one piece, at least 1; good until the next
 * call. -errno. */
long blockcache_peek(struct blockcache *cache, u64 offset, const u8 **at);

#endif
