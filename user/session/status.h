/* SPDX-License-Identifier: MIT */
/* The line a second that shows, on a terminal, how a running trace is doing. */
#ifndef SPANTRACE_STATUS_H
#define SPANTRACE_STATUS_H

#include "../trace/trace.h"

struct status_line {
	bool on;
	u64 begin_ns;
	u64 last_ns;
	struct trace_counts last;
};

/* QUIET: never. Else only where stderr is a terminal. */
void status_begin(struct status_line *line, bool quiet, u64 now_ns);
/* Shows the line when a second has passed since the last; LOSSES is the sum over causes. */
bool status_due(const struct status_line *line, u64 now_ns);
void status_show(struct status_line *line, const struct trace *trace, u64 losses, u64 now_ns);
/* Takes the line away, so that what follows begins on a clean one. */
void status_end(struct status_line *line);

#endif
