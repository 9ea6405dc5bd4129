/* SPDX-License-Identifier: MIT */
/* The command `spantrace export`: the same way from spans to files as that of a trace, with a file in place of the
 * kernel.
 *
 *   replay_open ▸ outputs_new ▸ replay_run: spans ▸ filter ▸ rows, outputs ▸ replay_profile ▸ outputs_finish
 */
#include "export.h"

#include <errno.h>
#include <signal.h>
#include <string.h>

#include "../cli/cli_impl.h"
#include "../session/outputs.h"
#include "../util/cleanup.h"
#include "../util/log.h"
#include "reading.h"

enum { OPT_BY = READING_OWN_OPTIONS, OPT_MAX_SIZE, OPT_MAX_TIME };

static const struct cli_option own_options[] = {
	{'o', "output", "[FORMAT[,KEY=VALUE…]:]PATH",
	 "write there; repeatable; `-` is stdout (default: summary:-)", 0},
	{OPT_BY, "by", "KEY", "split rows by this label; repeatable", 0},
	{OPT_MAX_SIZE, "max-size", "SIZE",
	 "recording, chrome, perfetto: several files, none larger: 100M", 0},
	{OPT_MAX_TIME, "max-time", "TIME", "the same, none longer: 10s", 0},
};

static int take_option(void *context, int letter, const char *arg)
{
	struct options *o = context;

	switch (letter) {
	case 'o':
		return cli_value_output(o, arg);
	case OPT_MAX_SIZE:
		return cli_value_max_size(o, arg);
	case OPT_MAX_TIME:
		return cli_value_time(&o->parts.max_ns, "--max-time", 1, arg);
	default:
		return cli_value_by(o, arg);
	}
}

static const struct reading_command export_command = {
	.name = "export",
	.usage = "FILE [-o [FORMAT:]PATH]…",
	.about =
		"Writes a recording (.spans) or a file of measureme (.mm_profdata) in other formats,\n"
		"all of it or the spans that are asked for. Needs no privileges.\n",
	.status = "0 done; 1 failed, or not all of it could be written; 2 bad usage",
	.min_files = 1,
	.max_files = 1,
	.options = own_options,
	.noptions = sizeof(own_options) / sizeof(own_options[0]),
	.take = take_option,
	.more_help = cli_print_formats,
};

/* What is read must not be written: it would be empty before its first span is read. */
static int check_apart(const struct outputs *outputs, const char *file)
{
	struct stat status;
	const char *path;

	if (stat(file, &status))
		return 0;
	path = outputs_find(outputs, &status);
	if (!path)
		return 0;
	log_error("-o: %s is the file that is read; write to another", path);
	return -EINVAL;
}

/* What is known before the first span. */
static void describe(const struct replay_info *info, struct profile *out)
{
	*out = (struct profile){
		.version = info->version,
		.kernel = info->kernel,
		.clock = info->clock,
		.target = info->target,
		.start_ns = info->start_ns,
		.start_realtime_ns = info->start_realtime_ns,
		.suspended_ns = info->suspended_ns,
		.metrics = info->metrics,
		.sample_ppb = info->sample_ppb,
	};
}

/* The outputs of O, for what REPLAY holds. 0 or -errno, with the message printed. */
static int open_outputs(struct replay *replay, const struct options *o, struct outputs **out)
{
	CLEANUP(outputs_free) struct outputs *outputs = NULL;
	const struct replay_info *info = replay_info(replay);
	bool in_parts = o->parts.max_bytes || o->parts.max_ns;
	int err = outputs_new_parts(o->outputs, o->noutputs, info->metrics,
				    in_parts ? &o->parts : NULL, &outputs);

	if (!err)
		err = outputs_deliver(outputs, &o->push, PUSH_WAIT_NS, true);
	if (!err)
		err = check_apart(outputs, info->path);
	if (!err)
		err = outputs_listen(outputs, replay_trace(replay));
	if (err == -ENOMEM)
		log_error("out of memory");
	if (!err)
		*out = TAKE_PTR(outputs);
	return err;
}

/* What was in use at a time of the trace. */
struct heap_teller {
	struct replay *replay;
	struct outputs *outputs;
};

static void tell_heap(void *context, u64 time_ns)
{
	struct heap_teller *teller = context;
	struct profile then;

	describe(replay_info(teller->replay), &then);
	if (trace_profile(replay_trace(teller->replay), time_ns, &then) == 0)
		outputs_heap(teller->outputs, &then);
}

static int export_all(struct replay *replay, struct outputs *outputs, const struct reading *reading)
{
	struct heap_teller teller = {replay, outputs};
	struct profile profile;
	int err;

	describe(replay_info(replay), &profile);
	outputs_begin(outputs, &profile);
	if (outputs_want_heap(outputs))
		replay_on_heap(replay, tell_heap, &teller);
	err = replay_run(replay, reading_is_filtered(reading) ? &reading->filter : NULL);
	if (err)
		return err;
	err = replay_profile(replay, &profile);
	if (err) {
		log_error("cannot add up %s: %s", reading->files[0], strerror(-err));
		return err;
	}
	return outputs_finish(outputs, &profile);
}

int export_run(int argc, char **argv)
{
	CLEANUP(reading_free) struct reading reading = {0};
	CLEANUP(options_free)
	struct options o = {.parts = {.untimed = true, .keep = PARTS_KEEP_ALL}};
	CLEANUP(replay_free) struct replay *replay = NULL;
	CLEANUP(outputs_free) struct outputs *outputs = NULL;
	int err = reading_parse(argc, argv, &export_command, &o, &reading);

	if (err || reading.helped)
		return cli_status_of(err);
	o.json = reading.json;
	err = cli_settle_outputs(&o);
	if (!err)
		err = cli_settle_parts(&o);
	if (err)
		return cli_status_of(err);
	/* One output that nobody reads is no reason to cut the others off. */
	signal(SIGPIPE, SIG_IGN);
	if (replay_open(reading.files[0], &replay))
		return CLI_FAILED;
	err = open_outputs(replay, &o, &outputs);
	if (err)
		return cli_status_of(err);
	trace_split_by(replay_trace(replay), o.by, o.nby);
	if (!outputs_want_totals(outputs))
		trace_leave_rows(replay_trace(replay));
	return export_all(replay, outputs, &reading) ? CLI_FAILED : CLI_DONE;
}
