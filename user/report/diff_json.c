/* SPDX-License-Identifier: MIT */
/* A comparison for programs. Keys are only ever added; what was not measured is absent, never 0. Figures of several runs
 * are means. "percent" is null where there was nothing before, "p" is there with two runs or more on both sides.
 *
 *   { "schema": 1, "version": "…", "by": "name"|"path"|"thread"|"process", "counter": "…",
 *     "base_files": [ … ], "change_files": [ … ],
 *     "total_ns": { "base": …, "change": …, "delta": …, "percent": …, "p": … },
 *     "items": [ { "name": "app:outer" (or "path": [ … ]), "state": "both"|"new"|"gone", "failed": …,
 *                  "self_ns": { "base": … }, "total_ns": { … }, "count": { … }, … } ],
 *     "items_in_all": …, "failures": …, "total_failed": …,       the last two with --fail-above
 *     "artifact_sizes": [ { "name": "…", "bytes": { … } } ],
 *     "losses": { … } }
 */
#include "diff.h"
#include "report_json.h"

static void write_figure(struct jsonw *w, const char *key, const struct diff_figure *figure)
{
	jsonw_object(w, key, JSONW_INLINE);
	jsonw_f64(w, "base", figure->base);
	jsonw_f64(w, "change", figure->change);
	jsonw_f64(w, "delta", figure->change - figure->base);
	jsonw_f64(w, "percent", diff_percent(figure));
	if (figure->p >= 0)
		jsonw_f64(w, "p", figure->p);
	jsonw_end(w);
}

static int write_item(struct jsonw *w, const struct diff *diff, u32 id)
{
	bool base = diff_seen(diff, DIFF_BASE, id), change = diff_seen(diff, DIFF_CHANGE, id);
	struct diff_figure self = diff_value(diff, id, REPORT_SELF);
	int err;

	jsonw_object(w, NULL, JSONW_INLINE);
	err = report_json_key(w, diff->keys, id);
	if (err)
		return err;
	jsonw_string(w, "state", !base ? "new" : !change ? "gone" : "both");
	if (diff->fail_above >= 0)
		jsonw_bool(w, "failed", diff_is_failure(diff, &self));
	for (size_t i = 0; i < report_ncolumns; i++) {
		const struct report_column *column = &report_columns[i];
		struct diff_figure figure;

		if (column->value >= REPORT_VALUES || !report_column_measured(column, &diff->rows))
			continue;
		figure = diff_value(diff, id, column->value);
		/* What only measureme's files tell, and only of some. */
		if (column->value >= REPORT_CACHE_HITS && figure.base == 0 && figure.change == 0)
			continue;
		write_figure(w, column->json, &figure);
	}
	jsonw_end(w);
	return 0;
}

static void write_artifacts(struct jsonw *w, const struct diff *diff)
{
	jsonw_array(w, "artifact_sizes", JSONW_LINES);
	for (u32 i = 0; i < diff_nartifacts(diff); i++) {
		struct diff_figure bytes = diff_artifact(diff, i);

		if (!diff_has_artifact(diff, i))
			continue;
		jsonw_object(w, NULL, JSONW_INLINE);
		jsonw_string(w, "name", strtab_get(diff->keys->events, i));
		write_figure(w, "bytes", &bytes);
		jsonw_end(w);
	}
	jsonw_end(w);
}

int diff_print_json(const struct diff *diff, FILE *out)
{
	const struct report_inputs *base = &diff->sides[DIFF_BASE].inputs;
	const struct report_inputs *change = &diff->sides[DIFF_CHANGE].inputs;
	struct diff_figure total = diff_total(diff);
	struct jsonw w = {.out = out};

	report_json_head(&w, diff->keys, diff->reader.counter);
	report_json_files(&w, "base_files", base->paths, base->n);
	report_json_files(&w, "change_files", change->paths, change->n);
	write_figure(&w, "total_ns", &total);
	jsonw_array(&w, "items", JSONW_LINES);
	for (u32 i = 0; i < diff_nshown(diff); i++) {
		int err = write_item(&w, diff, diff->ids[i]);

		if (err)
			return err;
	}
	jsonw_end(&w);
	jsonw_u64(&w, "items_in_all", diff->n);
	if (diff->fail_above >= 0) {
		jsonw_u64(&w, "failures", diff_failures(diff));
		jsonw_bool(&w, "total_failed", diff_is_failure(diff, &total));
	}
	write_artifacts(&w, diff);
	report_json_losses(&w, &diff->rows);
	jsonw_end(&w);
	return 0;
}
