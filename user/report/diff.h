/* SPDX-License-Identifier: MIT */
/* Two sides of a comparison, each of one run or several: per key and figure the mean and the spread over the runs.
 *
 *   BASE ─▶ rows of each run ─▶ side ─┐
 *                                     ├─▶ differences, sorted ─▶ table, JSON, --fail-above
 *   CHANGE ─▶ rows of each run ─▶ side ┘
 */
#ifndef SPANTRACE_DIFF_H
#define SPANTRACE_DIFF_H

#include "../util/series.h"
#include "report_columns.h"
#include "report_inputs.h"

/* A difference that chance alone makes less often than this is significant. */
#define DIFF_SIGNIFICANT 0.05

struct diff_item {
	struct series v[REPORT_VALUES];
	bool seen;
};

struct diff_sum {
	struct series bytes;
	bool seen;
};

struct diff_side {
	struct report_inputs inputs;
	u64 runs;
	struct diff_item *items; /* by key */
	u32 nitems;
	struct diff_sum *artifacts; /* by number in keys->events */
	u32 nartifacts;
	struct series total;
};

enum { DIFF_BASE, DIFF_CHANGE };

struct diff {
	struct report_keys *keys;
	struct report_rows rows; /* of the run that is read; metrics and losses of all */
	struct report_reader reader;
	struct diff_side sides[2];

	const char **excludes; /* globs */
	size_t nexcludes;
	double percent_above; /* of the total time of either side, an item's self time */
	u64 top;              /* 0: all */
	double fail_above;    /* percent; below 0: never */

	u32 *ids; /* of the items compared, by |change of self| */
	u32 n;
};

/* One figure on both sides. */
struct diff_figure {
	double base, change;
	double p; /* of series_welch(): -1 where there are not enough runs to say */
};

void diff_free(struct diff *diff);
/* Reads the inputs of both sides. 0 or -errno, with the message printed. */
int diff_read(struct diff *diff);
/* Chooses and sorts the items. 0 or -ENOMEM. */
int diff_sort(struct diff *diff);

struct diff_figure diff_value(const struct diff *diff, u32 key, enum report_value value);
struct diff_figure diff_total(const struct diff *diff);
struct diff_figure diff_artifact(const struct diff *diff, u32 event);
bool diff_seen(const struct diff *diff, int side, u32 key);
/* Whether an artifact is in either side, and not left out. */
bool diff_has_artifact(const struct diff *diff, u32 event);
u32 diff_nartifacts(const struct diff *diff);

/* The relative change, in percent: infinite for what is new, NAN where there is nothing on either side. */
double diff_percent(const struct diff_figure *figure);
/* Whether the change may be chance: there are enough runs to say, and they do not tell the sides apart. */
bool diff_is_chance(const struct diff_figure *figure);
/* Whether FIGURE grew by more than --fail-above, and not by chance. */
bool diff_is_failure(const struct diff *diff, const struct diff_figure *figure);
/* How many items of IDS are shown. */
u32 diff_nshown(const struct diff *diff);
/* How many items fail, whether shown or not. */
u32 diff_failures(const struct diff *diff);

/* 0 or -ENOMEM. */
int diff_print(const struct diff *diff, FILE *out);
int diff_print_json(const struct diff *diff, FILE *out);

#endif
