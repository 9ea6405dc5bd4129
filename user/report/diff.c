/* SPDX-License-Identifier: MIT */
/* Reads both sides, compares, sorts. See diff.h. */
#include "diff.h"

#include <errno.h>
#include <fnmatch.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../../exporters/text.h"
#include "../util/log.h"

static void side_free(struct diff_side *side)
{
	report_inputs_free(&side->inputs);
	free(side->items);
	free(side->artifacts);
}

void diff_free(struct diff *diff)
{
	side_free(&diff->sides[DIFF_BASE]);
	side_free(&diff->sides[DIFF_CHANGE]);
	report_rows_free(&diff->rows);
	report_reader_free(&diff->reader);
	report_keys_free(&diff->keys);
	free((void *)diff->excludes);
	free(diff->ids);
	*diff = (struct diff){0};
}

/* --- reading -------------------------------------------------------------------------------------- */

/* Makes room for N elements of SIZE; new ones are zeroes. */
static int widen(void **items, u32 *have, u32 n, size_t size)
{
	char *grown;

	if (n <= *have)
		return 0;
	grown = reallocarray(*items, n, size);
	if (!grown)
		return -ENOMEM;
	memset(grown + *have * size, 0, (n - *have) * size);
	*items = grown;
	*have = n;
	return 0;
}

/* What this run does not have counts as 0: a series of zeroes is one that starts as zeroes. */
static int add_run(struct diff_side *side, const struct report_rows *rows)
{
	if (widen((void **)&side->items, &side->nitems, rows->nitems, sizeof(*side->items)) ||
	    widen((void **)&side->artifacts, &side->nartifacts, rows->nartifacts,
		  sizeof(*side->artifacts)))
		return -ENOMEM;
	for (u32 i = 0; i < side->nitems; i++) {
		const struct report_item *item = report_item(rows, i);

		side->items[i].seen |= item->seen;
		for (unsigned v = 0; v < REPORT_VALUES; v++)
			series_add(&side->items[i].v[v], side->runs, (double)item->v[v]);
	}
	for (u32 i = 0; i < side->nartifacts; i++) {
		const struct report_sum *sum = report_artifact(rows, i);

		side->artifacts[i].seen |= sum->count > 0;
		series_add(&side->artifacts[i].bytes, side->runs, (double)sum->sum);
	}
	series_add(&side->total, side->runs, (double)rows->total_ns);
	side->runs++;
	return 0;
}

int diff_read(struct diff *diff)
{
	int err = 0;

	diff->rows.keys = diff->keys;
	for (int s = 0; s < 2; s++) {
		struct diff_side *side = &diff->sides[s];

		for (size_t i = 0; i < side->inputs.n && !err; i++) {
			report_rows_clear(&diff->rows);
			err = report_read(&diff->reader, side->inputs.paths[i], &diff->rows);
			if (!err && add_run(side, &diff->rows)) {
				log_error("out of memory");
				err = -ENOMEM;
			}
		}
	}
	return err;
}

/* --- comparing ------------------------------------------------------------------------------------ */

static struct diff_figure compare(const struct diff *diff, const struct series *base,
				  const struct series *change)
{
	static const struct series nothing;

	if (!base)
		base = &nothing;
	if (!change)
		change = &nothing;
	return (struct diff_figure){
		.base = base->mean,
		.change = change->mean,
		.p = series_welch(base, diff->sides[DIFF_BASE].runs, change,
				  diff->sides[DIFF_CHANGE].runs),
	};
}

static const struct diff_item *item_of(const struct diff *diff, int side, u32 key)
{
	return key < diff->sides[side].nitems ? &diff->sides[side].items[key] : NULL;
}

struct diff_figure diff_value(const struct diff *diff, u32 key, enum report_value value)
{
	const struct diff_item *base = item_of(diff, DIFF_BASE, key);
	const struct diff_item *change = item_of(diff, DIFF_CHANGE, key);

	return compare(diff, base ? &base->v[value] : NULL, change ? &change->v[value] : NULL);
}

struct diff_figure diff_total(const struct diff *diff)
{
	return compare(diff, &diff->sides[DIFF_BASE].total, &diff->sides[DIFF_CHANGE].total);
}

static const struct diff_sum *artifact_of(const struct diff *diff, int side, u32 event)
{
	return event < diff->sides[side].nartifacts ? &diff->sides[side].artifacts[event] : NULL;
}

