/* SPDX-License-Identifier: MIT */
/* A profile as a table and as JSON; see coz_report.h. */
#include <errno.h>
#include <string.h>

#include "../../exporters/figures.h"
#include "../../exporters/jsonw.h"
#include "../util/table.h"
#include "coz_report.h"

#define SCHEMA 1
#define HALF   0.5 /* the speedup that the table speaks of */

const char *coz_point_kind_name(enum coz_point_kind kind)
{
	return kind == COZ_POINT_LATENCY ? "latency" : "throughput";
}

static void add_row(struct table *t, const struct coz_profile *profile, const struct coz_cell *cell)
{
	struct coz_estimate e;

	coz_estimate(cell, &e);
	table_add(t, "%s", profile->lines[cell->line].name);
	if (e.known) {
		table_add(t, "%+.1f %%", 100 * HALF * e.gain);
		table_add(t, "± %.1f", 100 * HALF * e.error);
	} else {
		table_add(t, "-");
		table_add(t, "-");
	}
	if (e.best_step)
		table_add(t, "%+.1f %% at %u %%", 100 * e.best, e.best_step);
	else
		table_add(t, "-");
	table_add(t, "%llu", (unsigned long long)cell->n);
	table_add(t, "%s", coz_confidence_name(coz_confidence(cell, &e)));
}

static int print_point(const struct coz_profile *profile, u32 index, u64 top, FILE *out)
{
	const struct coz_point *point = &profile->points[index];
	AUTO_TABLE t = {.columns = 6, .right = 1u << 1 | 1u << 2 | 1u << 3 | 1u << 4};
	AUTO_FREE const struct coz_cell **cells = NULL;
	char visits[FIGURES_SIZE];
	AUTO_TEXT name = {0};
	size_t i, n;
	int err;

	cells = coz_profile_ranked(profile, index, &n);
	text_add_safe(&name, point->name);
	if (!cells || name.failed)
		return -ENOMEM;
	fprintf(out, "\n%s of %s: %s visits in %llu experiments\n",
		coz_point_kind_name(point->kind), name.data, figures_count(visits, point->visits),
		(unsigned long long)point->experiments);
	if (point->unusable)
		fprintf(out,
			"  %llu more make no sense: this coz counts latencies of its macros from memory that it did not clear\n",
			(unsigned long long)point->unusable);
	if (!n)
		return 0;
	table_add(&t, "line");
	table_add(&t, "if it took half");
	table_add(&t, "95 %%");
	table_add(&t, "best measured");
	table_add(&t, "experiments");
	table_add(&t, "confidence");
	for (i = 0; i < n && (!top || i < top); i++)
		add_row(&t, profile, cells[i]);
	err = table_print(&t, out, "  ");
	if (top && n > top)
		fprintf(out, "  … and %zu lines more\n", n - top);
	return err;
}

int coz_print(const struct coz_profile *profile, u64 top, FILE *out)
{
	size_t lines = 0;
	int err = 0;
	u32 i;

	/* The others were only sampled. */
	for (i = 0; i < profile->nlines; i++)
		lines += profile->lines[i].experiments > 0;
	fprintf(out, "%llu experiment%s on %zu line%s in %llu run%s\n",
		(unsigned long long)profile->experiments, profile->experiments == 1 ? "" : "s",
		lines, lines == 1 ? "" : "s", (unsigned long long)profile->runs,
		profile->runs == 1 ? "" : "s");
	for (i = 0; i < profile->npoints && !err; i++)
		err = print_point(profile, i, top, out);
	if (!err && profile->npoints)
		fputs("\nWhat a visit would take less if the line took half its time, by all experiments on it; + is faster.\n",
		      out);
	return err;
}

static void json_cell(struct jsonw *w, const struct coz_profile *profile,
		      const struct coz_cell *cell)
{
	struct coz_estimate e;
	double saving;
	u32 step;

	coz_estimate(cell, &e);
	jsonw_object(w, NULL, JSONW_INLINE);
	jsonw_string(w, "line", profile->lines[cell->line].name);
	if (profile->lines[cell->line].samples)
		jsonw_u64(w, "samples", profile->lines[cell->line].samples);
	jsonw_u64(w, "experiments", cell->n);
	jsonw_u64(w, "baselines", e.baselines);
	if (e.disturbed)
		jsonw_u64(w, "disturbed", e.disturbed);
	if (cell->few)
		jsonw_u64(w, "too_few_visits", cell->few);
	if (e.known) {
		jsonw_f64(w, "gain", e.gain);
		jsonw_f64(w, "gain_error", e.error);
	}
	jsonw_string(w, "confidence", coz_confidence_name(coz_confidence(cell, &e)));
	jsonw_array(w, "speedups", JSONW_INLINE);
	for (step = 0; step < COZ_STEPS; step++) {
		const struct coz_bin *bin = &cell->bins[step];

		if (!bin->n)
			continue;
		jsonw_object(w, NULL, JSONW_INLINE);
		jsonw_f64(w, "speedup", step / 100.0);
		jsonw_u64(w, "experiments", bin->n);
		jsonw_u64(w, "visits", bin->visits);
		jsonw_f64(w, "visit_ns", bin->ns / (double)bin->visits);
		if (coz_measured(cell, step, &saving))
			jsonw_f64(w, "gain", saving);
		jsonw_end(w);
	}
	jsonw_end(w);
	jsonw_end(w);
}

static int json_point(struct jsonw *w, const struct coz_profile *profile, u32 index)
{
	const struct coz_point *point = &profile->points[index];
	AUTO_FREE const struct coz_cell **cells = NULL;
	size_t i, n;

	cells = coz_profile_ranked(profile, index, &n);
	if (!cells)
		return -ENOMEM;
	jsonw_object(w, NULL, JSONW_LINES);
	jsonw_string(w, "name", point->name);
	jsonw_string(w, "kind", coz_point_kind_name(point->kind));
	jsonw_u64(w, "visits", point->visits);
	jsonw_u64(w, "experiments", point->experiments);
	jsonw_u64(w, "unusable", point->unusable);
	jsonw_array(w, "lines", JSONW_LINES);
	for (i = 0; i < n; i++)
		json_cell(w, profile, cells[i]);
	jsonw_end(w);
	jsonw_end(w);
	return 0;
}

int coz_print_json(const struct coz_profile *profile, FILE *out)
{
	struct jsonw w = {.out = out};
	int err = 0;
	u32 i;

	jsonw_object(&w, NULL, JSONW_LINES);
	jsonw_u64(&w, "schema", SCHEMA);
	jsonw_u64(&w, "runs", profile->runs);
	jsonw_u64(&w, "experiments", profile->experiments);
	jsonw_u64(&w, "damaged", profile->damaged);
	jsonw_array(&w, "points", JSONW_LINES);
	for (i = 0; i < profile->npoints && !err; i++)
		err = json_point(&w, profile, i);
	jsonw_end(&w);
	jsonw_end(&w);
	return err;
}
