/* SPDX-License-Identifier: MIT */
/* Blocks that lead to the one before, in one file for all chains. See sequence_store.h. */
#include "sequence_store.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "../util/cleanup.h"
#include "../util/io.h"

/* A chain's first blocks are small: there may be very many threads that do little. */
#define BLOCK_FIRST 8u
#define BLOCK_MOST  256u

/* Offset 0 says that there is no block. */
#define FILE_START 8

struct sequence_block {
	off_t before;
	u32 n;
	u32 room;
	struct sequence_record records[];
};

static size_t block_size(u32 records)
{
	return sizeof(struct sequence_block) + records * sizeof(struct sequence_record);
}

int sequence_store_open(struct sequence_store *store)
{
	const char *directory = getenv("TMPDIR");
	int fd = open(directory && *directory ? directory : "/tmp",
		      O_TMPFILE | O_RDWR | O_CLOEXEC | O_EXCL, 0600);

	/* Not every file system has files without a name. */
	if (fd < 0) {
		AUTO_FCLOSE FILE *file = tmpfile();

		fd = file ? fcntl(fileno(file), F_DUPFD_CLOEXEC, 0) : -1;
	}
	if (fd < 0)
		return -errno;
	*store = (struct sequence_store){.fd = fd, .size = FILE_START};
	return 0;
}

void sequence_store_close(struct sequence_store *store)
{
	cleanup_close(&store->fd);
	store->fd = -1;
}

/* What was written there is all there. */
static int read_back(int fd, void *data, size_t size, off_t at)
{
	ssize_t n = io_read_at(fd, data, size, at);

	if (n < 0)
		return (int)n;
	return (size_t)n == size ? 0 : -EIO;
}

static int write_block(struct sequence_store *store, struct sequence_chain *chain)
{
	struct sequence_block *block = chain->block;
	size_t size = block_size(block->n);
	int err;

	block->before = chain->last;
	err = io_write_at(store->fd, block, size, store->size);
	if (err)
		return err;
	chain->last = store->size;
	store->size += (off_t)size;
	block->n = 0;
	return 0;
}

static int make_room(struct sequence_store *store, struct sequence_chain *chain)
{
	u32 room = chain->block ? chain->block->room * 2 : BLOCK_FIRST;
	struct sequence_block *block;
	int err;

	if (chain->block) {
		err = write_block(store, chain);
		if (err || chain->block->room == BLOCK_MOST)
			return err;
	}
	block = realloc(chain->block, block_size(room));
	if (!block)
		return -ENOMEM;
	block->n = 0;
	block->room = room;
	chain->block = block;
	return 0;
}

int sequence_append(struct sequence_store *store, struct sequence_chain *chain,
		    const struct sequence_record *record)
{
	if (!chain->block || chain->block->n == chain->block->room) {
		int err = make_room(store, chain);

		if (err)
			return err;
	}
	chain->block->records[chain->block->n++] = *record;
	chain->n++;
	return 0;
}

int sequence_close(struct sequence_store *store, struct sequence_chain *chain)
{
	int err = chain->block && chain->block->n ? write_block(store, chain) : 0;

	sequence_chain_free(chain);
	return err;
}

void sequence_chain_free(struct sequence_chain *chain)
{
	free(chain->block);
	chain->block = NULL;
}

void sequence_cursor_start(struct sequence_cursor *cursor, const struct sequence_store *store,
			   const struct sequence_chain *chain)
{
	*cursor = (struct sequence_cursor){.store = store, .before = chain->last, .at = chain->n};
}

int sequence_peek(struct sequence_cursor *cursor, const struct sequence_record **out)
{
	*out = NULL;
	if (!cursor->left) {
		int fd = cursor->store->fd, err;

		if (!cursor->before)
			return 0;
		if (!cursor->block)
			cursor->block = malloc(block_size(BLOCK_MOST));
		if (!cursor->block)
			return -ENOMEM;
		err = read_back(fd, cursor->block, block_size(0), cursor->before);
		if (!err)
			err = read_back(fd, cursor->block->records,
					cursor->block->n * sizeof(struct sequence_record),
					cursor->before + (off_t)block_size(0));
		if (err)
			return err;
		cursor->left = cursor->block->n;
		cursor->before = cursor->block->before;
	}
	*out = &cursor->block->records[cursor->left - 1];
	return 0;
}

void sequence_take(struct sequence_cursor *cursor)
{
	cursor->left--;
	cursor->at--;
}

void sequence_cursor_free(struct sequence_cursor *cursor)
{
	free(cursor->block);
	cursor->block = NULL;
}
