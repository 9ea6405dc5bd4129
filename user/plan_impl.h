/* SPDX-License-Identifier: MIT */
/* What plan.c (files and markers) and plan_attach.c (probes) share. */
#ifndef SPANTRACE_PLAN_IMPL_H
#define SPANTRACE_PLAN_IMPL_H

#include "elfnote.h"
#include "plan.h"
#include "util/intmap.h"
#include "util/strpool.h"

struct plan_file {
	const char *shown;
	struct elfnote_file *notes;
	int fd;        /* kept until its probes stand; -1 */
	bool attached; /* or tried: not again */
};

struct plan {
	const struct pair_options *options;
	struct strpool *strings;
	const char *const *label_keys;
	size_t nlabel_keys;
	bool all_labels;
	struct plan_file *files;
	struct intmap looked_at; /* plan_file_key() of every file, with markers or not */
	size_t nfiles;
	size_t nmarkers;
	u32 next_site;
	u32 *async_defs;
	size_t nasync_defs;
	struct model_refused *refused;
	size_t nrefused;
	const char **problems;
	size_t nproblems;
	size_t nattached;
	size_t nspans, nevents;
};

/* Adds to the refused and says so. 0 or -ENOMEM. */
int plan_refuse(struct plan *plan, const char *marker, const char *why);

#endif
