/* SPDX-License-Identifier: MIT */
/* The value of each option: checked, then added to struct options or refused by a sentence that
 * says what to write. */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "../util/grow.h"
#include "../util/log.h"
#include "../util/units.h"
#include "cli_impl.h"

/* Bits of -m. A metric of a later version is named here, so that asking for it gets a clear
 * answer. */
static const struct {
	const char *name;
	u32 bit;
	bool built;
	bool asked_for; /* by its name only: not in "all" */
} metrics_table[] = {
	{"wall", METRIC_WALL, true, false},
	{"cpu", METRIC_CPU | METRIC_CPU_SPLIT, true, false},
	{"cpu=exact", METRIC_CPU | METRIC_CPU_SPLIT | METRIC_CPU_EXACT, true, true},
	{"alloc", METRIC_ALLOC, true, false},
	{"heap", METRIC_ALLOC | METRIC_HEAP, true, false},
	{"mmap", METRIC_MMAP, true, false},
};

#define NMETRICS (sizeof(metrics_table) / sizeof(metrics_table[0]))

static int add_string(const char ***items, size_t *n, const char *text)
{
	int err = GROW(*items, *n);

	if (!err)
		(*items)[(*n)++] = text;
	return err;
}

static int add_id(pid_t **ids, size_t *n, pid_t id)
{
	int err;

	for (size_t i = 0; i < *n; i++)
		if ((*ids)[i] == id)
			return 0;
	err = GROW(*ids, *n);
	if (!err)
		(*ids)[(*n)++] = id;
	return err;
}

int cli_value_ids(pid_t **ids, size_t *n, const struct cli_ids *kind, const char *text)
{
	const char *at = text;

	for (;;) {
		char *end = (char *)at;
		long id = -1;
		int err;

		errno = 0;
		if (*at >= '0' && *at <= '9')
			id = strtol(at, &end, 10);
		if (errno || id < kind->min || id > kind->max || (*end && *end != ',')) {
			log_error("%s: \"%.*s\" is not a %s id; write %s 123 or %s 123,456",
				  kind->option, (int)strcspn(at, ","), at, kind->what, kind->option,
				  kind->option);
			return -EINVAL;
		}
		err = add_id(ids, n, (pid_t)id);
		if (err || !*end)
			return err;
		at = end + 1;
	}
}

int cli_value_pids(struct options *o, const char *text)
{
	static const struct cli_ids kind = {"-p", "process", 1, INT_MAX};

	return cli_value_ids(&o->pids, &o->npids, &kind, text);
}

int cli_value_by(struct options *o, const char *text)
{
	if (!*text) {
		log_error("--by: the key is empty; write the name of a label");
		return -EINVAL;
	}
	if (o->nby == MODEL_MAX_LABELS) {
		log_error("--by %s: rows can be split by %d labels at most", text,
			  MODEL_MAX_LABELS);
		return -EINVAL;
	}
	return add_string(&o->by, &o->nby, text);
}

int cli_value_rows(struct options *o, const char *text)
{
	char *end = (char *)text;
	unsigned long rows = 0;

	if (*text >= '0' && *text <= '9')
		rows = strtoul(text, &end, 10);
	if (*end || rows < ROWS_MIN || rows > ROWS_MAX) {
		log_error("--rows: \"%s\" is not a number from %u to %u; write 100000", text,
			  ROWS_MIN, ROWS_MAX);
		return -EINVAL;
	}
	o->rows = (u32)rows;
	return 0;
}

int cli_value_rules(struct options *o, const char *path)
{
	char why[512];
	int err = o->rules ? 0 : rules_new(&o->rules);

	if (!err)
		err = rules_add_file(o->rules, path, why, sizeof(why));
	if (err && err != -ENOMEM)
		log_error("--rules: %s", why);
	return err;
}

/* The kernel takes powers of two: rounded up. */
int cli_value_ring_size(struct options *o, const char *text)
{
	u64 bytes = 0;

	if (units_parse_size(text, &bytes) || bytes < RING_BYTES_MIN || bytes > RING_BYTES_MAX) {
		log_error("--ring-size: \"%s\" is not a size from 64K to 1G; write 16M", text);
		return -EINVAL;
	}
	for (o->ring_bytes = RING_BYTES_MIN; o->ring_bytes < bytes;)
		o->ring_bytes *= 2;
	return 0;
}

