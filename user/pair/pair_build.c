/* SPDX-License-Identifier: MIT */
/* A plan while it is being made: its distinct names, sorted, and the definitions and bindings
 * appended so far. */
#define _GNU_SOURCE 1 /* qsort_r, vasprintf */
#include "pair_build.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../util/grow.h"

int pair_compare_names(const char *provider_a, const char *name_a, const char *provider_b,
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
	int order = pair_compare_names(ma->provider, ma->name, mb->provider, mb->name);

	return order ? order : (ia > ib) - (ia < ib);
}

static int compare_entry(const void *key, const void *item)
{
	const struct pair_name *name = key;
	const struct pair_entry *entry = item;

	return pair_compare_names(name->provider, name->name, entry->provider, entry->name);
}

struct pair_entry *pair_build_find(const struct pair_build *build, struct pair_name name)
{
	return bsearch(&name, build->entries, build->nentries, sizeof(*build->entries),
		       compare_entry);
}

int pair_build_entries(struct pair_build *build, const struct pair_marker *markers, size_t n)
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

		if (build->nentries > 0 && !pair_compare_names(entry[-1].provider, entry[-1].name,
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
		.end_id_arg = id_arg,
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

void pair_build_free(struct pair_build *build)
{
	for (size_t i = 0; i < build->nentries; i++)
		free(build->entries[i].why);
	free(build->entries);
	free(build->order);
	pair_plan_free(&build->plan);
}
