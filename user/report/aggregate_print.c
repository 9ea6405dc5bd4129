/* SPDX-License-Identifier: MIT */
/* What varies between runs, for people. See aggregate.h. */
#include <errno.h>
#include <math.h>

#include "../../exporters/text.h"
#include "../util/table.h"
#include "aggregate.h"
#include "report_view.h"

static const char *put_rounded(char buf[FIGURES_SIZE], const struct aggregate *a,
			       enum report_unit unit, double value)
{
	return report_figure(buf, unit, a->reader.counter, (u64)round(value));
}

/* Of the figures beside these there is room for mean and coefficient of variation alone. */
static bool is_brief(int figure)
{
	return figure >= AGGREGATE_MORE;
}

/* Mean, standard deviation, coefficient of variation, least and most. */
static void add_figure(struct table *table, const struct aggregate *a,
		       const struct aggregate_figure *figure, enum report_unit unit, bool brief)
{
	double deviation = series_deviation(&figure->runs, a->runs);
	char buf[FIGURES_SIZE];

	table_add(table, "%s", put_rounded(buf, a, unit, figure->runs.mean));
	if (!brief && unit == REPORT_NUMBER)
		table_add(table, "%.4g", deviation);
	else if (!brief)
		table_add(table, "%s", put_rounded(buf, a, unit, deviation));
	if (figure->runs.mean > 0)
		table_add(table, "%.1f %%", deviation / figure->runs.mean * 100);
	else
		table_add(table, "%s", "");
	if (brief)
		return;
	table_add(table, "%s", report_figure(buf, unit, a->reader.counter, figure->min));
	table_add(table, "%s", report_figure(buf, unit, a->reader.counter, figure->max));
}

/* Whether it tells anything that the figures before it do not. */
static bool tells(const struct aggregate *a, int figure)
{
	if (!aggregate_column(a, figure))
		return false;
	for (u32 i = 0; i < aggregate_nshown(a); i++) {
		const struct aggregate_figure *figures = a->items[a->ids[i]].figures;

		if (figure == AGGREGATE_TOTAL ? figures[AGGREGATE_TOTAL].runs.mean !=
							figures[AGGREGATE_SELF].runs.mean
		    : is_brief(figure) ? figures[figure].max != 0
				       : figures[figure].min != figures[figure].max)
			return true;
	}
	return false;
}

static void add_titles(struct table *table, int figure)
{
	static const char *const parts[] = {"", " ±", " ± %", " min", " max"};
	static const char *const brief[] = {"", " ± %"};
	const char *name = report_column_of(aggregate_values[figure])->name;

	for (int p = 0; p < (is_brief(figure) ? 2 : 5); p++)
		table_add(table, "%s%s", name, is_brief(figure) ? brief[p] : parts[p]);
}

static int print_items(const struct aggregate *a, FILE *out)
{
	static const char *const keys[] = {"span", "path", "thread", "process"};
	bool shown[AGGREGATE_FIGURES] = {true};
	AUTO_TABLE table = {.columns = 2};
	AUTO_TEXT name = {0};

	for (int f = 0; f < AGGREGATE_FIGURES; f++) {
		shown[f] = f == AGGREGATE_SELF || tells(a, f);
		if (shown[f])
			table.columns += is_brief(f) ? 2 : 5;
	}
	table.right = (1u << (table.columns - 1)) - 1;
	table_add(&table, "runs");
	for (int f = 0; f < AGGREGATE_FIGURES; f++)
		if (shown[f])
			add_titles(&table, f);
	table_add(&table, "%s", keys[a->keys->by]);
	for (u32 i = 0; i < aggregate_nshown(a); i++) {
		const struct aggregate_item *item = &a->items[a->ids[i]];

		table_add(&table, "%llu", (unsigned long long)item->runs);
		for (int f = 0; f < AGGREGATE_FIGURES; f++)
			if (shown[f])
				add_figure(&table, a, &item->figures[f],
					   report_column_of(aggregate_values[f])->unit,
					   is_brief(f));
		text_cut(&name, 0);
		report_key_text(a->keys, a->ids[i], &name);
		if (name.failed)
			return -ENOMEM;
		table_add(&table, "%s", name.data);
	}
	return table_print(&table, out, "");
}

