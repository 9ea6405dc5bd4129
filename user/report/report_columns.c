/* SPDX-License-Identifier: MIT */
/* See report_columns.h. */
#include "report_columns.h"

#include <string.h>

#include "../util/histogram.h"

const struct report_column report_columns[] = {
	{"self", "self_ns", REPORT_SELF, REPORT_TIME, 0, REPORT_ALWAYS},
	{"share", "share", REPORT_SHARE, REPORT_NUMBER, 0, REPORT_ALWAYS},
	{"total", "total_ns", REPORT_TOTAL, REPORT_TIME, 0, REPORT_ALWAYS},
	{"wall", "wall_ns", REPORT_WALL, REPORT_TIME, 0, REPORT_WHERE_SET},
	{"count", "count", REPORT_COUNT, REPORT_NUMBER, 0, REPORT_ALWAYS},
	{"abandoned", "abandoned", REPORT_ABANDONED, REPORT_NUMBER, 0, REPORT_WHERE_SET},
	{"open", "open", REPORT_OPEN, REPORT_NUMBER, 0, REPORT_WHERE_SET},
	{"min", "min_ns", REPORT_MIN, REPORT_TIME, 0, REPORT_WHERE_SET},
	{"mean", "mean_ns", REPORT_MEAN, REPORT_TIME, 0, REPORT_WHERE_SET},
	{"p50", "p50_ns", REPORT_P50, REPORT_TIME, 0, REPORT_WHERE_SET},
	{"p90", "p90_ns", REPORT_P90, REPORT_TIME, 0, REPORT_WHERE_SET},
	{"p99", "p99_ns", REPORT_P99, REPORT_TIME, 0, REPORT_WHERE_SET},
	{"max", "max_ns", REPORT_MAX, REPORT_TIME, 0, REPORT_WHERE_SET},
	{"cpu", "cpu_ns", REPORT_CPU, REPORT_TIME, METRIC_CPU, REPORT_WHERE_SET},
	{"cpu_user", "cpu_user_ns", REPORT_CPU_USER, REPORT_TIME, METRIC_CPU_SPLIT,
	 REPORT_WHERE_SET},
	{"cpu_system", "cpu_system_ns", REPORT_CPU_SYSTEM, REPORT_TIME, METRIC_CPU_SPLIT,
	 REPORT_WHERE_SET},
	{"self_cpu", "self_cpu_ns", REPORT_SELF_CPU, REPORT_TIME, METRIC_CPU, REPORT_WHERE_SET},
	{"run_delay", "run_delay_ns", REPORT_RUN_DELAY, REPORT_TIME, METRIC_CPU, REPORT_WHERE_SET},
	{"blocked", "blocked_ns", REPORT_BLOCKED, REPORT_TIME, METRIC_CPU, REPORT_WHERE_SET},
	{"alloc_objects", "alloc_objects", REPORT_ALLOC_OBJECTS, REPORT_NUMBER, METRIC_ALLOC,
	 REPORT_WHERE_SET},
	{"alloc_bytes", "alloc_bytes", REPORT_ALLOC_BYTES, REPORT_BYTES, METRIC_ALLOC,
	 REPORT_WHERE_SET},
	{"inuse_objects", "inuse_objects", REPORT_INUSE_OBJECTS, REPORT_NUMBER, METRIC_HEAP,
	 REPORT_WHERE_SET},
	{"inuse_bytes", "inuse_bytes", REPORT_INUSE_BYTES, REPORT_BYTES, METRIC_HEAP,
	 REPORT_WHERE_SET},
	{"cache_hits", "cache_hits", REPORT_CACHE_HITS, REPORT_NUMBER, 0, REPORT_WHERE_SET},
	{"cache_misses", "cache_misses", REPORT_CACHE_MISSES, REPORT_NUMBER, 0, REPORT_JSON_ONLY},
	{"blocked_time", "blocked_time_ns", REPORT_BLOCKED_TIME, REPORT_TIME, 0, REPORT_WHERE_SET},
	{"load_time", "incremental_load_ns", REPORT_LOAD_TIME, REPORT_TIME, 0, REPORT_WHERE_SET},
	{"hashing_time", "incremental_hashing_ns", REPORT_HASHING_TIME, REPORT_TIME, 0,
	 REPORT_WHERE_SET},
};

const size_t report_ncolumns = sizeof(report_columns) / sizeof(report_columns[0]);

const struct report_column *report_column_by_name(const char *name)
{
	for (size_t i = 0; i < report_ncolumns; i++)
		if (!strcmp(report_columns[i].name, name))
			return &report_columns[i];
	return NULL;
}

const struct report_column *report_column_of(enum report_value value)
{
	size_t i = 0;

	while (report_columns[i].value != value)
		i++;
	return &report_columns[i];
}

const char *report_column_names(void)
{
	static char names[512];
	size_t len = 0;

	for (size_t i = 0; i < report_ncolumns; i++)
		len += (size_t)snprintf(names + len, sizeof(names) - len, "%s%s", i ? ", " : "",
					report_columns[i].name);
	return names;
}

static u64 quantile(const struct report_item *item, double q)
{
	u64 value;

	if (!item->durations)
		return 0;
	/* A bucket's middle may lie beyond what was there. */
	value = histogram_quantile(item->durations, q);
	return value < item->min_ns ? item->min_ns : value > item->max_ns ? item->max_ns : value;
}

u64 report_column_value(const struct report_column *column, const struct report_item *item)
{
	switch (column->value) {
	case REPORT_SHARE:
		return 0;
	case REPORT_MIN:
		return item->min_ns;
	case REPORT_MEAN:
		return item->nwalls ? (u64)(item->walls_ns / item->nwalls) : 0;
	case REPORT_P50:
		return quantile(item, 0.5);
	case REPORT_P90:
		return quantile(item, 0.9);
	case REPORT_P99:
		return quantile(item, 0.99);
	case REPORT_MAX:
		return item->max_ns;
	default:
		return item->v[column->value];
	}
}

bool report_column_measured(const struct report_column *column, const struct report_rows *rows)
{
	enum report_by by = rows->keys->by;

	/* Threads and processes have no wall of their own spans. */
	if (column->value == REPORT_WALL && (by == REPORT_BY_THREAD || by == REPORT_BY_PROCESS))
		return false;
	return (rows->metrics & column->metrics) == column->metrics;
}

bool report_counts_time(const char *counter)
{
	static const char *const times[] = {"wall-time", "cpu-time", "run-delay"};

	for (size_t i = 0; counter && i < sizeof(times) / sizeof(times[0]); i++)
		if (!strcmp(counter, times[i]))
			return true;
	return !counter;
}

const char *report_figure(char buf[FIGURES_SIZE], enum report_unit unit, const char *counter,
			  u64 value)
{
	if (unit == REPORT_BYTES ||
	    (unit == REPORT_TIME && counter && !strcmp(counter, "allocated-bytes")))
		return figures_bytes(buf, value);
	if (unit == REPORT_TIME && report_counts_time(counter))
		return figures_time(buf, value);
	return figures_count(buf, value);
}
