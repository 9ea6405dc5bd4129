/* SPDX-License-Identifier: MIT */
/* The options of a trace and of `list`, and which of them go together. What their values may say
 * stands in cli_values.c. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../util/cleanup.h"
#include "../util/log.h"
#include "cli_config.h"
#include "cli_impl.h"
#include "cli_table.h"

/* Who takes an option. */
#define FOR_TRACE  0x1u
#define FOR_LIST   0x2u
#define FOR_RECORD 0x4u
#define FOR_BOTH   (FOR_TRACE | FOR_RECORD)

/* Options without a letter. */
enum {
	OPT_NO_FOLLOW = 256,
	OPT_BY,
	OPT_CGROUP,
	OPT_INTERVAL,
	OPT_JSON,
	OPT_RING_SIZE,
	OPT_ROWS,
	OPT_STATS,
	OPT_STREAM,
	OPT_RULES,
	OPT_VERSION,
	OPT_MAX_SIZE,
	OPT_MAX_TIME,
	OPT_KEEP,
	OPT_LAST,
	OPT_TRIGGER,
	OPT_ALLOCATOR,
	OPT_ALLOC_SAMPLE,
	OPT_HEAP_OBJECTS,
	OPT_HEAP_INTERVAL,
	OPT_LEAKS,
	OPT_PYROSCOPE,
	OPT_OTLP,
	OPT_APP,
	OPT_TAG,
	OPT_SPOOL,
	OPT_SPOOL_SIZE,
	OPT_PUSH_USER,
	OPT_PUSH_PASSWORD_FILE,
	OPT_PUSH_TOKEN_FILE,
	OPT_PUSH_TENANT,
	OPT_PUSH_HEADER,
	OPT_PUSH_CA,
	OPT_PUSH_TIMEOUT,
	OPT_PUSH_WAIT,
	OPT_SAMPLE,
	OPT_MAX_OVERHEAD,
	OPT_CONFIG,
	OPT_LISTEN,
	OPT_LOG_LEVEL,
	OPT_END,
};

