/* SPDX-License-Identifier: MIT */
/* Makes the plan of pair.h: gathers distinct names, asks each source of pairs in turn, then
 * names, filters and orders what they gave. Sorting everywhere, so that 100,000 markers take a
 * fraction of a second. */
#define _GNU_SOURCE 1 /* qsort_r, vasprintf */
#include "pair.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pair_build.h"
#include "pair_rules.h"
#include "util/cleanup.h"
#include "util/grow.h"

char *pair_text(const char *format, ...)
{
	char *text = NULL;
	va_list args;
	int n;

	va_start(args, format);
	n = vasprintf(&text, format, args);
	va_end(args);
	return n < 0 ? NULL : text;
}

int pair_build_def(struct pair_build *build, const char *provider, const char *name, size_t len,
		   enum model_kind kind, int id_arg, char *why)
{
	struct pair_plan *plan = build->plan;
	struct pair_def def = {
		.provider = strdup(provider),
		.name = strndup(name, len),
		.kind = kind,
		.id_arg = id_arg,
		.why = why,
		.first_binding = (u32)plan->nbindings,
	};
	int err = def.provider && def.name && def.why ? 0 : -ENOMEM;

	if (!err)
		err = GROW(plan->defs, plan->ndefs);
	if (err) {
		free(def.provider);
		free(def.name);
		free(def.why);
		return err;
	}
	plan->defs[plan->ndefs++] = def;
	return 0;
}

int pair_build_bind(struct pair_build *build, struct pair_entry *entry, enum pair_role role)
{
	struct pair_plan *plan = build->plan;

	for (u32 i = 0; i < entry->nmarkers; i++) {
		int err = GROW(plan->bindings, plan->nbindings);

		if (err)
			return err;
		plan->bindings[plan->nbindings++] = (struct pair_binding){
			.marker = entry->markers[i],
			.def = (u32)plan->ndefs - 1,
			.role = role,
		};
		plan->defs[plan->ndefs - 1].nbindings++;
	}
	entry->used = true;
	return 0;
}

static int compare_names(const char *provider_a, const char *name_a, const char *provider_b,
			 const char *name_b)
{
	int order = strcmp(provider_a, provider_b);

	return order ? order : strcmp(name_a, name_b);
}

static int compare_markers(const void *a, const void *b, void *markers)
{
	u32 ia = *(const u32 *)a, ib = *(const u32 *)b;
	const struct pair_marker *ma = (const struct pair_marker *)markers + ia;
	const struct pair_marker *mb = (const struct pair_marker *)markers + ib;
	int order = compare_names(ma->provider, ma->name, mb->provider, mb->name);

	return order ? order : (ia > ib) - (ia < ib);
}

static int compare_entry(const void *key, const void *item)
{
	const struct pair_name *name = key;
	const struct pair_entry *entry = item;

	return compare_names(name->provider, name->name, entry->provider, entry->name);
}

static struct pair_entry *find(const struct pair_build *build, struct pair_name name)
{
	return bsearch(&name, build->entries, build->nentries, sizeof(*build->entries),
		       compare_entry);
}

/* The distinct names among MARKERS. */
static int build_entries(struct pair_build *build, const struct pair_marker *markers, size_t n)
{
	build->order = calloc(n + 1, sizeof(*build->order));
	build->entries = calloc(n + 1, sizeof(*build->entries));
	if (!build->order || !build->entries)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		build->order[i] = (u32)i;
	qsort_r(build->order, n, sizeof(*build->order), compare_markers, (void *)markers);

	for (size_t i = 0; i < n; i++) {
		const struct pair_marker *marker = &markers[build->order[i]];
		struct pair_entry *entry = &build->entries[build->nentries];

		if (build->nentries > 0 && !compare_names(entry[-1].provider, entry[-1].name,
							  marker->provider, marker->name)) {
			entry--;
		} else {
			build->nentries++;
			*entry = (struct pair_entry){
				.provider = marker->provider,
				.name = marker->name,
				.markers = &build->order[i],
			};
		}
		entry->nmarkers++;
		entry->has_meta |= marker->has_meta;
		if (marker->nargs > entry->nargs)
			entry->nargs = marker->nargs;
	}
	return 0;
}

