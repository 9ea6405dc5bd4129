/* SPDX-License-Identifier: MIT */
/* What a row gained between two profiles: its sums by now less those that were told last. See trace.h.
 *
 * Sums are numbers of 64 bits, side by side in struct model_row: they are taken as that, so that a new one is a sum too.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "trace_impl.h"

#define SUMS_AT offsetof(struct model_row, count)
#define NSUMS   ((offsetof(struct model_row, min_ns) - SUMS_AT) / sizeof(u64))
#define WORK_AT offsetof(struct model_row, work)
#define NWORK   (sizeof(((struct model_row *)NULL)->work) / sizeof(u64))

struct trace_told {
	u64 sums[NSUMS];
	u64 work[NWORK];
};

_Static_assert(NSUMS * sizeof(u64) == offsetof(struct model_row, min_ns) - SUMS_AT, "whole sums");
_Static_assert(NWORK * sizeof(u64) == sizeof(((struct model_row *)NULL)->work), "whole sums");

/* SUMS becomes what it is more than TOLD, and TOLD what it was. Returns all bits of that. */
static u64 subtract(u64 *sums, u64 *told, size_t n)
{
	u64 any = 0;

	for (size_t i = 0; i < n; i++) {
		u64 now = sums[i];

		sums[i] = now - told[i];
		told[i] = now;
		any |= sums[i];
	}
	return any;
}

int trace_row_gain(struct trace_row *row, struct model_row *gain, bool *any)
{
	const struct model_row now = *gain;
	u64 sums[NSUMS], work[NWORK], bits;

	if (!row->told)
		row->told = calloc(1, sizeof(*row->told));
	if (!row->told)
		return -ENOMEM;
	memcpy(sums, (const char *)gain + SUMS_AT, sizeof(sums));
	memcpy(work, (const char *)gain + WORK_AT, sizeof(work));
	bits = subtract(sums, row->told->sums, NSUMS);
	bits |= subtract(work, row->told->work, NWORK);
	memcpy((char *)gain + SUMS_AT, sums, sizeof(sums));
	memcpy((char *)gain + WORK_AT, work, sizeof(work));

	/* Not sums, but how much there is. */
	gain->inuse_objects = now.inuse_objects;
	gain->inuse_bytes = now.inuse_bytes;
	gain->work.inuse_objects = now.work.inuse_objects;
	gain->work.inuse_bytes = now.work.inuse_bytes;
	gain->min_ns = gain->max_ns = gain->mean_ns = 0;
	gain->durations = NULL;
	*any = bits || now.inuse_objects || now.inuse_bytes;
	return 0;
}
