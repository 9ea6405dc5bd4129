/* SPDX-License-Identifier: MIT */
/* Makes the plan of pair.h: asks each source of pairs in turn, then names, filters and orders what
 * they gave. Sorting everywhere, so that 100,000 markers take a fraction of a second. */
#define _GNU_SOURCE 1 /* qsort_r */
#include "pair.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "../util/cleanup.h"
#include "../util/grow.h"
#include "pair_build.h"

/* Everything that no span used. */
static int build_events(struct pair_build *build)
{
	for (size_t i = 0; i < build->nentries; i++) {
		struct pair_entry *entry = &build->entries[i];
		int err;

		const struct rule *rule = entry->rule;

		if (entry->used && !entry->why)
			continue;
		if (!entry->why)
			entry->why = strdup("no start or end in its name");
		err = pair_build_def(build, entry->provider, entry->name, strlen(entry->name),
				     MODEL_EVENT, -1, TAKE_PTR(entry->why));
		if (!err)
			build->plan->defs[build->plan->ndefs - 1].rule = rule;
		if (!err)
			err = pair_build_bind(build, entry, PAIR_EVENT);
		if (err)
			return err;
	}
	return 0;
}

static int compare_defs(const void *a, const void *b, void *defs)
{
	u32 ia = *(const u32 *)a, ib = *(const u32 *)b;
	const struct pair_def *da = (const struct pair_def *)defs + ia;
	const struct pair_def *db = (const struct pair_def *)defs + ib;
	int order = pair_compare_names(da->provider, da->name, db->provider, db->name);

	return order ? order : (ia > ib) - (ia < ib);
}

/* Gives spans whose name an earlier one has the name of their start marker, then numbers. Names
 * only get longer, so this ends. */
static int make_unique(struct pair_plan *plan, const struct pair_marker *markers, size_t nspans)
{
	AUTO_FREE u32 *order = calloc(nspans + 1, sizeof(*order));
	bool again = true;

	if (!order)
		return -ENOMEM;
	for (int pass = 0; again; pass++) {
		u32 same = 1;

		again = false;
		for (size_t i = 0; i < nspans; i++)
			order[i] = (u32)i;
		qsort_r(order, nspans, sizeof(*order), compare_defs, plan->defs);
		for (size_t i = 1, first = 0; i < nspans; i++) {
			struct pair_def *def = &plan->defs[order[i]];
			const struct pair_def *other = &plan->defs[order[first]];
			const struct pair_marker *start;
			char *name;

			if (pair_compare_names(def->provider, def->name, other->provider,
					       other->name)) {
				first = i;
				same = 1;
				continue;
			}
			start = &markers[plan->bindings[def->first_binding].marker];
			name = pass == 0 ? strdup(start->name)
					 : pair_text("%s#%u", def->name, ++same);
			if (!name)
				return -ENOMEM;
			free(def->name);
			def->name = name;
			again = true;
		}
	}
	return 0;
}

/* Whether -P takes DEF, called LABEL, and whether it does so by a glob that names the span itself, or its provider. */
static bool chosen(const struct pair_options *options, const struct pair_def *def,
		   const char *label, bool *named_span, bool *named_provider)
{
	*named_span = *named_provider = false;
	for (size_t i = 0; i < options->nproviders; i++) {
		const char *glob = options->providers[i];

		if (strchr(glob, ':'))
			*named_span |= fnmatch(glob, label, 0) == 0;
		else
			*named_provider |= fnmatch(glob, def->provider, 0) == 0;
	}
	return !options->nproviders || *named_span || *named_provider;
}

static bool excluded(const struct pair_options *options, const struct pair_def *def,
		     const char *label)
{
	for (size_t i = 0; i < options->nexcludes; i++) {
		const char *glob = options->excludes[i];

		if (fnmatch(glob, label, 0) == 0 ||
		    (!strchr(glob, ':') && fnmatch(glob, def->name, 0) == 0))
			return true;
	}
	return false;
}

static int note_left_out(struct pair_plan *plan, const char *what, const char *why)
{
	for (size_t i = 0; i < plan->nleft_out; i++)
		if (!strcmp(plan->left_out[i].what, what))
			return 0;
	if (GROW(plan->left_out, plan->nleft_out))
		return -ENOMEM;
	plan->left_out[plan->nleft_out] = (struct pair_left_out){.what = strdup(what), .why = why};
	return plan->left_out[plan->nleft_out].what ? (plan->nleft_out++, 0) : -ENOMEM;
}

