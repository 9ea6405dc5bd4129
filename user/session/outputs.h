/* SPDX-License-Identifier: MIT */
/* The files that a run writes, a trace or a replay: opened before it starts, so that a path that cannot be written is
 * known then, and written at its end or as it goes on.
 *
 * An output that cannot be written any further (the disk is full) is said so once and gets nothing more; the others go
 * on. What it has written stays.
 */
#ifndef SPANTRACE_OUTPUTS_H
#define SPANTRACE_OUTPUTS_H

#include <sys/stat.h>

#include "../cli/cli.h"
#include "../trace/trace.h"

struct outputs;

/* Opens the N outputs of WHAT, whose strings are borrowed, for a run that measures METRICS. 0 or -errno, with the message
 * printed: also where two lead to one file, and where one is to show what is not measured. A file that was there keeps its
 * content until there is something to write. */
int outputs_new(const struct options_output *what, size_t n, u32 metrics, struct outputs **out);
/* The same, with the outputs whose format can be written in parts written so, as PARTS says, which is borrowed. */
int outputs_new_parts(const struct options_output *what, size_t n, u32 metrics,
		      const struct options_parts *parts, struct outputs **out);
/* Opens those that go to servers, which are reached by ACCESS, borrowed. At the end they have WAIT_NS for what is not
 * delivered. PATIENT: spans come as fast as they can be read, and wait for the server. 0, or -errno with the message
 * printed. */
int outputs_deliver(struct outputs *outputs, const struct push_access *access, u64 wait_ns,
		    bool patient);
void outputs_free(struct outputs **outputs);
/* The path, as given, of the output that goes to the file of STATUS; NULL: none does. */
const char *outputs_find(const struct outputs *outputs, const struct stat *status);
/* Whether any format wants single spans, and so their labels. */
bool outputs_want_spans(const struct outputs *outputs);
/* Whether any of them looks at totals. */
bool outputs_want_totals(const struct outputs *outputs);
/* Gives the formats that want single spans to TRACE. */
int outputs_listen(struct outputs *outputs, struct trace *trace);
/* The trace begins: RUN says which, as in exporter.h; its strings and losses are borrowed until the outputs' end. Before
 * the first span. */
void outputs_begin(struct outputs *outputs, const struct profile *run);
/* Lets the formats write what has waited, and ends parts. SO_FAR is the run with its end and losses by now; borrowed as
 * RUN is. */
void outputs_tick(struct outputs *outputs, const struct profile *so_far);
/* SIGUSR1: at the next tick the current parts end, and flight recorders write. */
void outputs_cut(struct outputs *outputs);
/* An interval has ended: writes the files, and shows the summaries, of those that have one for each. GAINED is what the trace gained in it, as
 * trace_profile_gained() has it, with all losses by now; the last one comes before outputs_finish(). */
void outputs_interval(struct outputs *outputs, const struct profile *gained);
/* Whether one shows intervals, with durations. */
bool outputs_on_screen(const struct outputs *outputs);
/* How many cannot be written any more; *PATH, unless PATH is NULL, is where the first of them goes. */
size_t outputs_failed(const struct outputs *outputs, const char **path);
/* What delivers those that go to a server, the first of them; NULL: none does. */
struct push *outputs_push(const struct outputs *outputs);
/* Whether one is a file of the whole trace, which another trace would write over. */
bool outputs_whole_file(const struct outputs *outputs);
/* Whether all are content with what trace_profile_gained() tells, and keep no thread of it. */
bool outputs_may_forget(const struct outputs *outputs);
/* Whether any can still be written. */
bool outputs_left(const struct outputs *outputs);
/* The outputs' exporter_ops.heap, where there is one. */
void outputs_heap(struct outputs *outputs, const struct profile *so_far);
bool outputs_want_heap(const struct outputs *outputs);
/* Writes and closes all. 0, or the -errno of the first that failed, now or before; each has its message. */
int outputs_finish(struct outputs *outputs, const struct profile *profile);

#endif
