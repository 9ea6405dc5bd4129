/* SPDX-License-Identifier: MIT */
/* See status.h. */
#include "status.h"

#include <stdio.h>
#include <unistd.h>

#define SECOND 1000000000ULL

void status_begin(struct status_line *line, bool quiet, u64 now_ns)
{
	*line = (struct status_line){
		.on = !quiet && isatty(STDERR_FILENO),
		.begin_ns = now_ns,
		.last_ns = now_ns,
	};
}

bool status_due(const struct status_line *line, u64 now_ns)
{
	return line->on && now_ns - line->last_ns >= SECOND;
}

void status_show(struct status_line *line, const struct trace *trace, u64 losses, u64 now_ns)
{
	struct trace_counts counts;
	double seconds = (double)(now_ns - line->last_ns) / SECOND;

	if (!line->on || seconds <= 0)
		return;
	trace_counts(trace, &counts);
	fprintf(stderr, "\r\033[K%llu s  %u threads  %.0f spans/s  %.0f events/s  %llu lost",
		(unsigned long long)((now_ns - line->begin_ns) / SECOND), counts.threads,
		(double)(counts.spans - line->last.spans) / seconds,
		(double)(counts.events - line->last.events) / seconds, (unsigned long long)losses);
	fflush(stderr);
	line->last = counts;
	line->last_ns = now_ns;
}

void status_end(struct status_line *line)
{
	if (!line->on)
		return;
	fputs("\r\033[K", stderr);
	line->on = false;
}