/* Notes the sentence WHY, and takes it. */
static int problem(struct pair_build *build, const struct pair_spec *spec, char *why)
{
	struct pair_plan *plan = build->plan;
	int err = why ? GROW(plan->problems, plan->nproblems) : -ENOMEM;
	char *text = NULL;

	if (!err)
		text = pair_text("--span %s:%s: %s", spec->label.provider, spec->label.name, why);
	free(why);
	if (!text)
		return -ENOMEM;
	plan->problems[plan->nproblems++] = text;
	return 0;
}

/* Is ENTRY, found under NAME, fit for SPEC? If not, a problem is noted. */
static int check_entry(struct pair_build *build, const struct pair_spec *spec,
		       struct pair_name name, const struct pair_entry *entry, bool *good)
{
	*good = false;
	if (!entry)
		return problem(
			build, spec,
			pair_text("no marker `%s:%s` here; `spantrace list` shows those there are",
				  name.provider, name.name));
	if (spec->id_arg >= 0 && (u32)spec->id_arg >= entry->nargs)
		return problem(build, spec,
			       pair_text("marker `%s:%s` has no argument @%d; it has %u",
					 name.provider, name.name, spec->id_arg, entry->nargs));
	*good = true;
	return 0;
}

/* A span of the user. With a start and one end at hand it is made; ends that are missing are
 * named. */
static int apply_spec(struct pair_build *build, const struct pair_spec *spec)
{
	struct pair_entry *start = find(build, spec->start);
	bool async = spec->id_arg >= 0;
	bool start_good, made = false;
	int err;

	for (size_t i = 0; i < build->plan->ndefs; i++) {
		const struct pair_def *def = &build->plan->defs[i];

		if (!compare_names(def->provider, def->name, spec->label.provider,
				   spec->label.name))
			return problem(
				build, spec,
				pair_text(
					"the name is taken by another --span; write one --span with several ENDs, or another NAME"));
	}
	err = check_entry(build, spec, spec->start, start, &start_good);
	for (size_t i = 0; i < spec->nends && !err; i++) {
		struct pair_entry *end = find(build, spec->ends[i]);
		bool good;

		err = check_entry(build, spec, spec->ends[i], end, &good);
		if (err || !good || !start_good)
			continue;
		if (!made) {
			err = pair_build_def(
				build, spec->label.provider, spec->label.name,
				strlen(spec->label.name),
				async ? MODEL_ASYNC_SPAN : MODEL_THREAD_SPAN, spec->id_arg,
				async ? pair_text("by --span, keyed by argument @%d", spec->id_arg)
				      : pair_text("by --span"));
			if (err)
				return err;
			build->plan->defs[build->plan->ndefs - 1].is_spec = true;
			err = pair_build_bind(build, start, async ? PAIR_NEW : PAIR_ENTER);
			made = true;
		}
		if (!err)
			err = pair_build_bind(build, end, async ? PAIR_CLOSE : PAIR_EXIT);
	}
	return err;
}

/* The markers of a rule that are here and free; COUNT of them. */
static size_t rule_entries(const struct pair_build *build, const struct pair_rule *rule,
			   const char *const *names, size_t n, struct pair_entry **out)
{
	size_t count = 0;

	for (size_t i = 0; i < n && names[i]; i++) {
		struct pair_entry *entry =
			find(build, (struct pair_name){rule->provider, names[i]});

		if (!entry || entry->used)
			continue;
		if (rule->kind == MODEL_ASYNC_SPAN && (u32)rule->id_arg >= entry->nargs)
			continue;
		out[count++] = entry;
	}
	return count;
}

