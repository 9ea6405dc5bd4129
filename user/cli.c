/* SPDX-License-Identifier: MIT */
/* The options: one table for getopt and for help, and which of them go together. What their values
 * may say stands in cli_values.c. */
#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include "cli_impl.h"
#include "util/cleanup.h"
#include "util/log.h"

/* Who takes an option. */
#define FOR_TRACE 0x1u
#define FOR_LIST  0x2u

/* Options without a letter. */
enum {
	OPT_NO_FOLLOW = 256,
	OPT_BY,
	OPT_JSON,
	OPT_RING_SIZE,
	OPT_VERSION,
};

static const struct {
	int letter;
	unsigned forms;
	const char *name;
	const char *arg; /* NULL: takes none */
	const char *help;
} options_table[] = {
	{'p', FOR_TRACE | FOR_LIST, "pid", "PID[,PID…]", "these processes; repeatable"},
	{'a', FOR_TRACE | FOR_LIST, "all", NULL, "every process on the machine"},
	{'d', FOR_TRACE, "duration", "TIME", "stop after that long: 10s, 500ms, 2m"},
	{'o', FOR_TRACE, "output", "[FORMAT[,OPTION…]:]PATH",
	 "write there; repeatable; `-` is stdout (default: summary:-)"},
	{'m', FOR_TRACE, "metrics", "LIST", "what to measure: wall,cpu (default: both)"},
	{'P', FOR_TRACE | FOR_LIST, "provider", "GLOB", "only these providers; repeatable"},
	{'s', FOR_TRACE | FOR_LIST, "span", "NAME=START..END[,END…][@ARG]",
	 "a pair of markers provider:name; @ARG, from 0, is the id"},
	{'x', FOR_TRACE | FOR_LIST, "exclude", "GLOB",
	 "leave out these spans and events; repeatable"},
	{OPT_BY, FOR_TRACE, "by", "KEY", "split rows by this label; repeatable"},
	{OPT_NO_FOLLOW, FOR_TRACE, "no-follow", NULL, "not the children of the processes"},
	{OPT_RING_SIZE, FOR_TRACE, "ring-size", "SIZE", "of each CPU's ring buffer (default 8M)"},
	{OPT_JSON, FOR_TRACE | FOR_LIST, "json", NULL, "JSON to stdout"},
	{'q', FOR_TRACE | FOR_LIST, "quiet", NULL, "errors only"},
	{'v', FOR_TRACE | FOR_LIST, "verbose", NULL, "more; twice: everything"},
	{OPT_VERSION, FOR_TRACE, "version", NULL, "print the version"},
	{'h', FOR_TRACE | FOR_LIST, "help", NULL, "print this"},
};

#define NOPTIONS (sizeof(options_table) / sizeof(options_table[0]))

static int take_option(struct options *o, int letter, const char *arg)
{
	switch (letter) {
	case 'p':
		return cli_value_pids(o, arg);
	case 'a':
		o->mode = MODE_ALL;
		return 0;
	case 'd':
		return cli_value_duration(o, arg);
	case 'o':
		return cli_value_output(o, arg);
	case 'm':
		return cli_value_metrics(o, arg);
	case 'P':
		return cli_value_glob(&o->providers, &o->nproviders, "-P", arg);
	case 's':
		return cli_value_span(o, arg);
	case 'x':
		return cli_value_glob(&o->excludes, &o->nexcludes, "-x", arg);
	case OPT_BY:
		return cli_value_by(o, arg);
	case OPT_NO_FOLLOW:
		o->follow = false;
		return 0;
	case OPT_RING_SIZE:
		return cli_value_ring_size(o, arg);
	case OPT_JSON:
		o->json = true;
		return 0;
	case 'q':
		o->quiet = true;
		return 0;
	case 'v':
		o->verbose++;
		return 0;
	case 'h':
		o->action = ACTION_HELP;
		return 0;
	case OPT_VERSION:
		o->action = ACTION_VERSION;
		return 0;
	}
	return -EINVAL;
}

/* getopt found an option that is not in the table, has no argument, or one too many. WORD is
 * where. */
static void complain(int result, const char *word)
{
	bool is_long = !strncmp(word, "--", 2);

	if (result == ':' && is_long)
		log_error("%s needs a value; see spantrace --help", word);
	else if (result == ':')
		log_error("-%c needs a value; see spantrace --help", optopt);
	else if (is_long && optopt)
		log_error("%.*s takes no value", (int)strcspn(word, "="), word);
	else if (is_long)
		log_error("unknown option %s; see spantrace --help", word);
	else
		log_error("unknown option -%c; see spantrace --help", optopt);
}

/* Fills O by getopt. *REST is where the other words begin, *DASHES whether `--` stood before
 * them. */
