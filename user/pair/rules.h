/* SPDX-License-Identifier: MIT */
/* Rules for programs whose markers the naming conventions would miss, pair wrongly or leave without names: data, read
 * from text. The built-in ones stand in programs.rules, whose head explains the grammar; --rules adds files of the
 * user's, which come first and replace built-in rules of the same name.
 *
 *   text ▸ rules_parse.c ▸ struct rules ▸ pair_rules.c: definitions ▸ plan_attach.c: what to read at each site
 */
#ifndef SPANTRACE_RULES_H
#define SPANTRACE_RULES_H

#include <stdbool.h>
#include <stddef.h>

#include "../../include/limits.h"
#include "../../include/model.h"

#define RULES_FILE_MAX (1u << 20)
#define RULES_MAX      4096
#define RULE_MARKERS   16 /* that start, or end, one span */
#define RULE_JOINT_MAX (JOINT_MAX - 1)

/* A text among the arguments of a marker: a C string, or a pointer and its length. */
struct rule_text {
	u32 arg;
	int length_arg; /* -1: it ends with a NUL */
};

struct rule_label {
	const char *key;
	bool is_text;
	struct rule_text text; /* of a number, its argument */
	u32 max;               /* bytes of the text that are kept */
};

/* What a single span is called: PREFIX, then one text, or two with JOINT between them. */
struct rule_name {
	u32 ntexts; /* 0: as the rule is */
	struct rule_text texts[NAME_TEXTS];
	const char *prefix;
	const char *joint;
};

struct rule {
	const char *provider;
	const char *name; /* of a span */
	enum model_kind kind;
	const char *starts[RULE_MARKERS]; /* any that is there; MODEL_EVENT: the events */
	const char *ends[RULE_MARKERS];
	u32 nstarts, nends;
	int id_arg; /* MODEL_ASYNC_SPAN: of its start; else -1 */
	int end_id_arg;
	bool recursive;
	const char *why;      /* an event is one; NULL: not said */
	const char *left_out; /* why it is not traced unless it is named; NULL: it is */
	const char *hint;     /* what to do where it never fires; NULL: nothing is known */
	struct rule_name own;
	struct rule_label labels[LABELS_MAX];
	u32 nlabels;
	const char *file; /* NULL: built in */
	u32 line;
};

/* What is true of all that a provider has. */
struct rule_provider {
	const char *name;
	const char *left_out;
	const char *hint;
};

struct rules {
	struct rule *rules; /* those that come first win */
	size_t nrules;
	struct rule_provider *providers; /* each once */
	size_t nproviders;
	void *strings; /* owns every string above */
};

/* The built-in rules. 0 or -ENOMEM. */
int rules_new(struct rules **out);
void rules_free(struct rules **rules);
/* Puts the rules in TEXT before those that are there. FILE is its name in messages; NULL: built in. 0; -EINVAL, with
 * RULES as they were and a sentence that begins with FILE:LINE:COLUMN in WHY (of LEN bytes); or -ENOMEM. */
int rules_add(struct rules *rules, const char *file, const char *text, size_t size, char *why,
	      size_t len);
/* The same from the file at PATH; also -errno from reading, with a sentence. */
int rules_add_file(struct rules *rules, const char *path, char *why, size_t len);
/* NULL: no rule speaks of that provider as a whole. */
const struct rule_provider *rules_provider(const struct rules *rules, const char *name);

/* Private to rules*.c: parses TEXT into RULES, which is empty but for its strings. As rules_add(). */
int rules_parse(struct rules *rules, const char *file, const char *text, size_t size, char *why,
		size_t len);

#endif
