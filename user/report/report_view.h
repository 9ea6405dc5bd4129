/* SPDX-License-Identifier: MIT */
/* What a report shows of its rows, in which order; and how it prints that. */
#ifndef SPANTRACE_REPORT_VIEW_H
#define SPANTRACE_REPORT_VIEW_H

#include "report_columns.h"

struct report_options {
	const struct report_column *sort; /* downwards */
	u64 top;                          /* 0: all */
	double percent_above;             /* of the total time, an item's self time; 0: all */
};

struct report_view {
	const struct report_rows *rows;
	const char *counter; /* what times are of; NULL: nanoseconds */
	u32 *ids;            /* the keys shown */
	u32 n;
	u32 nall;      /* what there would be without top and percent_above */
	double shown;  /* percent of the total time that the items shown have as self time */
	bool filtered; /* the options may leave something out */
	char **paths;  /* of the inputs; borrowed */
	size_t npaths;
};

/* Chooses and sorts; the other fields are filled by the caller. 0 or -ENOMEM. */
int report_view_sort(struct report_view *view, const struct report_options *options);
void report_view_free(struct report_view *view);
/* Percent of the total time. */
double report_share(const struct report_rows *rows, u64 self_ns);

/* 0 or -ENOMEM. */
int report_print(const struct report_view *view, FILE *out);
int report_print_json(const struct report_view *view, FILE *out);
/* The losses that are not 0, a line each, or that there are none. */
void report_print_losses(const struct report_rows *rows, FILE *out);

#endif
