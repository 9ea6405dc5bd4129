/* SPDX-License-Identifier: MIT */
/* What experiments say: if this line took less time, how much less would a visit of the point take?
 *
 * A straight line is laid through time per visit over speedup, all experiments in it, each weighted by its visits and its
 * time. Where it meets speedup 0 is the time now; its slope by that is the share of the time that goes as the line's own
 * does. What the experiments scatter around it gives the interval. coz's plot compares each speedup with the mean at 0
 * instead, which leaves most experiments out of each number; that is what "best" does here.
 *
 * The rest of the machine takes CPU time away from some experiments. They stand far from the line, and weigh less the
 * farther they do (Tukey's biweight, from a start that Huber's function gives). */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "../util/cleanup.h"
#include "../util/series.h"
#include "coz_profile.h"

#define CONFIDENT       0.05 /* the chance to be outside the interval */
#define EXPERIMENTS_MIN 3
#define APART_MIN       0.19

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

/* A weighted straight-line fit: y = at_zero + slope x. */
struct fit {
	double at_zero, slope;
	double w, mean_x,
		spread; /* sums: of the weights, of x by them, of squared distances to that */
};

/* How much its ends vary, and vary together. */
struct variances {
	double slope, at_zero, together;
};

/* W: of each trial. False where all have one speedup. */
static bool fit_line(const struct coz_cell *cell, const double *w, struct fit *out)
{
	double x = 0, y = 0, xy = 0;
	u64 i;

	*out = (struct fit){0};
	for (i = 0; i < cell->n; i++) {
		out->w += w[i];
		x += w[i] * cell->trials[i].x;
		y += w[i] * cell->trials[i].y;
	}
	if (!(out->w > 0))
		return false;
	out->mean_x = x / out->w;
	y /= out->w;
	for (i = 0; i < cell->n; i++) {
		double dx = cell->trials[i].x - out->mean_x;

		out->spread += w[i] * dx * dx;
		xy += w[i] * dx * (cell->trials[i].y - y);
	}
	if (!(out->spread > 1e-6 * out->w))
		return false;
	out->slope = xy / out->spread;
	out->at_zero = y - out->slope * out->mean_x;
	return true;
}

static double fit_distance(const struct fit *fit, const struct coz_trial *trial)
{
	return fabs(trial->y - fit->at_zero - fit->slope * trial->x);
}

static int compare_doubles(const void *a, const void *b)
{
	double da = *(const double *)a, db = *(const double *)b;

	return (da > db) - (da < db);
}

/* What two thirds of the distances are within, were they normal; by their median, which strays do not move. */
static double fit_scale(const struct coz_cell *cell, const struct fit *fit, double *distances)
{
	u64 i;

	for (i = 0; i < cell->n; i++)
		distances[i] = fit_distance(fit, &cell->trials[i]);
	qsort(distances, cell->n, sizeof(*distances), compare_doubles);
	return 1.4826 * distances[cell->n / 2];
}

/* A weight by distance, in scales. */
static double huber(double d)
{
	return d <= 1.345 ? 1 : 1.345 / d;
}

static double biweight(double d)
{
	double rest = 1 - d / 4.685 * (d / 4.685);

	return d < 4.685 ? rest * rest : 0;
}

#define ROUNDS 30

/* The fit, and the weight W of each trial in it. False: nothing can be said. */
static bool fit_robustly(const struct coz_cell *cell, double *w, double *distances, struct fit *out)
{
	double scale, d;
	int round;
	u64 i;

	for (i = 0; i < cell->n; i++)
		w[i] = cell->trials[i].w;
	if (!fit_line(cell, w, out))
		return false;
	for (round = 0; round < ROUNDS; round++) {
		scale = fit_scale(cell, out, distances);
		/* Most of them lie on the line. */
		if (!(scale > 1e-9 * fabs(out->at_zero)))
			return true;
		for (i = 0; i < cell->n; i++) {
			d = fit_distance(out, &cell->trials[i]) / scale;
			w[i] = cell->trials[i].w * (round < ROUNDS / 2 ? huber(d) : biweight(d));
		}
		if (!fit_line(cell, w, out))
			return false;
	}
	return true;
}

/* N: how many trials have a weight. */
static void fit_variances(const struct coz_cell *cell, const double *w, const struct fit *fit,
			  u64 n, struct variances *out)
{
	double variance = 0;
	u64 i;

	for (i = 0; i < cell->n; i++) {
		double d = fit_distance(fit, &cell->trials[i]);

		variance += w[i] * d * d;
	}
	variance /= (double)(n - 2);
	out->slope = variance / fit->spread;
	out->at_zero = variance * (1 / fit->w + fit->mean_x * fit->mean_x / fit->spread);
	out->together = -variance * fit->mean_x / fit->spread;
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

/* The greatest saving that was measured. One experiment alone can be anything. */
static void best_measured(const struct coz_cell *cell, struct coz_estimate *out)
{
	double saving;
	u32 step;

	for (step = 1; step < COZ_STEPS; step++) {
		if (cell->bins[step].n < 2 || !coz_measured(cell, step, &saving) ||
		    (out->best_step && saving <= out->best))
			continue;
		out->best = saving;
		out->best_step = step;
	}
}

/* From speedups side by side nothing can be said of others. */
static bool lie_apart(const struct coz_cell *cell)
{
	double low = 1, high = 0;
	u64 i;

	for (i = 0; i < cell->n; i++) {
		low = fmin(low, cell->trials[i].x);
		high = fmax(high, cell->trials[i].x);
	}
	return high - low >= APART_MIN;
}

int coz_estimate(const struct coz_cell *cell, struct coz_estimate *out)
{
	AUTO_FREE double *w = calloc(cell->n + 1, sizeof(*w));
	AUTO_FREE double *distances = calloc(cell->n + 1, sizeof(*distances));
	struct variances v;
	double limit;
	struct fit fit;
	u64 i;

	*out = (struct coz_estimate){.baselines = cell->bins[0].n};
	if (!w || !distances)
		return -ENOMEM;
	best_measured(cell, out);
	if (!lie_apart(cell) || !fit_robustly(cell, w, distances, &fit))
		return 0;
	for (i = 0; i < cell->n; i++)
		out->disturbed += w[i] <= 0;
	if (cell->n - out->disturbed < EXPERIMENTS_MIN)
		return 0;
	fit_variances(cell, w, &fit, cell->n - out->disturbed, &v);
	limit = student_limit((double)(cell->n - out->disturbed - 2));
	/* Shares of a time that may as well be nothing are no shares. */
	if (!(fit.at_zero > limit * sqrt(v.at_zero)))
		return 0;
	out->known = true;
	out->gain = -fit.slope / fit.at_zero;
	out->error = limit * sqrt(gain_variance(&v, out->gain, fit.at_zero));
	return 0;
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
		if (coz_estimate(profile->cells[i], &estimate)) {
			free(out);
			return NULL;
		}
		all[*n].cell = profile->cells[i];
		all[(*n)++].certain = coz_certain_gain(&estimate);
	}
	qsort(all, *n, sizeof(*all), compare_ranked);
	for (i = 0; i < *n; i++)
		out[i] = all[i].cell;
	return out;
}
