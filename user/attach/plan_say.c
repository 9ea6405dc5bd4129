/* SPDX-License-Identifier: MIT */
/* What a plan tells people about rules: what they leave out, and what to do where markers stay silent. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "../util/grow.h"
#include "../util/log.h"
#include "plan_impl.h"

static int note_left_out(struct plan *plan, const struct pair_left_out *left_out)
{
	const char *what;

	for (size_t i = 0; i < plan->nleft_out; i++)
		if (!strcmp(plan->left_out[i], left_out->what))
			return 0;
	what = strpool_add(plan->strings, left_out->what, strlen(left_out->what));
	if (!what || GROW(plan->left_out, plan->nleft_out))
		return -ENOMEM;
	plan->left_out[plan->nleft_out++] = what;
	log_warn("%s is left out: %s; -P %s takes it in", what, left_out->why, what);
	return 0;
}

static int note_hint(struct plan *plan, const struct pair_def *def, const char *hint)
{
	struct plan_hint *made;

	for (size_t i = 0; i < plan->nhints; i++)
		if (!strcmp(plan->hints[i].name, def->name) &&
		    !strcmp(plan->hints[i].provider, def->provider))
			return 0;
	if (GROW(plan->hints, plan->nhints))
		return -ENOMEM;
	made = &plan->hints[plan->nhints];
	made->hint = hint;
	made->provider = strpool_add(plan->strings, def->provider, strlen(def->provider));
	made->name = strpool_add(plan->strings, def->name, strlen(def->name));
	if (!made->provider || !made->name)
		return -ENOMEM;
	plan->nhints++;
	return 0;
}

int plan_note_rules(struct plan *plan, const struct pair_plan *pairs)
{
	const struct rules *rules = plan->options ? plan->options->rules : NULL;
	int err = 0;

	for (size_t i = 0; i < pairs->nleft_out && !err; i++)
		err = note_left_out(plan, &pairs->left_out[i]);
	for (size_t i = 0; rules && i < pairs->ndefs && !err; i++) {
		const struct pair_def *def = &pairs->defs[i];
		const struct rule_provider *provider = rules_provider(rules, def->provider);
		const char *hint = provider ? provider->hint : NULL;

		if (def->rule && def->rule->hint)
			hint = def->rule->hint;
		if (hint)
			err = note_hint(plan, def, hint);
	}
	return err;
}

static bool is_of(const struct model_def *def, const struct plan_hint *hint)
{
	return def && !strcmp(def->name, hint->name) && !strcmp(def->provider, hint->provider);
}

static bool was_seen(const struct plan_hint *hint, const struct profile *profile)
{
	for (size_t i = 0; i < profile->nrows; i++)
		if (is_of(profile->rows[i].path->def, hint))
			return true;
	for (size_t i = 0; i < profile->nevents; i++)
		if (is_of(profile->events[i].def, hint))
			return true;
	return false;
}

/* HINT stands for all that have the same words. */
static void say_hint(const struct plan *plan, size_t first, const struct profile *profile)
{
	const struct plan_hint *hint = &plan->hints[first];
	size_t more = 0;

	for (size_t i = 0; i < plan->nhints; i++) {
		if (strcmp(plan->hints[i].hint, hint->hint) != 0)
			continue;
		if (i < first || was_seen(&plan->hints[i], profile))
			return;
		more += i > first;
	}
	if (more)
		log_warn("%s:%s and %zu more never fired: %s", hint->provider, hint->name, more,
			 hint->hint);
	else
		log_warn("%s:%s never fired: %s", hint->provider, hint->name, hint->hint);
}

void plan_say_hints(const struct plan *plan, const struct profile *profile)
{
	for (size_t i = 0; i < plan->nhints; i++)
		say_hint(plan, i, profile);
}
