/* SPDX-License-Identifier: MIT */
/* See blockcache.h. */
#include "blockcache.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "cleanup.h"
#include "io.h"

/* 4 MiB at most. */
#define BLOCK_SIZE  (16u << 10)
#define BLOCK_SLOTS 256u

struct slot {
	u8 *data; /* NULL: never used */
	u64 number;
	bool changed;
};

struct blockcache {
	struct blockcache_last last; /* first, see blockcache.h */
	blockcache_read_fn read;
	void *source;
	int fd; /* of a scratch area; -1: all of it is in the slots */
	struct slot slots[BLOCK_SLOTS];
};

int blockcache_new(blockcache_read_fn read, void *source, struct blockcache **out)
{
	struct blockcache *cache = calloc(1, sizeof(*cache));

	if (!cache)
		return -ENOMEM;
	cache->read = read;
	cache->source = source;
	cache->fd = -1;
	*out = cache;
	return 0;
}

void blockcache_free(struct blockcache **out)
{
	struct blockcache *cache = *out;
	size_t i;

	if (!cache)
		return;
	*out = NULL;
	for (i = 0; i < BLOCK_SLOTS; i++)
		if (cache->slots[i].data)
			free(cache->slots[i].data);
	cleanup_close(&cache->fd);
	free(cache);
}

/* A file without a name, on a disk where there is a choice: /tmp is often memory. */
static int scratch_open(void)
{
	const char *folders[] = {getenv("TMPDIR"), "/var/tmp", "/tmp"};
	int err = -ENOENT;
	size_t i;

	for (i = 0; i < sizeof(folders) / sizeof(*folders); i++) {
		AUTO_FREE char *path = NULL;
		int fd;

		if (!folders[i] || !*folders[i])
			continue;
		fd = open(folders[i], O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
		if (fd >= 0)
			return fd;
		if (asprintf(&path, "%s/spantrace.XXXXXX", folders[i]) < 0) {
			path = NULL;
			return -ENOMEM;
		}
		fd = mkostemp(path, O_CLOEXEC);
		if (fd >= 0) {
			unlink(path);
			return fd;
		}
		err = -errno;
	}
	return err;
}

static int slot_save(struct blockcache *cache, struct slot *slot)
{
	int err;

	if (!slot->changed)
		return 0;
	if (cache->fd < 0) {
		int fd = scratch_open();

		if (fd < 0)
			return fd;
		cache->fd = fd;
	}
	err = io_write_at(cache->fd, slot->data, BLOCK_SIZE, (off_t)(slot->number * BLOCK_SIZE));
	if (err)
		return err;
	slot->changed = false;
	return 0;
}

static int scratch_load(const struct blockcache *cache, struct slot *slot)
{
	ssize_t done = 0;

	if (cache->fd >= 0)
		done = io_read_at(cache->fd, slot->data, BLOCK_SIZE,
				  (off_t)(slot->number * BLOCK_SIZE));
	if (done < 0)
		return (int)done;
	memset(slot->data + done, 0, BLOCK_SIZE - (size_t)done);
	return 0;
}

static struct slot *slot_used(struct blockcache *cache, struct slot *slot)
{
	cache->last = (struct blockcache_last){.data = slot->data,
					       .start = slot->number * BLOCK_SIZE,
					       .size = BLOCK_SIZE,
					       .changed = &slot->changed};
	return slot;
}

/* The slot that holds block NUMBER; its data is NULL when it could not be had, and *ERR says why. */
static struct slot *slot_of(struct blockcache *cache, u64 number, int *err)
{
	struct slot *slot = &cache->slots[number % BLOCK_SLOTS];

	*err = 0;
	if (slot->data && slot->number == number)
		return slot_used(cache, slot);
	cache->last.data = NULL;
	if (slot->data) {
		*err = slot_save(cache, slot);
		if (*err)
			return NULL;
	} else {
		slot->data = malloc(BLOCK_SIZE);
		if (!slot->data) {
			*err = -ENOMEM;
			return NULL;
		}
	}
	slot->number = number;
	*err = cache->read ? cache->read(cache->source, number * BLOCK_SIZE, slot->data, BLOCK_SIZE)
			   : scratch_load(cache, slot);
	if (*err) {
		free(slot->data);
		slot->data = NULL;
		return NULL;
	}
	return slot_used(cache, slot);
}

long blockcache_peek(struct blockcache *cache, u64 offset, const u8 **at)
{
	int err;
	const struct slot *slot = slot_of(cache, offset / BLOCK_SIZE, &err);

	if (!slot)
		return err;
	*at = slot->data + offset % BLOCK_SIZE;
	return (long)(BLOCK_SIZE - offset % BLOCK_SIZE);
}

int blockcache_read_block(struct blockcache *cache, u64 offset, void *buf, size_t size)
{
	u8 *to = buf;

	while (size) {
		const u8 *at = NULL;
		long n = blockcache_peek(cache, offset, &at);

		if (n < 0)
			return (int)n;
		if ((size_t)n > size)
			n = (long)size;
		memcpy(to, at, (size_t)n);
		to += n;
		offset += (u64)n;
		size -= (size_t)n;
	}
	return 0;
}

int blockcache_write_block(struct blockcache *cache, u64 offset, const void *buf, size_t size)
{
	const u8 *from = buf;

	while (size) {
		int err;
		struct slot *slot = slot_of(cache, offset / BLOCK_SIZE, &err);
		size_t at = offset % BLOCK_SIZE, n = BLOCK_SIZE - at;

		if (!slot)
			return err;
		if (n > size)
			n = size;
		memcpy(slot->data + at, from, n);
		slot->changed = true;
		from += n;
		offset += n;
		size -= n;
	}
	return 0;
}
