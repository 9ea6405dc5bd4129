/* SPDX-License-Identifier: MIT */
/* Spans and events by rules (rules.h): the markers of each that are here and free. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../../exporters/text.h"
#include "pair_build.h"

/* The markers among NAMES that are here and free, and carry argument ID_ARG if that is not -1. Returns how many. */
static u32 find_entries(const struct pair_build *build, const char *provider,
			const char *const *names, u32 n, int id_arg, struct pair_entry **out)
{
	u32 count = 0;

	for (u32 i = 0; i < n; i++) {
		struct pair_entry *entry =
			pair_build_find(build, (struct pair_name){provider, names[i]});

		if (entry && !entry->used && (id_arg < 0 || (u32)id_arg < entry->nargs))
			out[count++] = entry;
	}
	return count;
}

static void add_text(struct text_buf *b, const struct rule_text *text)
{
	char buffer[64];

	if (text->length_arg < 0)
		snprintf(buffer, sizeof(buffer), "string(arg%u)", text->arg);
	else
		snprintf(buffer, sizeof(buffer), "string(arg%u, arg%d)", text->arg,
			 text->length_arg);
	text_add_str(b, buffer);
}

static void add_quoted(struct text_buf *b, const char *text)
{
	if (!*text)
		return;
	text_add_str(b, "\"");
	text_add_str(b, text);
	text_add_str(b, "\" ");
}

/* What the rule says, for `list`. */
static char *describe(const struct rule *rule)
{
	struct text_buf b = {0};
	char buffer[64];

	if (rule->kind == MODEL_EVENT && rule->why) {
		text_add_str(&b, rule->why);
	} else if (rule->file) {
		snprintf(buffer, sizeof(buffer), ":%u", rule->line);
		text_add_str(&b, "by ");
		text_add_str(&b, rule->file);
		text_add_str(&b, buffer);
	} else {
		text_add_str(&b, "by a rule for ");
		text_add_str(&b, rule->provider);
	}
	if (rule->kind == MODEL_ASYNC_SPAN) {
		snprintf(buffer, sizeof(buffer), ", keyed by argument @%d", rule->id_arg);
		text_add_str(&b, buffer);
	}
	if (rule->own.ntexts) {
		text_add_str(&b, "; named ");
		add_quoted(&b, rule->own.prefix);
		add_text(&b, &rule->own.texts[0]);
	}
	if (rule->own.ntexts > 1) {
		text_add_str(&b, " ");
		add_quoted(&b, rule->own.joint);
		add_text(&b, &rule->own.texts[1]);
	}
	for (u32 i = 0; i < rule->nlabels; i++) {
		text_add_str(&b, i ? ", " : rule->nlabels > 1 ? "; labels " : "; label ");
		text_add_str(&b, rule->labels[i].key);
	}
	if (b.failed) {
		text_buf_free(&b);
		return NULL;
	}
	return b.data;
}

static int apply_events(struct pair_build *build, const struct rule *rule)
{
	struct pair_entry *entries[RULE_MARKERS];
	u32 n = find_entries(build, rule->provider, rule->starts, rule->nstarts, -1, entries);

	for (u32 i = 0; i < n; i++) {
		entries[i]->used = true;
		entries[i]->rule = rule;
		entries[i]->why = describe(rule);
		if (!entries[i]->why)
			return -ENOMEM;
	}
	return 0;
}

static int apply_span(struct pair_build *build, const struct rule *rule)
{
	struct pair_entry *starts[RULE_MARKERS], *ends[RULE_MARKERS];
	u32 nstarts = find_entries(build, rule->provider, rule->starts, rule->nstarts, rule->id_arg,
				   starts);
	u32 nends = find_entries(build, rule->provider, rule->ends, rule->nends, rule->end_id_arg,
				 ends);
	bool async = rule->kind == MODEL_ASYNC_SPAN;
	struct pair_def *def;
	int err;

	if (!nstarts || !nends)
		return 0;
	err = pair_build_def(build, rule->provider, rule->name, strlen(rule->name), rule->kind,
			     rule->id_arg, describe(rule));
	if (err)
		return err;
	def = &build->plan->defs[build->plan->ndefs - 1];
	def->end_id_arg = rule->end_id_arg;
	def->recursive = rule->recursive;
	def->rule = rule;
	for (u32 i = 0; i < nstarts && !err; i++)
		err = pair_build_bind(build, starts[i], async ? PAIR_NEW : PAIR_ENTER);
	for (u32 i = 0; i < nends && !err; i++)
		err = pair_build_bind(build, ends[i], async ? PAIR_CLOSE : PAIR_EXIT);
	return err;
}

int pair_rules_apply(struct pair_build *build, const struct rules *rules)
{
	int err = 0;

	for (size_t i = 0; rules && i < rules->nrules && !err; i++) {
		const struct rule *rule = &rules->rules[i];

		err = rule->kind == MODEL_EVENT ? apply_events(build, rule)
						: apply_span(build, rule);
	}
	return err;
}
