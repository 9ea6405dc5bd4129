/* SPDX-License-Identifier: MIT */
/* The files that a run writes: opened before it starts, so that a path that cannot be written is known
 * then, and written at its end. */
#ifndef SPANTRACE_OUTPUTS_H
#define SPANTRACE_OUTPUTS_H

#include "cli.h"
#include "trace.h"

struct outputs;

/* Opens every output of OPTIONS, which is borrowed. 0 or -errno, with the message printed. A file that was there
 * keeps its content until there is something to write. */
int outputs_new(const struct options *options, struct outputs **out);
void outputs_free(struct outputs **outputs);
/* Whether any format wants single spans, and so their labels. */
bool outputs_want_spans(const struct outputs *outputs);
/* Gives the formats that want single spans to TRACE. */
int outputs_listen(struct outputs *outputs, struct trace *trace);
/* The trace begins: RUN says which, as in exporter.h; its strings are borrowed until the outputs' end. Before the first
 * span. */
void outputs_begin(struct outputs *outputs, const struct profile *run);
/* Lets the formats write what has waited. SO_FAR is the run with its end and losses by now. 0 or the first -errno. */
int outputs_tick(struct outputs *outputs, const struct profile *so_far);
/* Writes and closes all. The first -errno, with a message for each that failed. */
int outputs_finish(struct outputs *outputs, const struct profile *profile);

#endif
