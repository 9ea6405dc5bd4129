/* SPDX-License-Identifier: MIT */
/* See outputs.h. */
#include "outputs.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "util/cleanup.h"
#include "util/log.h"

struct output {
	const char *path;
	struct exporter exporter;
	const struct profile *run;
	bool begun;
	int failed; /* what it could not begin with: it gets nothing more */
};

struct outputs {
	struct output *items;
	size_t n;
	struct profile run;
};

/* The terminal's width, for formats that are read there. */
static void output_terminal(struct output *output)
{
	struct winsize size;

	if (!isatty(STDOUT_FILENO))
		return;
	output->exporter.options.color = true;
	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0)
		output->exporter.options.width = size.ws_col;
}

static int output_open(struct output *output)
{
	AUTO_CLOSE int fd = -1;

	if (strcmp(output->path, "-") == 0) {
		if (output->exporter.ops->binary && isatty(STDOUT_FILENO)) {
			log_error(
				"%s is binary and stdout is a terminal; write it to a file: -o %s:FILE",
				output->exporter.ops->name, output->exporter.ops->name);
			return -EINVAL;
		}
		output->exporter.out = stdout;
		output_terminal(output);
		return 0;
	}
	/* Read and write, so that a pipe without a reader does not block; no O_TRUNC, see outputs.h. */
	fd = open(output->path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
	if (fd < 0 && errno == EACCES)
		fd = open(output->path, O_WRONLY | O_CLOEXEC);
	if (fd < 0) {
		int err = -errno;

		log_error("cannot write %s: %s", output->path, strerror(-err));
		return err;
	}
	output->exporter.out = fdopen(fd, "w");
	if (!output->exporter.out)
		return -errno;
	(void)TAKE_FD(fd);
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

int outputs_new(const struct options_output *what, size_t n, u32 metrics, struct outputs **out)
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

		output->path = what[i].path;
		output->run = &outputs->run;
		output->exporter.ops = what[i].format;
		output->exporter.options = what[i].options;
		err = output_open(output);
		if (!err)
			err = output_check_alone(outputs, output);
		outputs->n++; /* what is open is closed with the others */
	}
	if (err)
		return err;
	*out = TAKE_PTR(outputs);
	return 0;
}

static int output_close(struct output *output)
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
		output_close(output);
	}
	free(outputs->items);
	free(outputs);
}

/* Called once, before the first byte: what a regular file held goes now. */
static int output_begin(struct output *output)
{
	const struct exporter_ops *ops = output->exporter.ops;

	if (output->begun)
		return output->failed;
	output->begun = true;
	if (output->exporter.out != stdout && ftruncate(fileno(output->exporter.out), 0) &&
	    errno != EINVAL)
		output->failed = -errno;
	else if (ops->begin)
		output->failed = ops->begin(&output->exporter, output->run);
	return output->failed;
}

static int output_span(void *context, const struct model_span *span)
{
	struct output *output = context;
	int err = output_begin(output);

	return err ? err : output->exporter.ops->span(&output->exporter, span);
}

static int output_event(void *context, const struct model_event *event)
{
	struct output *output = context;
	int err = output_begin(output);

	return err ? err : output->exporter.ops->event(&output->exporter, event);
}

bool outputs_want_spans(const struct outputs *outputs)
{
	size_t i;

	for (i = 0; i < outputs->n; i++)
		if (outputs->items[i].exporter.ops->span)
			return true;
	return false;
}

int outputs_listen(struct outputs *outputs, struct trace *trace)
{
	size_t i;

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
}

int outputs_tick(struct outputs *outputs, const struct profile *so_far)
{
	int first = 0;
	size_t i;

	for (i = 0; i < outputs->n; i++) {
		struct output *output = &outputs->items[i];
		int err = 0;

		if (!output->exporter.ops->tick)
			continue;
		err = output_begin(output);
		if (!err)
			err = output->exporter.ops->tick(&output->exporter, so_far);
		if (!first)
			first = err;
	}
	return first;
}

int outputs_finish(struct outputs *outputs, const struct profile *profile)
{
	int first = 0;
	size_t i;

	for (i = 0; i < outputs->n; i++) {
		struct output *output = &outputs->items[i];
		int err;

		errno = 0;
		err = output_begin(output);
		if (!err)
			err = output->exporter.ops->finish(&output->exporter, profile);
		if (!err)
			err = output_close(output);
		if (!err)
			continue;
		log_error("cannot write %s to %s: %s", output->exporter.ops->name, output->path,
			  strerror(-err));
		if (!first)
			first = err;
	}
	return first;
}
