/* SPDX-License-Identifier: MIT */
/* The set of rules: built-in ones, and files that come before them. See rules.h. */
#include "rules.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../util/cleanup.h"
#include "../util/strpool.h"

static void rules_release(struct rules *rules)
{
	free(rules->rules);
	free(rules->providers);
	rules->rules = NULL;
	rules->providers = NULL;
}

void rules_free(struct rules **out)
{
	struct rules *rules = *out;
	struct strpool *strings;

	if (!rules)
		return;
	*out = NULL;
	strings = rules->strings;
	rules_release(rules);
	strpool_free(&strings);
	free(rules);
}

const struct rule_provider *rules_provider(const struct rules *rules, const char *name)
{
	for (size_t i = 0; i < rules->nproviders; i++)
		if (!strcmp(rules->providers[i].name, name))
			return &rules->providers[i];
	return NULL;
}

static bool has_span(const struct rules *rules, const struct rule *rule)
{
	for (size_t i = 0; i < rules->nrules; i++) {
		const struct rule *other = &rules->rules[i];

		if (other->kind != MODEL_EVENT && !strcmp(other->name, rule->name) &&
		    !strcmp(other->provider, rule->provider))
			return true;
	}
	return false;
}

/* NEWER, then what of OLDER it does not replace. */
static int merge(struct rules *older, const struct rules *newer)
{
	struct rules all = {.strings = older->strings};

	all.rules = calloc(newer->nrules + older->nrules + 1, sizeof(*all.rules));
	all.providers = calloc(newer->nproviders + older->nproviders + 1, sizeof(*all.providers));
	if (!all.rules || !all.providers) {
		rules_release(&all);
		return -ENOMEM;
	}
	for (size_t i = 0; i < newer->nrules; i++)
		all.rules[all.nrules++] = newer->rules[i];
	for (size_t i = 0; i < older->nrules; i++)
		if (older->rules[i].kind == MODEL_EVENT || !has_span(newer, &older->rules[i]))
			all.rules[all.nrules++] = older->rules[i];
	for (size_t i = 0; i < newer->nproviders; i++)
		all.providers[all.nproviders++] = newer->providers[i];
	for (size_t i = 0; i < older->nproviders; i++)
		if (!rules_provider(newer, older->providers[i].name))
			all.providers[all.nproviders++] = older->providers[i];
	rules_release(older);
	*older = all;
	return 0;
}

int rules_add(struct rules *rules, const char *file, const char *text, size_t size, char *why,
	      size_t len)
{
	CLEANUP(rules_release) struct rules newer = {.strings = rules->strings};
	int err = rules_parse(&newer, file, text, size, why, len);

	return err ? err : merge(rules, &newer);
}

int rules_add_file(struct rules *rules, const char *path, char *why, size_t len)
{
	AUTO_FREE char *text = malloc(RULES_FILE_MAX + 1);
	AUTO_FCLOSE FILE *in = fopen(path, "re");
	size_t size;

	if (!text)
		return -ENOMEM;
	if (!in) {
		int err = -errno;

		snprintf(why, len, "%s: %s", path, strerror(-err));
		return err;
	}
	size = fread(text, 1, RULES_FILE_MAX + 1, in);
	if (ferror(in)) {
		snprintf(why, len, "%s: it cannot be read", path);
		return -EIO;
	}
	if (size > RULES_FILE_MAX) {
		snprintf(why, len, "%s: more than a megabyte is no file of rules", path);
		return -EINVAL;
	}
	return rules_add(rules, path, text, size, why, len);
}

int rules_new(struct rules **out)
{
	static const char built_in[] =
#include "user/pair/programs.rules.h"
		"";
	CLEANUP(rules_free) struct rules *rules = calloc(1, sizeof(*rules));
	struct strpool *strings = NULL;
	char why[256];
	int err;

	if (!rules || strpool_new(&strings))
		return -ENOMEM;
	rules->strings = strings;
	err = rules_add(rules, NULL, built_in, sizeof(built_in) - 1, why, sizeof(why));
	if (!err)
		*out = TAKE_PTR(rules);
	return err;
}
