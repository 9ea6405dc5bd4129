/* SPDX-License-Identifier: MIT */
/* What a row gained between two profiles: its sums by now less those that were told last. See trace.h.
 *
 * From `count` to `nlabels` struct model_row is numbers of 64 bits, nearly all of them sums: they are taken as that, so that
 * a new one is a sum too.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "trace.h"
#include "trace_impl.h"

#define SUMS_AT  offsetof(struct model_row, count)
#define SUMS_LEN (offsetof(struct model_row, nlabels) - SUMS_AT)
#define NSUMS    (SUMS_LEN / sizeof(u64))

_Static_assert(SUMS_LEN % sizeof(u64) == 0, "whole numbers");

struct trace_told {
	u64 sums[NSUMS];
	u64 open_wall_ns;
};

void trace_row_now(const struct trace_row *row, struct model_row *out)
{
	*out = row->model;
	out->work.alloc_objects = out->alloc_objects;
	out->work.alloc_bytes = out->alloc_bytes;
	out->work.inuse_objects = out->inuse_objects;
	out->work.inuse_bytes = out->inuse_bytes;
}

bool trace_row_is_told(const struct trace_row *row)
{
	struct model_row now;

	trace_row_now(row, &now);
	now.min_ns = now.max_ns = now.mean_ns = 0;
	return row->told &&
	       !memcmp((const char *)&now + SUMS_AT, row->told->sums, sizeof(row->told->sums));
}

/* GAIN has the sums of an interval; OPEN_NS of its wall time is that of open spans. */
static void tell_durations(const struct trace_row *row, u64 open_ns, struct model_row *gain)
{
	if (!gain->count)
		return;
	gain->mean_ns = (gain->wall_ns - open_ns) / gain->count;
	if (!histogram_count(&row->durations))
		return;
	gain->durations = &row->durations;
	gain->min_ns = histogram_quantile(&row->durations, 0);
	gain->max_ns = histogram_quantile(&row->durations, 1);
}

int trace_row_gain(struct trace_row *row, bool intervals, struct model_row *gain, bool *any)
{
	const struct model_row now = *gain;
	u64 sums[NSUMS], bits = 0;

	if (!row->told)
		row->told = calloc(1, sizeof(*row->told));
	if (!row->told)
		return -ENOMEM;
	/* No sums: of single spans, which nobody told apart. */
	gain->min_ns = gain->max_ns = gain->mean_ns = 0;
	gain->durations = NULL;
	memcpy(sums, (const char *)gain + SUMS_AT, SUMS_LEN);
	for (size_t i = 0; i < NSUMS; i++) {
		u64 sum = sums[i];

		sums[i] -= row->told->sums[i];
		row->told->sums[i] = sum;
		bits |= sums[i];
	}
	memcpy((char *)gain + SUMS_AT, sums, SUMS_LEN);
	/* Not sums, but how much there is. */
	gain->inuse_objects = now.inuse_objects;
	gain->inuse_bytes = now.inuse_bytes;
	gain->work.inuse_objects = now.work.inuse_objects;
	gain->work.inuse_bytes = now.work.inuse_bytes;
	gain->leak_objects = now.leak_objects;
	gain->leak_bytes = now.leak_bytes;
	gain->leak_oldest_ns = now.leak_oldest_ns;
	if (intervals)
		tell_durations(row, row->open_wall_ns - row->told->open_wall_ns, gain);
	row->told->open_wall_ns = row->open_wall_ns;
	*any = bits || now.inuse_objects || now.inuse_bytes;
	return 0;
}

void trace_begin_interval(struct trace *trace)
{
	trace->intervals = true;
	for (size_t i = 0; i < trace->rows.capacity; i++) {
		struct trace_row *row = trace->rows.slots[i].value;

		if (!row)
			continue;
		histogram_clear(&row->durations);
		row->model.min_ns = UINT64_MAX;
		row->model.max_ns = 0;
	}
	trace->pieces = 0;
}
