// SPDX-License-Identifier: MIT
/* Strings laid end to end in blocks that double up to a limit; see strpool.h. */
#include "strpool.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* The first block holds what a file with a few markers needs. */
#define FIRST_BLOCK 1024
#define LAST_BLOCK  (256 * 1024UL)

struct block {
	struct block *next;
	char data[];
};

struct strpool {
	struct block *blocks;
	char *free;
	size_t free_size;
	size_t next_size;
};

int strpool_new(struct strpool **out)
{
	struct strpool *pool = calloc(1, sizeof(*pool));

	if (!pool)
		return -ENOMEM;
	pool->next_size = FIRST_BLOCK;
	*out = pool;
	return 0;
}

void strpool_free(struct strpool **pool)
{
	struct block *block, *next;

	if (!*pool)
		return;
	for (block = (*pool)->blocks; block; block = next) {
		next = block->next;
		free(block);
	}
	free(*pool);
	*pool = NULL;
}

static int add_block(struct strpool *pool, size_t need)
{
	size_t size = pool->next_size > need ? pool->next_size : need;
	struct block *block;

	if (size > SIZE_MAX - sizeof(*block))
		return -ENOMEM;
	block = malloc(sizeof(*block) + size);
	if (!block)
		return -ENOMEM;
	block->next = pool->blocks;
	pool->blocks = block;
	pool->free = block->data;
	pool->free_size = size;
	if (pool->next_size < LAST_BLOCK)
		pool->next_size += pool->next_size;
	return 0;
}

char *strpool_add(struct strpool *pool, const char *text, size_t len)
{
	char *copy;

	if (len == SIZE_MAX || (pool->free_size < len + 1 && add_block(pool, len + 1)))
		return NULL;
	copy = pool->free;
	if (len)
		memcpy(copy, text, len);
	copy[len] = '\0';
	pool->free += len + 1;
	pool->free_size -= len + 1;
	return copy;
}

char *strpool_add_printable(struct strpool *pool, const char *text, size_t len)
{
	char *copy = strpool_add(pool, text, len);

	for (size_t i = 0; copy && i < len; i++) {
		if (copy[i] >= '\t' && copy[i] <= '\r')
			copy[i] = ' ';
		else if ((unsigned char)copy[i] < ' ' || copy[i] == 0x7f)
			copy[i] = '?';
	}
	return copy;
}
