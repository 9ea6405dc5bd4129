/* SPDX-License-Identifier: MIT */
/* The options of `spantrace coz`; see coz.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../cli/cli_impl.h"
#include "../cli/cli_table.h"
#include "../report/report_options.h"
#include "../util/cleanup.h"
#include "../util/grow.h"
#include "../util/log.h"
#include "coz.h"
#include "coz_report.h"

enum {
	OPT_PROGRESS = 256,
	OPT_APPEND,
	OPT_REPORT,
	OPT_PLOT,
	OPT_JSON,
	OPT_RULES,
	OPT_LIBCOZ,
	OPT_BINARY_SCOPE,
	OPT_SOURCE_SCOPE,
	OPT_FIXED_LINE,
	OPT_FIXED_SPEEDUP,
};

static const struct cli_option table[] = {
	{'l', "latency", "SPAN",
	 "a latency point for these spans, by provider:name or name; a glob; repeatable", 0},
	{OPT_PROGRESS, "progress", "EVENT|SPAN",
	 "a throughput point for these events, or ends of these spans; repeatable", 0},
	{'o', "output", "FILE", "coz's profile (default: " COZ_OUTPUT ")", 0},
	{OPT_APPEND, "append", NULL, "add to that file: several runs make one profile", 0},
	{OPT_REPORT, "report", "FILE", "show a profile that is there; runs nothing", 0},
	{OPT_PLOT, "plot", "FILE", "draw it too: FILE ends in .svg or .html", 0},
	{'n', "top", "N", "the first N lines of each point only (default 10; 0: all)", 0},
	{OPT_JSON, "json", NULL, "JSON to stdout, in place of the table", 0},
	{'P', "provider", "GLOB", "only markers of these providers, or PROVIDER:SPAN; repeatable",
	 0},
	{'s', "span", "NAME=START..END[,END…][@ARG]",
	 "a pair of markers provider:name; @ARG, from 0, is the id", 0},
	{'x', "exclude", "GLOB", "leave out these spans and events; repeatable", 0},
	{OPT_RULES, "rules", "FILE", "more rules for markers; see README; repeatable", 0},
	{OPT_LIBCOZ, "libcoz", "FILE",
	 "the library of coz (default: that of the program coz, or of a package)", 0},
	{OPT_BINARY_SCOPE, "binary-scope", "PATTERN",
	 "look for lines in these files; % is any text, MAIN the program (default: MAIN); repeatable",
	 0},
	{OPT_SOURCE_SCOPE, "source-scope", "PATTERN",
	 "only lines of these source files (default: %); repeatable", 0},
	{OPT_FIXED_LINE, "fixed-line", "FILE:LINE", "experiment on this line alone", 0},
	{OPT_FIXED_SPEEDUP, "fixed-speedup", "PERCENT", "… with this speedup alone, 0 to 100", 0},
	{'q', "quiet", NULL, "errors only", 0},
	{'v', "verbose", NULL, "more; twice: everything", 0},
	{'h', "help", NULL, "print this", 0},
};

#define NTABLE (sizeof(table) / sizeof(table[0]))

static void print_help(void)
{
	fputs("usage: spantrace coz [OPTION…] -- CMD [ARG…]\n"
	      "       spantrace coz [OPTION…] --report FILE\n\n"
	      "Runs CMD under coz, the causal profiler, with its spans and events as coz's points: coz makes lines\n"
	      "virtually faster, one at a time, and shows what that does to the points. CMD needs no macros of\n"
	      "coz's and is not built again for it; it needs markers and debug information.\n"
	      "Without --latency and --progress, points are what moves all the time: the spans and events that do so\n"
	      "at least 20 times a second.\n\n"
	      "options:\n",
	      stdout);
	cli_print_table(stdout, table, NTABLE, 0);
	fputs("\nexit status: that of CMD; 125 spantrace failed, or coz made no experiment, 126 CMD not executable,\n"
	      "127 CMD not found; with --report 0 done, 1 failed; 2 bad usage\n",
	      stdout);
}

static int add_word(const char ***items, size_t *n, const char *option, const char *text)
{
	if (!*text) {
		log_error("%s: the value is empty", option);
		return -EINVAL;
	}
	if (GROW(*items, *n))
		return -ENOMEM;
	(*items)[(*n)++] = text;
	return 0;
}

static bool ends_in(const char *text, const char *end)
{
	size_t len = strlen(text), n = strlen(end);

	return len > n && !strcmp(text + len - n, end);
}

static int take_plot(struct coz_options *o, const char *arg)
{
	if (!ends_in(arg, ".svg") && !ends_in(arg, ".html")) {
		log_error("--plot %s: write a path that ends in .svg or .html", arg);
		return -EINVAL;
	}
	o->plot = arg;
	return 0;
}

static int take_speedup(struct coz_options *o, const char *arg)
{
	char *end;
	long percent = strtol(arg, &end, 10);

	if (end == arg || *end || percent < 0 || percent > 100) {
		log_error("--fixed-speedup: \"%s\" is not a number from 0 to 100; write 25", arg);
		return -EINVAL;
	}
	o->fixed_speedup = arg;
	return 0;
}

static int take_scope(struct coz_options *o, int letter, const char *arg)
{
	/* coz takes a list with tabs. */
	if (strchr(arg, '\t')) {
		log_error("scopes of coz have no tabs");
		return -EINVAL;
	}
	return letter == OPT_BINARY_SCOPE
		       ? add_word(&o->binaries, &o->nbinaries, "--binary-scope", arg)
		       : add_word(&o->sources, &o->nsources, "--source-scope", arg);
}