struct diff_figure diff_artifact(const struct diff *diff, u32 event)
{
	const struct diff_sum *base = artifact_of(diff, DIFF_BASE, event);
	const struct diff_sum *change = artifact_of(diff, DIFF_CHANGE, event);

	return compare(diff, base ? &base->bytes : NULL, change ? &change->bytes : NULL);
}

bool diff_seen(const struct diff *diff, int side, u32 key)
{
	const struct diff_item *item = item_of(diff, side, key);

	return item && item->seen;
}

double diff_percent(const struct diff_figure *figure)
{
	return (figure->change - figure->base) / figure->base * 100;
}

bool diff_is_chance(const struct diff_figure *figure)
{
	return figure->p >= DIFF_SIGNIFICANT;
}

bool diff_is_failure(const struct diff *diff, const struct diff_figure *figure)
{
	return diff->fail_above >= 0 && diff_percent(figure) > diff->fail_above &&
	       !diff_is_chance(figure);
}

u32 diff_nshown(const struct diff *diff)
{
	return diff->top && diff->top < diff->n ? (u32)diff->top : diff->n;
}

u32 diff_failures(const struct diff *diff)
{
	u32 n = 0;

	for (u32 i = 0; i < diff->n; i++) {
		struct diff_figure self = diff_value(diff, diff->ids[i], REPORT_SELF);

		n += diff_is_failure(diff, &self);
	}
	return n;
}

/* --- choosing and sorting ------------------------------------------------------------------------- */

/* A glob that names no provider is for the name alone. */
static bool glob_fits(const char *glob, const char *name)
{
	const char *colon = strchr(name, ':');

	return !fnmatch(glob, name, 0) ||
	       (colon && !strchr(glob, ':') && !fnmatch(glob, colon + 1, 0));
}

static bool is_excluded(const struct diff *diff, const char *name)
{
	for (size_t i = 0; i < diff->nexcludes; i++)
		if (glob_fits(diff->excludes[i], name))
			return true;
	return false;
}

u32 diff_nartifacts(const struct diff *diff)
{
	u32 base = diff->sides[DIFF_BASE].nartifacts, change = diff->sides[DIFF_CHANGE].nartifacts;

	return base > change ? base : change;
}

bool diff_has_artifact(const struct diff *diff, u32 event)
{
	const struct diff_sum *base = artifact_of(diff, DIFF_BASE, event);
	const struct diff_sum *change = artifact_of(diff, DIFF_CHANGE, event);

	return ((base && base->seen) || (change && change->seen)) &&
	       !is_excluded(diff, strtab_get(diff->keys->events, event));
}

struct ranked {
	double change;
	const char *name;
	u32 id;
};

static int compare_ranked(const void *a, const void *b)
{
	const struct ranked *x = a, *y = b;
	int order = (x->change < y->change) - (x->change > y->change);

	if (!order)
		order = strcmp(x->name, y->name);
	return order ? order : (x->id > y->id) - (x->id < y->id);
}

static bool is_large(const struct diff *diff, const struct diff_figure *self)
{
	struct diff_figure total = diff_total(diff);

	return self->base * 100 >= diff->percent_above * total.base ||
	       self->change * 100 >= diff->percent_above * total.change;
}

int diff_sort(struct diff *diff)
{
	AUTO_FREE struct ranked *ranked = calloc(diff->keys->nkeys, sizeof(*ranked));

	diff->ids = calloc(diff->keys->nkeys, sizeof(*diff->ids));
	if (!diff->ids || !ranked)
		return -ENOMEM;
	for (u32 id = 1; id < diff->keys->nkeys; id++) {
		const char *name = diff->keys->keys[id].name;
		struct diff_figure self = diff_value(diff, id, REPORT_SELF);

		/* By path a key may only be here for those below it. */
		if ((!diff_seen(diff, DIFF_BASE, id) && !diff_seen(diff, DIFF_CHANGE, id)) ||
		    is_excluded(diff, name) || !is_large(diff, &self))
			continue;
		ranked[diff->n++] = (struct ranked){
			.change = fabs(self.change - self.base), .name = name, .id = id};
	}
	qsort(ranked, diff->n, sizeof(*ranked), compare_ranked);
	for (u32 i = 0; i < diff->n; i++)
		diff->ids[i] = ranked[i].id;
	return 0;
}
