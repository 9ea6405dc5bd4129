/* SPDX-License-Identifier: MIT */
/* From markers to probes: pairs the markers of all files, then attaches those of the new ones. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../include/note.h"
#include "plan.h"
#include "plan_impl.h"
#include "util/cleanup.h"
#include "util/grow.h"

/* What one plan_attach() works with. */
struct binder {
	struct plan *plan;
	struct trace *trace;
	struct kernel *kernel;
	struct pair_marker *markers; /* one a site, all files in order */
	size_t nmarkers;
	struct pair_plan *pairs;
	u32 *def_ids;                      /* of the trace, by pairs' definition */
	bool *has_new;                     /* by pairs' definition */
	struct attach_probe *probes;       /* of one file */
	const struct elfnote_site **sites; /* of each probe */
	size_t nprobes;
};

static void binder_free(struct binder *b)
{
	free(b->markers);
	pair_plan_free(&b->pairs);
	free(b->def_ids);
	free(b->has_new);
	free(b->probes);
	free(b->sites);
}

static int binder_pair(struct binder *b)
{
	struct plan *plan = b->plan;
	size_t f, i, n = 0;
	int err;

	b->markers = calloc(plan->nmarkers + 1, sizeof(*b->markers));
	if (!b->markers)
		return -ENOMEM;
	for (f = 0; f < plan->nfiles; f++) {
		const struct elfnote_file *notes = plan->files[f].notes;

		for (i = 0; i < notes->nsites; i++)
			b->markers[n++] = (struct pair_marker){
				.provider = notes->sites[i].provider,
				.name = notes->sites[i].name,
				.nargs = notes->sites[i].nargs,
				.has_meta = notes->sites[i].has_meta,
			};
	}
	b->nmarkers = n;
	err = pair_plan_new(b->markers, n, plan->options, &b->pairs);
	if (err)
		return err;
	free(plan->problems);
	plan->problems = NULL;
	plan->nproblems = 0;
	for (i = 0; i < b->pairs->nproblems; i++) {
		const char *problem = b->pairs->problems[i];

		if (GROW(plan->problems, plan->nproblems))
			return -ENOMEM;
		problem = strpool_add(plan->strings, problem, strlen(problem));
		if (!problem)
			return -ENOMEM;
		plan->problems[plan->nproblems++] = problem;
	}
	return 0;
}

/* The site and file of marker I. */
static const struct elfnote_site *binder_site(const struct binder *b, size_t i,
					      const struct plan_file **file)
{
	size_t f;

	for (f = 0; f < b->plan->nfiles; f++) {
		*file = &b->plan->files[f];
		if (i < (*file)->notes->nsites)
			return &(*file)->notes->sites[i];
		i -= (*file)->notes->nsites;
	}
	return NULL;
}

/* A definition's source line and binary are those of its first start. */
static void binder_describe(const struct binder *b, const struct pair_def *def,
			    struct model_def *out)
{
	size_t i;

	for (i = 0; i < def->nbindings; i++) {
		const struct pair_binding *binding = &b->pairs->bindings[def->first_binding + i];
		const struct plan_file *file;
		const struct elfnote_site *site = binder_site(b, binding->marker, &file);

		if (!site || binding->role == PAIR_EXIT || binding->role == PAIR_CLOSE)
			continue;
		out->binary = file->shown;
		out->build_id = file->notes->build_id[0] ? file->notes->build_id : NULL;
		out->source_file = site->source_file;
		out->source_line = site->source_line;
		return;
	}
}

