/* SPDX-License-Identifier: MIT */
/* From main() to the right place: a command, help, the version, or a trace. */
#include <errno.h>
#include <string.h>

#include "../util/cleanup.h"
#include "../util/log.h"
#include "cli.h"

static const char usage[] = "usage: spantrace [OPTION…] -p PID[,PID…]\n"
			    "       spantrace [OPTION…] -- CMD [ARG…]\n"
			    "       spantrace [OPTION…] -a\n";

static const struct command *find(const struct command *commands, const char *name)
{
	for (; commands->name; commands++)
		if (!strcmp(commands->name, name))
			return commands;
	return NULL;
}

static void print_usage(FILE *out, const struct command *commands)
{
	fputs(usage, out);
	for (; commands->name; commands++)
		fprintf(out, "       spantrace %s …\n", commands->name);
	fputs("`spantrace help` explains.\n", out);
}

static void print_help(FILE *out, const struct command *commands)
{
	fputs(usage, out);
	fputs("       spantrace COMMAND …\n\n"
	      "Shows where a running program spends its time by span, from outside.\n\n"
	      "options:\n",
	      out);
	cli_print_options(out);
	cli_print_formats(out);
	fputs("\ncommands (`spantrace help COMMAND` explains each):\n", out);
	for (; commands->name; commands++)
		fprintf(out, "  %-12s %s\n", commands->name, commands->summary);
	fputs("  help         this text, or that of a command\n"
	      "\n"
	      "exit status: 0 done; 1 failed while running; 2 bad usage; with -- CMD that of CMD,\n"
	      "or 125 spantrace failed, 126 CMD not executable, 127 CMD not found\n",
	      out);
}

/* NAME is no command of this build. */
static int complain(const char *name, const struct command *commands)
{
	log_error("`%s` is no command; to run a program write: spantrace -- %s", name, name);
	print_usage(stderr, commands);
	return CLI_USAGE;
}

static int help(int argc, char **argv, const struct command *commands)
{
	const struct command *command;
	char option[] = "--help";
	char *words[] = {argv[0], option, NULL};

	if (argc < 2 || !strcmp(argv[1], "help")) {
		print_help(stdout, commands);
		return CLI_DONE;
	}
	command = find(commands, argv[1]);
	if (!command)
		return complain(argv[1], commands);
	words[0] = argv[1];
	return command->run(2, words);
}

int cli_check_log(bool quiet, unsigned verbose)
{
	if (!quiet || !verbose)
		return 0;
	log_error("-q and -v exclude each other");
	return -EINVAL;
}

void cli_set_log(bool quiet, unsigned verbose)
{
	log_threshold = quiet          ? LOG_ERROR
			: verbose == 0 ? LOG_WARN
			: verbose == 1 ? LOG_INFO
				       : LOG_DEBUG;
}

int cli_status_of(int err)
{
	return err == 0 ? CLI_DONE : err == -EINVAL ? CLI_USAGE : CLI_FAILED;
}

int cli_main(int argc, char **argv, const struct command *commands,
	     int (*trace)(const struct options *options))
{
	CLEANUP(options_free) struct options options = {0};
	const struct command *command;
	int err;

	log_find_journal();
	if (argc < 2) {
		print_usage(stderr, commands);
		return CLI_USAGE;
	}
	if (!strcmp(argv[1], "help"))
		return help(argc - 1, argv + 1, commands);
	command = find(commands, argv[1]);
	if (command)
		return command->run(argc - 1, argv + 1);
	if (argv[1][0] != '-')
		return complain(argv[1], commands);

	err = cli_parse(argc, argv, &options);
	if (err)
		return cli_status_of(err);
	switch (options.action) {
	case ACTION_HELP:
		print_help(stdout, commands);
		return CLI_DONE;
	case ACTION_VERSION:
		puts("spantrace " SPANTRACE_VERSION);
		return CLI_DONE;
	case ACTION_RUN:
		break;
	}
	cli_set_log(options.quiet, options.verbose);
	return trace(&options);
}
