/* SPDX-License-Identifier: MIT */
/* Which spans and events become coz's points, when, and what their counters are to say. Pure: counts in, questions and
 * writes out, through the two functions of struct coz_target.
 *
 *   a definition is chosen ▸ waits until it moves ▸ its counters are asked for ▸ … and kept up to date
 *
 * Waiting matters: coz keeps an experiment only when every point that it knows has moved in it, and it never forgets one.
 * A point that was named is registered when it first moves. Where none was named, those are that move all the time: at
 * least COZ_STEADY_HITS in each of two windows, one behind the other. */
#ifndef SPANTRACE_COZ_POINTS_H
#define SPANTRACE_COZ_POINTS_H

#include <stdbool.h>
#include <stddef.h>

#include "../../include/coz.h"
#include "../../include/model.h"
#include "../../include/wire.h"
#include "coz_profile.h"

#define COZ_WINDOW_NS   500000000ull /* coz's shortest experiment */
#define COZ_STEADY_HITS 10           /* twice what coz wants of an experiment */
#define COZ_STEADY_MAX  16           /* definitions, where none is named */

struct coz_points;

/* Globs over provider:name, or over the name where they have no `:`. None at all: what moves steadily. Borrowed. */
struct coz_choice {
	const char *const *latency;
	size_t nlatency;
	const char *const *progress;
	size_t nprogress;
};

struct coz_target {
	void *context;
	/* Asks for a counter: coz_points_answer() gets what came. 0 or -errno: there is no one to ask. */
	int (*ask)(void *context, const struct coz_packet *question);
	/* Sets the counter at ADDRESS. 0 or -errno: the target is no more. */
	int (*write)(void *context, u64 address, u64 value);
};

int coz_points_new(const struct coz_choice *choice, struct coz_points **out);
void coz_points_free(struct coz_points **points);
/* There is this definition; its strings are copied. May come twice. 0 or -ENOMEM; -ENAMETOOLONG or -ENOSPC: it cannot
 * become a point. */
int coz_points_define(struct coz_points *points, const struct model_def *def);
/* How many counts coz_points_step() wants. */
u32 coz_points_defs(const struct coz_points *points);
/* The counts by now, by definition's id. 0, or what TARGET returned first. */
int coz_points_step(struct coz_points *points, u64 now_ns, const struct wire_count *counts,
		    const struct coz_target *target);
void coz_points_answer(struct coz_points *points, const struct coz_packet *answer);

enum coz_point_state {
	COZ_POINT_WAITING, /* it has not moved, or not steadily */
	COZ_POINT_ASKED,
	COZ_POINT_COUNTED,
	COZ_POINT_REFUSED, /* the program has a point of that name, or libcoz has no memory */
};

struct coz_point_view {
	const char *name;
	enum coz_point_kind kind;
	enum coz_point_state state;
	u64 before;   /* hits that were before coz knew it */
	u64 hits;     /* ends of spans, or events */
	u64 moved_ns; /* when it last did; 0: never */
};

size_t coz_points_count(const struct coz_points *points);
void coz_points_view(const struct coz_points *points, size_t i, struct coz_point_view *out);
/* Whether points were named, by latency or progress. */
bool coz_points_named(const struct coz_points *points);
/* The first glob that fits no definition, or only such as cannot be what it asks for; NULL: there is none. *EVENT: it is
 * a latency of events alone. */
const char *coz_points_unmatched(const struct coz_points *points, bool *event);

#endif