static int wanted(struct pair_plan *plan, const struct pair_def *def,
		  const struct pair_options *options, bool *out)
{
	const struct rule_provider *provider =
		options->rules ? rules_provider(options->rules, def->provider) : NULL;
	AUTO_FREE char *label = pair_text("%s:%s", def->provider, def->name);
	bool named_span, named_provider;

	if (!label)
		return -ENOMEM;
	*out = (def->is_spec || chosen(options, def, label, &named_span, &named_provider)) &&
	       !excluded(options, def, label);
	if (!*out || def->is_spec)
		return 0;
	if (def->rule && def->rule->left_out && !named_span) {
		*out = false;
		return note_left_out(plan, label, def->rule->left_out);
	}
	if (provider && provider->left_out && !named_span && !named_provider) {
		*out = false;
		return note_left_out(plan, def->provider, provider->left_out);
	}
	return 0;
}

static void def_free(struct pair_def *def)
{
	free(def->provider);
	free(def->name);
	free(def->why);
}

/* Takes out what -P and -x leave no place for, and what rules leave out, and closes the gaps. */
static int filter(struct pair_plan *plan, const struct pair_options *options)
{
	size_t ndefs = 0, nbindings = 0;
	int err = 0;

	for (size_t i = 0; i < plan->ndefs; i++) {
		struct pair_def def = plan->defs[i];
		u32 first = def.first_binding;
		bool keep = true;

		if (!err)
			err = wanted(plan, &def, options, &keep);
		if (!keep) {
			def_free(&def);
			continue;
		}
		def.first_binding = (u32)nbindings;
		for (u32 j = 0; j < def.nbindings; j++) {
			plan->bindings[nbindings] = plan->bindings[first + j];
			plan->bindings[nbindings++].def = (u32)ndefs;
		}
		plan->defs[ndefs++] = def;
	}
	plan->ndefs = ndefs;
	plan->nbindings = nbindings;
	return err;
}

int pair_plan_new(const struct pair_marker *markers, size_t n, const struct pair_options *options,
		  struct pair_plan **out)
{
	static const struct pair_options none;
	CLEANUP(pair_build_free) struct pair_build build = {.plan = calloc(1, sizeof(*build.plan))};
	size_t nspans;
	int err;

	if (!options)
		options = &none;
	if (!build.plan)
		return -ENOMEM;
	err = pair_build_entries(&build, markers, n);
	if (!err)
		err = pair_specs(&build, options->specs, options->nspecs);
	if (!err)
		err = pair_rules_apply(&build, options->rules);
	if (!err)
		err = pair_conventions(&build);
	nspans = build.plan->ndefs;
	if (!err)
		err = build_events(&build);
	if (!err)
		err = make_unique(build.plan, markers, nspans);
	if (!err)
		err = filter(build.plan, options);
	if (!err)
		*out = TAKE_PTR(build.plan);
	return err;
}

void pair_plan_free(struct pair_plan **plan)
{
	struct pair_plan *p = *plan;

	if (!p)
		return;
	for (size_t i = 0; i < p->ndefs; i++)
		def_free(&p->defs[i]);
	for (size_t i = 0; i < p->nproblems; i++)
		free(p->problems[i]);
	free(p->defs);
	free(p->bindings);
	for (size_t i = 0; i < p->nleft_out; i++)
		free(p->left_out[i].what);
	free(p->problems);
	free(p->left_out);
	free(p);
	*plan = NULL;
}

const char *pair_role_name(enum pair_role role)
{
	static const char *const names[] = {
		[PAIR_ENTER] = "enter", [PAIR_EXIT] = "exit",   [PAIR_NEW] = "new",
		[PAIR_CLOSE] = "close", [PAIR_EVENT] = "event",
	};

	return names[role];
}

const char *pair_kind_name(enum model_kind kind)
{
	static const char *const names[] = {
		[MODEL_THREAD_SPAN] = "thread span",
		[MODEL_ASYNC_SPAN] = "async span",
		[MODEL_EVENT] = "event",
	};

	return names[kind];
}
