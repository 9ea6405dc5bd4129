/* SPDX-License-Identifier: MIT */
/* The command `spantrace aggregate`: how much several runs of the same thing vary. */
#include <errno.h>
#include <string.h>

#include "../cli/cli.h"
#include "../recording/reading.h"
#include "../util/cleanup.h"
#include "../util/log.h"
#include "aggregate.h"
#include "report.h"
#include "report_options.h"

struct command_options {
	enum report_by by;
	u64 top;
	bool no_stretches;
};

enum {
	OPT_NO_STRETCHES = READING_OWN_OPTIONS,
};

static const struct cli_option own_options[] = {
	REPORT_OPTION_BY,
	REPORT_OPTION_TOP,
	{OPT_NO_STRETCHES, "no-stretches", NULL,
	 "totals only; else single stretches of time are compared too, by way of a temporary file",
	 0},
};

static int take_option(void *context, int letter, const char *arg)
{
	struct command_options *o = context;

	switch (letter) {
	case 'b':
		return report_take_by(&o->by, arg);
	case 'n':
		return report_take_top(&o->top, arg);
	default:
		o->no_stretches = true;
		return 0;
	}
}

static const struct reading_command aggregate_command = {
	.name = "aggregate",
	.usage = "FILE|DIRECTORY…",
	.about =
		"Shows how much runs of the same thing vary, each a recording (.spans) or a file of\n"
		"measureme (.mm_profdata): mean, standard deviation and range of self time, total time and\n"
		"count, what varies most first; and, for threads that did the same in the same order in all\n"
		"runs, the stretches of time that were shortest, longest, and varied least and most.\n",
	.status = "0 done; 1 failed; 2 bad usage",
	.min_files = 1,
	.options = own_options,
	.noptions = sizeof(own_options) / sizeof(own_options[0]),
	.take = take_option,
};

/* 0, -EINVAL for bad usage or another -errno, with the message printed. */
static int prepare(struct aggregate *a, const struct reading *reading,
		   const struct command_options *o)
{
	int err = 0;

	a->top = o->top;
	if (reading_is_filtered(reading))
		a->reader.filter = &reading->filter;
	for (size_t i = 0; i < reading->nfiles && !err; i++)
		err = report_inputs_add(&a->inputs, reading->files[i]);
	if (err)
		return -EIO;
	if (a->inputs.n < 2) {
		log_error("aggregate: %s alone varies in nothing; name two runs or more",
			  reading->files[0]);
		return -EINVAL;
	}
	err = report_finish("aggregate", report_keys_new(o->by, true, &a->keys));
	if (err || o->no_stretches)
		return err;
	err = sequence_new(&a->sequence);
	if (err)
		log_warn("stretches of time are not compared: no temporary file: %s",
			 strerror(-err));
	return 0;
}

int aggregate_run(int argc, char **argv)
{
	CLEANUP(reading_free) struct reading reading = {0};
	CLEANUP(aggregate_free) struct aggregate a = {0};
	struct command_options o = {0};
	int err = reading_parse(argc, argv, &aggregate_command, &o, &reading);

	if (err || reading.helped)
		return cli_status_of(err);
	err = prepare(&a, &reading, &o);
	if (err)
		return cli_status_of(err);
	err = aggregate_read(&a);
	if (err)
		return CLI_FAILED;
	err = aggregate_sort(&a);
	if (!err)
		err = reading.json ? aggregate_print_json(&a, stdout) : aggregate_print(&a, stdout);
	return report_finish("aggregate", err) ? CLI_FAILED : CLI_DONE;
}
