/* SPDX-License-Identifier: MIT */
/* See attach_parts.h. */
#include "attach_parts.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "../util/cleanup.h"
#include "../util/grow.h"

#define NO_DEF   UINT32_MAX
#define CLOSERS  16
#define PATH_LEN 64

/* The probes of one definition in one file. */
struct attach_part {
	u32 def;
	int file;
	struct attach_probe *probes;
	size_t n;
	struct attach_set *set; /* NULL: taken out */
};

struct attach_parts {
	struct kernel *kernel;
	bool multi;
	pid_t *pids;
	size_t npids;
	struct attach_part *parts;
	size_t nparts;
	int *files;
	size_t nfiles;
};

int attach_parts_new(struct kernel *kernel, bool uprobe_multi, const pid_t *pids, size_t npids,
		     struct attach_parts **out)
{
	struct attach_parts *parts = calloc(1, sizeof(*parts));
	struct rlimit files;
	size_t i;

	if (!parts)
		return -ENOMEM;
	parts->pids = calloc(npids + 1, sizeof(*parts->pids));
	if (!parts->pids) {
		free(parts);
		return -ENOMEM;
	}
	for (i = 0; i < npids; i++)
		parts->pids[i] = pids[i];
	parts->npids = npids;
	parts->kernel = kernel;
	parts->multi = uprobe_multi;
	/* As many links as are allowed at all. Where that is not enough, the kernel refuses, and that is told. */
	if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
		files.rlim_cur = files.rlim_max;
		setrlimit(RLIMIT_NOFILE, &files);
	}
	*out = parts;
	return 0;
}

/* Taking one out waits for every CPU to have left its program: many such waits at once take no longer than one. */
struct closing {
	struct attach_parts *parts;
	size_t next;
};

static void *close_some(void *context)
{
	struct closing *closing = context;
	size_t i;

	while ((i = __atomic_fetch_add(&closing->next, 1, __ATOMIC_RELAXED)) <
	       closing->parts->nparts)
		attach_free(&closing->parts->parts[i].set);
	return NULL;
}

void attach_parts_free(struct attach_parts **out)
{
	struct attach_parts *parts = *out;
	struct closing closing = {.parts = parts};
	pthread_t threads[CLOSERS];
	size_t i, n = 0;

	if (!parts)
		return;
	*out = NULL;
	while (n < CLOSERS && n + 1 < parts->nparts &&
	       pthread_create(&threads[n], NULL, close_some, &closing) == 0)
		n++;
	close_some(&closing);
	while (n)
		pthread_join(threads[--n], NULL);
	for (i = 0; i < parts->nparts; i++)
		free(parts->parts[i].probes);
	for (i = 0; i < parts->nfiles; i++)
		close(parts->files[i]);
	free(parts->parts);
	free(parts->files);
	free(parts->pids);
	free(parts);
}

static int attach_part(struct attach_parts *parts, struct attach_part *part)
{
	CLEANUP(attach_free) struct attach_set *set = NULL;
	char path[PATH_LEN];
	int err = attach_new(parts->kernel, parts->multi, parts->pids, parts->npids, &set);

	if (err)
		return err;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", part->file);
	attach_file(set, path, part->probes, part->n);
	part->set = TAKE_PTR(set);
	return 0;
}

/* The definition of the part that a probe belongs to. */
static u32 part_of(const struct attach_probe *probe, bool alone)
{
	return alone ? COOKIE_DEF(probe->cookie) : NO_DEF;
}

/* Makes the part of FILE that PROBES[FROM] belongs to and attaches it; ALONE: with its definition's probes only, else
 * with all that are left. DONE is set for each that was taken. */
static int add_part(struct attach_parts *parts, int file, struct attach_probe *probes, size_t from,
		    size_t n, bool alone, bool *done)
{
	struct attach_part part = {.def = part_of(&probes[from], alone), .file = file};
	size_t i, at = 0;
	int err;

	part.probes = calloc(n - from, sizeof(*part.probes));
	if (!part.probes || GROW(parts->parts, parts->nparts)) {
		free(part.probes);
		return -ENOMEM;
	}
	for (i = from; i < n; i++)
		if (!done[i] && part_of(&probes[i], alone) == part.def)
			part.probes[part.n++] = probes[i];
	err = attach_part(parts, &part);
	for (i = from; i < n; i++) {
		if (done[i] || part_of(&probes[i], alone) != part.def)
			continue;
		done[i] = true;
		probes[i].error = err ? err : part.probes[at].error;
		at++;
	}
	parts->parts[parts->nparts++] = part;
	return 0;
}

size_t attach_parts_file(struct attach_parts *parts, const char *path, struct attach_probe *probes,
			 size_t n)
{
	AUTO_FREE bool *done = calloc(n + 1, sizeof(*done));
	int file = open(path, O_RDONLY | O_CLOEXEC);
	int err = file < 0 ? -errno : 0;
	size_t i, standing = 0;

	if (!err && (!done || GROW(parts->files, parts->nfiles))) {
		close(file);
		err = -ENOMEM;
	}
	if (!err)
		parts->files[parts->nfiles++] = file;
	for (i = 0; i < n && !err; i++)
		if (!done[i])
			err = add_part(parts, file, probes, i, n, parts->nparts < ATTACH_PARTS_MAX,
				       done);
	for (i = 0; i < n; i++) {
		if (err)
			probes[i].error = err;
		standing += !probes[i].error;
	}
	return standing;
}

bool attach_parts_has(const struct attach_parts *parts, u32 def)
{
	bool has = false;
	size_t i;

	for (i = 0; i < parts->nparts; i++)
		has |= parts->parts[i].def == def;
	return has;
}

void attach_parts_pause(struct attach_parts *parts, u32 def)
{
	size_t i;

	for (i = 0; i < parts->nparts; i++)
		if (parts->parts[i].def == def)
			attach_free(&parts->parts[i].set);
}

int attach_parts_resume(struct attach_parts *parts, u32 def)
{
	size_t i, k;
	int err = 0;

	for (i = 0; i < parts->nparts; i++) {
		struct attach_part *part = &parts->parts[i];
		int failed;

		if (part->def != def || part->set)
			continue;
		failed = attach_part(parts, part);
		for (k = 0; k < part->n && !failed; k++)
			failed = part->probes[k].error;
		if (failed)
			err = failed;
	}
	return err;
}
