/* SPDX-License-Identifier: MIT */
/* The files of a report, and each of them read into its rows. */
#ifndef SPANTRACE_REPORT_INPUTS_H
#define SPANTRACE_REPORT_INPUTS_H

#include "report_rows.h"

/* Starts as zeroes. */
struct report_inputs {
	char **paths;
	size_t n;
};

void report_inputs_free(struct report_inputs *inputs);
/* Adds a file, or every recording that stands in a directory, by name. 0 or -errno, with the message printed: -ENOENT for
 * a directory without one. */
int report_inputs_add(struct report_inputs *inputs, const char *word);
/* The same for a list with commas; a file whose name has commas is taken as it is. */
int report_inputs_add_list(struct report_inputs *inputs, const char *list);

/* What inputs have in common. Starts as zeroes but for the filter. */
struct report_reader {
	const struct replay_filter *filter; /* borrowed; NULL: everything */
	const struct trace_sink *sink;      /* borrowed; gets each span and event too; NULL: none */
	char *counter;                      /* what times are of; NULL: nanoseconds */
	bool any;                           /* an input was read: the others must count the same */
	bool metrics_differ;                /* said already */
};

void report_reader_free(struct report_reader *reader);
/* Adds the file at PATH to ROWS. 0 or -errno, with the message printed. */
int report_read(struct report_reader *reader, const char *path, struct report_rows *rows);

#endif