static int binder_define(struct binder *b)
{
	struct plan *plan = b->plan;
	size_t i, j;
	int err;

	b->def_ids = calloc(b->pairs->ndefs + 1, sizeof(*b->def_ids));
	b->has_new = calloc(b->pairs->ndefs + 1, sizeof(*b->has_new));
	if (!b->def_ids || !b->has_new)
		return -ENOMEM;
	plan->nspans = 0;
	plan->nevents = 0;
	plan->nasync_defs = 0;
	for (i = 0; i < b->pairs->ndefs; i++) {
		const struct pair_def *def = &b->pairs->defs[i];
		struct model_def model = {
			.kind = def->kind,
			.provider = def->provider,
			.name = def->name,
		};

		binder_describe(b, def, &model);
		err = trace_add_def(b->trace, &model, &b->def_ids[i]);
		if (err)
			return err;
		plan->nevents += def->kind == MODEL_EVENT;
		plan->nspans += def->kind != MODEL_EVENT;
		for (j = 0; j < def->nbindings; j++)
			b->has_new[i] |=
				b->pairs->bindings[def->first_binding + j].role == PAIR_NEW;
		if (def->kind != MODEL_ASYNC_SPAN)
			continue;
		if (GROW(plan->async_defs, plan->nasync_defs))
			return -ENOMEM;
		plan->async_defs[plan->nasync_defs++] = b->def_ids[i];
	}
	return kernel_set_async_defs(b->kernel, plan->async_defs, (u32)plan->nasync_defs);
}

static enum kernel_program program_of(enum pair_role role, enum model_kind kind)
{
	bool async = kind == MODEL_ASYNC_SPAN;

	switch (role) {
	case PAIR_ENTER:
		return async ? KERNEL_ASYNC_ENTER : KERNEL_SPAN_ENTER;
	case PAIR_EXIT:
		return async ? KERNEL_ASYNC_EXIT : KERNEL_SPAN_EXIT;
	case PAIR_NEW:
		return KERNEL_ASYNC_NEW;
	case PAIR_CLOSE:
		return KERNEL_ASYNC_CLOSE;
	default:
		return KERNEL_EVENT;
	}
}

/* Whether the event's first argument is a number to add up: spantrace.h says so, or its form does (an
 * unsigned long may as well be a pointer). */
static bool event_has_value(const struct elfnote_site *site)
{
	const struct elfnote_arg *arg = &site->args[0];

	if (site->nargs == 0 || arg->operand.form == OPERAND_NONE ||
	    arg->operand.form == OPERAND_FLOAT)
		return false;
	if (site->has_meta)
		return arg->key && strcmp(arg->key, "value") == 0;
	return arg->operand.is_signed || arg->operand.size < 8;
}

/* Fills the site's row and flags. NULL, or why the site cannot play this role. */
static const char *describe_site(const struct elfnote_site *site, const struct pair_def *def,
				 enum pair_role role, bool has_new, struct wire_site *row,
				 u32 *flags)
{
	*flags = (def->recursive ? SITE_RECURSIVE : 0) | (has_new ? SITE_HAS_NEW : 0);
	if (def->kind == MODEL_EVENT && event_has_value(site)) {
		*flags |= SITE_HAS_VALUE;
		row->id = site->args[0].operand;
	}
	if (def->kind != MODEL_ASYNC_SPAN)
		return NULL;
	if (def->id_arg < 0 || (u32)def->id_arg >= site->nargs)
		return "it lacks the argument that is the span's id";
	if (site->args[def->id_arg].why)
		return site->args[def->id_arg].why;
	row->id = site->args[def->id_arg].operand;
	if (role == PAIR_NEW && site->has_meta && site->nargs > 1 &&
	    (site->args[1].operand.form != OPERAND_CONST || site->args[1].operand.disp))
		row->parent = site->args[1].operand;
	return NULL;
}

static bool wants_label(const struct plan *plan, const char *key)
{
	size_t i;

	for (i = 0; i < plan->nlabel_keys; i++)
		if (strcmp(plan->label_keys[i], key) == 0)
			return true;
	return plan->all_labels;
}

/* The arguments of the site that stay with its span. spantrace.h makes the address of a string unsigned, any other
 * label signed. */
static int describe_labels(const struct binder *b, const struct elfnote_site *site,
			   enum pair_role role, struct wire_site *row, u32 *flags)
{
	const char *keys[LABELS_MAX];
	u32 i, n = 0;

	if (!site->has_meta || role == PAIR_EXIT || role == PAIR_CLOSE)
		return 0;
	for (i = 0; i < site->nargs && n < LABELS_MAX; i++) {
		const struct elfnote_arg *arg = &site->args[i];

		if (!arg->key || arg->why || !wants_label(b->plan, arg->key) ||
		    (i == NOTE_ARG_VALUE && *flags & SITE_HAS_VALUE))
			continue;
		row->labels[n] = arg->operand;
		if (!arg->operand.is_signed && arg->operand.size == 8)
			row->strings |= 1u << n;
		keys[n++] = arg->key;
	}
	if (!n)
		return 0;
	*flags |= SITE_HAS_LABELS;
	return trace_add_site(b->trace, b->plan->next_site, keys, n, row->strings);
}

