/* SPDX-License-Identifier: MIT */
/* The command `spantrace report`: totals of one file, or of several together. */
#include "report.h"

#include <errno.h>

#include "../cli/cli.h"
#include "../recording/reading.h"
#include "../util/cleanup.h"
#include "../util/log.h"
#include "report_inputs.h"
#include "report_options.h"
#include "report_view.h"

struct command_options {
	struct report_options view;
	enum report_by by;
};

enum {
	OPT_PERCENT_ABOVE = READING_OWN_OPTIONS,
};

static const struct cli_option own_options[] = {
	REPORT_OPTION_BY,
	{'s', "sort", "COLUMN", "the greatest of it first (default: self)", 0},
	REPORT_OPTION_TOP,
	{OPT_PERCENT_ABOVE, "percent-above", "PERCENT",
	 "only items whose self time is at least that much of the total time", 0},
};

static int take_sort(const struct report_column **out, const char *text)
{
	const struct report_column *column = report_column_by_name(text);

	if (!column) {
		log_error("--sort: \"%s\" is no column; there are %s", text, report_column_names());
		return -EINVAL;
	}
	*out = column;
	return 0;
}

static int take_option(void *context, int letter, const char *arg)
{
	struct command_options *o = context;

	switch (letter) {
	case 'b':
		return report_take_by(&o->by, arg);
	case 's':
		return take_sort(&o->view.sort, arg);
	case 'n':
		return report_take_top(&o->view.top, arg);
	default:
		return report_take_percent(&o->view.percent_above, "--percent-above", 100, arg);
	}
}

static void print_columns(FILE *out)
{
	fprintf(out,
		"\ncolumns: %s\n"
		"A column stands in the table where it was measured and an item has something in it.\n",
		report_column_names());
}

static const struct reading_command report_command = {
	.name = "report",
	.usage = "FILE|DIRECTORY…",
	.about =
		"Adds up the spans of recordings (.spans) and of files of measureme (.mm_profdata), all\n"
		"files together: self time, share, total, count, percentiles, cpu. A directory stands for\n"
		"the recordings in it.\n",
	.status = "0 done; 1 failed; 2 bad usage",
	.min_files = 1,
	.options = own_options,
	.noptions = sizeof(own_options) / sizeof(own_options[0]),
	.take = take_option,
	.more_help = print_columns,
};

static int print(const struct report_rows *rows, const struct report_reader *reader,
		 const struct report_inputs *inputs, const struct report_options *options,
		 bool json)
{
	CLEANUP(report_view_free)
	struct report_view view = {
		.rows = rows,
		.counter = reader->counter,
		.paths = inputs->paths,
		.npaths = inputs->n,
	};
	int err = report_view_sort(&view, options);

	if (err)
		return err;
	return json ? report_print_json(&view, stdout) : report_print(&view, stdout);
}

static int report(const struct reading *reading, const struct command_options *o)
{
	CLEANUP(report_inputs_free) struct report_inputs inputs = {0};
	CLEANUP(report_keys_free) struct report_keys *keys = NULL;
	CLEANUP(report_rows_free) struct report_rows rows = {.durations = true};
	CLEANUP(report_reader_free) struct report_reader reader = {0};
	int err = 0;

	if (reading_is_filtered(reading))
		reader.filter = &reading->filter;
	for (size_t i = 0; i < reading->nfiles && !err; i++)
		err = report_inputs_add(&inputs, reading->files[i]);
	if (err)
		return err;
	err = report_finish("report", report_keys_new(o->by, false, &keys));
	rows.keys = keys;
	for (size_t i = 0; i < inputs.n && !err; i++)
		err = report_read(&reader, inputs.paths[i], &rows);
	if (err)
		return err;
	return report_finish("report", print(&rows, &reader, &inputs, &o->view, reading->json));
}

int report_run(int argc, char **argv)
{
	CLEANUP(reading_free) struct reading reading = {0};
	struct command_options o = {.view.sort = report_column_of(REPORT_SELF)};
	int err = reading_parse(argc, argv, &report_command, &o, &reading);

	if (err || reading.helped)
		return cli_status_of(err);
	return report(&reading, &o) ? CLI_FAILED : CLI_DONE;
}
