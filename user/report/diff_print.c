/* SPDX-License-Identifier: MIT */
/* A comparison for people. See diff.h. */
#include <errno.h>
#include <math.h>

#include "../../exporters/text.h"
#include "../util/table.h"
#include "diff.h"
#include "report_view.h"

#define CELL_SIZE (FIGURES_SIZE + 2)

struct column {
	const char *title;
	enum report_value value;
	enum { BASE_VALUE, CHANGE_VALUE, PERCENT } what;
	bool always;
};

/* An item's values on both sides would be twice the width: the base's self time is enough to judge a change by. */
static const struct column columns[] = {
	{"self before", REPORT_SELF, BASE_VALUE, true},
	{"self change", REPORT_SELF, CHANGE_VALUE, true},
	{"self %", REPORT_SELF, PERCENT, true},
	{"total change", REPORT_TOTAL, CHANGE_VALUE, false},
	{"total %", REPORT_TOTAL, PERCENT, false},
	{"count", REPORT_COUNT, CHANGE_VALUE, false},
	{"abandoned", REPORT_ABANDONED, CHANGE_VALUE, false},
	{"open", REPORT_OPEN, CHANGE_VALUE, false},
	{"cpu", REPORT_CPU, CHANGE_VALUE, false},
	{"cpu_user", REPORT_CPU_USER, CHANGE_VALUE, false},
	{"cpu_system", REPORT_CPU_SYSTEM, CHANGE_VALUE, false},
	{"run_delay", REPORT_RUN_DELAY, CHANGE_VALUE, false},
	{"blocked", REPORT_BLOCKED, CHANGE_VALUE, false},
	{"alloc_objects", REPORT_ALLOC_OBJECTS, CHANGE_VALUE, false},
	{"alloc_bytes", REPORT_ALLOC_BYTES, CHANGE_VALUE, false},
	{"inuse_objects", REPORT_INUSE_OBJECTS, CHANGE_VALUE, false},
	{"inuse_bytes", REPORT_INUSE_BYTES, CHANGE_VALUE, false},
	{"cache_hits", REPORT_CACHE_HITS, CHANGE_VALUE, false},
	{"blocked_time", REPORT_BLOCKED_TIME, CHANGE_VALUE, false},
	{"load_time", REPORT_LOAD_TIME, CHANGE_VALUE, false},
	{"hashing_time", REPORT_HASHING_TIME, CHANGE_VALUE, false},
};

#define NCOLUMNS (sizeof(columns) / sizeof(columns[0]))

static bool is_shown(const struct diff *diff, const struct column *column)
{
	if (!report_column_measured(report_column_of(column->value), &diff->rows))
		return false;
	if (column->always)
		return true;
	for (u32 i = 0; i < diff_nshown(diff); i++) {
		struct diff_figure figure = diff_value(diff, diff->ids[i], column->value);

		if (figure.base != figure.change)
			return true;
	}
	return false;
}

static const char *put_percent(char buf[CELL_SIZE], const struct diff_figure *figure)
{
	double percent = diff_percent(figure);

	if (isnan(percent))
		buf[0] = '\0';
	else if (isinf(percent))
		snprintf(buf, CELL_SIZE, "+inf %%");
	else
		snprintf(buf, CELL_SIZE, "%+.2f %%", percent);
	return buf;
}

/* "+14.0 ms" */
static const char *put_change(char buf[CELL_SIZE], const struct diff *diff, enum report_unit unit,
			      const struct diff_figure *figure)
{
	double change = round(figure->change - figure->base);

	buf[0] = change < 0 ? '-' : '+';
	report_figure(buf + 1, unit, diff->reader.counter, (u64)fabs(change));
	return buf;
}

static void add_cell(struct table *table, const struct diff *diff, const struct column *column,
		     u32 id)
{
	struct diff_figure figure = diff_value(diff, id, column->value);
	enum report_unit unit = report_column_of(column->value)->unit;
	char buf[CELL_SIZE];

	switch (column->what) {
	case BASE_VALUE:
		report_figure(buf, unit, diff->reader.counter, (u64)round(figure.base));
		break;
	case CHANGE_VALUE:
		put_change(buf, diff, unit, &figure);
		break;
	case PERCENT:
		put_percent(buf, &figure);
		break;
	}
	table_add(table, "%s", buf);
}

/* Whether the runs are enough for a p. */
static bool is_tested(const struct diff *diff)
{
	return diff->sides[DIFF_BASE].runs > 1 && diff->sides[DIFF_CHANGE].runs > 1;
}

static const char *note(const struct diff *diff, u32 id, const struct diff_figure *self)
{
	if (!diff_seen(diff, DIFF_BASE, id))
		return "new";
	if (!diff_seen(diff, DIFF_CHANGE, id))
		return "gone";
	if (diff_is_failure(diff, self))
		return "!";
	return diff_is_chance(self) ? "~" : "";
}

