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

/* Whether OPTION is one of those of FORMS. */
static inline bool cli_option_belongs(const struct cli_option *option, unsigned forms)
{
	return !option->forms || option->forms & forms;
}

/* What may stand on a command's line. */
struct cli_grammar {
	const struct cli_option *table;
	size_t n;
	unsigned forms; /* options that belong to one of these */
	bool stop; /* at the first word that is no option; else the words are moved behind the options */
	const char *help; /* the command that prints the table: "spantrace help list" */
	cli_take_fn take;
};

struct cli_words {
	int rest;    /* where the words that are no options begin */
	bool dashes; /* `--` stood before them */
};

/* Hands the options of ARGV to GRAMMAR's take. 0 or -errno, with the message printed: -EINVAL for an option that is not in
 * the table or lacks its value. */
int cli_take_options(int argc, char **argv, const struct cli_grammar *grammar, void *context,
		     struct cli_words *words);
/* The table for people. */
void cli_print_table(FILE *out, const struct cli_option *table, size_t n, unsigned forms);

#endif
