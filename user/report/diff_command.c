/* SPDX-License-Identifier: MIT */
/* The command `spantrace diff`: what changed between two files, or two sets of runs. */
#include <errno.h>
#include <string.h>

#include "../cli/cli.h"
#include "../cli/cli_impl.h"
#include "../recording/reading.h"
#include "../util/cleanup.h"
#include "../util/grow.h"
#include "../util/log.h"
#include "diff.h"
#include "diff_flame.h"
#include "report.h"
#include "report_options.h"

#define MOST_GROWTH 1e6

struct command_options {
	struct diff diff;
	enum report_by by;
	bool by_given;
	struct options_output output; /* no path: none */
	int width;
};

enum {
	OPT_FAIL_ABOVE = READING_OWN_OPTIONS,
	OPT_PERCENT_ABOVE,
	OPT_WIDTH,
};

static const struct cli_option own_options[] = {
	REPORT_OPTION_BY,
	{'x', "exclude", "GLOB", "leave these items out, by provider:name or name; repeatable", 0},
	REPORT_OPTION_TOP,
	{OPT_PERCENT_ABOVE, "percent-above", "PERCENT",
	 "only items whose self time is at least that much of the total time of a side", 0},
	{OPT_FAIL_ABOVE, "fail-above", "PERCENT",
	 "exit status 1 when the self time of an item, or the total time, grew by more than that",
	 0},
	{'o', "output", "flamegraph[,KEY=VALUE…]:PATH",
	 "draw the change of each path there, in place of the table; `-` is stdout", 0},
	{OPT_WIDTH, "width", "SIDE", "of a frame there: of the base or (default) of the change", 0},
};

static int take_output(struct command_options *o, const char *arg)
{
	int err;

	if (o->output.path) {
		log_error("-o: diff draws one picture; run it again for %s", arg);
		return -EINVAL;
	}
	err = cli_parse_output(arg, &o->output);
	return err ? err : diff_flame_check(&o->output);
}

static int take_width(int *width, const char *arg)
{
	if (strcmp(arg, "base") != 0 && strcmp(arg, "change") != 0) {
		log_error("--width: \"%s\" is no side; write base or change", arg);
		return -EINVAL;
	}
	*width = strcmp(arg, "base") ? DIFF_CHANGE : DIFF_BASE;
	return 0;
}

/* Frames are paths. */
static int settle(struct command_options *o, const struct reading *reading)
{
	if (!o->output.path)
		return 0;
	if (o->by_given && o->by != REPORT_BY_PATH) {
		log_error("-o: a flame graph is by path; leave --by out");
		return -EINVAL;
	}
	if (reading->json) {
		log_error("-o and --json: write one of them");
		return -EINVAL;
	}
	o->by = REPORT_BY_PATH;
	return 0;
}

static int take_option(void *context, int letter, const char *arg)
{
	struct command_options *o = context;
	struct diff *diff = &o->diff;

	switch (letter) {
	case 'b':
		o->by_given = true;
		return report_take_by(&o->by, arg);
	case 'o':
		return take_output(o, arg);
	case OPT_WIDTH:
		return take_width(&o->width, arg);
	case 'x':
		if (GROW(diff->excludes, diff->nexcludes))
			return -ENOMEM;
		diff->excludes[diff->nexcludes++] = arg;
		return 0;
	case 'n':
		return report_take_top(&diff->top, arg);
	case OPT_PERCENT_ABOVE:
		return report_take_percent(&diff->percent_above, "--percent-above", 100, arg);
	default:
		return report_take_percent(&diff->fail_above, "--fail-above", MOST_GROWTH, arg);
	}
}

static const struct reading_command diff_command = {
	.name = "diff",
	.usage = "BASE CHANGE",
	.about =
		"Shows what changed from BASE to CHANGE, the greatest change of self time first. Each is a\n"
		"recording (.spans), a file of measureme (.mm_profdata), several of them with commas, or a\n"
		"directory of them. Several are runs of the same thing: their means are compared, and what\n"
		"may be chance is marked.\n",
	.status = "0 done; 1 failed, or grew by more than --fail-above; 2 bad usage",
	.min_files = 2,
	.max_files = 2,
	.options = own_options,
	.noptions = sizeof(own_options) / sizeof(own_options[0]),
	.take = take_option,
};

static int compare(const struct reading *reading, struct command_options *o)
{
	struct diff *diff = &o->diff;
	int err = 0;

	if (reading_is_filtered(reading))
		diff->reader.filter = &reading->filter;
	for (int s = 0; s < 2 && !err; s++)
		err = report_inputs_add_list(&diff->sides[s].inputs, reading->files[s]);
	if (err)
		return err;
	err = report_finish("diff", report_keys_new(o->by, true, &diff->keys));
	if (!err)
		err = diff_read(diff);
	if (err)
		return err;
	err = diff_sort(diff);
	/* It prints its own messages. */
	if (!err && o->output.path)
		return diff_flame(diff, &o->output, o->width);
	if (!err)
		err = reading->json ? diff_print_json(diff, stdout) : diff_print(diff, stdout);
	return report_finish("diff", err);
}

int diff_run(int argc, char **argv)
{
	CLEANUP(reading_free) struct reading reading = {0};
	struct command_options o = {.diff.fail_above = -1, .width = DIFF_CHANGE};
	int err = reading_parse(argc, argv, &diff_command, &o, &reading);
	struct diff_figure total;
	int status;

	if (!err && !reading.helped)
		err = settle(&o, &reading);
	status = cli_status_of(err);

	if (!err && !reading.helped) {
		err = compare(&reading, &o);
		total = diff_total(&o.diff);
		if (err || diff_failures(&o.diff) || diff_is_failure(&o.diff, &total))
			status = CLI_FAILED;
	}
	diff_free(&o.diff);
	return status;
}
