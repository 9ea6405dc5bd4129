/* SPDX-License-Identifier: MIT */
/* The columns of reports: their names, units and values, for tables, JSON and --sort alike. */
#ifndef SPANTRACE_REPORT_COLUMNS_H
#define SPANTRACE_REPORT_COLUMNS_H

#include "../../exporters/figures.h"
#include "report_rows.h"

enum report_unit {
	REPORT_TIME,
	REPORT_NUMBER,
	REPORT_BYTES,
};

/* Columns that no sum stands behind. */
enum {
	REPORT_SHARE = REPORT_VALUES, /* self of the total time */
	REPORT_MIN,
	REPORT_MEAN,
	REPORT_P50,
	REPORT_P90,
	REPORT_P99,
	REPORT_MAX,
};

enum report_show {
	REPORT_ALWAYS,
	REPORT_WHERE_SET, /* in tables where an item has it */
	REPORT_JSON_ONLY,
};

struct report_column {
	const char *name; /* for --sort, and the title */
	const char *json; /* its key */
	unsigned value;   /* enum report_value, or one of the above */
	enum report_unit unit;
	u32 metrics; /* without them it was not measured, and is left out everywhere */
	enum report_show show;
};

extern const struct report_column report_columns[];
extern const size_t report_ncolumns;

const struct report_column *report_column_by_name(const char *name);
/* The column of a sum. */
const struct report_column *report_column_of(enum report_value value);
/* The names, with commas, for messages and help. Static. */
const char *report_column_names(void);

/* The item's value; 0 for REPORT_SHARE. */
u64 report_column_value(const struct report_column *column, const struct report_item *item);
bool report_column_measured(const struct report_column *column, const struct report_rows *rows);
/* Whether times are times: COUNTER is NULL, or what a measureme file counted in their place. */
bool report_counts_time(const char *counter);
/* VALUE as people read it. */
const char *report_figure(char buf[FIGURES_SIZE], enum report_unit unit, const char *counter,
			  u64 value);

#endif
