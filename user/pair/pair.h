/* SPDX-License-Identifier: MIT */
/* From marker names to span definitions: which markers start and end which span.
 *
 * Three sources, in this order; a marker that one of them uses is not there for the next:
 *   1. --span of the user (pair_spec.c)
 *   2. the rules for well-known programs (rules.h, pair_rules.c); they stand before the conventions
 *      because some of their programs have names that a convention would pair wrongly
 *   3. the naming conventions, first with `__`, then with one `_`, then with `-`:
 *        enter/exit       thread span
 *        new/close        async span, together with enter/exit of the same name
 *        entry/return     thread span, recursive
 *        start/done, begin/end, start/end, start/stop, start/finish    thread spans
 * What is left is an event. Only a --span crosses providers.
 *
 * An async span is keyed by argument 0 of its markers, so one without arguments is no part of it.
 * It needs new and close, or one of them beside enter and exit: without a new it begins where it
 * is first entered, without a close it stays open until its process ends. Enter and exit alone
 * make an async span only where spantrace.h shows that both carry an id (SPAN_ENTER_ID,
 * SPAN_EXIT_ID).
 *
 * This file is pure: names in, definitions out.
 */
#ifndef SPANTRACE_PAIR_H
#define SPANTRACE_PAIR_H

#include <stdbool.h>
#include <stddef.h>

#include "../../include/model.h"
#include "pair_spec.h"
#include "rules.h"

/* One marker name. The same one may come several times, from several files: all get its
 * bindings. */
struct pair_marker {
	const char *provider;
	const char *name;
	u32 nargs;     /* most that any site of it has */
	bool has_meta; /* made by spantrace.h */
};

enum pair_role {
	PAIR_ENTER = 1,
	PAIR_EXIT = 2,
	PAIR_NEW = 3,
	PAIR_CLOSE = 4,
	PAIR_EVENT = 5,
};

struct pair_def {
	char *provider;
	char *name;
	enum model_kind kind;
	bool recursive;          /* its frames do not live on the C stack: rule 2 of the README */
	bool is_spec;            /* from a --span */
	int id_arg;              /* argument of its markers that is the id; -1: none */
	int end_id_arg;          /* the same of those that close it */
	const struct rule *rule; /* that made it: names and labels; NULL: something else did */
	char *why;               /* "by `__enter/__exit`" */
	u32 first_binding;       /* its bindings stand side by side */
	u32 nbindings;
};

struct pair_binding {
	u32 marker; /* index into the markers given */
	u32 def;
	enum pair_role role;
};

struct pair_options {
	const struct rules *rules; /* NULL: none. Borrowed by the plan too */
	struct pair_spec *const *specs;
	size_t nspecs;
	/* Globs over providers, or over `provider:name` of spans and events where they have a `:`: only
	 * these. A --span is kept whatever its provider. None: all but what rules leave out. */
	const char *const *providers;
	size_t nproviders;
	/* Globs over `provider:name` of spans and events, or over the name where they have no
	 * `:`. */
	const char *const *excludes;
	size_t nexcludes;
};

/* Something that a rule leaves out, and that nobody has named. */
struct pair_left_out {
	char *what;      /* "provider" or "provider:name", as -P takes it */
	const char *why; /* the rule's */
};

/* Definitions: --span in the order given, then rules, then conventions by separator and name,
 * then events by name. Among spans, provider and name are unique: a second pair with the same
 * stem gets the name of its start marker. */
struct pair_plan {
	struct pair_def *defs;
	size_t ndefs;
	struct pair_binding *bindings;
	size_t nbindings;
	char **problems; /* a sentence for each --span that could not be used with these markers */
	size_t nproblems;
	struct pair_left_out *left_out; /* each once */
	size_t nleft_out;
};

/* OPTIONS may be NULL: no rules, no filters. 0 or -ENOMEM. The plan owns its strings, but for what is a rule's. */
int pair_plan_new(const struct pair_marker *markers, size_t n, const struct pair_options *options,
		  struct pair_plan **out);
void pair_plan_free(struct pair_plan **plan);

/* "enter", "exit", "new", "close", "event" */
const char *pair_role_name(enum pair_role role);
/* "thread span", "async span", "event" */
const char *pair_kind_name(enum model_kind kind);

#endif
