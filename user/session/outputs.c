/* SPDX-License-Identifier: MIT */
/* See outputs.h. */
#include "outputs_impl.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../util/cleanup.h"
#include "../util/log.h"

int output_open_file(struct output *output, const char *path, int flags)
{
	/* Read and write, so that a pipe without a reader does not block; no O_TRUNC, see outputs.h. */
	AUTO_CLOSE int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | flags, 0666);

	if (fd < 0 && errno == EACCES && !flags)
		fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0) {
		int err = -errno;

		log_error("cannot write %s: %s", path, strerror(-err));
		return err;
	}
	output->exporter.out = fdopen(fd, "w");
	if (!output->exporter.out)
		return -errno;
	(void)TAKE_FD(fd);
	return 0;
}

static int output_open(struct output *output)
{
	if (strcmp(output->path, "-") != 0)
		return output_open_file(output, output->path, 0);
	if (output->exporter.ops->binary && isatty(STDOUT_FILENO)) {
		log_error("%s is binary and stdout is a terminal; write it to a file: -o %s:FILE",
			  output->exporter.ops->name, output->exporter.ops->name);
		return -EINVAL;
	}
	output->exporter.out = stdout;
	output_terminal(output, NULL);
	return 0;
}

/* A format that takes `value` shows one metric, which must have been measured. */
static int output_check_value(const struct options_output *what, u32 metrics)
{
	enum export_value value = what->options.value;
	char list[128] = "";
	bool takes = false;
	size_t i;

	for (i = 0; what->format->keys && what->format->keys[i]; i++)
		takes |= strcmp(what->format->keys[i], "value") == 0;
	if (!takes || export_value_measured(metrics, value))
		return 0;
	for (i = EXPORT_BUSY; i <= EXPORT_INUSE_SPACE; i++) {
		size_t used = strlen(list);

		if (export_value_measured(metrics, (enum export_value)i))
			snprintf(list + used, sizeof(list) - used, "%s%s", used ? ", " : "",
				 export_value_name((enum export_value)i));
	}
	log_error("-o %s,value=%s:%s: that was not measured; this trace has %s", what->format->name,
		  export_value_name(value), what->path, *list ? list : "no times");
	return -EINVAL;
}

static bool output_goes_to(const struct output *output, const struct stat *status)
{
	struct stat own;

	/* A device, like /dev/null or a terminal, is not spoiled by two. */
	return fstat(fileno(output->exporter.out), &own) == 0 && !S_ISCHR(own.st_mode) &&
	       own.st_dev == status->st_dev && own.st_ino == status->st_ino;
}

const char *outputs_find(const struct outputs *outputs, const struct stat *status)
{
	size_t i;

	for (i = 0; i < outputs->n; i++)
		if (outputs->items[i].exporter.out && output_goes_to(&outputs->items[i], status))
			return outputs->items[i].path;
	return NULL;
}

/* Two outputs would overwrite each other, however their paths are spelt. OUTPUT is not among OUTPUTS yet. */
static int output_check_alone(const struct outputs *outputs, const struct output *output)
{
	struct stat status;
	const char *other;

	if (fstat(fileno(output->exporter.out), &status))
		return -errno;
	other = outputs_find(outputs, &status);
	if (!other)
		return 0;
	log_error("-o: %s and %s are one file; give each output a file of its own", other,
		  output->path);
	return -EINVAL;
}

int outputs_new_parts(const struct options_output *what, size_t n, u32 metrics,
		      const struct options_parts *parts, struct outputs **out)
{
	CLEANUP(outputs_free) struct outputs *outputs = calloc(1, sizeof(*outputs));
	size_t i;
	int err = 0;

	if (!outputs)
		return -ENOMEM;
	outputs->items = calloc(n + 1, sizeof(*outputs->items));
	if (!outputs->items)
		return -ENOMEM;
	for (i = 0; i < n && !err; i++)
		err = output_check_value(&what[i], metrics);
	for (i = 0; i < n && !err; i++) {
		struct output *output = &outputs->items[i];
		bool in_parts =
			parts && (parts->last_ns ? what[i].format->flight : what[i].format->parts);

		output->path = what[i].path;
		output->all = outputs;
		output->exporter.ops = what[i].format;
		output->exporter.options = what[i].options;
		output->is_url = what[i].is_url;
		if (output_in_files(output))
			err = output_files_open(output);
		else
			err = output->is_url || (in_parts && parts->last_ns) ? 0
									     : output_open(output);
		if (!err && output->exporter.out)
			err = output_check_alone(outputs, output);
		if (!err && in_parts)
			err = output_parts_open(output, parts);
		outputs->n++; /* what is open is closed with the others */
	}
	if (err)
		return err;
	*out = TAKE_PTR(outputs);
	return 0;
}

