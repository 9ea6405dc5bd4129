/* SPDX-License-Identifier: MIT */
/* What plan.c (files and markers) and plan_attach.c (probes) share. */
#ifndef SPANTRACE_PLAN_IMPL_H
#define SPANTRACE_PLAN_IMPL_H

#include "../elf/elfnote.h"
#include "../util/strpool.h"
#include "plan.h"

#define PLAN_LOOKED_AT 16384 /* a power of two */
#define PLAN_UNMARKED  64 /* of these the names are kept, for the message when none has markers */
#define PLAN_REFUSED   1000

struct plan_file {
	const char *shown;
	struct elfnote_file *notes;
	int fd;        /* kept until its probes stand; -1 */
	bool attached; /* or tried: not again */
	bool reported;
	size_t probes; /* that stand */
};

/* What to do where a span or event never fires. */
struct plan_hint {
	const char *provider;
	const char *name;
	const char *hint;
};

struct plan {
	const struct pair_options *options;
	struct strpool *strings;
	const char *const *label_keys;
	size_t nlabel_keys;
	bool all_labels;
	struct plan_file *files;
	size_t nfiles;
	size_t nunmarked;
	u64 looked_at[PLAN_LOOKED_AT]; /* keys of files looked at lately, each at its place */
	size_t room;                   /* for sites */
	size_t nmarkers;
	u32 next_site;
	u32 *async_defs;
	size_t nasync_defs;
	struct model_refused *refused;
	size_t nrefused;
	const char **problems;
	size_t nproblems;
	const char **left_out; /* by rules; said */
	size_t nleft_out;
	struct plan_hint *hints;
	size_t nhints;
	size_t nattached;
	size_t nspans, nevents;
};

/* Adds to the refused and says so. 0 or -ENOMEM. */
int plan_refuse(struct plan *plan, const char *marker, const char *why);
int plan_refuse_site(struct plan *plan, const struct plan_file *file,
		     const struct elfnote_site *site, const char *why);

/* Says what rules leave out, each once, and keeps their hints. 0 or -ENOMEM. */
int plan_note_rules(struct plan *plan, const struct pair_plan *pairs);

/* Fills the site's row and flags with what its role needs. NULL, or why the site cannot play it. */
const char *plan_describe_site(const struct elfnote_site *site, const struct pair_def *def,
			       enum pair_role role, bool has_new, struct wire_site *row,
			       u32 *flags);
/* The probes that have FILE's batched markers fetched, those of COOKIES (by the marker's number; 0: not wanted). Appends them
 * to *PROBES and *SITES, which have *N. 0 or -errno; what is wrong with the file is among the refused. */
struct attach_probe;
int plan_add_batch(struct plan *plan, struct kernel *kernel, const struct plan_file *file,
		   const u64 *cookies, struct attach_probe **probes,
		   const struct elfnote_site ***sites, size_t *n);
/* Places in FILE's table of batched markers. */
u32 plan_batch_size(const struct plan_file *file);

/* Adds the labels that are wanted, and the name; the site is the plan's next. An argument that cannot be read is among
 * the refused, with its reason, and the site stands without it. 0 or -ENOMEM. */
int plan_describe_texts(struct plan *plan, struct trace *trace, const struct plan_file *file,
			const struct elfnote_site *site, const struct pair_binding *binding,
			const struct pair_def *def, struct wire_site *row, u32 *flags);

#endif
