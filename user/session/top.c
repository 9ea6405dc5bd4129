/* SPDX-License-Identifier: MIT */
/* See top.h. The work is that of a trace (session.c) whose summary is one of each interval (outputs_screen.c). */
#include "top.h"

#include <stdio.h>

#include "../cli/cli.h"
#include "../util/cleanup.h"
#include "session.h"

static void print_help(void)
{
	puts("usage: spantrace top [OPTION…] -p PID[,PID…]\n"
	     "       spantrace top [OPTION…] -- CMD [ARG…]\n"
	     "       spantrace top [OPTION…] -a\n"
	     "\n"
	     "Shows what the spans of the last seconds took, again and again, until Ctrl-C. Where\n"
	     "stdout is no terminal, one summary follows the other.\n"
	     "\n"
	     "options:");
	cli_print_top_options(stdout);
	puts("\n"
	     "exit status: as that of a trace; see `spantrace help`");
}

int top_run(int argc, char **argv)
{
	CLEANUP(options_free) struct options options = {0};
	int err = cli_parse_top(argc, argv, &options);

	if (err)
		return cli_status_of(err);
	if (options.action == ACTION_HELP) {
		print_help();
		return CLI_DONE;
	}
	cli_set_log(options.quiet, options.verbose);
	return session_run(&options);
}
