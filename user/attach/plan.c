/* SPDX-License-Identifier: MIT */
/* The files and markers of a plan; see plan.h. plan_attach.c turns them into probes. */
#include "plan.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "../target/procmaps.h"
#include "../util/cleanup.h"
#include "../util/grow.h"
#include "../util/log.h"
#include "plan_impl.h"

int plan_new(const struct pair_options *options, struct plan **out)
{
	struct plan *plan = calloc(1, sizeof(*plan));
	int err;

	if (!plan)
		return -ENOMEM;
	err = strpool_new(&plan->strings);
	if (err) {
		free(plan);
		return err;
	}
	plan->options = options;
	plan->room = SITES_MAX;
	*out = plan;
	return 0;
}

void plan_free(struct plan **out)
{
	struct plan *plan = *out;
	size_t i;

	if (!plan)
		return;
	*out = NULL;
	for (i = 0; i < plan->nfiles; i++) {
		elfnote_free(&plan->files[i].notes);
		cleanup_close(&plan->files[i].fd);
	}
	free(plan->files);
	free(plan->refused);
	free(plan->problems);
	free(plan->left_out);
	free(plan->hints);
	free(plan->async_defs);
	strpool_free(&plan->strings);
	free(plan);
}

void plan_want_labels(struct plan *plan, const char *const *keys, size_t n, bool all)
{
	plan->label_keys = keys;
	plan->nlabel_keys = n;
	plan->all_labels = all;
}

int plan_refuse_def(struct plan *plan, const char *name, const char *why)
{
	struct model_refused *refused;

	if (plan->nrefused > PLAN_REFUSED)
		return 0;
	if (plan->nrefused == PLAN_REFUSED) {
		name = "others";
		why = "more than 1000 are not listed";
	}
	if (GROW(plan->refused, plan->nrefused))
		return -ENOMEM;
	refused = &plan->refused[plan->nrefused];
	refused->marker = strpool_add(plan->strings, name, strlen(name));
	refused->why = strpool_add(plan->strings, why, strlen(why));
	if (!refused->marker || !refused->why)
		return -ENOMEM;
	plan->nrefused++;
	return 0;
}

int plan_refuse(struct plan *plan, const char *marker, const char *why)
{
	size_t known = plan->nrefused;
	int err = plan_refuse_def(plan, marker, why);

	if (!err && plan->nrefused > known)
		log_warn("marker %s: %s", plan->refused[known].marker, plan->refused[known].why);
	return err;
}

/* Whether the file open at FD, as it is now, was looked at before: a process is looked at several times. Notes it if
 * not. A file that cannot be told apart is looked at again. */
static bool plan_looked_at(struct plan *plan, int fd)
{
	struct stat st;
	u64 key, *place;

	if (fstat(fd, &st))
		return false;
	key = (u64)st.st_ino * 0x9e3779b97f4a7c15ULL ^ (u64)st.st_dev << 40;
	key ^= (u64)st.st_size * 0xff51afd7ed558ccdULL ^ (u64)st.st_ctim.tv_nsec << 20;
	key ^= (u64)st.st_ctim.tv_sec;
	key |= 1; /* 0 is an empty place */
	place = &plan->looked_at[(key >> 32) % PLAN_LOOKED_AT];
	if (*place == key)
		return true;
	*place = key;
	return false;
}

/* A file with more markers than there is room for: one sentence for all of them. */
static int plan_refuse_file(struct plan *plan, const struct elfnote_file *notes, const char *shown)
{
	AUTO_FREE char *marker = NULL;

	if (asprintf(&marker, "%s:%s and all others of %s", notes->sites[0].provider,
		     notes->sites[0].name, shown) < 0)
		return -ENOMEM;
	return plan_refuse(plan, marker, "the table of sites is full; choose providers with -P");
}