static int apply_rule(struct pair_build *build, const struct pair_rule *rule)
{
	struct pair_entry *starts[PAIR_RULE_STARTS], *ends[PAIR_RULE_ENDS];
	size_t nstarts = rule_entries(build, rule, rule->starts, PAIR_RULE_STARTS, starts);
	size_t nends = rule_entries(build, rule, rule->ends, PAIR_RULE_ENDS, ends);
	bool async = rule->kind == MODEL_ASYNC_SPAN;
	char *why;
	int err;

	if (!nstarts || !nends)
		return 0;
	if (rule->kind == MODEL_EVENT) {
		starts[0]->used = ends[0]->used = true;
		starts[0]->why = strdup(rule->why);
		ends[0]->why = strdup(rule->why);
		return starts[0]->why && ends[0]->why ? 0 : -ENOMEM;
	}
	why = async ? pair_text("by a rule for %s, keyed by argument @%d", rule->provider,
				rule->id_arg)
		    : pair_text("by a rule for %s", rule->provider);
	err = pair_build_def(build, rule->provider, rule->name, strlen(rule->name), rule->kind,
			     async ? rule->id_arg : -1, why);
	for (size_t i = 0; i < nstarts && !err; i++)
		err = pair_build_bind(build, starts[i], async ? PAIR_NEW : PAIR_ENTER);
	for (size_t i = 0; i < nends && !err; i++)
		err = pair_build_bind(build, ends[i], async ? PAIR_CLOSE : PAIR_EXIT);
	return err;
}

/* Everything that no span used. */
static int build_events(struct pair_build *build)
{
	for (size_t i = 0; i < build->nentries; i++) {
		struct pair_entry *entry = &build->entries[i];
		int err;

		if (entry->used && !entry->why)
			continue;
		if (!entry->why)
			entry->why = strdup("no start or end in its name");
		err = pair_build_def(build, entry->provider, entry->name, strlen(entry->name),
				     MODEL_EVENT, -1, TAKE_PTR(entry->why));
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
	int order = compare_names(da->provider, da->name, db->provider, db->name);

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

			if (compare_names(def->provider, def->name, other->provider, other->name)) {
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

static bool match_any(const char *const *globs, size_t n, const char *text)
{
	for (size_t i = 0; i < n; i++)
		if (fnmatch(globs[i], text, 0) == 0)
			return true;
	return false;
}

static int wanted(const struct pair_def *def, const struct pair_options *options, bool *out)
{
	AUTO_FREE char *label = NULL;

	*out = def->is_spec || !options->nproviders ||
	       match_any(options->providers, options->nproviders, def->provider);
	if (!*out || !options->nexcludes)
		return 0;
	label = pair_text("%s:%s", def->provider, def->name);
	if (!label)
		return -ENOMEM;
	for (size_t i = 0; i < options->nexcludes && *out; i++) {
		const char *glob = options->excludes[i];

		if (fnmatch(glob, label, 0) == 0 ||
		    (!strchr(glob, ':') && fnmatch(glob, def->name, 0) == 0))
			*out = false;
	}
	return 0;
}

static void def_free(struct pair_def *def)
{
	free(def->provider);
	free(def->name);
	free(def->why);
}

/* Takes out what -P and -x leave no place for, and closes the gaps. */
static int filter(struct pair_plan *plan, const struct pair_options *options)
{
	size_t ndefs = 0, nbindings = 0;
	int err = 0;

	for (size_t i = 0; i < plan->ndefs; i++) {
		struct pair_def def = plan->defs[i];
		u32 first = def.first_binding;
		bool keep = true;

		if (!err)
			err = wanted(&def, options, &keep);
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

static void build_free(struct pair_build *build)
{
	for (size_t i = 0; i < build->nentries; i++)
		free(build->entries[i].why);
	free(build->entries);
	free(build->order);
	pair_plan_free(&build->plan);
}

int pair_plan_new(const struct pair_marker *markers, size_t n, const struct pair_options *options,
		  struct pair_plan **out)
{
	static const struct pair_options none;
	CLEANUP(build_free) struct pair_build build = {.plan = calloc(1, sizeof(*build.plan))};
	size_t nspans;
	int err;

	if (!options)
		options = &none;
	if (!build.plan)
		return -ENOMEM;
	err = build_entries(&build, markers, n);
	for (size_t i = 0; i < options->nspecs && !err; i++)
		err = apply_spec(&build, options->specs[i]);
	for (size_t i = 0; i < pair_nrules && !err; i++)
		err = apply_rule(&build, &pair_rules[i]);
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
	free(p->problems);
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
