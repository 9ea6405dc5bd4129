/* SPDX-License-Identifier: MIT */
/* The command `spantrace view`: a sink of a replay that prints what it gets. */
#include "view.h"

#include <errno.h>
#include <string.h>

#include "../cli/cli.h"
#include "../recording/reading.h"
#include "../util/cleanup.h"
#include "../util/log.h"

static const struct cli_option own_options[] = {
	{'l', "lines", NULL, "a line each (default)", 0},
	{'b', "block", NULL, "a block each, with all that is known of it", 0},
};

static int take_option(void *context, int letter, const char *arg)
{
	enum view_form *form = context;

	(void)arg;
	*form = letter == 'b' ? VIEW_BLOCK : VIEW_LINES;
	return 0;
}

static const struct reading_command view_command = {
	.name = "view",
	.usage = "FILE",
	.about =
		"Prints the single spans and events of a recording (.spans) or of a file of measureme\n"
		"(.mm_profdata), in the order of their ends on each thread; times are since the start\n"
		"of the trace. --json prints an object a line.\n",
	.status = "0 done; 1 failed; 2 bad usage",
	.min_files = 1,
	.max_files = 1,
	.options = own_options,
	.noptions = sizeof(own_options) / sizeof(own_options[0]),
	.take = take_option,
};

static int view_file(const struct reading *reading, enum view_form form)
{
	CLEANUP(replay_free) struct replay *replay = NULL;
	CLEANUP(view_free) struct view view = {.form = form, .out = stdout};
	const struct trace_sink sink = {.context = &view, .span = view_span, .event = view_event};
	const struct replay_info *info;
	int err = replay_open(reading->files[0], &replay);

	if (err)
		return err;
	info = replay_info(replay);
	view.start_ns = info->start_ns;
	view.metrics = info->metrics;
	view.counted = info->counter != NULL;
	err = trace_add_sink(replay_trace(replay), &sink);
	if (err) {
		log_error("out of memory");
		return err;
	}
	if (!reading->quiet)
		view_head(&view);
	err = replay_run(replay, &reading->filter);
	if (fflush(stdout) || ferror(stdout)) {
		log_error("cannot print %s: %s", info->path, strerror(errno));
		return -EIO;
	}
	reading_warn_losses(info);
	return err;
}

int view_run(int argc, char **argv)
{
	CLEANUP(reading_free) struct reading reading = {0};
	enum view_form form = VIEW_LINES;
	int err = reading_parse(argc, argv, &view_command, &form, &reading);

	if (err || reading.helped)
		return cli_status_of(err);
	if (reading.json && form == VIEW_BLOCK) {
		log_error("--json and --block exclude each other");
		return CLI_USAGE;
	}
	return view_file(&reading, reading.json ? VIEW_JSON : form) ? CLI_FAILED : CLI_DONE;
}
