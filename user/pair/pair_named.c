/* SPDX-License-Identifier: MIT */
/* Spans whose markers the user names one by one: --span. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../util/grow.h"
#include "pair_build.h"

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
	struct pair_entry *start = pair_build_find(build, spec->start);
	bool async = spec->id_arg >= 0;
	bool start_good, made = false;
	int err;

	for (size_t i = 0; i < build->plan->ndefs; i++) {
		const struct pair_def *def = &build->plan->defs[i];

		if (!pair_compare_names(def->provider, def->name, spec->label.provider,
					spec->label.name))
			return problem(
				build, spec,
				pair_text(
					"the name is taken by another --span; write one --span with several ENDs, or another NAME"));
	}
	err = check_entry(build, spec, spec->start, start, &start_good);
	for (size_t i = 0; i < spec->nends && !err; i++) {
		struct pair_entry *end = pair_build_find(build, spec->ends[i]);
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

int pair_specs(struct pair_build *build, struct pair_spec *const *specs, size_t n)
{
	int err = 0;

	for (size_t i = 0; i < n && !err; i++)
		err = apply_spec(build, specs[i]);
	return err;
}