static const struct cli_option options_table[] = {
	{'p', "pid", "PID[,PID…]", "these processes; repeatable", FOR_BOTH | FOR_LIST},
	{'a', "all", NULL, "every process on the machine", FOR_BOTH | FOR_LIST},
	{OPT_CGROUP, "cgroup", "PATH", "-a, but only the processes in this cgroup (v2) and below",
	 FOR_BOTH},
	{'d', "duration", "TIME", "stop after that long: 10s, 500ms, 2m", FOR_BOTH},
	{'o', "output", "[FORMAT[,KEY=VALUE…]:]PATH",
	 "write there; repeatable; `-` is stdout (default: summary:-)", FOR_TRACE},
	{'o', "output", "[FORMAT[,KEY=VALUE…]:]PATH",
	 "write there; repeatable (default: recording:" RECORD_PATH ")", FOR_RECORD},
	{OPT_MAX_SIZE, "max-size", "SIZE", "end a file before it is larger: 100M", FOR_RECORD},
	{OPT_MAX_TIME, "max-time", "TIME", "end a file after that long: 1h", FOR_RECORD},
	{OPT_KEEP, "keep", "N", "keep N files besides the current one (default: all)", FOR_RECORD},
	{OPT_LAST, "last", "TIME",
	 "keep that much in memory; write it on SIGUSR1, a trigger and at the end", FOR_RECORD},
	{OPT_TRIGGER, "trigger", "NAME>TIME",
	 "… when a span takes longer: 'app:job>50ms'; repeatable", FOR_RECORD},
	{'m', "metrics", "LIST",
	 "what to measure: wall,cpu,alloc,heap,mmap or all (default: wall,cpu)", FOR_BOTH},
	{'P', "provider", "GLOB", "only these providers, or PROVIDER:SPAN; repeatable",
	 FOR_BOTH | FOR_LIST},
	{'s', "span", "NAME=START..END[,END…][@ARG]",
	 "a pair of markers provider:name; @ARG, from 0, is the id", FOR_BOTH | FOR_LIST},
	{OPT_RULES, "rules", "FILE", "more rules for markers; see README; repeatable",
	 FOR_BOTH | FOR_LIST},
	{'x', "exclude", "GLOB", "leave out these spans and events; repeatable",
	 FOR_BOTH | FOR_LIST},
	{OPT_BY, "by", "KEY", "split rows by this label; repeatable", FOR_BOTH},
	{OPT_INTERVAL, "interval", "TIME",
	 "profiles of each such stretch, not one of all: -o pprof:FILE", FOR_BOTH},
	{OPT_NO_FOLLOW, "no-follow", NULL, "not the children of the processes", FOR_BOTH},
	{OPT_RING_SIZE, "ring-size", "SIZE", "of each CPU's ring buffer (default 8M)", FOR_BOTH},
	{OPT_ROWS, "rows", "N", "threads times paths to add up in the kernel (default 32768)",
	 FOR_BOTH},
	{OPT_STATS, "stats", NULL, "print at the end what the trace itself has cost", FOR_BOTH},
	{OPT_STREAM, "stream", NULL,
	 "every span to the loader, also where the kernel could add them up", FOR_BOTH},
	{OPT_SAMPLE, "sample", "SHARE",
	 "only that share of the root spans, by chance, and what runs inside: 0.01, 1%", FOR_BOTH},
	{OPT_MAX_OVERHEAD, "max-overhead", "SHARE",
	 "take out the hottest probes where they cost more of a process's CPU: 5%", FOR_BOTH},
	{OPT_ALLOCATOR, "allocator", "FILE[:PREFIX]",
	 "FILE has PREFIXmalloc, PREFIXfree and so on; repeatable", FOR_BOTH},
	{OPT_ALLOC_SAMPLE, "alloc-sample", "SIZE",
	 "one allocation in that many bytes, on average, for all", FOR_BOTH},
	{OPT_HEAP_OBJECTS, "heap-objects", "N",
	 "live blocks to follow at one time (default 1048576)", FOR_BOTH},
	{OPT_HEAP_INTERVAL, "heap-interval", "TIME",
	 "a snapshot of the live heap that often (default 10s)", FOR_BOTH},
	{OPT_LEAKS, "leaks", "TIME", "show what was not freed for that long", FOR_BOTH},
	{OPT_OTLP, "otlp", "URL", "spans to this collector as traces: -o otlp:URL", FOR_BOTH},
	{OPT_PYROSCOPE, "pyroscope", "URL",
	 "profiles to this server, one every --interval (default 10s)", FOR_BOTH},
	{OPT_APP, "app", "NAME", "what the server calls it (default: each process by its name)",
	 FOR_BOTH},
	{OPT_TAG, "tag", "KEY=VALUE", "a label of all that the server gets; repeatable", FOR_BOTH},
	{OPT_SPOOL, "spool", "DIR", "keep there what a server does not take yet", FOR_BOTH},
	{OPT_SPOOL_SIZE, "spool-size", "SIZE", "… at most so much of it (default 256M)", FOR_BOTH},
	{OPT_PUSH_USER, "push-user", "NAME", "basic authentication at servers", FOR_BOTH},
	{OPT_PUSH_PASSWORD_FILE, "push-password-file", "FILE",
	 "… its password (default: $SPANTRACE_PUSH_PASSWORD)", FOR_BOTH},
	{OPT_PUSH_TOKEN_FILE, "push-token-file", "FILE",
	 "a bearer token for servers (default: $SPANTRACE_PUSH_TOKEN)", FOR_BOTH},
	{OPT_PUSH_TENANT, "push-tenant", "NAME", "the tenant: X-Scope-OrgID", FOR_BOTH},
	{OPT_PUSH_HEADER, "push-header", "NAME:VALUE",
	 "a header for servers; NAME:@FILE for a secret; repeatable", FOR_BOTH},
	{OPT_PUSH_CA, "push-ca", "FILE", "trust these certificates, and no others", FOR_BOTH},
	{OPT_PUSH_TIMEOUT, "push-timeout", "TIME",
	 "give a server that long for an answer (default 30s)", FOR_BOTH},
	{OPT_PUSH_WAIT, "push-wait", "TIME", "at the end wait that long for servers (default 5s)",
	 FOR_BOTH},
	{OPT_CONFIG, "config", "FILE", "more options, as lines of `name = value`; see README",
	 FOR_BOTH},
	{OPT_LISTEN, "listen", "[ADDRESS:]PORT", "/metrics for Prometheus, and /healthz, over HTTP",
	 FOR_BOTH},
	{OPT_JSON, "json", NULL, "JSON to stdout", FOR_BOTH | FOR_LIST},
	{OPT_LOG_LEVEL, "log-level", "LEVEL",
	 "what to say: error, warn, info or debug (default: warn)", FOR_BOTH | FOR_LIST},
	{'q', "quiet", NULL, "errors only", FOR_BOTH | FOR_LIST},
	{'v', "verbose", NULL, "more; twice: everything", FOR_BOTH | FOR_LIST},
	{OPT_VERSION, "version", NULL, "print the version", FOR_TRACE},
	{'h', "help", NULL, "print this", FOR_BOTH | FOR_LIST},
};

#define NOPTIONS (sizeof(options_table) / sizeof(options_table[0]))

