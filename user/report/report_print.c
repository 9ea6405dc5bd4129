/* SPDX-License-Identifier: MIT */
/* A report for people: the table, the total time, what is not a span, what was lost. See report_view.h. */
#include "report_view.h"

#include <errno.h>

#include "../../exporters/text.h"
#include "../util/table.h"

static bool is_set(const struct report_column *column, const struct report_view *view)
{
	const struct report_item *item;

	for (u32 i = 0; i < view->n; i++) {
		item = report_item(view->rows, view->ids[i]);
		/* Thread spans are busy all the time that they last. */
		if (column->value == REPORT_WALL ? item->v[REPORT_WALL] != item->v[REPORT_TOTAL]
						 : report_column_value(column, item) != 0)
			return true;
	}
	return false;
}

static bool is_shown(const struct report_column *column, const struct report_view *view)
{
	if (column->show == REPORT_JSON_ONLY || !report_column_measured(column, view->rows))
		return false;
	return column->show == REPORT_ALWAYS || is_set(column, view);
}

static void add_value(struct table *table, const struct report_view *view,
		      const struct report_column *column, const struct report_item *item)
{
	char buf[FIGURES_SIZE];

	if (column->value == REPORT_SHARE)
		table_add(table, "%.3f %%", report_share(view->rows, item->v[REPORT_SELF]));
	else
		table_add(table, "%s",
			  report_figure(buf, column->unit, view->counter,
					report_column_value(column, item)));
}

static int print_items(const struct report_view *view, FILE *out)
{
	static const char *const titles[] = {
		[REPORT_BY_NAME] = "span",
		[REPORT_BY_PATH] = "path",
		[REPORT_BY_THREAD] = "thread",
		[REPORT_BY_PROCESS] = "process",
	};
	const struct report_column *shown[TABLE_MAX_COLUMNS];
	AUTO_TABLE table = {.columns = 0};
	AUTO_TEXT name = {0};
	size_t n = 0;

	for (size_t i = 0; i < report_ncolumns; i++)
		if (is_shown(&report_columns[i], view))
			shown[n++] = &report_columns[i];
	table.columns = n + 1;
	table.right = (1u << n) - 1;
	for (size_t i = 0; i < n; i++)
		table_add(&table, "%s", shown[i]->name);
	table_add(&table, "%s", titles[view->rows->keys->by]);
	for (u32 row = 0; row < view->n; row++) {
		const struct report_item *item = report_item(view->rows, view->ids[row]);

		for (size_t i = 0; i < n; i++)
			add_value(&table, view, shown[i], item);
		text_cut(&name, 0);
		report_key_text(view->rows->keys, view->ids[row], &name);
		if (name.failed)
			return -ENOMEM;
		table_add(&table, "%s", name.data);
	}
	return table_print(&table, out, "");
}

static int print_events(const struct report_view *view, FILE *out)
{
	const struct report_rows *rows = view->rows;
	AUTO_TABLE table = {.columns = 3, .right = 3};

	table_add(&table, "count");
	table_add(&table, "sum");
	table_add(&table, "event");
	for (u32 i = 0; i < rows->nevents; i++) {
		const struct report_sum *event = &rows->events[i];
		char count[FIGURES_SIZE], sum[FIGURES_SIZE];

		if (!event->count)
			continue;
		table_add(&table, "%s", figures_count(count, event->count));
		table_add(&table, "%s", event->has_sum ? figures_signed(sum, event->sum) : "");
		table_add(&table, "%s", strtab_get(rows->keys->events, i));
	}
	if (table.ncells == table.columns)
		return table.err;
	fputc('\n', out);
	return table_print(&table, out, "");
}

static int print_artifacts(const struct report_view *view, FILE *out)
{
	const struct report_rows *rows = view->rows;
	AUTO_TABLE table = {.columns = 2, .right = 1};

	table_add(&table, "bytes");
	table_add(&table, "artifact");
	for (u32 i = 0; i < rows->nartifacts; i++) {
		char bytes[FIGURES_SIZE];

		if (!rows->artifacts[i].count)
			continue;
		table_add(&table, "%s", figures_signed(bytes, rows->artifacts[i].sum));
		table_add(&table, "%s", strtab_get(rows->keys->events, i));
	}
	if (table.ncells == table.columns)
		return table.err;
	fputc('\n', out);
	return table_print(&table, out, "");
}

void report_print_losses(const struct report_rows *rows, FILE *out)
{
	char buf[FIGURES_SIZE];
	bool any = false;

	for (size_t i = 0; i < rows->nlosses; i++) {
		const struct model_loss *loss = &rows->losses[i];

		if (!loss->count)
			continue;
		fprintf(out, "%s  %s %s: %s\n", any ? "" : "lost\n", loss->name,
			figures_count(buf, loss->count), loss->text ? loss->text : "");
		any = true;
	}
	if (!any)
		fputs("nothing lost\n", out);
}

int report_print(const struct report_view *view, FILE *out)
{
	const struct report_rows *rows = view->rows;
	char buf[FIGURES_SIZE];
	int err = 0;

	if (view->nall)
		err = print_items(view, out);
	else
		fputs("no span\n", out);
	if (err)
		return err;
	fprintf(out,
		"\ntotal time %s: over threads, from the start of the first span to the end of the last\n",
		report_figure(buf, REPORT_TIME, view->counter, rows->total_ns));
	if (view->counter)
		fprintf(out, "times are of the counter %s\n", view->counter);
	if (view->filtered)
		fprintf(out, "filtered results account for %.3f %% of it: %u of %u items\n",
			view->shown, view->n, view->nall);
	if (rows->ninputs > 1)
		fprintf(out, "sums of %llu files\n", (unsigned long long)rows->ninputs);
	err = print_events(view, out);
	if (!err)
		err = print_artifacts(view, out);
	if (err)
		return err;
	fputc('\n', out);
	report_print_losses(rows, out);
	return 0;
}
