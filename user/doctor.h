/* SPDX-License-Identifier: MIT */
/* `spantrace doctor`: the facts of features.h for people, each with what it means and what to do.
 * Some fact is missing exactly when the verdict is that spantrace cannot trace. */
#ifndef SPANTRACE_DOCTOR_H
#define SPANTRACE_DOCTOR_H

#include <stdio.h>

#include "attach/features.h"

#define DOCTOR_MAX_FACTS 32
#define DOCTOR_TEXT_SIZE 320

enum doctor_state {
	DOCTOR_OK,
	DOCTOR_WARNING, /* spantrace traces, but not all of it works, or works as well */
	DOCTOR_MISSING, /* spantrace cannot trace without it */
};

struct doctor_fact {
	const char *name; /* stable, as in the JSON: "uprobe_multi" */
	enum doctor_state state;
	char text[DOCTOR_TEXT_SIZE];
};

/* Judges every fact; returns how many there are in OUT. */
size_t doctor_facts(const struct features *f, struct doctor_fact out[DOCTOR_MAX_FACTS]);
/* The last line, of LEN bytes: what works here, or why nothing does. As features_require(). */
int doctor_verdict(const struct features *f, char *text, size_t len);

/* The report; each returns what doctor_verdict() does. */
int doctor_print(const struct features *f, FILE *out);
int doctor_print_json(const struct features *f, FILE *out);

/* The subcommand. Exit status 0: spantrace can trace here, 1: it cannot, 2: bad usage. */
int doctor_run(int argc, char **argv);

#endif
