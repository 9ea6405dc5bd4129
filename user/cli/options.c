/* SPDX-License-Identifier: MIT */
/* What a command line was parsed to: who needs a part of it, and its end. See cli.h. */
#include <stdlib.h>

#include "cli.h"

struct pair_options options_pairing(const struct options *options)
{
	return (struct pair_options){
		.rules = options->rules,
		.specs = options->spans,
		.nspecs = options->nspans,
		.providers = options->providers,
		.nproviders = options->nproviders,
		.excludes = options->excludes,
		.nexcludes = options->nexcludes,
	};
}

void options_free(struct options *o)
{
	for (size_t i = 0; i < o->nspans; i++)
		pair_spec_free(&o->spans[i]);
	free(o->spans);
	rules_free(&o->rules);
	free(o->pids);
	free(o->outputs);
	free(o->providers);
	free(o->excludes);
	free(o->by);
	free(o->parts.triggers);
	free(o->allocators);
	free(o->tags);
	free(o->push_headers);
	free(o->config_text);
	*o = (struct options){0};
}
