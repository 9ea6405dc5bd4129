/* SPDX-License-Identifier: MIT */
/* Batched markers of a file: nothing stands at them, but at the one place that has their ops fetched. */
#include <errno.h>
#include <string.h>

#include "../util/grow.h"
#include "plan_impl.h"

u32 plan_batch_size(const struct plan_file *file)
{
	const struct elfnote_fetch *fetch = file->notes->fetches;

	/* What is larger was refused. */
	if (!file->notes->nfetches || fetch->end < fetch->begin ||
	    fetch->end - fetch->begin > BATCH_MARKERS_MAX)
		return 0;
	return (u32)(fetch->end - fetch->begin);
}

bool plan_has_batched(const struct plan *plan)
{
	for (size_t i = 0; i < plan->nfiles; i++)
		if (plan->files[i].notes && plan->files[i].notes->nfetches)
			return true;
	return false;
}

static int refuse(struct plan *plan, const struct plan_file *file, const struct elfnote_site *site,
		  int err)
{
	if (err == -ENOSPC)
		return plan_refuse_site(
			plan, file, site,
			"the table of batched markers is full; choose files with -p");
	if (err == -EBUSY)
		return plan_refuse_site(
			plan, file, site,
			"batched spans came after the trace began, which had none: begin it anew, with --batched");
	if (err == -EOPNOTSUPP)
		return plan_refuse_site(
			plan, file, site,
			"batched spans need a kernel whose BPF programs have a stack of their own: Linux 6.13");
	return plan_refuse_site(plan, file, site, strerror(-err));
}

int plan_add_batch(struct plan *plan, struct kernel *kernel, const struct plan_file *file,
		   const u64 *cookies, struct attach_probe **probes,
		   const struct elfnote_site ***sites, size_t *n)
{
	u32 numbers[2] = {0}, size = plan_batch_size(file);
	bool known[2] = {false};

	for (size_t i = 0; i < file->notes->nfetches; i++) {
		const struct elfnote_fetch *fetch = &file->notes->fetches[i];
		const struct elfnote_site *site = &fetch->site;
		int err = 0;

		if (site->refused)
			continue;
		if (!known[fetch->clock])
			err = kernel_add_batch(kernel, cookies, size, fetch->clock,
					       &numbers[fetch->clock]);
		if (err)
			return refuse(plan, file, site, err);
		known[fetch->clock] = true;
		if (GROW(*probes, *n) || GROW(*sites, *n))
			return -ENOMEM;
		(*sites)[*n] = site;
		(*probes)[(*n)++] = (struct attach_probe){
			.offset = site->offset,
			.sema_offset = site->sema_offset,
			.cookie = COOKIE(0, numbers[fetch->clock], 0),
			.program = KERNEL_BATCH_FETCH,
		};
	}
	return 0;
}