int plan_add_file(struct plan *plan, int fd, const char *shown)
{
	CLEANUP(elfnote_free) struct elfnote_file *notes = NULL;
	AUTO_CLOSE int copy = -1;
	const char *why = NULL;
	struct plan_file *file;
	size_t i;
	int err;

	if (plan_looked_at(plan, fd))
		return 0;
	err = elfnote_read(fd, &notes, &why);
	if (err == -ENOEXEC)
		return 0;
	if (err == -ENOMEM)
		return err;
	if (err) {
		log_warn("%s: %s; its markers are not traced", shown, why ? why : strerror(-err));
		return 0;
	}
	for (i = 0; i < plan->nfiles; i++)
		if (elfnote_same_file(plan->files[i].notes, notes))
			return 0;
	if (!notes->nsites && plan->nunmarked == PLAN_UNMARKED)
		return 0;
	if (notes->nsites > plan->room - plan->nmarkers)
		return plan_refuse_file(plan, notes, shown);
	if (notes->nsites) {
		copy = fcntl(fd, F_DUPFD_CLOEXEC, 3);
		if (copy < 0)
			return -errno;
	}
	if (GROW(plan->files, plan->nfiles))
		return -ENOMEM;
	file = &plan->files[plan->nfiles];
	file->shown = strpool_add_printable(plan->strings, shown, strlen(shown));
	if (!file->shown)
		return -ENOMEM;
	file->attached = false;
	file->reported = false;
	file->probes = 0;
	file->fd = TAKE_FD(copy);
	file->notes = TAKE_PTR(notes);
	plan->nfiles++;
	plan->nmarkers += file->notes->nsites;
	plan->nunmarked += !file->notes->nsites;
	return file->notes->nsites > 0;
}

int plan_add_process(struct plan *plan, pid_t pid)
{
	AUTO_FREE struct procmap *maps = NULL;
	int err, added = 0;
	size_t i, n = 0;

	err = procmaps_read(pid, &maps, &n);
	if (err)
		return err;
	n = procmaps_unique(maps, n);
	for (i = 0; i < n; i++) {
		AUTO_CLOSE int fd = procmaps_open(&maps[i]);

		if (fd < 0) {
			log_debug("%s of process %d: %s", maps[i].path, pid, strerror(-fd));
			continue;
		}
		err = plan_add_file(plan, fd, maps[i].path);
		if (err < 0)
			return err;
		added |= err;
	}
	return added;
}

void plan_limit_sites(struct plan *plan, u32 room)
{
	plan->room = room > plan->nmarkers ? room : plan->nmarkers;
}

u32 plan_sites(const struct plan *plan)
{
	return (u32)plan->nmarkers;
}

u32 plan_sites_end(const struct plan *plan)
{
	return plan->next_site;
}

void plan_report(struct plan *plan)
{
	size_t i;

	for (i = 0; i < plan->nfiles; i++) {
		struct plan_file *file = &plan->files[i];

		if (!file->attached || file->reported)
			continue;
		file->reported = true;
		if (file->probes)
			log_info("%s: %zu probe%s", file->shown, file->probes,
				 file->probes == 1 ? "" : "s");
	}
}

void plan_count(const struct plan *plan, struct plan_counts *out)
{
	size_t i;

	*out = (struct plan_counts){
		.files = plan->nfiles,
		.markers = plan->nmarkers,
		.attached = plan->nattached,
		.spans = plan->nspans,
		.events = plan->nevents,
	};
	for (i = 0; i < plan->nfiles; i++)
		out->marked_files += plan->files[i].notes->nsites > 0;
}

const struct model_refused *plan_refused(const struct plan *plan, size_t *n)
{
	*n = plan->nrefused;
	return plan->refused;
}

const char *plan_file_name(const struct plan *plan, size_t i)
{
	return i < plan->nfiles ? plan->files[i].shown : NULL;
}

bool plan_file_has_markers(const struct plan *plan, size_t i)
{
	return i < plan->nfiles && plan->files[i].notes->nsites > 0;
}

const char *const *plan_problems(const struct plan *plan, size_t *n)
{
	*n = plan->nproblems;
	return plan->problems;
}