static int binder_refuse(struct binder *b, const struct plan_file *file,
			 const struct elfnote_site *site, const char *why)
{
	AUTO_FREE char *marker = NULL;

	if (asprintf(&marker, "%s:%s at %#llx of %s", site->provider, site->name,
		     (unsigned long long)site->vaddr, file->shown) < 0)
		return -ENOMEM;
	return plan_refuse(b->plan, marker, why);
}

/* Adds the probe for one role of a site. */
static int binder_probe(struct binder *b, const struct plan_file *file,
			const struct elfnote_site *site, const struct pair_binding *binding)
{
	const struct pair_def *def = &b->pairs->defs[binding->def];
	struct wire_site row = {};
	const char *why = site->refused;
	u32 flags = 0;
	int err;

	if (!why)
		why = describe_site(site, def, binding->role, b->has_new[binding->def], &row,
				    &flags);
	if (why)
		return binder_refuse(b, file, site, why);
	err = describe_labels(b, site, binding->role, &row, &flags);
	if (err)
		return err;
	err = kernel_set_site(b->kernel, b->plan->next_site, &row);
	if (err == -ENOSPC)
		return binder_refuse(b, file, site, "the site table is full");
	if (err)
		return err;
	if (GROW(b->probes, b->nprobes) || GROW(b->sites, b->nprobes))
		return -ENOMEM;
	b->sites[b->nprobes] = site;
	b->probes[b->nprobes++] = (struct attach_probe){
		.offset = site->offset,
		.sema_offset = site->sema_offset,
		.cookie = COOKIE(b->plan->next_site, b->def_ids[binding->def], flags),
		.program = program_of(binding->role, def->kind),
	};
	b->plan->next_site++;
	return 0;
}

static const char *attach_why(int err)
{
	if (err == -EINVAL)
		return "the kernel refused the probe; another tracer that gives its semaphore differently may stand there";
	return strerror(-err);
}

/* Attaches the probes of one file: those whose marker is among FIRST to FIRST + its sites. */
static int binder_attach_file(struct binder *b, struct attach_set *set, struct plan_file *file,
			      size_t first)
{
	const struct elfnote_file *notes = file->notes;
	char path[64];
	size_t i;
	int err;

	b->nprobes = 0;
	free(b->probes);
	free(b->sites);
	b->probes = NULL;
	b->sites = NULL;
	for (i = 0; i < b->pairs->nbindings; i++) {
		const struct pair_binding *binding = &b->pairs->bindings[i];

		if (binding->marker < first || binding->marker >= first + notes->nsites)
			continue;
		err = binder_probe(b, file, &notes->sites[binding->marker - first], binding);
		if (err)
			return err;
	}
	snprintf(path, sizeof(path), "/proc/self/fd/%d", file->fd);
	file->probes = attach_file(set, path, b->probes, b->nprobes);
	b->plan->nattached += file->probes;
	for (i = 0; i < b->nprobes; i++) {
		if (!b->probes[i].error)
			continue;
		err = binder_refuse(b, file, b->sites[i], attach_why(b->probes[i].error));
		if (err)
			return err;
	}
	return 0;
}

int plan_attach(struct plan *plan, struct trace *trace, struct kernel *kernel,
		struct attach_set *set)
{
	CLEANUP(binder_free) struct binder b = {.plan = plan, .trace = trace, .kernel = kernel};
	size_t f, first = 0;
	int err;

	err = binder_pair(&b);
	if (!err)
		err = binder_define(&b);
	for (f = 0; f < plan->nfiles && !err; f++) {
		struct plan_file *file = &plan->files[f];

		if (!file->attached && file->notes->nsites) {
			file->attached = true;
			err = binder_attach_file(&b, set, file, first);
			cleanup_close(&file->fd);
			file->fd = -1;
		}
		first += file->notes->nsites;
	}
	return err;
}