static int take_option(void *context, int letter, const char *arg)
{
	struct coz_options *o = context;

	switch (letter) {
	case 'l':
		return add_word(&o->latency, &o->nlatency, "--latency", arg);
	case OPT_PROGRESS:
		return add_word(&o->progress, &o->nprogress, "--progress", arg);
	case 'o':
		o->output = arg;
		return 0;
	case OPT_APPEND:
		o->append = true;
		return 0;
	case OPT_REPORT:
		o->report = arg;
		return 0;
	case OPT_PLOT:
		return take_plot(o, arg);
	case 'n':
		return report_take_top(&o->top, arg);
	case OPT_JSON:
		o->json = true;
		return 0;
	case 'P':
		return cli_value_glob(&o->trace.providers, &o->trace.nproviders, "-P", arg);
	case 's':
		return cli_value_span(&o->trace, arg);
	case 'x':
		return cli_value_glob(&o->trace.excludes, &o->trace.nexcludes, "-x", arg);
	case OPT_RULES:
		return cli_value_rules(&o->trace, arg);
	case OPT_LIBCOZ:
		o->libcoz = arg;
		return 0;
	case OPT_BINARY_SCOPE:
	case OPT_SOURCE_SCOPE:
		return take_scope(o, letter, arg);
	case OPT_FIXED_LINE:
		o->fixed_line = arg;
		return 0;
	case OPT_FIXED_SPEEDUP:
		return take_speedup(o, arg);
	case 'q':
		o->trace.quiet = true;
		return 0;
	case 'v':
		o->trace.verbose++;
		return 0;
	default:
		print_help();
		o->helped = true;
		return 1;
	}
}

static int settle(struct coz_options *o, char **rest)
{
	int err = cli_check_log(o->trace.quiet, o->trace.verbose);

	if (err)
		return err;
	if (o->report && *rest) {
		log_error("--report and -- CMD exclude each other");
		return -EINVAL;
	}
	if (!o->report && !*rest) {
		log_error("nothing to run; give -- CMD, or --report FILE");
		return -EINVAL;
	}
	if (!o->trace.rules)
		err = rules_new(&o->trace.rules);
	return err;
}

int coz_options_parse(int argc, char **argv, struct coz_options *o)
{
	const struct cli_grammar grammar = {
		.table = table,
		.n = NTABLE,
		.stop = true,
		.help = "spantrace help coz",
		.take = take_option,
	};
	struct cli_words words = {.rest = argc};
	int err;

	*o = (struct coz_options){
		.output = COZ_OUTPUT,
		.top = COZ_SHOWN,
		.trace = {.mode = MODE_CMD,
			  .ring_bytes = RING_BYTES_MIN,
			  .metrics = METRIC_WALL,
			  .parts.keep = PARTS_KEEP_ALL,
			  .stream = true},
	};
	err = cli_take_options(argc, argv, &grammar, o, &words);
	if (!err && !o->helped)
		err = settle(o, argv + words.rest);
	if (err == -ENOMEM)
		log_error("out of memory");
	o->trace.argv = argv + words.rest;
	o->trace.argc = (size_t)(argc - words.rest);
	return err;
}

void coz_options_free(struct coz_options *o)
{
	options_free(&o->trace);
	free(o->latency);
	free(o->progress);
	free(o->binaries);
	free(o->sources);
}
