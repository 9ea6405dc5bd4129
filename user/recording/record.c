/* SPDX-License-Identifier: MIT */
/* See record.h. The work is that of a trace (session.c) and of its outputs (outputs_parts.c). */
#include "record.h"

#include "../cli/cli.h"
#include "../session/session.h"
#include "../util/cleanup.h"

static void print_help(void)
{
	puts("usage: spantrace record [OPTION…] -p PID[,PID…]\n"
	     "       spantrace record [OPTION…] -- CMD [ARG…]\n"
	     "       spantrace record [OPTION…] -a\n"
	     "\n"
	     "Traces, and keeps every span in a file, " RECORD_PATH
	     " unless -o names another, from\n"
	     "which `spantrace export` makes every format later.\n"
	     "\n"
	     "options:");
	cli_print_record_options(stdout);
	cli_print_formats(stdout);
	puts("\n"
	     "With --max-size or --max-time, or on SIGUSR1, the current file becomes NAME.1.spans, the\n"
	     "one before it NAME.2.spans, and so on, and a new one begins. With --last nothing is\n"
	     "written until it is asked for, then NAME.1.spans, NAME.2.spans, … in that order.\n"
	     "\n"
	     "exit status: as that of a trace; see `spantrace help`");
}

int record_run(int argc, char **argv)
{
	CLEANUP(options_free) struct options options = {0};
	int err = cli_parse_record(argc, argv, &options);

	if (err)
		return cli_status_of(err);
	if (options.action == ACTION_HELP) {
		print_help();
		return CLI_DONE;
	}
	cli_set_log(options.quiet, options.verbose);
	return session_run(&options);
}
