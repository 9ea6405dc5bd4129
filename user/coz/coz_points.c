/* SPDX-License-Identifier: MIT */
/* See coz_points.h. */
#include "coz_points.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../util/cleanup.h"
#include "../util/grow.h"

#define COUNTERS 2 /* of a latency point; of a throughput point only the first is used */

struct point {
	char *name;
	enum coz_point_kind kind;
	bool is_event;
	enum coz_point_state state;
	u32 def;
	u64 base; /* hits that were before its counter was there */
	u64 address[COUNTERS];
	u64 written[COUNTERS];
	u64 hits;
	u64 moved_ns;
	u64 window_hits; /* at the begin of the window */
	unsigned steady; /* windows one behind the other in which it moved enough */
};

struct coz_points {
	const struct coz_choice *choice;
	struct point *items;
	size_t n;
	bool *latency_fits; /* by glob of the choice */
	bool *latency_events;
	bool *progress_fits;
	u32 defs;
	u64 window_ns; /* when it began; 0: none has */
	u32 steady;    /* definitions that were chosen for moving steadily */
};

int coz_points_new(const struct coz_choice *choice, struct coz_points **out)
{
	struct coz_points *points = calloc(1, sizeof(*points));

	if (!points)
		return -ENOMEM;
	points->choice = choice;
	points->latency_fits = calloc(choice->nlatency + 1, sizeof(bool));
	points->latency_events = calloc(choice->nlatency + 1, sizeof(bool));
	points->progress_fits = calloc(choice->nprogress + 1, sizeof(bool));
	if (!points->latency_fits || !points->latency_events || !points->progress_fits) {
		coz_points_free(&points);
		return -ENOMEM;
	}
	*out = points;
	return 0;
}

void coz_points_free(struct coz_points **out)
{
	struct coz_points *points = *out;
	size_t i;

	if (!points)
		return;
	*out = NULL;
	for (i = 0; i < points->n; i++)
		free(points->items[i].name);
	free(points->items);
	free(points->latency_fits);
	free(points->latency_events);
	free(points->progress_fits);
	free(points);
}

static bool glob_fits(const char *glob, const struct model_def *def, const char *whole)
{
	return fnmatch(glob, strchr(glob, ':') ? whole : def->name, 0) == 0;
}

/* Marks every glob that fits; returns whether one does. */
static bool any_fits(const char *const *globs, size_t n, bool *fits, const struct model_def *def,
		     const char *whole)
{
	bool any = false;
	size_t i;

	for (i = 0; i < n; i++) {
		if (!glob_fits(globs[i], def, whole))
			continue;
		fits[i] = true;
		any = true;
	}
	return any;
}

static int points_add(struct coz_points *points, const struct model_def *def, const char *whole,
		      enum coz_point_kind kind)
{
	AUTO_FREE char *name = strdup(whole);
	size_t i;

	for (i = 0; i < points->n; i++)
		if (points->items[i].def == def->id && points->items[i].kind == kind)
			return 0;
	if (!name || GROW(points->items, points->n))
		return -ENOMEM;
	points->items[points->n++] = (struct point){
		.name = TAKE_PTR(name),
		.kind = kind,
		.is_event = def->kind == MODEL_EVENT,
		.def = def->id,
	};
	return 0;
}

int coz_points_define(struct coz_points *points, const struct model_def *def)
{
	const struct coz_choice *choice = points->choice;
	bool automatic = !coz_points_named(points);
	bool event = def->kind == MODEL_EVENT, latency, progress;
	char whole[COZ_NAME_MAX];
	int err = 0;

	if (snprintf(whole, sizeof(whole), "%s:%s", def->provider, def->name) >= (int)sizeof(whole))
		return -ENAMETOOLONG;
	if (def->id >= COUNTS_MAX)
		return -ENOSPC;
	if (def->id >= points->defs)
		points->defs = def->id + 1;
	latency = any_fits(choice->latency, choice->nlatency,
			   event ? points->latency_events : points->latency_fits, def, whole);
	progress = any_fits(choice->progress, choice->nprogress, points->progress_fits, def, whole);
	if ((latency || automatic) && !event)
		err = points_add(points, def, whole, COZ_POINT_LATENCY);
	if (!err && (progress || automatic))
		err = points_add(points, def, whole, COZ_POINT_THROUGHPUT);
	return err;
}

u32 coz_points_defs(const struct coz_points *points)
{
	return points->defs;
}

static u64 point_hits(const struct point *point, const struct wire_count *counts)
{
	return point->is_event ? counts[point->def].events : counts[point->def].ended;
}

