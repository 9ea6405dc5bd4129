/* SPDX-License-Identifier: MIT */
/* See reading.h. */
#include "reading.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../cli/cli_impl.h"
#include "../util/cleanup.h"
#include "../util/log.h"
#include "../util/units.h"

enum {
	OPT_SPAN = READING_OPTIONS,
	OPT_MIN_DURATION,
	OPT_FROM,
	OPT_TO,
	OPT_JSON,
};

static const struct cli_option common_options[] = {
	{'p', "pid", "PID[,PID…]", "spans of these processes only; repeatable", 0},
	{'t', "tid", "TID[,TID…]", "spans of these threads only; repeatable", 0},
	{'P', "provider", "GLOB", "only these providers; repeatable", 0},
	{OPT_SPAN, "span", "GLOB",
	 "only these spans and events, as provider:name or name; repeatable", 0},
	{OPT_MIN_DURATION, "min-duration", "TIME", "only spans that lasted that long: 10ms, 1.5s",
	 0},
	{OPT_FROM, "from", "TIME", "leave out what ended before that time of the trace: 10s", 0},
	{OPT_TO, "to", "TIME", "leave out what began after that time of the trace", 0},
	{OPT_JSON, "json", NULL, "JSON to stdout", 0},
	{'q', "quiet", NULL, "errors only", 0},
	{'v', "verbose", NULL, "more; twice: everything", 0},
	{'h', "help", NULL, "print this", 0},
};

#define NCOMMON (sizeof(common_options) / sizeof(common_options[0]))

/* One line under way. */
struct parsing {
	const struct reading_command *command;
	void *context;
	struct reading *reading;
};

static int take_time(u64 *out, const char *option, const char *text)
{
	int err = units_parse_duration(text, out);

	if (err == -ERANGE)
		log_error("%s: \"%s\" is longer than any trace", option, text);
	else if (err)
		log_error("%s: \"%s\" is not a time; write 10s, 1.5s, 200ms", option, text);
	return err ? -EINVAL : 0;
}

static int take_common(struct reading *r, int letter, const char *arg)
{
	/* Threads of files are what their writer called threads: any 32-bit number. */
	static const struct cli_ids processes = {"--pid", "process", 0, UINT32_MAX};
	static const struct cli_ids threads = {"--tid", "thread", 0, UINT32_MAX};
	struct replay_filter *filter = &r->filter;

	switch (letter) {
	case 'p':
		return cli_value_ids(&r->pids, &filter->npids, &processes, arg);
	case 't':
		return cli_value_ids(&r->tids, &filter->ntids, &threads, arg);
	case 'P':
		return cli_value_glob(&filter->providers, &filter->nproviders, "--provider", arg);
	case OPT_SPAN:
		return cli_value_glob(&filter->spans, &filter->nspans, "--span", arg);
	case OPT_MIN_DURATION:
		return take_time(&filter->min_ns, "--min-duration", arg);
	case OPT_FROM:
		return take_time(&filter->from_ns, "--from", arg);
	case OPT_TO:
		if (take_time(&filter->to_ns, "--to", arg))
			return -EINVAL;
		if (!filter->to_ns)
			log_error("--to: \"%s\" leaves nothing; write a time after the start: 10s",
				  arg);
		return filter->to_ns ? 0 : -EINVAL;
	case OPT_JSON:
		r->json = true;
		return 0;
	case 'q':
		r->quiet = true;
		return 0;
	case 'v':
		r->verbose++;
		return 0;
	case 'h':
		r->helped = true;
		return 1;
	}
	return -EINVAL;
}

static int take_option(void *context, int letter, const char *arg)
{
	struct parsing *p = context;

	for (size_t i = 0; i < NCOMMON; i++)
		if (common_options[i].letter == letter)
			return take_common(p->reading, letter, arg);
	return p->command->take(p->context, letter, arg);
}

static void print_help(const struct reading_command *command, FILE *out)
{
	fprintf(out, "usage: spantrace %s [OPTION…] %s\n\n%s\noptions:\n", command->name,
		command->usage, command->about);
	cli_print_table(out, command->options, command->noptions, 0);
	cli_print_table(out, common_options, NCOMMON, 0);
	if (command->more_help)
		command->more_help(out);
	fprintf(out, "\nexit status: %s\n", command->status);
}

static int check_words(const struct reading_command *command, const struct reading *r)
{
	const struct replay_filter *filter = &r->filter;

	if (r->nfiles < command->min_files) {
		log_error("%s: %s; write: spantrace %s %s", command->name,
			  r->nfiles ? "one more file is needed" : "no file to read", command->name,
			  command->usage);
		return -EINVAL;
	}
	if (command->max_files && r->nfiles > command->max_files) {
		log_error("%s: \"%s\" is one word too many; write: spantrace %s %s", command->name,
			  r->files[command->max_files], command->name, command->usage);
		return -EINVAL;
	}
	if (filter->to_ns && filter->from_ns > filter->to_ns) {
		log_error("%s: --from is after --to; nothing would be left", command->name);
		return -EINVAL;
	}
	return cli_check_log(r->quiet, r->verbose);
}

/* The command's own options and the common ones in TABLE, which has room for them. */
static int take_options(struct parsing *p, int argc, char **argv, struct cli_option *table,
			struct cli_words *words)
{
	const struct reading_command *command = p->command;
	char help[64];
	const struct cli_grammar grammar = {
		.table = table,
		.n = command->noptions + NCOMMON,
		.help = help,
		.take = take_option,
	};

	snprintf(help, sizeof(help), "spantrace help %s", command->name);
	if (command->noptions)
		memcpy(table, command->options, command->noptions * sizeof(*table));
	memcpy(table + command->noptions, common_options, sizeof(common_options));
	return cli_take_options(argc, argv, &grammar, p, words);
}

int reading_parse(int argc, char **argv, const struct reading_command *command, void *context,
		  struct reading *out)
{
	AUTO_FREE struct cli_option *table = calloc(command->noptions + NCOMMON, sizeof(*table));
	struct parsing p = {.command = command, .context = context, .reading = out};
	struct cli_words words = {.rest = argc};
	int err = -ENOMEM;

	if (table)
		err = take_options(&p, argc, argv, table, &words);
	if (err == -ENOMEM)
		log_error("out of memory");
	if (err)
		return err;
	if (out->helped) {
		print_help(command, stdout);
		return 0;
	}
	out->files = argv + words.rest;
	out->nfiles = (size_t)(argc - words.rest);
	out->filter.pids = out->pids;
	out->filter.tids = out->tids;
	err = check_words(command, out);
	if (!err)
		cli_set_log(out->quiet, out->verbose);
	return err;
}

void reading_free(struct reading *r)
{
	free(r->pids);
	free(r->tids);
	free(r->filter.providers);
	free(r->filter.spans);
	*r = (struct reading){0};
}

void reading_warn_losses(const struct replay_info *info)
{
	for (size_t i = 0; i < REPLAY_LOSSES; i++)
		if (info->losses[i].count)
			log_warn("%s: %s %llu: %s", info->path, info->losses[i].name,
				 (unsigned long long)info->losses[i].count, info->losses[i].text);
}

bool reading_is_filtered(const struct reading *r)
{
	const struct replay_filter *filter = &r->filter;

	return filter->npids || filter->ntids || filter->nproviders || filter->nspans ||
	       filter->min_ns || filter->from_ns || filter->to_ns;
}
