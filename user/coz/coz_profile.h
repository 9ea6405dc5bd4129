/* SPDX-License-Identifier: MIT */
/* What coz wrote, added up: each experiment is one selected line, one virtual speedup and what every point counted
 * meanwhile. A profile can hold many runs, one behind the other.
 *
 *   line × point ▸ a cell: "time per visit" over "speedup of the line", one by one and by speedup
 *
 * Two forms of file, told apart line by line: tab-separated key=value (coz up to 0.2.2), and JSON lines. */
#ifndef SPANTRACE_COZ_PROFILE_H
#define SPANTRACE_COZ_PROFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "../../exporters/strtab.h"
#include "../util/intmap.h"

/* Speedups are kept to a percent. */
#define COZ_STEPS 101
/* Fewer visits in an experiment say nothing: newer versions of coz do not write those. */
#define COZ_VISITS_MIN 5

/* Experiments with one speedup. */
struct coz_bin {
	u64 n;
	u64 visits;
	double ns; /* of all of them */
};

/* One experiment, seen from one point. */
struct coz_trial {
	double x; /* the speedup */
	double y; /* ns of a visit */
	double w; /* how well it is known */
};

enum coz_point_kind {
	COZ_POINT_THROUGHPUT,
	COZ_POINT_LATENCY,
};

/* What an experiment's time is divided by: the visits of a throughput point. For a latency point by Little's law: the time
 * that one visit takes is the time that passed, times how many were inside, by how many came. */
struct coz_cell {
	u32 line;                 /* of coz_profile.lines */
	u32 point;                /* of coz_profile.points */
	u64 n;                    /* experiments */
	u64 few;                  /* others, with fewer visits than COZ_VISITS_MIN */
	struct coz_trial *trials; /* n of them */
	struct coz_bin *bins;     /* COZ_STEPS */
};

struct coz_point {
	const char *name;
	enum coz_point_kind kind;
	u64 visits; /* in all experiments */
	u64 experiments;
	u64 unusable; /* latency: experiments whose difference makes no sense */
};

struct coz_line {
	const char *name;
	u64 experiments;
	u64 samples; /* as coz counted them at its end; 0: it did not */
};

struct coz_profile {
	struct strtab *strings;
	struct intmap lines_by_name; /* string ▸ 1 + index into lines */
	struct intmap points_by_name;
	struct intmap cells_by_key;
	struct coz_line *lines;
	size_t nlines;
	struct coz_point *points;
	size_t npoints;
	struct coz_cell **cells;
	size_t ncells;
	u64 experiments;
	u64 runs;
	u64 damaged; /* lines of the file that are neither form */
};

int coz_profile_new(struct coz_profile **out);
void coz_profile_free(struct coz_profile **profile);
/* Adds all of FILE. 0; -EFBIG for a line that is none of coz's by its length, or more lines and points than coz makes; -EBADMSG where nothing in it is coz's;
 * -ENOMEM, or what reading failed with. */
int coz_profile_read(struct coz_profile *profile, FILE *file);

/* What the experiments on a line say of a point. */
struct coz_estimate {
	bool known;  /* there are enough experiments, with speedups far enough apart */
	double gain; /* share of the time that is saved as the line's time goes to nothing, by the fit; below 0: it takes longer */
	double error;  /* half the 95 % confidence interval of it */
	double best;   /* the greatest saving that was measured … */
	u32 best_step; /* … with this speedup, in percent; 0: none was */
	u64 baselines; /* experiments without a speedup */
	u64 disturbed; /* experiments that the fit leaves out: they are unlike all others */
};

enum coz_confidence {
	COZ_LOW,
	COZ_MEDIUM,
	COZ_HIGH,
};

/* 0 or -ENOMEM, with *OUT knowing nothing. */
int coz_estimate(const struct coz_cell *cell, struct coz_estimate *out);
/* By how many experiments there are, and how well they agree. */
enum coz_confidence coz_confidence(const struct coz_cell *cell,
				   const struct coz_estimate *estimate);
const char *coz_confidence_name(enum coz_confidence confidence);
/* What can be counted on: the lower end of the interval. For the order of lines. */
double coz_certain_gain(const struct coz_estimate *estimate);

/* The saving at STEP percent that was measured. False: there was no such experiment, or none to compare it with. */
bool coz_measured(const struct coz_cell *cell, u32 step, double *saving);

/* The cells of POINT, the most certain gain first. A block for free(); NULL: no memory. */
const struct coz_cell **coz_profile_ranked(const struct coz_profile *profile, u32 point, size_t *n);

#endif