int outputs_deliver(struct outputs *outputs, const struct push_access *access, u64 wait_ns,
		    bool patient)
{
	size_t i;
	int err = 0;

	for (i = 0; i < outputs->n && !err; i++)
		if (outputs->items[i].is_url)
			err = output_push_open(&outputs->items[i], access, wait_ns, patient);
	return err;
}

int outputs_new(const struct options_output *what, size_t n, u32 metrics, struct outputs **out)
{
	return outputs_new_parts(what, n, metrics, NULL, out);
}

int output_close(struct output *output)
{
	FILE *out = TAKE_PTR(output->exporter.out);
	int err = 0;

	if (!out)
		return 0;
	if (fflush(out) || ferror(out))
		err = errno ? -errno : -EIO;
	if (out != stdout && fclose(out) && !err)
		err = -errno;
	return err;
}

void outputs_free(struct outputs **out)
{
	struct outputs *outputs = *out;
	size_t i;

	if (!outputs)
		return;
	*out = NULL;
	for (i = 0; i < outputs->n; i++) {
		struct output *output = &outputs->items[i];

		if (output->exporter.ops->free)
			output->exporter.ops->free(&output->exporter);
		push_free(&output->to.push);
		output_close(output);
		free(output->real);
	}
	free(outputs->items);
	free(outputs);
}

int output_fail(struct output *output, int err)
{
	const struct exporter_ops *ops = output->exporter.ops;

	log_error("cannot write %s to %s: %s%s", ops->name, output->path, strerror(-err),
		  ops->parts ? "; what it holds so far can be read" : "");
	output->failed = err;
	return err;
}

/* What a regular file held goes now. */
int output_begin(struct output *output)
{
	const struct exporter_ops *ops = output->exporter.ops;
	struct profile part;
	FILE *out;
	int err;

	if (output->begun)
		return 0;
	output->begun = true;
	err = output_in_parts(output) ? output_parts_begin(output) : 0;
	if (err)
		return err;
	out = output->exporter.out;
	if (out && out != stdout && ftruncate(fileno(out), 0) && errno != EINVAL)
		return -errno;
	if (!ops->begin)
		return 0;
	if (!output_in_parts(output))
		return ops->begin(&output->exporter, &output->all->run);
	output_parts_profile(output, &output->all->run, &part);
	return ops->begin(&output->exporter, &part);
}

/* Neither returns an error: it is this output's alone. */
static int output_span(void *context, const struct model_span *span)
{
	struct output *output = context;
	int err;

	if (output->failed)
		return 0;
	err = output_begin(output);
	if (!err)
		err = output->exporter.ops->span(&output->exporter, span);
	if (!err && output_in_parts(output))
		err = output_parts_span(output, span);
	if (err)
		output_fail(output, err);
	return 0;
}

static int output_event(void *context, const struct model_event *event)
{
	struct output *output = context;
	int err;

	if (output->failed)
		return 0;
	err = output_begin(output);
	if (!err)
		err = output->exporter.ops->event(&output->exporter, event);
	if (!err && output_in_parts(output))
		err = output_parts_event(output, event);
	if (err)
		output_fail(output, err);
	return 0;
}

bool outputs_want_spans(const struct outputs *outputs)
{
	size_t i;

	for (i = 0; i < outputs->n; i++)
		if (outputs->items[i].exporter.ops->span)
			return true;
	return false;
}

bool outputs_want_totals(const struct outputs *outputs)
{
	size_t i;

	for (i = 0; i < outputs->n; i++) {
		const struct exporter *e = &outputs->items[i].exporter;
		bool is_time = export_value_unit(e->options.value)[0] == 'n';

		if (!e->ops->spans_only && !(e->ops->times_of_spans && is_time))
			return true;
	}
	return false;
}

int outputs_listen(struct outputs *outputs, struct trace *trace)
{
	size_t i;

	outputs->trace = trace;
	for (i = 0; i < outputs->n; i++) {
		const struct exporter_ops *ops = outputs->items[i].exporter.ops;
		struct trace_sink sink = {
			.context = &outputs->items[i],
			.span = ops->span ? output_span : NULL,
			.event = ops->event ? output_event : NULL,
		};

		if ((sink.span || sink.event) && trace_add_sink(trace, &sink))
			return -ENOMEM;
	}
	return 0;
}

void outputs_begin(struct outputs *outputs, const struct profile *run)
{
	outputs->run = *run;
	outputs->so_far = *run;
}

static void output_tick(struct output *output, const struct profile *so_far)
{
	const struct exporter_ops *ops = output->exporter.ops;
	struct profile part = *so_far;
	int err = 0;

	if (output_in_parts(output))
		output_parts_profile(output, so_far, &part);
	if (ops->tick)
		err = output_begin(output);
	if (!err && ops->tick)
		err = ops->tick(&output->exporter, &part);
	if (!err && output_in_parts(output))
		err = output_parts_tick(output, so_far);
	if (err)
		output_fail(output, err);
}

