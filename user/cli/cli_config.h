/* SPDX-License-Identifier: MIT */
/* A configuration file: the long options of a command, one a line, through the same table as its command line.
 *
 *	# every process, for the profile server
 *	all
 *	interval = 10s
 *	exclude = app:noise*
 */
#ifndef SPANTRACE_CLI_CONFIG_H
#define SPANTRACE_CLI_CONFIG_H

#include "cli_table.h"

#define CONFIG_BYTES_MAX (1u << 20)

/* Whether the file's value for an option of LETTER is to be left: the command line has one. */
typedef bool (*cli_config_skip_fn)(void *context, int letter);

struct cli_config {
	const char *path;
	const struct cli_grammar *grammar;
	const int *not_here; /* letters of options that make no sense in a file; 0 ends them */
	cli_config_skip_fn skip;
	void *skip_context;
};

/* Hands the options of the file to its grammar's take, with CONTEXT. Their values point into *TEXT, which is for free() as
 * late as they are, also after an error. 0 or -errno, with the message printed, which names the line. */
int cli_config_take(const struct cli_config *config, void *context, char **text);

#endif
