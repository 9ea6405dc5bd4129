/* SPDX-License-Identifier: MIT */
/* See mmprofdata_line.h. */
#include "mmprofdata_line.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../user/util/grow.h"

/* Siblings of an open span that are remembered. What overlaps older ones is not seen; no thread span does. */
#define ITEMS_MAX 4096u

struct mmp_line_item {
	u64 wall_start, wall_end;
	u64 start, end;
};

struct mmp_lane {
	u64 end;
	u32 number;
};

void mmp_line_free(struct mmp_line *line)
{
	free(line->items);
	line->items = NULL;
}

static int line_room(struct mmp_line *line)
{
	u32 room = line->room ? line->room * 2 : 8;
	struct mmp_line_item *items;

	if (line->n < line->room)
		return 0;
	if (room > ITEMS_MAX) {
		u32 half = line->n / 2;

		memmove(line->items, line->items + half, (line->n - half) * sizeof(*line->items));
		line->n -= half;
		line->forgot = true;
		return 0;
	}
	items = reallocarray(line->items, room, sizeof(*items));
	if (!items)
		return -ENOMEM;
	line->items = items;
	line->room = room;
	return 0;
}

/* Start and end of the counter. FIRST is the first of the line's items that lies within the span. */
static void line_place(struct mmp_line *line, struct mmp_place *place, u32 first)
{
	if (place->clock) {
		place->start = place->wall_start;
		place->end = place->wall_end;
		return;
	}
	place->start = first < line->n ? line->items[first].start : line->counter;
	line->counter += place->self;
	place->end = line->counter;
	/* Its first children are forgotten: then its own total must do. */
	if (line->forgot && !first && place->total < place->end &&
	    place->end - place->total < place->start)
		place->start = place->end - place->total;
}

int mmp_line_add(struct mmp_line *line, struct mmp_place *place)
{
	u32 first = line->n, i;
	int err;

	while (first && line->items[first - 1].wall_start >= place->wall_start)
		first--;
	place->overlaps = first && line->items[first - 1].wall_end > place->wall_start;
	place->nested = 0;
	if (place->overlaps) {
		/* On another counter's line there is always room behind the rest. */
		line_place(line, place, line->n);
		place->overlaps = place->clock;
		return 0;
	}
	for (i = first; i < line->n; i++)
		place->nested += line->items[i].end - line->items[i].start;
	line_place(line, place, first);
	line->n = first;
	if (place->outermost) {
		line->n = 0;
		line->forgot = false;
	}
	err = line_room(line);
	if (err)
		return err;
	line->items[line->n++] = (struct mmp_line_item){
		.wall_start = place->wall_start,
		.wall_end = place->wall_end,
		.start = place->start,
		.end = place->end,
	};
	return 0;
}

void mmp_lanes_free(struct mmp_lanes *lanes)
{
	free(lanes->heap);
	lanes->heap = NULL;
}

/* Moves the topmost lane to where its end belongs. */
static void lanes_sift(struct mmp_lanes *lanes)
{
	u32 at = 0, child;

	while ((child = at * 2 + 1) < lanes->n) {
		struct mmp_lane lane = lanes->heap[at];

		if (child + 1 < lanes->n && lanes->heap[child + 1].end < lanes->heap[child].end)
			child++;
		if (lane.end <= lanes->heap[child].end)
			return;
		lanes->heap[at] = lanes->heap[child];
		lanes->heap[child] = lane;
		at = child;
	}
}

int mmp_lanes_take(struct mmp_lanes *lanes, u64 start, u64 end, u32 *lane)
{
	int err;

	if (!lanes->n || lanes->heap[0].end > start) {
		err = GROW(lanes->heap, lanes->n);
		if (err)
			return err;
		/* The new one goes on top, and those on its way from the end one step down. */
		lanes->heap[lanes->n] = (struct mmp_lane){.end = UINT64_MAX, .number = lanes->n};
		lanes->n++;
		for (u32 at = lanes->n - 1; at; at = (at - 1) / 2) {
			struct mmp_lane moved = lanes->heap[at];

			lanes->heap[at] = lanes->heap[(at - 1) / 2];
			lanes->heap[(at - 1) / 2] = moved;
		}
	}
	*lane = lanes->heap[0].number;
	lanes->heap[0].end = end;
	lanes_sift(lanes);
	return 0;
}
