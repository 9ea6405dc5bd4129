/* SPDX-License-Identifier: MIT */
/* Reads /proc/PID/maps; see procmaps.h. */
#include "procmaps.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "../util/cleanup.h"

#define DELETED " (deleted)"

static void cleanup_closedir(DIR **dir)
{
	if (*dir)
		closedir(*dir);
}

/* The text of one line, eaten from the left. */
struct line {
	const char *at, *end;
};

static bool take_number(struct line *l, unsigned base, u64 *out)
{
	const char *begin = l->at;
	u64 value = 0;

	for (; l->at < l->end; l->at++) {
		unsigned char c = (unsigned char)*l->at;
		unsigned digit = base;

		if (c >= '0' && c <= '9')
			digit = (unsigned)(c - '0');
		else if (c >= 'a' && c <= 'f')
			digit = (unsigned)(c - 'a') + 10;
		if (digit >= base)
			break;
		if (__builtin_mul_overflow(value, (u64)base, &value) ||
		    __builtin_add_overflow(value, (u64)digit, &value))
			return false;
	}
	*out = value;
	return l->at > begin;
}

static bool take_char(struct line *l, char c)
{
	if (l->at == l->end || *l->at != c)
		return false;
	l->at++;
	return true;
}

bool procmaps_cut_deleted(char *path)
{
	size_t len = strlen(path), suffix = strlen(DELETED);

	if (len <= suffix || strcmp(path + len - suffix, DELETED) != 0)
		return false;
	path[len - suffix] = '\0';
	return true;
}

/* Copies the path to OUT and returns what it takes there; the kernel writes a newline in it as `\012`, and
 * nothing else. */
static size_t copy_path(struct line l, char *out, bool *deleted)
{
	size_t n = 0;

	while (l.at < l.end) {
		if (l.end - l.at >= 4 && !memcmp(l.at, "\\012", 4)) {
			out[n++] = '\n';
			l.at += 4;
		} else {
			out[n++] = *l.at++;
		}
	}
	out[n] = '\0';
	*deleted = procmaps_cut_deleted(out);
	return n + 1;
}

/* One line: "start-end perms offset major:minor inode   path". L is left at the path. */
static bool parse_line(struct line *l, struct procmap *map, bool *executable)
{
	u64 major, minor;

	if (!take_number(l, 16, &map->start) || !take_char(l, '-') ||
	    !take_number(l, 16, &map->end) || !take_char(l, ' ') || l->end - l->at < 5)
		return false;
	*executable = l->at[2] == 'x';
	l->at += 4;
	if (!take_char(l, ' ') || !take_number(l, 16, &map->offset) || !take_char(l, ' ') ||
	    !take_number(l, 16, &major) || !take_char(l, ':') || !take_number(l, 16, &minor) ||
	    !take_char(l, ' ') || !take_number(l, 10, &map->inode))
		return false;
	map->dev = makedev((unsigned)major, (unsigned)minor);
	while (take_char(l, ' '))
		;
	return map->start < map->end;
}

int procmaps_parse(const char *text, size_t len, pid_t task, struct procmap **out, size_t *n)
{
	AUTO_FREE struct procmap *maps = NULL;
	const char *end = text + len, *next;
	size_t lines = 0, count = 0;
	char *paths;

	for (const char *at = text; at < end && (at = memchr(at, '\n', (size_t)(end - at))); at++)
		lines++;
	/* Room for every line's struct, then for every path: no longer than the text itself. */
	maps = malloc((lines + 1) * sizeof(*maps) + len + 1);
	if (!maps)
		return -ENOMEM;
	paths = (char *)(maps + lines + 1);
	for (const char *at = text; at < end; at = next) {
		const char *newline = memchr(at, '\n', (size_t)(end - at));
		struct line line = {at, newline};
		struct procmap map = {.task = task};
		bool executable;

		if (!newline || !parse_line(&line, &map, &executable))
			return -EBADMSG;
		next = newline + 1;
		if (!executable || map.inode == 0 || line.at == line.end)
			continue;
		map.path = paths;
		paths += copy_path(line, paths, &map.deleted);
		maps[count++] = map;
	}
	*out = TAKE_PTR(maps);
	*n = count;
	return 0;
}

/* The whole of a file in /proc, whose size nobody knows before. */
static int read_all(int fd, char **out, size_t *len)
{
	AUTO_FREE char *text = NULL;
	size_t used = 0, size = 0;

	for (;;) {
		ssize_t got;

		if (size - used < 4096) {
			char *more = realloc(text, size = size ? size * 2 : 65536);

			if (!more)
				return -ENOMEM;
			text = more;
		}
		got = read(fd, text + used, size - used);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -errno;
		if (got == 0)
			break;
		used += (size_t)got;
	}
	*out = TAKE_PTR(text);
	*len = used;
	return 0;
}

