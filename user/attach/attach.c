/* SPDX-License-Identifier: MIT */
/* See attach.h. */
#include "attach.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "../util/cleanup.h"
#include "../util/grow.h"
#include "attach_parts.h"
#include "uprobe_multi.h"

struct attach_set {
	struct kernel *kernel;
	bool multi;
	pid_t *pids; /* one entry of 0: every process */
	size_t npids;
	int *fds; /* uprobe_multi links */
	size_t nfds;
	struct bpf_link **links; /* perf-event links */
	size_t nlinks;
	struct attach_parts *parts; /* that hold the probes in its place; NULL: none do */
};

int attach_new(struct kernel *kernel, bool uprobe_multi, const pid_t *pids, size_t npids,
	       struct attach_set **out)
{
	struct attach_set *set = calloc(1, sizeof(*set));
	size_t i;

	if (!set)
		return -ENOMEM;
	set->pids = calloc(npids ? npids : 1, sizeof(*set->pids));
	if (!set->pids) {
		free(set);
		return -ENOMEM;
	}
	set->kernel = kernel;
	set->multi = uprobe_multi;
	set->npids = npids ? npids : 1;
	for (i = 0; i < npids; i++)
		set->pids[i] = pids[i];
	*out = set;
	return 0;
}

int attach_divide(struct attach_set *set)
{
	bool all = !set->pids[0];

	return attach_parts_new(set->kernel, set->multi, set->pids, all ? 0 : set->npids,
				&set->parts);
}

struct attach_parts *attach_parts_of(struct attach_set *set)
{
	return set->parts;
}

void attach_free(struct attach_set **out)
{
	struct attach_set *set = *out;
	size_t i;

	if (!set)
		return;
	*out = NULL;
	attach_parts_free(&set->parts);
	for (i = 0; i < set->nfds; i++)
		close(set->fds[i]);
	for (i = 0; i < set->nlinks; i++)
		bpf_link__destroy(set->links[i]);
	free(set->fds);
	free(set->links);
	free(set->pids);
	free(set);
}

/* The same probes as arrays, the form that the kernel takes. */
struct attach_batch {
	u64 *offsets;
	u64 *semas;
	u64 *cookies;
	struct attach_probe **probes;
};

static void attach_free_batch(struct attach_batch *batch)
{
	free(batch->offsets);
	free(batch->semas);
	free(batch->cookies);
	free(batch->probes);
}

/* Attaches probes FROM to FROM + N of the batch. Where the kernel refuses them together, each half is
 * tried alone, down to the ones at fault. */
static void attach_multi(struct attach_set *set, const char *path, pid_t pid,
			 enum kernel_program program, const struct attach_batch *batch, size_t from,
			 size_t n)
{
	struct uprobe_multi probes = {
		.path = path,
		.offsets = batch->offsets + from,
		.ref_ctr_offsets = batch->semas + from,
		.cookies = batch->cookies + from,
		.count = (u32)n,
		.at_return = kernel_program_at_return(program),
		.session = kernel_program_is_session(program),
		.pid = pid,
	};
	int fd;

	if (GROW(set->fds, set->nfds))
		fd = -ENOMEM;
	else
		fd = uprobe_multi_link(bpf_program__fd(kernel_program(set->kernel, program)),
				       &probes);
	if (fd >= 0) {
		set->fds[set->nfds++] = fd;
		return;
	}
	if (n == 1) {
		batch->probes[from]->error = fd;
		return;
	}
	attach_multi(set, path, pid, program, batch, from, n / 2);
	attach_multi(set, path, pid, program, batch, from + n / 2, n - n / 2);
}

static void attach_perf(struct attach_set *set, const char *path, pid_t pid,
			enum kernel_program program, const struct attach_batch *batch, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++) {
		LIBBPF_OPTS(bpf_uprobe_opts, opts, .ref_ctr_offset = batch->semas[i],
			    .bpf_cookie = batch->cookies[i],
			    .retprobe = kernel_program_at_return(program));
		struct bpf_link *link = NULL;

		if (GROW(set->links, set->nlinks)) {
			batch->probes[i]->error = -ENOMEM;
			continue;
		}
		link = bpf_program__attach_uprobe_opts(kernel_program(set->kernel, program),
						       pid ? pid : -1, path, batch->offsets[i],
						       &opts);
		if (link)
			set->links[set->nlinks++] = link;
		else
			batch->probes[i]->error = -errno;
	}
}

static int attach_program(struct attach_set *set, const char *path, enum kernel_program program,
			  struct attach_probe *probes, size_t n)
{
	CLEANUP(attach_free_batch)
	struct attach_batch batch = {
		.offsets = calloc(n, sizeof(u64)),
		.semas = calloc(n, sizeof(u64)),
		.cookies = calloc(n, sizeof(u64)),
		.probes = calloc(n, sizeof(struct attach_probe *)),
	};
	size_t i, count = 0;

	if (!batch.offsets || !batch.semas || !batch.cookies || !batch.probes)
		return -ENOMEM;
	for (i = 0; i < n; i++) {
		if (probes[i].program != program)
			continue;
		batch.offsets[count] = probes[i].offset;
		batch.semas[count] = probes[i].sema_offset;
		batch.cookies[count] = probes[i].cookie;
		batch.probes[count++] = &probes[i];
	}
	for (i = 0; count && i < set->npids; i++) {
		if (set->multi)
			attach_multi(set, path, set->pids[i], program, &batch, 0, count);
		else
			attach_perf(set, path, set->pids[i], program, &batch, count);
	}
	return 0;
}

size_t attach_file(struct attach_set *set, const char *path, struct attach_probe *probes, size_t n)
{
	size_t i, standing = 0;
	int program, err = 0;

	if (set->parts)
		return attach_parts_file(set->parts, path, probes, n);
	for (i = 0; i < n; i++)
		probes[i].error = 0;
	for (program = 0; n && program < KERNEL_PROGRAMS && !err; program++)
		err = attach_program(set, path, program, probes, n);
	for (i = 0; i < n; i++) {
		if (err && !probes[i].error)
			probes[i].error = err;
		standing += !probes[i].error;
	}
	return standing;
}