static int add_row(struct table *table, const struct diff *diff, u32 id,
		   const struct column *const *shown, size_t n)
{
	struct diff_figure self = diff_value(diff, id, REPORT_SELF);
	AUTO_TEXT name = {0};

	report_key_text(diff->keys, id, &name);
	if (name.failed)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		add_cell(table, diff, shown[i], id);
	if (is_tested(diff) && self.p < 0.001)
		table_add(table, "<0.001");
	else if (is_tested(diff))
		table_add(table, "%.3f", self.p);
	table_add(table, "%s", note(diff, id, &self));
	table_add(table, "%s", name.data);
	return 0;
}

static int print_items(const struct diff *diff, FILE *out)
{
	static const char *const titles[] = {"span", "path", "thread", "process"};
	const struct column *shown[NCOLUMNS];
	AUTO_TABLE table = {.columns = 0};
	size_t n = 0;

	for (size_t i = 0; i < NCOLUMNS; i++)
		if (is_shown(diff, &columns[i]))
			shown[n++] = &columns[i];
	table.columns = n + 2 + is_tested(diff);
	table.right = (1u << (n + is_tested(diff))) - 1;
	for (size_t i = 0; i < n; i++)
		table_add(&table, "%s", shown[i]->title);
	if (is_tested(diff))
		table_add(&table, "p");
	table_add(&table, "%s", "");
	table_add(&table, "%s", titles[diff->keys->by]);
	for (u32 i = 0; i < diff_nshown(diff); i++)
		if (add_row(&table, diff, diff->ids[i], shown, n))
			return -ENOMEM;
	return table_print(&table, out, "");
}

static void print_notes(const struct diff *diff, FILE *out)
{
	if (diff_nshown(diff) < diff->n)
		fprintf(out, "%u of %u items\n", diff_nshown(diff), diff->n);
	if (is_tested(diff))
		fprintf(out,
			"means of %llu and %llu runs; p: how probable such a change of self time is by chance (Welch's t-test); ~: %.2f or more\n",
			(unsigned long long)diff->sides[DIFF_BASE].runs,
			(unsigned long long)diff->sides[DIFF_CHANGE].runs, DIFF_SIGNIFICANT);
	if (diff->reader.counter)
		fprintf(out, "times are of the counter %s\n", diff->reader.counter);
}

static void print_total(const struct diff *diff, FILE *out)
{
	struct diff_figure total = diff_total(diff);
	const char *counter = diff->reader.counter;
	char before[FIGURES_SIZE], after[FIGURES_SIZE], change[CELL_SIZE], percent[CELL_SIZE];

	report_figure(before, REPORT_TIME, counter, (u64)round(total.base));
	report_figure(after, REPORT_TIME, counter, (u64)round(total.change));
	put_change(change, diff, REPORT_TIME, &total);
	put_percent(percent, &total);
	fprintf(out, "\ntotal time %s, before %s: %s, %s%s\n", after, before, change, percent,
		diff_is_chance(&total) ? " (~)" : "");
}

static int print_artifacts(const struct diff *diff, FILE *out)
{
	AUTO_TABLE table = {.columns = 4, .right = 7};

	table_add(&table, "bytes before");
	table_add(&table, "bytes");
	table_add(&table, "bytes %%");
	table_add(&table, "artifact");
	for (u32 i = 0; i < diff_nartifacts(diff); i++) {
		struct diff_figure bytes = diff_artifact(diff, i);
		char before[FIGURES_SIZE], change[CELL_SIZE], percent[CELL_SIZE];

		if (!diff_has_artifact(diff, i))
			continue;
		table_add(&table, "%s", figures_count(before, (u64)round(bytes.base)));
		table_add(&table, "%s", put_change(change, diff, REPORT_NUMBER, &bytes));
		table_add(&table, "%s", put_percent(percent, &bytes));
		table_add(&table, "%s", strtab_get(diff->keys->events, i));
	}
	if (table.ncells == table.columns)
		return table.err;
	fputc('\n', out);
	return table_print(&table, out, "");
}

static void print_failures(const struct diff *diff, FILE *out)
{
	struct diff_figure total = diff_total(diff);
	u32 n = diff_failures(diff);

	if (diff->fail_above < 0)
		return;
	fprintf(out, "\nself time of %u item%s grew by more than %g %%%s\n", n, n == 1 ? "" : "s",
		diff->fail_above,
		diff_is_failure(diff, &total) ? ", and so did the total time" : "");
}

int diff_print(const struct diff *diff, FILE *out)
{
	int err = 0;

	if (diff->n)
		err = print_items(diff, out);
	else
		fputs("no span\n", out);
	if (err)
		return err;
	print_total(diff, out);
	print_notes(diff, out);
	err = print_artifacts(diff, out);
	if (err)
		return err;
	print_failures(diff, out);
	fputc('\n', out);
	report_print_losses(&diff->rows, out);
	return 0;
}
