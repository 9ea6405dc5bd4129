/* SPDX-License-Identifier: MIT */
/* What varies between runs, for programs. Keys are only ever added.
 *
 *   { "schema": 1, "version": "…", "by": …, "counter": "…", "files": [ … ],
 *     "total_ns": { "mean": …, "sd": …, "cv": …, "min": …, "max": … },      cv: sd by mean; null where mean is 0
 *     "items": [ { "name": "app:outer" (or "path": [ … ]), "runs": …,       in how many runs it was
 *                  "self_ns": { … }, "total_ns": { … }, "count": { … },
 *                  "cpu_user_ns", "cpu_system_ns", "alloc_objects", "alloc_bytes": { … } where all runs measured it } ],
 *     "items_in_all": …,
 *     "sequences": { "threads": …, "same": …, "stretches": …, "overlaps": …,
 *                    "smallest_durations": [ { "ns": …, "count": …, "what": "in `job()`, before `parse()`" } ],
 *                    "largest_durations": [ … ],
 *                    "smallest_variances": [ … ], "largest_variances": [ … ] },  ns: most less least
 *     "losses": { … } }
 */
#include <errno.h>

#include "../../exporters/text.h"
#include "aggregate.h"
#include "report_json.h"

static void write_figure(struct jsonw *w, const char *key, const struct aggregate *a,
			 const struct aggregate_figure *figure)
{
	double deviation = series_deviation(&figure->runs, a->runs);

	jsonw_object(w, key, JSONW_INLINE);
	jsonw_f64(w, "mean", figure->runs.mean);
	jsonw_f64(w, "sd", deviation);
	jsonw_f64(w, "cv", deviation / figure->runs.mean);
	jsonw_u64(w, "min", figure->min);
	jsonw_u64(w, "max", figure->max);
	jsonw_end(w);
}

static int write_item(struct jsonw *w, const struct aggregate *a, u32 id)
{
	const struct aggregate_item *item = &a->items[id];
	int err;

	jsonw_object(w, NULL, JSONW_INLINE);
	err = report_json_key(w, a->keys, id);
	jsonw_u64(w, "runs", item->runs);
	for (int f = 0; f < AGGREGATE_FIGURES; f++) {
		const struct report_column *column = aggregate_column(a, f);

		if (column)
			write_figure(w, column->json, a, &item->figures[f]);
	}
	jsonw_end(w);
	return err;
}

static int write_extremes(struct jsonw *w, const struct aggregate *a, const char *key,
			  const struct extreme *list, size_t n)
{
	AUTO_TEXT text = {0};

	jsonw_array(w, key, JSONW_LINES);
	for (size_t i = 0; i < n; i++) {
		jsonw_object(w, NULL, JSONW_INLINE);
		jsonw_u64(w, "ns", list[i].value);
		jsonw_u64(w, "count", list[i].count);
		if (list[i].count == 1) {
			text_cut(&text, 0);
			sequence_text(a->sequence, &list[i].first, &text);
			if (text.failed)
				return -ENOMEM;
			jsonw_string(w, "what", text.data);
		}
		jsonw_end(w);
	}
	jsonw_end(w);
	return 0;
}

static int write_sequences(struct jsonw *w, const struct aggregate *a)
{
	const struct sequence_result *r = sequence_result(a->sequence);
	int err;

	jsonw_object(w, "sequences", JSONW_LINES);
	jsonw_u64(w, "threads", (u64)r->threads + r->more);
	jsonw_u64(w, "same", r->same);
	jsonw_u64(w, "stretches", r->stretches);
	jsonw_u64(w, "overlaps", r->overlaps);
	err = write_extremes(w, a, "smallest_durations", r->durations.smallest,
			     r->durations.nsmallest);
	if (!err)
		err = write_extremes(w, a, "largest_durations", r->durations.largest,
				     r->durations.nlargest);
	if (!err)
		err = write_extremes(w, a, "smallest_variances", r->variances.smallest,
				     r->variances.nsmallest);
	if (!err)
		err = write_extremes(w, a, "largest_variances", r->variances.largest,
				     r->variances.nlargest);
	jsonw_end(w);
	return err;
}

int aggregate_print_json(const struct aggregate *a, FILE *out)
{
	struct jsonw w = {.out = out};
	int err = 0;

	report_json_head(&w, a->keys, a->reader.counter);
	report_json_files(&w, "files", a->inputs.paths, a->inputs.n);
	write_figure(&w, "total_ns", a, &a->total);
	jsonw_array(&w, "items", JSONW_LINES);
	for (u32 i = 0; i < aggregate_nshown(a) && !err; i++)
		err = write_item(&w, a, a->ids[i]);
	if (err)
		return err;
	jsonw_end(&w);
	jsonw_u64(&w, "items_in_all", a->n);
	err = a->sequence ? write_sequences(&w, a) : 0;
	if (err)
		return err;
	report_json_losses(&w, &a->rows);
	jsonw_end(&w);
	return 0;
}