/* Those of delivery to servers. */
static int take_push_option(struct options *o, int letter, const char *arg)
{
	switch (letter) {
	case OPT_OTLP:
		return cli_value_otlp(o, arg);
	case OPT_PYROSCOPE:
		return cli_value_url(&o->pyroscope, "--pyroscope", arg);
	case OPT_APP:
		return cli_value_app(o, arg);
	case OPT_TAG:
		return cli_value_tag(o, arg);
	case OPT_SPOOL:
		o->push.spool = arg;
		return 0;
	case OPT_SPOOL_SIZE:
		return cli_value_spool_size(o, arg);
	case OPT_PUSH_USER:
		o->push.user = arg;
		return 0;
	case OPT_PUSH_PASSWORD_FILE:
		o->push.password_file = arg;
		return 0;
	case OPT_PUSH_TOKEN_FILE:
		o->push.token_file = arg;
		return 0;
	case OPT_PUSH_TENANT:
		o->push.tenant = arg;
		return 0;
	case OPT_PUSH_HEADER:
		return cli_value_push_header(o, arg);
	case OPT_PUSH_CA:
		o->push.ca_file = arg;
		return 0;
	case OPT_PUSH_TIMEOUT:
		return cli_value_time(&o->push.timeout_ns, "--push-timeout", 1000000, arg);
	case OPT_PUSH_WAIT:
		return cli_value_time(&o->push_wait_ns, "--push-wait", 0, arg);
	}
	return -EINVAL;
}

static int take_option(void *context, int letter, const char *arg)
{
	struct options *o = context;

	switch (letter) {
	case 'p':
		return cli_value_pids(o, arg);
	case 'a':
		o->mode = MODE_ALL;
		return 0;
	case OPT_CGROUP:
		o->mode = MODE_ALL;
		o->cgroup = arg;
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
	case OPT_RULES:
		return cli_value_rules(o, arg);
	case OPT_BY:
		return cli_value_by(o, arg);
	case OPT_INTERVAL:
		return cli_value_time(&o->interval_ns, "--interval", INTERVAL_MIN_NS, arg);
	case OPT_NO_FOLLOW:
		o->follow = false;
		return 0;
	case OPT_RING_SIZE:
		return cli_value_ring_size(o, arg);
	case OPT_ROWS:
		return cli_value_rows(o, arg);
	case OPT_STATS:
		o->stats = true;
		return 0;
	case OPT_ALLOCATOR:
		return cli_value_allocator(o, arg);
	case OPT_ALLOC_SAMPLE:
		return cli_value_alloc_sample(o, arg);
	case OPT_HEAP_OBJECTS:
		return cli_value_heap_objects(o, arg);
	case OPT_HEAP_INTERVAL:
		return cli_value_time(&o->heap_interval_ns, "--heap-interval", 10000000, arg);
	case OPT_LEAKS:
		return cli_value_time(&o->leaks_ns, "--leaks", 1, arg);
	case OPT_SAMPLE:
		return cli_value_sample(o, arg);
	case OPT_MAX_OVERHEAD:
		return cli_value_share(&o->limit_ppb, "--max-overhead", "5%", arg);
	case OPT_STREAM:
		o->stream = true;
		return 0;
	case OPT_CONFIG: /* has been read by now */
		o->config = arg;
		return 0;
	case OPT_LISTEN:
		return cli_value_listen(o, arg);
	case OPT_LOG_LEVEL:
		return cli_value_log_level(o, arg);
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
		return 1;
	case OPT_MAX_SIZE:
		return cli_value_max_size(o, arg);
	case OPT_MAX_TIME:
		return cli_value_time(&o->parts.max_ns, "--max-time", 1, arg);
	case OPT_KEEP:
		return cli_value_keep(o, arg);
	case OPT_LAST:
		return cli_value_time(&o->parts.last_ns, "--last", LAST_MIN_NS, arg);
	case OPT_TRIGGER:
		return cli_value_trigger(o, arg);
	case OPT_VERSION:
		o->action = ACTION_VERSION;
		return 1;
	}
	return take_push_option(o, letter, arg);
}

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
		.table = options_table,
		.n = NOPTIONS,
		.forms = form,
		.stop = form != FOR_LIST,
		.help = form == FOR_LIST     ? "spantrace help list"
			: form == FOR_RECORD ? "spantrace help record"
					     : "spantrace --help",
		.take = take_option,
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
		if (!err)
			err = cli_settle_push(&o);
		if (!err)
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

int cli_parse_again(const struct options *options, struct options *out)
{
	const struct options_line *line = &options->line;

	return parse(line->argc, line->argv, line->form, out);
}

void cli_print_options(FILE *out)
{
	cli_print_table(out, options_table, NOPTIONS, FOR_TRACE);
}

void cli_print_list_options(FILE *out)
{
	cli_print_table(out, options_table, NOPTIONS, FOR_LIST);
}

void cli_print_record_options(FILE *out)
{
	cli_print_table(out, options_table, NOPTIONS, FOR_RECORD);
}
