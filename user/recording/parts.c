/* SPDX-License-Identifier: MIT */
/* See parts.h. */
#include "parts.h"

#include <dirent.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../util/cleanup.h"
#include "../util/grow.h"
#include "../util/log.h"

#define NUMBER_DIGITS 9 /* more are no number of ours */

/* "dir/run.spans" ▸ folder "dir/", stem "run", ending ".spans"; lengths into the path. */
struct parts_split {
	size_t folder, stem;
	const char *name, *ending;
};

static struct parts_split parts_split(const char *path)
{
	const char *slash = strrchr(path, '/');
	struct parts_split split = {.name = slash ? slash + 1 : path};

	split.folder = (size_t)(split.name - path);
	split.ending = strrchr(split.name, '.');
	/* A name that begins with its only dot has no ending. */
	if (!split.ending || split.ending == split.name)
		split.ending = split.name + strlen(split.name);
	split.stem = (size_t)(split.ending - split.name);
	return split;
}

char *parts_name(const char *path, u32 number)
{
	struct parts_split split = parts_split(path);
	char *name;

	if (asprintf(&name, "%.*s.%u%s", (int)(split.folder + split.stem), path, number,
		     split.ending) < 0)
		return NULL;
	return name;
}

/* The number in NAME, or 0 where it is no part. */
static u32 parts_number(const struct parts_split *split, const char *name)
{
	const char *at = name + split->stem + 1;
	u32 number = 0;
	int digits = 0;

	if (strncmp(name, split->name, split->stem) != 0 || name[split->stem] != '.' || *at == '0')
		return 0;
	for (; *at >= '0' && *at <= '9' && digits < NUMBER_DIGITS; at++, digits++)
		number = number * 10 + (u32)(*at - '0');
	return digits && strcmp(at, split->ending) == 0 ? number : 0;
}

static int compare_numbers(const void *a, const void *b)
{
	const u32 *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static void parts_closedir(DIR **folder)
{
	if (*folder)
		closedir(*folder);
}

int parts_find(const char *path, u32 **numbers, size_t *n)
{
	struct parts_split split = parts_split(path);
	AUTO_FREE char *where = split.folder ? strndup(path, split.folder) : strdup(".");
	CLEANUP(parts_closedir) DIR *folder = NULL;
	AUTO_FREE u32 *found = NULL;
	struct dirent *entry;
	size_t nfound = 0;

	if (!where)
		return -ENOMEM;
	folder = opendir(where);
	if (!folder)
		return -errno;
	while ((errno = 0, entry = readdir(folder))) {
		u32 number = parts_number(&split, entry->d_name);

		if (!number)
			continue;
		if (GROW(found, nfound))
			return -ENOMEM;
		found[nfound++] = number;
	}
	if (errno)
		return -errno;
	if (nfound)
		qsort(found, nfound, sizeof(*found), compare_numbers);
	*numbers = TAKE_PTR(found);
	*n = nfound;
	return 0;
}

static int parts_list(const char *path, u32 **numbers, size_t *n)
{
	int err = parts_find(path, numbers, n);

	if (err)
		log_error("cannot look for the parts of %s: %s", path, strerror(-err));
	return err;
}

/* FROM may be 0: PATH itself. */
static int parts_move(const char *path, u32 from, u32 to)
{
	AUTO_FREE char *source = from ? parts_name(path, from) : strdup(path);
	AUTO_FREE char *target = parts_name(path, to);
	int err;

	if (!source || !target)
		return -ENOMEM;
	if (rename(source, target) == 0)
		return 0;
	err = -errno;
	log_error("cannot rename %s to %s: %s", source, target, strerror(-err));
	return err;
}

static int parts_remove(const char *path, u32 number)
{
	AUTO_FREE char *name = parts_name(path, number);
	int err;

	if (!name)
		return -ENOMEM;
	/* One that someone else took away is gone all the same. */
	if (unlink(name) == 0 || errno == ENOENT)
		return 0;
	err = -errno;
	log_error("cannot remove %s, which is one more than --keep: %s", name, strerror(-err));
	return err;
}

int parts_rotate(const char *path, u32 keep)
{
	AUTO_FREE u32 *numbers = NULL;
	size_t i, n = 0, run = 0;
	int err = parts_list(path, &numbers, &n);

	/* Only those without a gap before them have to make room. */
	while (!err && run < n && numbers[run] == run + 1)
		run++;
	for (i = run; !err && i; i--)
		err = parts_move(path, (u32)i, (u32)i + 1);
	if (!err)
		err = parts_move(path, 0, 1);
	for (i = keep; !err && i <= run; i++)
		err = parts_remove(path, (u32)i + 1);
	for (i = run; !err && i < n; i++)
		if (numbers[i] > keep)
			err = parts_remove(path, numbers[i]);
	return err;
}

int parts_drop_lowest(const char *path, u32 keep)
{
	AUTO_FREE u32 *numbers = NULL;
	size_t i, n = 0;
	int err = parts_list(path, &numbers, &n);

	for (i = 0; !err && i < n && n - i > keep; i++)
		err = parts_remove(path, numbers[i]);
	return err;
}
