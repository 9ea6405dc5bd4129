/* SPDX-License-Identifier: MIT */
/* A plan while it is being made: what pair.c and the sources of pairs (pair_named.c,
 * pair_rules.c, pair_convention.c) share. Private to them. */
#ifndef SPANTRACE_PAIR_BUILD_H
#define SPANTRACE_PAIR_BUILD_H

#include "pair.h"

/* One distinct marker name. */
struct pair_entry {
	const char *provider;
	const char *name;
	const u32 *markers; /* indices of those that carry it */
	u32 nmarkers;
	u32 nargs;
	bool has_meta;
	bool used;               /* by a span, or as an event */
	char *why;               /* why it is an event, once that is known */
	const struct rule *rule; /* that made it an event */

	/* For the conventions: how the name ends, and where that begins. */
	u8 separator;
	u8 suffix;
	u32 stem_len;
};

struct pair_build {
	struct pair_entry *entries; /* by provider, then name */
	size_t nentries;
	u32 *order; /* marker indices in that order; entries point into it */
	struct pair_plan *plan;
};

/* The distinct names among MARKERS into BUILD, whose plan is there already. 0 or -ENOMEM. */
int pair_build_entries(struct pair_build *build, const struct pair_marker *markers, size_t n);
/* The plan too, unless it was taken. */
void pair_build_free(struct pair_build *build);

/* The order of the entries: by provider, then name. */
int pair_compare_names(const char *provider_a, const char *name_a, const char *provider_b,
		       const char *name_b);
/* NULL: no marker has that name. */
struct pair_entry *pair_build_find(const struct pair_build *build, struct pair_name name);

/* A new string; NULL when memory is out, which pair_build_def() reports. */
__attribute__((format(printf, 1, 2))) char *pair_text(const char *format, ...);
/* Appends a definition called NAME (LEN bytes of it) and takes WHY, also on failure; its bindings
 * follow by pair_build_bind(). */
int pair_build_def(struct pair_build *build, const char *provider, const char *name, size_t len,
		   enum model_kind kind, int id_arg, char *why);
/* Binds every marker of ENTRY to the definition last appended, and marks it used. */
int pair_build_bind(struct pair_build *build, struct pair_entry *entry, enum pair_role role);

/* Appends the spans of the user; what a spec does not find is a problem of the plan. */
int pair_specs(struct pair_build *build, struct pair_spec *const *specs, size_t n);
/* Appends the spans that rules find among the unused entries, and gives those that a rule wants
 * as events its reason. RULES may be NULL. */
int pair_rules_apply(struct pair_build *build, const struct rules *rules);
/* Appends the spans that naming conventions find among the unused entries, and gives each entry
 * that is left the reason why it is an event. */
int pair_conventions(struct pair_build *build);

#endif