static int point_ask(struct point *point, size_t index, const struct coz_target *target)
{
	static const u32 counters[][COUNTERS] = {
		[COZ_POINT_THROUGHPUT] = {COZ_THROUGHPUT},
		[COZ_POINT_LATENCY] = {COZ_BEGIN, COZ_END},
	};
	struct coz_packet question = {.kind = COZ_ASK, .point = index};
	int i, err;

	snprintf(question.name, sizeof(question.name), "%s", point->name);
	point->state = COZ_POINT_ASKED;
	for (i = 0; i < COUNTERS && counters[point->kind][i]; i++) {
		question.counter = counters[point->kind][i];
		err = target->ask(target->context, &question);
		if (err)
			return err;
	}
	return 0;
}

void coz_points_answer(struct coz_points *points, const struct coz_packet *answer)
{
	struct point *point;

	if (answer->kind != COZ_ANSWER || answer->point >= points->n)
		return;
	point = &points->items[answer->point];
	if (point->state != COZ_POINT_ASKED)
		return;
	/* What a throughput point says before anybody wrote it, the program's own macro has counted. A latency point of
	 * coz 0.2.2 says anything. */
	if (!answer->address || answer->address % sizeof(u64) ||
	    (answer->counter == COZ_THROUGHPUT && answer->value)) {
		point->state = COZ_POINT_REFUSED;
		return;
	}
	point->address[answer->counter == COZ_END] = answer->address;
	if (point->kind == COZ_POINT_THROUGHPUT || (point->address[0] && point->address[1])) {
		point->state = COZ_POINT_COUNTED;
		/* Not what it was when it was asked for: an experiment may have begun since, from a counter of 0. */
		point->base = point->hits;
		point->written[0] = point->written[1] = UINT64_MAX;
	}
}

static int point_write(struct point *point, const struct wire_count *count,
		       const struct coz_target *target)
{
	/* Begins first: there are never fewer of them than ends. */
	u64 values[COUNTERS] = {point->hits - point->base, point->hits - point->base};
	int i, n = point->kind == COZ_POINT_LATENCY ? COUNTERS : 1;

	if (point->kind == COZ_POINT_LATENCY)
		values[0] = count->begun - point->base;
	for (i = 0; i < n; i++) {
		int err;

		if (values[i] == point->written[i])
			continue;
		err = target->write(target->context, point->address[i], values[i]);
		if (err)
			return err;
		point->written[i] = values[i];
	}
	return 0;
}

/* A window is over: which points have moved enough in it? */
static void points_end_window(struct coz_points *points, u64 now_ns)
{
	size_t i;

	for (i = 0; i < points->n; i++) {
		struct point *point = &points->items[i];
		bool enough = point->hits - point->window_hits >= COZ_STEADY_HITS;

		point->steady = points->window_ns && enough ? point->steady + 1 : 0;
		point->window_hits = point->hits;
	}
	points->window_ns = now_ns;
}

static bool points_want(const struct coz_points *points, const struct point *point)
{
	if (coz_points_named(points))
		return point->hits > 0;
	return point->steady >= 2 && points->steady < 2 * COZ_STEADY_MAX;
}

int coz_points_step(struct coz_points *points, u64 now_ns, const struct wire_count *counts,
		    const struct coz_target *target)
{
	int err = 0;
	size_t i;

	for (i = 0; i < points->n; i++) {
		struct point *point = &points->items[i];
		u64 hits = point_hits(point, counts);

		if (hits != point->hits)
			point->moved_ns = now_ns;
		point->hits = hits;
	}
	if (now_ns - points->window_ns >= COZ_WINDOW_NS)
		points_end_window(points, now_ns);
	for (i = 0; i < points->n && !err; i++) {
		struct point *point = &points->items[i];

		if (point->state == COZ_POINT_COUNTED) {
			err = point_write(point, &counts[point->def], target);
		} else if (point->state == COZ_POINT_WAITING && points_want(points, point)) {
			points->steady++;
			err = point_ask(point, i, target);
		}
	}
	return err;
}

bool coz_points_named(const struct coz_points *points)
{
	return points->choice->nlatency || points->choice->nprogress;
}

size_t coz_points_count(const struct coz_points *points)
{
	return points->n;
}

void coz_points_view(const struct coz_points *points, size_t i, struct coz_point_view *out)
{
	const struct point *point = &points->items[i];

	*out = (struct coz_point_view){
		.name = point->name,
		.kind = point->kind,
		.state = point->state,
		.before = point->base,
		.hits = point->hits,
		.moved_ns = point->moved_ns,
	};
}

const char *coz_points_unmatched(const struct coz_points *points, bool *event)
{
	const struct coz_choice *choice = points->choice;
	size_t i;

	*event = false;
	for (i = 0; i < choice->nlatency; i++) {
		if (points->latency_fits[i])
			continue;
		*event = points->latency_events[i];
		return choice->latency[i];
	}
	for (i = 0; i < choice->nprogress; i++)
		if (!points->progress_fits[i])
			return choice->progress[i];
	return NULL;
}