static void print_total(const struct aggregate *a, FILE *out)
{
	double deviation = series_deviation(&a->total.runs, a->runs);
	char mean[FIGURES_SIZE], spread[FIGURES_SIZE], least[FIGURES_SIZE], most[FIGURES_SIZE];

	fprintf(out,
		"\ntotal time %s ± %s, %s to %s: mean, standard deviation, range of %llu runs\n",
		put_rounded(mean, a, REPORT_TIME, a->total.runs.mean),
		put_rounded(spread, a, REPORT_TIME, deviation),
		report_figure(least, REPORT_TIME, a->reader.counter, a->total.min),
		report_figure(most, REPORT_TIME, a->reader.counter, a->total.max),
		(unsigned long long)a->runs);
}

/* HALF: the values are ranges, told by their half to either side. */
static int print_extremes(const struct aggregate *a, const char *title, const struct extreme *list,
			  size_t n, bool half, FILE *out)
{
	AUTO_TABLE table = {.columns = 2, .right = 1};
	const struct sequence_result *result = sequence_result(a->sequence);
	AUTO_TEXT text = {0};
	char buf[FIGURES_SIZE];

	fprintf(out, "\n%s\n", title);
	for (size_t i = 0; i < n; i++) {
		u64 value = list[i].value;

		table_add(&table, "%s%s%s", half ? "±" : "",
			  figures_count(buf, half ? value / 2 : value),
			  half && value % 2 ? ".5 ns" : " ns");
		text_cut(&text, 0);
		if (list[i].count == 1) {
			sequence_text(a->sequence, &list[i].first, &text);
		} else {
			text_add_str(&text, figures_count(buf, list[i].count));
			text_add_str(&text, " of them, ");
			text_add_str(&text, figures_share(buf, list[i].count, result->stretches));
		}
		if (text.failed)
			return -ENOMEM;
		table_add(&table, "%s", text.data);
	}
	return table_print(&table, out, "  ");
}

static int print_sequence(const struct aggregate *a, FILE *out)
{
	const struct sequence_result *r = sequence_result(a->sequence);
	char buf[FIGURES_SIZE];
	int err;

	fprintf(out, "\n%u of %u threads did the same in all runs, in the same order", r->same,
		r->threads + r->more);
	if (!r->stretches) {
		fputs(": there are no stretches of time to compare\n", out);
		return 0;
	}
	fprintf(out, ": %s stretches of time between two instants\n",
		figures_count(buf, r->stretches));
	if (r->overlaps)
		fprintf(out, "%s of all runs count as 0, for the spans beside them overlap\n",
			figures_count(buf, r->overlaps));
	err = print_extremes(a, "smallest durations", r->durations.smallest, r->durations.nsmallest,
			     false, out);
	if (!err)
		err = print_extremes(a, "largest durations", r->durations.largest,
				     r->durations.nlargest, false, out);
	if (!err)
		err = print_extremes(a, "smallest variances", r->variances.smallest,
				     r->variances.nsmallest, true, out);
	if (!err)
		err = print_extremes(a, "largest variances", r->variances.largest,
				     r->variances.nlargest, true, out);
	return err;
}

int aggregate_print(const struct aggregate *a, FILE *out)
{
	int err = 0;

	if (a->n)
		err = print_items(a, out);
	else
		fputs("no span\n", out);
	if (err)
		return err;
	print_total(a, out);
	if (aggregate_nshown(a) < a->n)
		fprintf(out, "%u of %u items\n", aggregate_nshown(a), a->n);
	if (a->reader.counter)
		fprintf(out, "times are of the counter %s\n", a->reader.counter);
	err = a->sequence ? print_sequence(a, out) : 0;
	if (err)
		return err;
	fputc('\n', out);
	report_print_losses(&a->rows, out);
	return 0;
}
