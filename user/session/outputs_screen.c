/* SPDX-License-Identifier: MIT */
/* A summary that is shown again at the end of each interval, of what was gained in it: on a terminal in the place of the
 * one before, as much as there is room for; elsewhere one below the other. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "../util/cleanup.h"
#include "outputs_impl.h"

#define CLEAR "\033[H\033[J"

void output_terminal(struct output *output, unsigned *rows)
{
	struct winsize size;

	if (rows)
		*rows = 0;
	if (!isatty(STDOUT_FILENO))
		return;
	output->exporter.options.color = true;
	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size))
		return;
	output->exporter.options.width = size.ws_col;
	if (rows)
		*rows = size.ws_row;
}

/* The first ROWS lines, without the last one's end: it would make a terminal scroll. */
static size_t cut(const char *text, size_t len, unsigned rows)
{
	const char *at = text, *end = text + len;

	for (; rows && at < end; rows--) {
		const char *line = memchr(at, '\n', (size_t)(end - at));

		if (!line)
			return len;
		if (rows == 1)
			return (size_t)(line - text);
		at = line + 1;
	}
	return (size_t)(at - text);
}

int output_screen_show(struct output *output, const struct profile *gained)
{
	struct exporter *e = &output->exporter;
	FILE *const out = e->out;
	struct profile part;
	AUTO_FREE char *text = NULL;
	size_t len = 0;
	unsigned rows;
	int err;

	output_terminal(output, &rows);
	output_parts_profile(output, gained, &part);
	part.is_part = true;
	/* The rest at the end would take the place of more. */
	if (rows && output->parts.files && part.end_ns - part.start_ns < e->options.interval_ns / 4)
		return 0;
	e->out = open_memstream(&text, &len);
	if (!e->out) {
		e->out = out;
		return -ENOMEM;
	}
	err = e->ops->finish(e, &part);
	if (fclose(e->out) && !err)
		err = -errno;
	e->out = out;
	if (err)
		return err;
	if (rows) {
		fputs(CLEAR, out);
		len = cut(text, len, rows);
	} else if (output->parts.files) {
		putc('\n', out);
	}
	fwrite(text, 1, len, out);
	if (fflush(out) || ferror(out))
		return errno ? -errno : -EIO;
	output_parts_told(output, gained);
	return 0;
}
