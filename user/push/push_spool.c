/* SPDX-License-Identifier: MIT */
/* See push_spool.h. */
#include "push_spool.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "../util/cleanup.h"
#include "../util/io.h"
#include "../util/log.h"

#define MAGIC    "spantrace-push 1"
#define DIGITS   23 /* of the serial */
#define HEAD_MAX 2048
#define FILE_MAX (HEAD_MAX + PUSH_BODY_MAX)

struct push_spool {
	char *name;
	int dir, lock;
};

void push_item_free(struct push_item *item)
{
	if (!item)
		return;
	free(item->path);
	free(item->type);
	text_buf_free(&item->body);
	free(item);
}

void push_spool_free(struct push_spool **out)
{
	struct push_spool *spool = *out;

	if (!spool)
		return;
	*out = NULL;
	cleanup_close(&spool->dir);
	cleanup_close(&spool->lock);
	free(spool->name);
	free(spool);
}

static void file_name(const struct push_spool *spool, u64 serial, const char *suffix,
		      char name[NAME_MAX + 1])
{
	snprintf(name, NAME_MAX + 1, "%.100s-%0*" PRIu64 ".%s", spool->name, DIGITS, serial,
		 suffix);
}

static int take_folder(struct push_spool *spool, const char *dir)
{
	char name[NAME_MAX + 1];

	if (mkdir(dir, 0700) && errno != EEXIST)
		return -errno;
	spool->dir = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (spool->dir < 0)
		return -errno;
	snprintf(name, sizeof(name), "%.100s.lock", spool->name);
	spool->lock = openat(spool->dir, name, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (spool->lock < 0 || flock(spool->lock, LOCK_EX | LOCK_NB))
		return -errno;
	return 0;
}

int push_spool_new(const char *dir, const char *name, struct push_spool **out)
{
	CLEANUP(push_spool_free) struct push_spool *spool = calloc(1, sizeof(*spool));
	int err;

	if (!spool)
		return -ENOMEM;
	spool->dir = spool->lock = -1;
	spool->name = strdup(name);
	if (!spool->name)
		return -ENOMEM;
	err = take_folder(spool, dir);
	if (err == -EWOULDBLOCK)
		log_error(
			"--spool %s: another spantrace uses it for --%s; give each a folder of its own",
			dir, name);
	else if (err)
		log_error("--spool %s: %s", dir, strerror(-err));
	if (err)
		return err;
	*out = TAKE_PTR(spool);
	return 0;
}

/* The serial of a file of ours; 0: it is not. */
static u64 serial_of(const struct push_spool *spool, const char *name)
{
	char own[NAME_MAX + 1];
	size_t len = strlen(spool->name);
	u64 serial;

	if (strncmp(name, spool->name, len) != 0 || name[len] != '-')
		return 0;
	serial = strtoull(name + len + 1, NULL, 10);
	file_name(spool, serial, "push", own);
	return strcmp(own, name) == 0 ? serial : 0;
}

static int item_order(const void *a, const void *b)
{
	const struct push_item *left = *(struct push_item *const *)a;
	const struct push_item *right = *(struct push_item *const *)b;

	return left->serial < right->serial ? -1 : left->serial > right->serial;
}

static void close_dir(DIR **dir)
{
	if (*dir)
		closedir(*dir);
}

/* What a run that was killed did not get to name. */
static bool is_left_over(const struct push_spool *spool, const char *name)
{
	size_t len = strlen(spool->name), all = strlen(name);

	return all > len + 4 && strncmp(name, spool->name, len) == 0 && name[len] == '-' &&
	       strcmp(name + all - 4, ".tmp") == 0;
}

/* Adds those of DIR to ITEMS, of which there is room for MAX. */
static int scan(struct push_spool *spool, DIR *dir, struct push_item **items, size_t max, size_t *n)
{
	const struct dirent *entry;

	while ((entry = readdir(dir))) {
		u64 serial = serial_of(spool, entry->d_name);
		struct stat status;

		if (is_left_over(spool, entry->d_name))
			unlinkat(spool->dir, entry->d_name, 0);
		if (!serial || fstatat(spool->dir, entry->d_name, &status, AT_SYMLINK_NOFOLLOW) ||
		    !S_ISREG(status.st_mode))
			continue;
		if (*n == max)
			return -E2BIG;
		items[*n] = calloc(1, sizeof(**items));
		if (!items[*n])
			return -ENOMEM;
		items[*n]->serial = serial;
		items[*n]->spooled = true;
		items[(*n)++]->len = (size_t)status.st_size;
	}
	return 0;
}

int push_spool_list(struct push_spool *spool, size_t max, struct push_item **out)
{
	AUTO_FREE struct push_item **items = calloc(max, sizeof(struct push_item *));
	CLEANUP(close_dir) DIR *dir = NULL;
	int fd = openat(spool->dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), err;
	size_t n = 0;

	if (fd < 0)
		return -errno;
	dir = fdopendir(fd);
	if (!dir || !items) {
		if (!dir)
			close(fd);
		return -ENOMEM;
	}
	err = scan(spool, dir, items, max, &n);
	qsort(items, n, sizeof(struct push_item *), item_order);
	*out = NULL;
	while (n) {
		items[--n]->next = *out;
		*out = items[n];
	}
	return err;
}

static u32 checksum(const struct text_buf *body)
{
	return (u32)crc32(crc32(0, NULL, 0), (const Bytef *)body->data, (uInt)body->len);
}

size_t push_spool_size(const struct push_item *item)
{
	return item->body.len + strlen(item->path) + strlen(item->type) + 64;
}

int push_spool_put(struct push_spool *spool, struct push_item *item)
{
	AUTO_CLOSE int fd = -1;
	char head[HEAD_MAX], name[NAME_MAX + 1], temporary[NAME_MAX + 1];
	int len = snprintf(head, sizeof(head), MAGIC "\n%s\n%s\n%s\n%zu\n%08" PRIx32 "\n",
			   item->path, item->type, item->gzip ? "gzip" : "plain", item->body.len,
			   checksum(&item->body));
	int err;

	if (len < 0 || (size_t)len >= sizeof(head))
		return -EMSGSIZE;
	file_name(spool, item->serial, "push", name);
	file_name(spool, item->serial, "tmp", temporary);
	fd = openat(spool->dir, temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
		    0600);
	if (fd < 0)
		return -errno;
	err = io_write(fd, head, (size_t)len);
	if (!err)
		err = io_write(fd, item->body.data, item->body.len);
	if (!err && fsync(fd))
		err = -errno;
	if (!err && renameat(spool->dir, temporary, spool->dir, name))
		err = -errno;
	if (!err && fsync(spool->dir) && errno != EINVAL)
		err = -errno;
	if (err) {
		unlinkat(spool->dir, temporary, 0);
		unlinkat(spool->dir, name, 0);
		return err;
	}
	item->len = (size_t)len + item->body.len;
	item->spooled = true;
	free(item->path);
	free(item->type);
	item->path = item->type = NULL;
	text_buf_free(&item->body);
	return 0;
}

/* Takes a line of what is left of TEXT. NULL: there is none, or it is none that was written here. */
static char *take_line(char **text)
{
	char *line = *text, *end = line + strcspn(line, "\n");

	if (!*end)
		return NULL;
	*end = '\0';
	*text = end + 1;
	for (const char *c = line; *c; c++)
		if ((u8)*c < ' ' || *c == 0x7f)
			return NULL;
	return line;
}

/* Reads the whole of a file into OUT, NUL-terminated behind its LEN bytes. */
static int read_file(int fd, char **out, size_t *len)
{
	AUTO_FREE char *bytes = NULL;
	struct stat status;
	ssize_t at;

	if (fstat(fd, &status))
		return -errno;
	if (!S_ISREG(status.st_mode) || status.st_size > (off_t)FILE_MAX)
		return -EBADMSG;
	bytes = malloc((size_t)status.st_size + 1);
	if (!bytes)
		return -ENOMEM;
	at = io_read(fd, bytes, (size_t)status.st_size);
	if (at < 0)
		return (int)at;
	bytes[at] = '\0';
	*len = (size_t)at;
	*out = TAKE_PTR(bytes);
	return 0;
}

static int parse(char *bytes, size_t size, struct push_item *copy)
{
	char *at = bytes, *end = bytes + size;
	const char *magic = take_line(&at), *path = magic ? take_line(&at) : NULL;
	const char *type = path ? take_line(&at) : NULL, *packed = type ? take_line(&at) : NULL;
	const char *length = packed ? take_line(&at) : NULL;
	const char *sum = length ? take_line(&at) : NULL;

	if (!sum || strcmp(magic, MAGIC) != 0 || *path != '/' || !*type ||
	    (strcmp(packed, "gzip") != 0 && strcmp(packed, "plain") != 0) ||
	    strtoull(length, NULL, 10) != (u64)(end - at))
		return -EBADMSG;
	copy->gzip = strcmp(packed, "gzip") == 0;
	copy->path = strdup(path);
	copy->type = strdup(type);
	text_add(&copy->body, at, (size_t)(end - at));
	if (!copy->path || !copy->type || copy->body.failed)
		return -ENOMEM;
	return strtoul(sum, NULL, 16) == checksum(&copy->body) ? 0 : -EBADMSG;
}

int push_spool_get(struct push_spool *spool, const struct push_item *item, struct push_item *copy)
{
	AUTO_CLOSE int fd = -1;
	AUTO_FREE char *bytes = NULL;
	char name[NAME_MAX + 1];
	size_t len = 0;
	int err;

	file_name(spool, item->serial, "push", name);
	fd = openat(spool->dir, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return -errno;
	err = read_file(fd, &bytes, &len);
	return err ? err : parse(bytes, len, copy);
}

void push_spool_drop(struct push_spool *spool, const struct push_item *item)
{
	char name[NAME_MAX + 1];

	file_name(spool, item->serial, "push", name);
	unlinkat(spool->dir, name, 0);
}
