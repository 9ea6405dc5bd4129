/* SPDX-License-Identifier: MIT */
/* Rules for well-known programs whose markers the naming conventions would miss or pair wrongly. */
#ifndef SPANTRACE_PAIR_RULES_H
#define SPANTRACE_PAIR_RULES_H

#include "../include/model.h"

#define PAIR_RULE_STARTS 2
#define PAIR_RULE_ENDS   6

struct pair_rule {
	const char *provider;
	const char *name; /* of the span */
	/* MODEL_EVENT: never a span; both lists then hold markers that stay events. */
	enum model_kind kind;
	const char *starts[PAIR_RULE_STARTS]; /* any that is there */
	const char *ends[PAIR_RULE_ENDS];
	int id_arg;      /* async spans only */
	const char *why; /* NULL: "by a rule for PROVIDER" */
};

extern const struct pair_rule pair_rules[];
extern const size_t pair_nrules;

#endif