static int read_task(pid_t task, struct procmap **out, size_t *n)
{
	AUTO_CLOSE int fd = -1;
	AUTO_FREE char *text = NULL;
	char path[64];
	size_t len = 0;
	int err;

	snprintf(path, sizeof(path), "/proc/%d/maps", task);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOENT ? -ESRCH : -errno;
	err = read_all(fd, &text, &len);
	return err ? err : procmaps_parse(text, len, task, out, n);
}

/* When the main thread has ended and others run on, its own maps are empty: ask the others. */
static int read_threads(pid_t pid, struct procmap **out, size_t *n)
{
	CLEANUP(cleanup_closedir) DIR *dir = NULL;
	struct dirent *entry;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	dir = opendir(path);
	if (!dir)
		return errno == ENOENT ? -ESRCH : -errno;
	while ((entry = readdir(dir))) {
		AUTO_FREE struct procmap *maps = NULL;
		int task = atoi(entry->d_name);
		size_t count = 0;

		if (task <= 0 || task == pid || read_task(task, &maps, &count) || count == 0)
			continue;
		free(*out);
		*out = TAKE_PTR(maps);
		*n = count;
		break;
	}
	return 0;
}

int procmaps_read(pid_t pid, struct procmap **out, size_t *n)
{
	AUTO_FREE struct procmap *maps = NULL;
	size_t count = 0;
	int err = read_task(pid, &maps, &count);

	if (!err && count == 0)
		err = read_threads(pid, &maps, &count);
	if (err)
		return err;
	*out = TAKE_PTR(maps);
	*n = count;
	return 0;
}

static int compare_file(const struct procmap *a, const struct procmap *b)
{
	int order = (a->dev > b->dev) - (a->dev < b->dev);

	return order ? order : (a->inode > b->inode) - (a->inode < b->inode);
}

static int compare_file_start(const void *a, const void *b)
{
	const struct procmap *ma = a, *mb = b;
	int order = compare_file(ma, mb);

	return order ? order : (ma->start > mb->start) - (ma->start < mb->start);
}

static int compare_start(const void *a, const void *b)
{
	const struct procmap *ma = a, *mb = b;

	return (ma->start > mb->start) - (ma->start < mb->start);
}

size_t procmaps_unique(struct procmap *maps, size_t n)
{
	size_t kept = 0;

	if (n == 0)
		return 0;
	qsort(maps, n, sizeof(*maps), compare_file_start);
	for (size_t i = 0; i < n; i++)
		if (kept == 0 || compare_file(&maps[kept - 1], &maps[i]) != 0)
			maps[kept++] = maps[i];
	qsort(maps, kept, sizeof(*maps), compare_start);
	return kept;
}

/* A regular file only: to open a device can change it, and to open a FIFO can wait for ever. */
static int open_regular(const char *path, struct stat *st)
{
	AUTO_CLOSE int fd = -1;

	if (stat(path, st))
		return -errno;
	if (!S_ISREG(st->st_mode))
		return -EINVAL;
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0 || fstat(fd, st))
		return -errno;
	return TAKE_FD(fd);
}

int procmaps_open(const struct procmap *map)
{
	AUTO_CLOSE int fd = -1;
	char path[PATH_MAX + 64];
	struct stat st;
	int err;

	snprintf(path, sizeof(path), "/proc/%d/map_files/%" PRIx64 "-%" PRIx64, map->task,
		 map->start, map->end);
	err = open_regular(path, &st);
	if (err >= 0 || err == -EINVAL)
		return err;
	if (err == -ENOENT) {
		/* The process and the mapping go together, or the mapping alone went. */
		return -ESRCH;
	}

	/* map_files asks for more rights than reading maps does. */
	if (snprintf(path, sizeof(path), "/proc/%d/root%s", map->task, map->path) >=
	    (int)sizeof(path))
		return -ENAMETOOLONG;
	if (map->deleted)
		return err;
	fd = open_regular(path, &st);
	if (fd == -ENOENT)
		return -ESTALE;
	if (fd >= 0 && st.st_ino != map->inode)
		return -ESTALE;
	return fd < 0 ? fd : TAKE_FD(fd);
}

int procmaps_open_here(const struct procmap *map)
{
	AUTO_CLOSE int fd = -1;
	struct stat st;

	if (map->deleted)
		return -ESTALE;
	fd = open_regular(map->path, &st);
	if (fd < 0)
		return fd;
	return st.st_ino == map->inode && st.st_dev == map->dev ? TAKE_FD(fd) : -ESTALE;
}
