/* SPDX-License-Identifier: MIT */
/* How much runs of the same thing vary: per key the spread of its totals, and of every stretch of time between two
 * instants, where the runs did the same things in the same order. */
#ifndef SPANTRACE_AGGREGATE_H
#define SPANTRACE_AGGREGATE_H

#include "../util/series.h"
#include "report_columns.h"
#include "report_inputs.h"
#include "sequence.h"

/* What is told of each run. */
enum {
	AGGREGATE_SELF,
	AGGREGATE_TOTAL,
	AGGREGATE_COUNT,
	AGGREGATE_MORE, /* from here on where all runs measured it */
	AGGREGATE_CPU_USER = AGGREGATE_MORE,
	AGGREGATE_CPU_SYSTEM,
	AGGREGATE_ALLOC_OBJECTS,
	AGGREGATE_ALLOC_BYTES,
	AGGREGATE_FIGURES,
};

/* The columns that they are called by. */
extern const enum report_value aggregate_values[AGGREGATE_FIGURES];

struct aggregate_figure {
	struct series runs;
	u64 min, max;
};

struct aggregate_item {
	struct aggregate_figure figures[AGGREGATE_FIGURES];
	u64 runs; /* in which it was */
};

struct aggregate {
	struct report_keys *keys;
	struct report_rows rows; /* of the run that is read; losses of all */
	struct report_reader reader;
	struct report_inputs inputs;
	u64 runs;
	struct aggregate_item *items; /* by key */
	u32 nitems;
	struct aggregate_figure total;
	struct sequence *sequence; /* NULL where it is not wanted */

	u64 top;
	u32 *ids; /* sorted by the standard deviation of self */
	u32 n;
};

void aggregate_free(struct aggregate *a);
/* Reads the runs. 0 or -errno, with the message printed. */
int aggregate_read(struct aggregate *a);
/* 0 or -ENOMEM. */
int aggregate_sort(struct aggregate *a);
u32 aggregate_nshown(const struct aggregate *a);
/* The column of FIGURE; NULL where not all runs measured it. */
const struct report_column *aggregate_column(const struct aggregate *a, int figure);

/* 0 or -ENOMEM. */
int aggregate_print(const struct aggregate *a, FILE *out);
int aggregate_print_json(const struct aggregate *a, FILE *out);

#endif
