/* SPDX-License-Identifier: MIT */
/* One table of options for getopt and for help: what every command's options are told by. */
#ifndef SPANTRACE_CLI_TABLE_H
#define SPANTRACE_CLI_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct cli_option {
	int letter; /* below 256: `-L` too */
	const char *name;
	const char *arg; /* NULL: takes none */
	const char *help;
	unsigned forms; /* which commands of a shared table take it; 0: all */
};

/* One option with its value. 0 or -errno, with the message printed; 1: done, what else is on the line need not be right. */
typedef int (*cli_take_fn)(void *context, int letter, const char *arg);

struct cli_words {
	int rest;    /* where the words that are no options begin */
	bool dashes; /* `--` stood before them */
};

/* Hands the options of ARGV to TAKE, those of the N in TABLE that belong to one of FORMS. STOP: at the first word that is
 * no option; else the words are moved behind the options. 0 or -errno, with the message printed: -EINVAL for an option that
 * is not in the table or lacks its value. */
int cli_take_options(int argc, char **argv, const struct cli_option *table, size_t n,
		     unsigned forms, bool stop, cli_take_fn take, void *context,
		     struct cli_words *words);
/* The table for people. */
void cli_print_table(FILE *out, const struct cli_option *table, size_t n, unsigned forms);

#endif