int cli_value_duration(struct options *o, const char *text)
{
	int err = units_parse_duration(text, &o->duration_ns);

	if (err == -ERANGE)
		log_error("-d: \"%s\" is too long; without -d it runs until Ctrl-C", text);
	else if (err)
		log_error("-d: \"%s\" is not a duration; write 10s, 500ms, 2m", text);
	else if (o->duration_ns == 0)
		log_error("-d: \"%s\" leaves no time to trace; write 10s, 500ms, 2m", text);
	return err || o->duration_ns == 0 ? -EINVAL : 0;
}

static int add_metric(u32 *metrics, const char *word, size_t len)
{
	bool all = len == 3 && !strncmp(word, "all", 3);
	bool known = false;

	for (size_t i = 0; i < NMETRICS; i++) {
		const char *name = metrics_table[i].name;

		if (all ? metrics_table[i].asked_for
			: (strlen(name) != len || strncmp(name, word, len) != 0))
			continue;
		if (!metrics_table[i].built) {
			log_error("-m: metric %s is not in this version; it measures wall,cpu",
				  name);
			return -EINVAL;
		}
		*metrics |= metrics_table[i].bit;
		known = true;
	}
	if (!known)
		log_error(
			"-m: \"%.*s\" is not a metric; write a list of wall,cpu,alloc,heap,mmap, or all",
			(int)len, word);
	return known ? 0 : -EINVAL;
}

int cli_value_metrics(struct options *o, const char *text)
{
	/* A span has a wall time whatever else is measured. */
	u32 metrics = METRIC_WALL;

	for (;;) {
		size_t len = strcspn(text, ",");
		int err = add_metric(&metrics, text, len);

		if (err)
			return err;
		if (!text[len])
			break;
		text += len + 1;
	}
	o->metrics = metrics;
	return 0;
}

int cli_value_span(struct options *o, const char *text)
{
	char why[256];
	int err = GROW(o->spans, o->nspans);

	if (err)
		return err;
	err = pair_spec_new(text, &o->spans[o->nspans], why, sizeof(why));
	if (err == -EINVAL)
		log_error("-s \"%s\": %s", text, why);
	if (!err)
		o->nspans++;
	return err;
}

int cli_value_glob(const char ***items, size_t *n, const char *option, const char *text)
{
	if (!*text) {
		log_error("%s: the glob is empty; write a name, with * for any part of it", option);
		return -EINVAL;
	}
	return add_string(items, n, text);
}

int cli_add_output(struct options *o, const struct options_output *output)
{
	int err;

	for (size_t i = 0; i < o->noutputs; i++) {
		if (strcmp(o->outputs[i].path, output->path) != 0)
			continue;
		log_error("-o: %s and %s would both go to %s; give each a path of its own",
			  o->outputs[i].format->name, output->format->name,
			  strcmp(output->path, "-") ? output->path : "stdout");
		return -EINVAL;
	}
	err = GROW(o->outputs, o->noutputs);
	if (!err)
		o->outputs[o->noutputs++] = *output;
	return err;
}

int cli_value_output(struct options *o, const char *text)
{
	struct options_output output;
	int err = cli_parse_output(text, &output);

	return err ? err : cli_add_output(o, &output);
}

int cli_value_share(u32 *ppb, const char *option, const char *example, const char *text)
{
	u64 value = 0;

	if (units_parse_share(text, &value) || !value || value > PPB) {
		log_error("%s: \"%s\" is not a share above 0 and at most 1; write %s", option, text,
			  example);
		return -EINVAL;
	}
	*ppb = (u32)value;
	return 0;
}

int cli_value_sample(struct options *o, const char *text)
{
	int err = cli_value_share(&o->sample_ppb, "--sample", "0.01 or 1%", text);

	if (o->sample_ppb == PPB)
		o->sample_ppb = 0; /* all of them */
	return err;
}
