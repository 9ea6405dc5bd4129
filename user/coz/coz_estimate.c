/* SPDX-License-Identifier: MIT */
/* What experiments say: if this line took less time, how much less would a visit of the point take?
 *
 * A straight line is laid through time per visit over speedup, all experiments in it, each weighted by its visits. Where it
 * meets speedup 0 is the time now; its slope by that is the share of the time that goes as the line's own does. What the
 * experiments scatter around it gives the interval. coz's plot compares each speedup with the mean at 0 instead, which
 * leaves most experiments out of each number; that is what "best" does here. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "../util/cleanup.h"
#include "../util/series.h"
#include "coz_profile.h"

#define CONFIDENT       0.05 /* the chance to be outside the interval */
#define EXPERIMENTS_MIN 3
#define APART_MIN       20 /* percent */

/* What Student's t with DF degrees of freedom exceeds, either way, with probability CONFIDENT. */
static double student_limit(double df)
{
	double low = 0, high = 1000;

	for (int i = 0; i < 60; i++) {
		double middle = (low + high) / 2;

		if (series_student(middle, df) > CONFIDENT)
			low = middle;
		else
			high = middle;
	}
	return high;
}

/* How much the fit's ends vary, and vary together. */
struct variances {
	double slope, at_zero, together;
};

static void fit_variances(const struct coz_cell *cell, double spread, double slope,
			  struct variances *out)
{
	const struct coz_fit *fit = &cell->fit;
	double rest = fit->yy - fit->y * fit->y / fit->w - slope * slope * spread;
	double variance = (rest > 0 ? rest : 0) / (double)(cell->n - 2);
	double mean_x = fit->x / fit->w;

	out->slope = variance / spread;
	out->at_zero = variance * (1 / fit->w + mean_x * mean_x / spread);
	out->together = -variance * mean_x / spread;
}

/* Of GAIN = -slope / at_zero. */
static double gain_variance(const struct variances *v, double gain, double at_zero)
{
	double sum = v->slope + gain * gain * v->at_zero + 2 * gain * v->together;

	return sum > 0 ? sum / (at_zero * at_zero) : 0;
}

bool coz_measured(const struct coz_cell *cell, u32 step, double *saving)
{
	const struct coz_bin *now = &cell->bins[0], *then = &cell->bins[step];

	if (!now->n || !then->n || !(now->ns > 0))
		return false;
	*saving = 1 - then->ns / (double)then->visits / (now->ns / (double)now->visits);
	return true;
}

void coz_estimate(const struct coz_cell *cell, struct coz_estimate *out)
{
	const struct coz_fit *fit = &cell->fit;
	double spread = fit->w > 0 ? fit->xx - fit->x * fit->x / fit->w : 0;
	double slope, at_zero, limit, saving;
	u32 step, first = COZ_STEPS, last = 0;
	struct variances v;

	*out = (struct coz_estimate){.baselines = cell->bins[0].n};
	for (step = 1; step < COZ_STEPS; step++) {
		/* One experiment alone can be anything. */
		if (cell->bins[step].n < 2 || !coz_measured(cell, step, &saving) ||
		    (out->best_step && saving <= out->best))
			continue;
		out->best = saving;
		out->best_step = step;
	}
	for (step = 0; step < COZ_STEPS; step++) {
		if (!cell->bins[step].n)
			continue;
		first = step < first ? step : first;
		last = step;
	}
	/* From speedups side by side nothing can be said of others. */
	if (cell->n < EXPERIMENTS_MIN || last < first + APART_MIN || !(spread > 0))
		return;
	slope = (fit->xy - fit->x * fit->y / fit->w) / spread;
	at_zero = (fit->y - slope * fit->x) / fit->w;
	fit_variances(cell, spread, slope, &v);
	limit = student_limit((double)(cell->n - 2));
	/* Shares of a time that may as well be nothing are no shares. */
	if (!(at_zero > limit * sqrt(v.at_zero)))
		return;
	out->known = true;
	out->gain = -slope / at_zero;
	out->error = limit * sqrt(gain_variance(&v, out->gain, at_zero));
}

enum coz_confidence coz_confidence(const struct coz_cell *cell, const struct coz_estimate *estimate)
{
	if (!estimate->known || cell->n < 10 || estimate->baselines < 2 || estimate->error > 0.5)
		return COZ_LOW;
	return cell->n < 30 || estimate->baselines < 5 || estimate->error > 0.15 ? COZ_MEDIUM
										 : COZ_HIGH;
}

const char *coz_confidence_name(enum coz_confidence confidence)
{
	static const char *const names[] = {"low", "medium", "high"};

	return names[confidence];
}

double coz_certain_gain(const struct coz_estimate *estimate)
{
	return estimate->known ? estimate->gain - estimate->error : -HUGE_VAL;
}

struct ranked {
	const struct coz_cell *cell;
	double certain;
};

static int compare_ranked(const void *a, const void *b)
{
	const struct ranked *ra = a, *rb = b;

	if (ra->certain != rb->certain)
		return ra->certain < rb->certain ? 1 : -1;
	if (ra->cell->n != rb->cell->n)
		return ra->cell->n < rb->cell->n ? 1 : -1;
	return (ra->cell->line > rb->cell->line) - (ra->cell->line < rb->cell->line);
}

const struct coz_cell **coz_profile_ranked(const struct coz_profile *profile, u32 point, size_t *n)
{
	AUTO_FREE struct ranked *all = calloc(profile->ncells + 1, sizeof(*all));
	const struct coz_cell **out = calloc(profile->ncells + 1, sizeof(struct coz_cell *));
	size_t i;

	*n = 0;
	if (!all || !out) {
		free(out);
		return NULL;
	}
	for (i = 0; i < profile->ncells; i++) {
		struct coz_estimate estimate;

		if (profile->cells[i]->point != point || !profile->cells[i]->n)
			continue;
		coz_estimate(profile->cells[i], &estimate);
		all[*n].cell = profile->cells[i];
		all[(*n)++].certain = coz_certain_gain(&estimate);
	}
	qsort(all, *n, sizeof(*all), compare_ranked);
	for (i = 0; i < *n; i++)
		out[i] = all[i].cell;
	return out;
}
