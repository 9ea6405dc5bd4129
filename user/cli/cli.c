/* SPDX-License-Identifier: MIT */
/* A command line, whole: its options (cli_options.c), those of its file, and which of them go together. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../util/cleanup.h"
#include "../util/log.h"
#include "cli_config.h"
#include "cli_impl.h"
#include "cli_options.h"

/* Which of -p, -a and -- CMD it is: one, and one only. REST are the words after the options. */
static int settle_mode(struct options *o, char **rest, bool dashes)
{
	bool all = o->mode == MODE_ALL;
	const char *name = o->cgroup ? "--cgroup" : "-a";
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
			  o->npids ? "-p" : name, command ? "-- CMD" : name);
		return -EINVAL;
	}
	if (!o->npids && !all && !command) {
		log_error("nothing to trace; give -p PID, -a or -- CMD");
		return -EINVAL;
	}
	if (all && !o->follow) {
		log_error("--no-follow and %s exclude each other: %s is every process%s", name,
			  name, o->cgroup ? " in it" : "");
		return -EINVAL;
	}
	if (o->npids)
		o->mode = MODE_PIDS;
	if (command)
		o->mode = MODE_CMD;
	return 0;
}

int cli_settle_outputs(struct options *o)
{
	struct options_output output;
	int err;

	if ((o->noutputs || o->pyroscope || o->listen.on) && !o->json)
		return 0;
	err = cli_default_output(o->json, &output);
	return err ? err : cli_add_output(o, &output);
}

/* Formats that can have a file for each interval get it. */
static int settle_interval(struct options *o)
{
	bool taken = false;

	for (size_t i = 0; i < o->noutputs; i++) {
		if (!o->outputs[i].format->file)
			continue;
		o->outputs[i].options.interval_ns = o->interval_ns;
		taken = true;
	}
	if (o->pyroscope && !o->interval_ns)
		o->interval_ns = PUSH_INTERVAL_NS;
	if (!o->interval_ns || taken || o->pyroscope)
		return 0;
	log_error(
		"--interval: no output is written by intervals; give -o pprof:FILE or --pyroscope URL");
	return -EINVAL;
}

/* A summary of each interval, on stdout. */
static int settle_top(struct options *o)
{
	struct options_output output;
	int err = cli_default_output(false, &output);

	if (!o->interval_ns)
		o->interval_ns = TOP_INTERVAL_NS;
	output.options.interval_ns = o->interval_ns;
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

/* What stands on a command line, and so is not taken from the file. */
struct given {
	bool letters[OPT_END];
	const char *config;
};

/* Options of which one stands for all: the command line's `-p 1` does away with the file's `all`. */
static int choice_of(int letter)
{
	switch (letter) {
	case 'a':
	case OPT_CGROUP:
		return 'p';
	case 'v':
	case OPT_LOG_LEVEL:
		return 'q';
	}
	return letter;
}

static int note_given(void *context, int letter, const char *arg)
{
	struct given *given = context;

	given->letters[choice_of(letter)] = true;
	if (letter == OPT_CONFIG && given->config) {
		log_error("--config: %s and %s; give one", given->config, arg);
		return -EINVAL;
	}
	if (letter == OPT_CONFIG)
		given->config = arg;
	return letter == 'h' || letter == OPT_VERSION;
}

static bool is_given(void *context, int letter)
{
	const struct given *given = context;

	return given->letters[choice_of(letter)];
}

/* The options of the file that the line names, where it does, and then those of the line. */
static int take_all(int argc, char **argv, const struct cli_grammar *grammar, struct options *o,
		    struct cli_words *words)
{
	static const int not_here[] = {OPT_CONFIG, OPT_VERSION, 'h', 0};
	struct given given = {.letters = {false}};
	struct cli_grammar look = *grammar;
	struct cli_config config = {
		.grammar = grammar, .not_here = not_here, .skip = is_given, .skip_context = &given};
	int err;

	if (grammar->stop) { /* else it puts the words in order, and none of its commands takes --config */
		look.take = note_given;
		err = cli_take_options(argc, argv, &look, &given, words);
		if (err)
			return err;
		given.letters['p'] |= words->dashes;
		config.path = given.config;
	}
	if (config.path) {
		err = cli_config_take(&config, o, &o->config_text);
		if (err)
			return err;
	}
	*words = (struct cli_words){.rest = argc};
	return cli_take_options(argc, argv, grammar, o, words);
}

static const char *help_of(unsigned form)
{
	switch (form) {
	case FOR_LIST:
		return "spantrace help list";
	case FOR_RECORD:
		return "spantrace help record";
	case FOR_TOP:
		return "spantrace help top";
	default:
		return "spantrace --help";
	}
}

static int parse(int argc, char **argv, unsigned form, struct options *out)
{
	CLEANUP(options_free)
	struct options o = {.metrics = METRICS_DEFAULT,
			    .follow = true,
			    .ring_bytes = RING_BYTES_DEFAULT,
			    .rows = ROWS_DEFAULT,
			    .heap_objects = HEAP_OBJECTS_DEFAULT,
			    .heap_interval_ns = HEAP_INTERVAL_NS,
			    .push_wait_ns = PUSH_WAIT_NS,
			    .parts.keep = PARTS_KEEP_ALL,
			    .line = {.argc = argc, .argv = argv, .form = form}};
	/* A trace stops at the first word that is no option: what follows is another program's. */
	const struct cli_grammar grammar = {
		.table = cli_options,
		.n = cli_noptions,
		.forms = form,
		.stop = form != FOR_LIST,
		.help = help_of(form),
		.take = cli_take_option,
	};
	struct cli_words words = {.rest = argc};
	int err;

	err = take_all(argc, argv, &grammar, &o, &words);
	if (err)
		goto out;
	if (o.action == ACTION_RUN) {
		err = cli_check_log(o.quiet, o.verbose);
		if (err)
			goto out;
		err = form == FOR_LIST ? settle_list(&o, argv + words.rest)
				       : settle_mode(&o, argv + words.rest, words.dashes);
		if (!err && form == FOR_TRACE)
			err = cli_settle_outputs(&o);
		if (!err && form == FOR_RECORD)
			err = cli_settle_record(&o);
		if (!err && form == FOR_TOP)
			err = settle_top(&o);
		if (!err)
			err = cli_settle_push(&o);
		if (!err && form != FOR_TOP)
			err = settle_interval(&o);
		if (!err && form != FOR_LIST)
			err = cli_settle_memory(&o);
		if (!err && !o.rules)
			err = rules_new(&o.rules);
		if (err)
			goto out;
		o.argv = argv + words.rest;
		o.argc = (size_t)(argc - words.rest);
		o.push.headers = o.push_headers;
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

int cli_parse_record(int argc, char **argv, struct options *out)
{
	return parse(argc, argv, FOR_RECORD, out);
}

int cli_parse_top(int argc, char **argv, struct options *out)
{
	return parse(argc, argv, FOR_TOP, out);
}

int cli_parse_again(const struct options *options, struct options *out)
{
	const struct options_line *line = &options->line;

	return parse(line->argc, line->argv, line->form, out);
}

void cli_print_options(FILE *out)
{
	cli_print_table(out, cli_options, cli_noptions, FOR_TRACE);
}

void cli_print_list_options(FILE *out)
{
	cli_print_table(out, cli_options, cli_noptions, FOR_LIST);
}

void cli_print_record_options(FILE *out)
{
	cli_print_table(out, cli_options, cli_noptions, FOR_RECORD);
}

void cli_print_top_options(FILE *out)
{
	cli_print_table(out, cli_options, cli_noptions, FOR_TOP);
}
