/* SPDX-License-Identifier: MIT */
/* Chooses and sorts the items of a report. See report_view.h. */
#include "report_view.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../../exporters/text.h"

double report_share(const struct report_rows *rows, u64 self_ns)
{
	return rows->total_ns ? (double)self_ns / (double)rows->total_ns * 100 : 0;
}

struct ranked {
	u64 value;
	const char *name;
	u32 id;
};

static int compare(const void *a, const void *b)
{
	const struct ranked *x = a, *y = b;
	int order = (x->value < y->value) - (x->value > y->value);

	if (!order)
		order = strcmp(x->name, y->name);
	return order ? order : (x->id > y->id) - (x->id < y->id);
}

int report_view_sort(struct report_view *view, const struct report_options *options)
{
	const struct report_rows *rows = view->rows;
	/* Shares are in the order of self times. */
	const struct report_column *by = options->sort->value == REPORT_SHARE
						 ? report_column_of(REPORT_SELF)
						 : options->sort;
	AUTO_FREE struct ranked *ranked = calloc((size_t)rows->nitems + 1, sizeof(*ranked));

	view->ids = calloc((size_t)rows->nitems + 1, sizeof(*view->ids));
	if (!view->ids || !ranked)
		return -ENOMEM;
	for (u32 id = 1; id < rows->nitems; id++) {
		const struct report_item *item = &rows->items[id];

		if (!item->seen)
			continue;
		view->nall++;
		if (report_share(rows, item->v[REPORT_SELF]) < options->percent_above)
			continue;
		ranked[view->n++] = (struct ranked){.value = report_column_value(by, item),
						    .name = rows->keys->keys[id].name,
						    .id = id};
	}
	qsort(ranked, view->n, sizeof(*ranked), compare);
	if (options->top && options->top < view->n)
		view->n = (u32)options->top;
	for (u32 i = 0; i < view->n; i++) {
		view->ids[i] = ranked[i].id;
		view->shown += report_share(rows, rows->items[ranked[i].id].v[REPORT_SELF]);
	}
	view->filtered = options->top || options->percent_above > 0;
	return 0;
}

void report_view_free(struct report_view *view)
{
	free(view->ids);
	view->ids = NULL;
}