static int take_options(int argc, char **argv, unsigned form, struct options *o, int *rest,
			bool *dashes)
{
	struct option longs[NOPTIONS + 1] = {{0}};
	char shorts[2 * NOPTIONS + 3];
	char *s = shorts;
	size_t n = 0;

	/* A trace stops at the first word that is no option: what follows is another program's. */
	if (form == FOR_TRACE)
		*s++ = '+';
	*s++ = ':';
	for (size_t i = 0; i < NOPTIONS; i++) {
		if (!(options_table[i].forms & form))
			continue;
		if (options_table[i].letter < 256) {
			*s++ = (char)options_table[i].letter;
			if (options_table[i].arg)
				*s++ = ':';
		}
		longs[n++] = (struct option){
			.name = options_table[i].name,
			.has_arg = options_table[i].arg ? required_argument : no_argument,
			.val = options_table[i].letter,
		};
	}
	*s = '\0';

	optind = 0; /* glibc: begin anew */
	opterr = 0;
	for (int before = 1;; before = optind) {
		int letter = getopt_long(argc, argv, shorts, longs, NULL);
		int err;

		if (letter == -1) {
			*rest = optind;
			*dashes = optind > before;
			return 0;
		}
		if (letter == '?' || letter == ':') {
			complain(letter, argv[optind > before ? optind - 1 : optind]);
			return -EINVAL;
		}
		err = take_option(o, letter, optarg);
		if (err)
			return err;
		/* What else is on the line need not be right then. */
		if (o->action != ACTION_RUN)
			return 0;
	}
}

/* Which of -p, -a and -- CMD it is: one, and one only. REST are the words after the options. */
static int settle_mode(struct options *o, char **rest, bool dashes)
{
	bool all = o->mode == MODE_ALL;
	bool command = dashes && *rest;

	if (*rest && !dashes) {
		log_error("unexpected \"%s\"; to run a program write: spantrace [OPTION…] -- %s",
			  *rest, *rest);
		return -EINVAL;
	}
	if (dashes && !*rest) {
		log_error("nothing follows `--`; write: spantrace [OPTION…] -- CMD [ARG…]");
		return -EINVAL;
	}
	if ((o->npids && all) || (o->npids && command) || (all && command)) {
		log_error("%s and %s exclude each other; give one of -p PID, -a and -- CMD",
			  o->npids ? "-p" : "-a", command ? "-- CMD" : "-a");
		return -EINVAL;
	}
	if (!o->npids && !all && !command) {
		log_error("nothing to trace; give -p PID, -a or -- CMD");
		return -EINVAL;
	}
	if (all && !o->follow) {
		log_error("--no-follow and -a exclude each other: -a is every process");
		return -EINVAL;
	}
	if (o->npids)
		o->mode = MODE_PIDS;
	if (command)
		o->mode = MODE_CMD;
	return 0;
}

static int settle_outputs(struct options *o)
{
	struct options_output output;
	int err;

	if (o->noutputs && !o->json)
		return 0;
	err = cli_default_output(o->json, &output);
	return err ? err : cli_add_output(o, &output);
}

static int settle_list(struct options *o, char **rest)
{
	bool all = o->mode == MODE_ALL;

	if ((o->npids > 0) + all + (*rest != NULL) > 1) {
		log_error("-p, -a and FILE exclude each other; list one kind at a time");
		return -EINVAL;
	}
	if (!o->npids && !all && !*rest) {
		log_error("nothing to list; write: spantrace list FILE…, or -p PID, or -a");
		return -EINVAL;
	}
	if (o->npids)
		o->mode = MODE_PIDS;
	return 0;
}

static int parse(int argc, char **argv, unsigned form, struct options *out)
{
	CLEANUP(options_free)
	struct options o = {.metrics = METRIC_WALL | METRIC_CPU,
			    .follow = true,
			    .ring_bytes = RING_BYTES_DEFAULT};
	bool dashes = false;
	int err, rest = argc;

	err = take_options(argc, argv, form, &o, &rest, &dashes);
	if (err)
		goto out;
	if (o.action == ACTION_RUN) {
		if (o.quiet && o.verbose) {
			log_error("-q and -v exclude each other");
			return -EINVAL;
		}
		err = form == FOR_LIST ? settle_list(&o, argv + rest)
				       : settle_mode(&o, argv + rest, dashes);
		if (!err && form == FOR_TRACE)
			err = settle_outputs(&o);
		if (err)
			goto out;
		o.argv = argv + rest;
		o.argc = (size_t)(argc - rest);
	}
	*out = o;
	o = (struct options){0};
out:
	if (err == -ENOMEM)
		log_error("out of memory");
	return err;
}

int cli_parse(int argc, char **argv, struct options *out)
{
	return parse(argc, argv, FOR_TRACE, out);
}

int cli_parse_list(int argc, char **argv, struct options *out)
{
	return parse(argc, argv, FOR_LIST, out);
}

void options_free(struct options *o)
{
	for (size_t i = 0; i < o->nspans; i++)
		pair_spec_free(&o->spans[i]);
	free(o->spans);
	free(o->pids);
	free(o->outputs);
	free(o->providers);
	free(o->excludes);
	free(o->by);
	*o = (struct options){0};
}

static void print_options(FILE *out, unsigned form)
{
	for (size_t i = 0; i < NOPTIONS; i++) {
		const char *arg = options_table[i].arg;
		char left[80];

		if (!(options_table[i].forms & form))
			continue;
		if (options_table[i].letter < 256)
			snprintf(left, sizeof(left), "-%c, --%s%s%s", options_table[i].letter,
				 options_table[i].name, arg ? " " : "", arg ? arg : "");
		else
			snprintf(left, sizeof(left), "    --%s%s%s", options_table[i].name,
				 arg ? " " : "", arg ? arg : "");
		fprintf(out, "  %s\n        %s\n", left, options_table[i].help);
	}
}

void cli_print_options(FILE *out)
{
	print_options(out, FOR_TRACE);
}

void cli_print_list_options(FILE *out)
{
	print_options(out, FOR_LIST);
}
