/* SPDX-License-Identifier: MIT */
/* From markers to probes: pairs the markers of all files, then attaches those of the new ones. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../util/cleanup.h"
#include "../util/grow.h"
#include "plan.h"
#include "plan_impl.h"

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
	u64 *batched; /* cookies of the file's batched markers, by number */
	bool any_batched;
};

static void binder_free(struct binder *b)
{
	free(b->markers);
	pair_plan_free(&b->pairs);
	free(b->def_ids);
	free(b->has_new);
	free(b->probes);
	free(b->sites);
	free(b->batched);
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
	err = plan_note_rules(plan, b->pairs);
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
		if (!err && def->rule && def->rule->own.ntexts)
			err = trace_name_def(b->trace, b->def_ids[i], def->rule->own.prefix);
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

/* TEXTS: there are strings to read. */
static enum kernel_program program_of(enum pair_role role, enum model_kind kind, bool texts)
{
	bool async = kind == MODEL_ASYNC_SPAN;

	switch (role) {
	case PAIR_ENTER:
		return async   ? KERNEL_ASYNC_ENTER
		       : texts ? KERNEL_SPAN_ENTER_TEXT
			       : KERNEL_SPAN_ENTER;
	case PAIR_EXIT:
		return async ? KERNEL_ASYNC_EXIT : KERNEL_SPAN_EXIT;
	case PAIR_NEW:
		return texts ? KERNEL_ASYNC_NEW_TEXT : KERNEL_ASYNC_NEW;
	case PAIR_CLOSE:
		return KERNEL_ASYNC_CLOSE;
	default:
		return texts ? KERNEL_EVENT_TEXT : KERNEL_EVENT;
	}
}

/* What an op of a batched marker is. */
static u32 op_of(enum pair_role role)
{
	return role == PAIR_ENTER  ? SITE_OP_ENTER
	       : role == PAIR_EXIT ? SITE_OP_EXIT
				   : SITE_OP_EVENT;
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
		why = plan_describe_site(site, def, binding->role, b->has_new[binding->def], &row,
					 &flags);
	if (!why && site->batched && def->kind == MODEL_ASYNC_SPAN)
		why = "it is of the batched lane, which has no async spans";
	if (why)
		return plan_refuse_site(b->plan, file, site, why);
	err = plan_describe_texts(b->plan, b->trace, file, site, binding, def, &row, &flags);
	if (err)
		return err;
	err = kernel_set_site(b->kernel, b->plan->next_site, &row);
	if (err == -ENOSPC)
		return plan_refuse_site(b->plan, file, site, "the site table is full");
	if (err)
		return err;
	if (site->batched) {
		b->any_batched = true;
		b->batched[site->number] = COOKIE(b->plan->next_site, b->def_ids[binding->def],
						  flags | op_of(binding->role));
		b->plan->next_site++;
		return 0;
	}
	if (GROW(b->probes, b->nprobes) || GROW(b->sites, b->nprobes))
		return -ENOMEM;
	b->sites[b->nprobes] = site;
	b->probes[b->nprobes++] = (struct attach_probe){
		.offset = site->offset,
		.sema_offset = site->sema_offset,
		.cookie = COOKIE(b->plan->next_site, b->def_ids[binding->def], flags),
		.program =
			program_of(binding->role, def->kind, row.strings || flags & SITE_HAS_NAME),
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
	free(b->batched);
	b->any_batched = false;
	b->batched = calloc(plan_batch_size(file) + 1, sizeof(*b->batched));
	if (!b->batched)
		return -ENOMEM;
	for (i = 0; i < b->pairs->nbindings; i++) {
		const struct pair_binding *binding = &b->pairs->bindings[i];

		if (binding->marker < first || binding->marker >= first + notes->nsites)
			continue;
		err = binder_probe(b, file, &notes->sites[binding->marker - first], binding);
		if (err)
			return err;
	}
	if (b->any_batched) {
		err = plan_add_batch(b->plan, b->kernel, file, b->batched, &b->probes, &b->sites,
				     &b->nprobes);
		if (err)
			return err;
	}
	snprintf(path, sizeof(path), "/proc/self/fd/%d", file->fd);
	file->probes = attach_file(set, path, b->probes, b->nprobes);
	b->plan->nattached += file->probes;
	for (i = 0; i < b->nprobes; i++) {
		if (!b->probes[i].error)
			continue;
		err = plan_refuse_site(b->plan, file, b->sites[i], attach_why(b->probes[i].error));
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
