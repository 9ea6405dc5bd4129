/* SPDX-License-Identifier: MIT */
/* A report for programs. Keys are only ever added; what was not measured is absent, never 0.
 *
 *   { "schema": 1, "version": "…", "files": [ "…" ], "by": "name"|"path"|"thread"|"process",
 *     "counter": "…",                    of measureme files whose times are no times
 *     "total_ns": …,                     over threads, from the start of the first span to the end of the last
 *     "items": [ { "name": "app:outer",  or, by path, "path": [ "app:outer", "app:inner" ]
 *                  "self_ns": …, "share": PERCENT, "total_ns": …, "count": …, … } ],
 *     "items_in_all": …, "items_share": PERCENT,  more than what is shown with --top and --percent-above
 *     "events": [ { "name": "app:tick", "count": …, "sum": … } ],
 *     "artifact_sizes": [ { "name": "…", "bytes": … } ],
 *     "losses": { "ring_full": 0, … } }
 */
#include <errno.h>
#include <stdlib.h>

#include "../../include/version.h"
#include "../util/cleanup.h"
#include "../util/grow.h"
#include "report_json.h"
#include "report_view.h"

#define SCHEMA 1

int report_json_key(struct jsonw *w, const struct report_keys *keys, u32 id)
{
	AUTO_FREE u32 *up = NULL;
	size_t n = 0;

	if (keys->by != REPORT_BY_PATH) {
		jsonw_string(w, "name", keys->keys[id].name);
		return 0;
	}
	for (; id; id = keys->keys[id].parent) {
		if (GROW(up, n))
			return -ENOMEM;
		up[n++] = id;
	}
	jsonw_array(w, "path", JSONW_INLINE);
	while (n)
		jsonw_string(w, NULL, keys->keys[up[--n]].name);
	jsonw_end(w);
	return 0;
}

static bool is_written(const struct report_column *column, const struct report_view *view,
		       const struct report_item *item)
{
	if (!report_column_measured(column, view->rows))
		return false;
	if (column->value >= REPORT_MIN && !item->nwalls)
		return false;
	/* What only measureme's files tell, and only of some. */
	if (column->value >= REPORT_CACHE_HITS && column->value < REPORT_VALUES)
		return item->v[column->value] != 0;
	return true;
}

static int write_item(struct jsonw *w, const struct report_view *view, u32 id)
{
	const struct report_item *item = report_item(view->rows, id);
	int err;

	jsonw_object(w, NULL, JSONW_INLINE);
	err = report_json_key(w, view->rows->keys, id);
	if (err)
		return err;
	for (size_t i = 0; i < report_ncolumns; i++) {
		const struct report_column *column = &report_columns[i];

		if (!is_written(column, view, item))
			continue;
		if (column->value == REPORT_SHARE)
			jsonw_f64(w, column->json, report_share(view->rows, item->v[REPORT_SELF]));
		else
			jsonw_u64(w, column->json, report_column_value(column, item));
	}
	jsonw_end(w);
	return 0;
}

void report_json_head(struct jsonw *w, const struct report_keys *keys, const char *counter)
{
	static const char *const by[] = {"name", "path", "thread", "process"};

	jsonw_object(w, NULL, JSONW_LINES);
	jsonw_u64(w, "schema", SCHEMA);
	jsonw_string(w, "version", SPANTRACE_VERSION);
	jsonw_string(w, "by", by[keys->by]);
	if (counter)
		jsonw_string(w, "counter", counter);
}

void report_json_files(struct jsonw *w, const char *key, char *const *paths, size_t n)
{
	jsonw_array(w, key, JSONW_LINES);
	for (size_t i = 0; i < n; i++)
		jsonw_string(w, NULL, paths[i]);
	jsonw_end(w);
}

void report_json_losses(struct jsonw *w, const struct report_rows *rows)
{
	jsonw_object(w, "losses", JSONW_LINES);
	for (size_t i = 0; i < rows->nlosses; i++)
		jsonw_u64(w, rows->losses[i].name, rows->losses[i].count);
	jsonw_end(w);
}

static void write_events(struct jsonw *w, const struct report_rows *rows)
{
	jsonw_array(w, "events", JSONW_LINES);
	for (u32 i = 0; i < rows->nevents; i++) {
		const struct report_sum *event = &rows->events[i];

		if (!event->count)
			continue;
		jsonw_object(w, NULL, JSONW_INLINE);
		jsonw_string(w, "name", strtab_get(rows->keys->events, i));
		jsonw_u64(w, "count", event->count);
		if (event->has_sum)
			jsonw_s64(w, "sum", event->sum);
		jsonw_end(w);
	}
	jsonw_end(w);
	jsonw_array(w, "artifact_sizes", JSONW_LINES);
	for (u32 i = 0; i < rows->nartifacts; i++) {
		if (!rows->artifacts[i].count)
			continue;
		jsonw_object(w, NULL, JSONW_INLINE);
		jsonw_string(w, "name", strtab_get(rows->keys->events, i));
		jsonw_s64(w, "bytes", rows->artifacts[i].sum);
		jsonw_end(w);
	}
	jsonw_end(w);
}

int report_print_json(const struct report_view *view, FILE *out)
{
	struct jsonw w = {.out = out};

	report_json_head(&w, view->rows->keys, view->counter);
	report_json_files(&w, "files", view->paths, view->npaths);
	jsonw_u64(&w, "total_ns", view->rows->total_ns);
	jsonw_array(&w, "items", JSONW_LINES);
	for (u32 i = 0; i < view->n; i++) {
		int err = write_item(&w, view, view->ids[i]);

		if (err)
			return err;
	}
	jsonw_end(&w);
	jsonw_u64(&w, "items_in_all", view->nall);
	jsonw_f64(&w, "items_share", view->shown);
	write_events(&w, view->rows);
	report_json_losses(&w, view->rows);
	jsonw_end(&w);
	return 0;
}
