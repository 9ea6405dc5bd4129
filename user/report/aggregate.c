/* SPDX-License-Identifier: MIT */
/* Reads the runs and sorts what varies. See aggregate.h. */
#include "aggregate.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../util/cleanup.h"
#include "../util/log.h"

const enum report_value aggregate_values[AGGREGATE_FIGURES] = {
	[AGGREGATE_SELF] = REPORT_SELF,
	[AGGREGATE_TOTAL] = REPORT_TOTAL,
	[AGGREGATE_COUNT] = REPORT_COUNT,
	[AGGREGATE_CPU_USER] = REPORT_CPU_USER,
	[AGGREGATE_CPU_SYSTEM] = REPORT_CPU_SYSTEM,
	[AGGREGATE_ALLOC_OBJECTS] = REPORT_ALLOC_OBJECTS,
	[AGGREGATE_ALLOC_BYTES] = REPORT_ALLOC_BYTES,
};

const struct report_column *aggregate_column(const struct aggregate *a, int figure)
{
	const struct report_column *column = report_column_of(aggregate_values[figure]);

	return report_column_measured(column, &a->rows) ? column : NULL;
}

void aggregate_free(struct aggregate *a)
{
	report_inputs_free(&a->inputs);
	report_rows_free(&a->rows);
	report_reader_free(&a->reader);
	report_keys_free(&a->keys);
	sequence_free(&a->sequence);
	free(a->items);
	free(a->ids);
	*a = (struct aggregate){0};
}

static void add_figure(struct aggregate_figure *figure, u64 runs, u64 value)
{
	series_add(&figure->runs, runs, (double)value);
	if (!runs || value < figure->min)
		figure->min = value;
	if (value > figure->max)
		figure->max = value;
}

/* What a run does not have counts as 0: items that first appear in a later run were 0 before, their least too. */
static int add_run(struct aggregate *a)
{
	if (a->nitems < a->rows.nitems) {
		struct aggregate_item *items =
			reallocarray(a->items, a->rows.nitems, sizeof(*items));

		if (!items)
			return -ENOMEM;
		memset(items + a->nitems, 0, (a->rows.nitems - a->nitems) * sizeof(*items));
		a->items = items;
		a->nitems = a->rows.nitems;
	}
	for (u32 id = 1; id < a->nitems; id++) {
		const struct report_item *item = report_item(&a->rows, id);

		a->items[id].runs += item->seen;
		for (int f = 0; f < AGGREGATE_FIGURES; f++)
			add_figure(&a->items[id].figures[f], a->runs, item->v[aggregate_values[f]]);
	}
	add_figure(&a->total, a->runs, a->rows.total_ns);
	a->runs++;
	return 0;
}

/* The sequences are an extra: what is in their way is said, and the rest goes on. */
static void drop_sequence(struct aggregate *a, int err)
{
	log_warn("stretches of time are not compared: %s", strerror(-err));
	sequence_free(&a->sequence);
	a->reader.sink = NULL;
}

static int read_run(struct aggregate *a, const char *path)
{
	int err;

	report_rows_clear(&a->rows);
	err = report_read(&a->reader, path, &a->rows);
	if (err)
		return err;
	if (add_run(a)) {
		log_error("out of memory");
		return -ENOMEM;
	}
	err = a->sequence ? sequence_end_run(a->sequence) : 0;
	if (err)
		drop_sequence(a, err);
	return 0;
}

int aggregate_read(struct aggregate *a)
{
	struct trace_sink sink;
	int err = 0;

	a->rows.keys = a->keys;
	if (a->sequence) {
		sink = sequence_sink(a->sequence);
		a->reader.sink = &sink;
	}
	for (size_t i = 0; i < a->inputs.n && !err; i++)
		err = read_run(a, a->inputs.paths[i]);
	a->reader.sink = NULL;
	if (err || !a->sequence)
		return err;
	err = sequence_compare(a->sequence);
	if (err)
		drop_sequence(a, err);
	else
		err = sequence_describe(a->sequence, a->inputs.paths[0], a->reader.filter);
	return a->sequence ? err : 0;
}

struct ranked {
	double deviation;
	const char *name;
	u32 id;
};

static int compare_ranked(const void *a, const void *b)
{
	const struct ranked *x = a, *y = b;
	int order = (x->deviation < y->deviation) - (x->deviation > y->deviation);

	if (!order)
		order = strcmp(x->name, y->name);
	return order ? order : (x->id > y->id) - (x->id < y->id);
}

int aggregate_sort(struct aggregate *a)
{
	AUTO_FREE struct ranked *ranked = calloc((size_t)a->nitems + 1, sizeof(*ranked));

	a->ids = calloc((size_t)a->nitems + 1, sizeof(*a->ids));
	if (!a->ids || !ranked)
		return -ENOMEM;
	for (u32 id = 1; id < a->nitems; id++) {
		const struct aggregate_item *item = &a->items[id];

		if (!item->runs)
			continue;
		ranked[a->n++] = (struct ranked){
			.deviation = series_deviation(&item->figures[AGGREGATE_SELF].runs, a->runs),
			.name = a->keys->keys[id].name,
			.id = id,
		};
	}
	qsort(ranked, a->n, sizeof(*ranked), compare_ranked);
	for (u32 i = 0; i < a->n; i++)
		a->ids[i] = ranked[i].id;
	return 0;
}

u32 aggregate_nshown(const struct aggregate *a)
{
	return a->top && a->top < a->n ? (u32)a->top : a->n;
}
