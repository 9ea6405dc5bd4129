/* SPDX-License-Identifier: MIT */
/* The options that only `record` takes: what their values may say, and which go together. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../util/grow.h"
#include "../util/log.h"
#include "../util/units.h"
#include "cli_impl.h"

int cli_value_time(u64 *ns, const char *option, u64 at_least, const char *text)
{
	u64 value = 0;
	int err = units_parse_duration(text, &value);

	if (err == -ERANGE)
		log_error("%s: \"%s\" is too long", option, text);
	else if (err)
		log_error("%s: \"%s\" is not a duration; write 30s, 10m, 1h", option, text);
	else if (value < at_least)
		log_error("%s: \"%s\" is too short; write 30s, 10m, 1h", option, text);
	if (err || value < at_least)
		return -EINVAL;
	*ns = value;
	return 0;
}

int cli_value_max_size(struct options *o, const char *text)
{
	u64 bytes = 0;

	if (units_parse_size(text, &bytes) || bytes < PART_BYTES_MIN) {
		log_error("--max-size: \"%s\" is not a size of 256K or more; write 100M", text);
		return -EINVAL;
	}
	o->parts.max_bytes = bytes;
	return 0;
}

int cli_value_keep(struct options *o, const char *text)
{
	char *end = (char *)text;
	unsigned long n = 0;

	errno = 0;
	if (*text >= '0' && *text <= '9')
		n = strtoul(text, &end, 10);
	if (errno || end == text || *end || n >= PARTS_KEEP_ALL) {
		log_error("--keep: \"%s\" is not a number of files; write --keep 10", text);
		return -EINVAL;
	}
	o->parts.keep = (u32)n;
	return 0;
}

int cli_value_trigger(struct options *o, const char *text)
{
	int err = GROW(o->parts.triggers, o->parts.ntriggers);

	if (!err)
		err = trigger_parse(text, &o->parts.triggers[o->parts.ntriggers]);
	if (!err)
		o->parts.ntriggers++;
	return err;
}

/* What goes together in cutting a recording into files. */
int cli_settle_parts(const struct options *o)
{
	const struct options_parts *parts = &o->parts;
	const char *limit = parts->max_bytes ? "--max-size" : "--max-time";
	bool limited = parts->max_bytes || parts->max_ns;

	if (parts->last_ns && limited) {
		log_error(
			"--last and %s exclude each other: a flight recorder writes only when it is asked to",
			limit);
		return -EINVAL;
	}
	if (parts->ntriggers && !parts->last_ns) {
		log_error("--trigger needs --last TIME, the time that it writes");
		return -EINVAL;
	}
	if (parts->last_ns && !parts->keep) {
		log_error("--keep 0 leaves a flight recorder nothing; give 1 or more");
		return -EINVAL;
	}
	for (size_t i = 0; i < o->noutputs; i++) {
		const struct exporter_ops *format = o->outputs[i].format;

		if (strcmp(o->outputs[i].path, "-") != 0 ||
		    !(parts->last_ns ? format->flight : limited && format->parts))
			continue;
		log_error("%s needs a file; -o %s:- is stdout", limited ? limit : "--last",
			  format->name);
		return -EINVAL;
	}
	return 0;
}

int cli_settle_record(struct options *o)
{
	struct options_output output;
	bool has_recording = false;
	int err = 0;

	o->parts.on = true;
	for (size_t i = 0; i < o->noutputs; i++)
		has_recording |= o->outputs[i].format->flight;
	if (!has_recording) {
		err = cli_parse_output("recording:" RECORD_PATH, &output);
		if (!err)
			err = cli_add_output(o, &output);
	}
	if (!err && o->json) {
		err = cli_default_output(true, &output);
		if (!err)
			err = cli_add_output(o, &output);
	}
	return err ? err : cli_settle_parts(o);
}