void outputs_tick(struct outputs *outputs, const struct profile *so_far)
{
	size_t i;

	outputs->so_far = *so_far;
	for (i = 0; i < outputs->n; i++)
		if (!outputs->items[i].failed)
			output_tick(&outputs->items[i], so_far);
}

void outputs_interval(struct outputs *outputs, const struct profile *gained)
{
	size_t i;

	for (i = 0; i < outputs->n; i++) {
		struct output *output = &outputs->items[i];
		int err = 0;

		if (output->failed || !output->exporter.options.interval_ns)
			continue;
		if (output_in_files(output))
			output_files_write(output, gained); /* the next may have more luck */
		else if (output_on_screen(output))
			err = output_screen_show(output, gained);
		if (err)
			output_fail(output, err);
	}
}

void outputs_cut(struct outputs *outputs)
{
	size_t i;

	for (i = 0; i < outputs->n; i++)
		outputs->items[i].parts.wanted = output_in_parts(&outputs->items[i]);
}

bool outputs_on_screen(const struct outputs *outputs)
{
	size_t i;

	for (i = 0; i < outputs->n; i++)
		if (output_on_screen(&outputs->items[i]))
			return true;
	return false;
}

size_t outputs_failed(const struct outputs *outputs, const char **path)
{
	size_t i, n = 0;

	for (i = 0; i < outputs->n; i++) {
		const struct output *output = &outputs->items[i];

		if (!output->failed && !output->parts.error)
			continue;
		if (!n++ && path)
			*path = output->path;
	}
	return n;
}

struct push *outputs_push(const struct outputs *outputs)
{
	size_t i;

	for (i = 0; i < outputs->n; i++)
		if (outputs->items[i].to.push)
			return outputs->items[i].to.push;
	return NULL;
}

bool outputs_whole_file(const struct outputs *outputs)
{
	struct stat status;
	size_t i;

	for (i = 0; i < outputs->n; i++) {
		const struct output *output = &outputs->items[i];
		const FILE *out = output->exporter.out;
		const struct options_parts *parts = output->parts.options;

		if ((output_in_files(output) || output_on_screen(output)) &&
		    output->exporter.options.interval_ns)
			continue;
		if (parts && (parts->max_bytes || parts->max_ns || parts->last_ns))
			continue;
		if (out != stdout && out && fstat(fileno(output->exporter.out), &status) == 0 &&
		    S_ISREG(status.st_mode))
			return true;
	}
	return false;
}

bool outputs_may_forget(const struct outputs *outputs)
{
	size_t i;

	for (i = 0; i < outputs->n; i++)
		if ((!output_in_files(&outputs->items[i]) &&
		     !output_on_screen(&outputs->items[i])) ||
		    !outputs->items[i].exporter.options.interval_ns)
			return false;
	return true;
}

bool outputs_left(const struct outputs *outputs)
{
	size_t i;

	for (i = 0; i < outputs->n; i++)
		if (!outputs->items[i].failed)
			return true;
	return outputs->n == 0;
}

static int output_finish(struct output *output, const struct profile *profile)
{
	int err;

	if (output->failed)
		return output->failed;
	errno = 0;
	if (output_in_files(output)) {
		/* Where there are intervals, the last one has been written. */
		if (!output->exporter.options.interval_ns)
			output_files_write(output, profile);
		return output->parts.error;
	}
	if (output_on_screen(output)) {
		err = output_close(output);
		return err ? output_fail(output, err) : 0;
	}
	if (output_in_parts(output)) {
		err = output_parts_finish(output, profile);
		if (output_in_flight(output)) /* each file had its own message */
			return output->failed = err;
	} else {
		err = output_begin(output);
		if (!err)
			err = output->exporter.ops->finish(&output->exporter, profile);
		if (!err)
			err = output_close(output);
	}
	if (!err && output->is_url)
		return output->failed = output_push_finish(output);
	return err ? output_fail(output, err) : 0;
}

bool outputs_want_heap(const struct outputs *outputs)
{
	size_t i;

	for (i = 0; i < outputs->n; i++)
		if (outputs->items[i].exporter.ops->heap)
			return true;
	return false;
}

void outputs_heap(struct outputs *outputs, const struct profile *so_far)
{
	size_t i;

	for (i = 0; i < outputs->n; i++) {
		struct output *output = &outputs->items[i];
		int err;

		if (!output->exporter.ops->heap || output->failed)
			continue;
		err = output_begin(output);
		if (!err)
			err = output->exporter.ops->heap(&output->exporter, so_far);
		if (err)
			output_fail(output, err);
	}
}

int outputs_finish(struct outputs *outputs, const struct profile *profile)
{
	int first = 0;
	size_t i;

	for (i = 0; i < outputs->n; i++) {
		int err = output_finish(&outputs->items[i], profile);

		if (!first)
			first = err;
	}
	return first;
}
