/* SPDX-License-Identifier: MIT */
/* See mmprofdata_order.h. */
#include "mmprofdata_order.h"

#include <errno.h>
#include <stdlib.h>

#include "../util/ahead.h"
#include "../util/cleanup.h"

#define BATCH 2048u

struct batch {
	struct mmp_ordered *items; /* room for BATCH, or for as many as the file has */
	u32 n;
	int err;
	bool last;
};

struct mmp_order {
	struct ahead *ahead;
	bool ended; /* the last batch was used */

	/* Of whoever makes batches. */
	struct mmp_file *file;
	u64 left;                 /* not read yet */
	u64 key;                  /* of the event read last */
	struct mmp_ordered *heap; /* the latest on top; NULL: not sorted */
	size_t n;
	struct batch batches[AHEAD_BATCHES];
};

/* Whether an integer event of our own file is the value of the instant before it. 1, 0 or -errno. */
static int is_value(struct mmp_file *file, u64 number)
{
	struct mmp_event before;
	u64 value;
	int err;

	if (!number)
		return 0;
	err = mmp_file_event(file, number - 1, &before);
	if (err || before.value2 != MMP_INSTANT)
		return err;
	return mmp_file_value_behind(file, number - 1, &before, &value);
}

static int read_one(struct mmp_order *order, struct mmp_ordered *out)
{
	int err = mmp_file_event(order->file, order->left - 1, &out->event);

	if (err)
		return err;
	out->number = --order->left;
	out->is_value = false;
	if (mmp_is_interval(&out->event)) {
		order->key = out->event.value2;
	} else if (out->event.value2 == MMP_INSTANT) {
		order->key = out->event.value1;
	} else if (order->file->own) {
		err = is_value(order->file, out->number);
		out->is_value = err > 0;
	}
	out->key = order->key;
	return err < 0 ? err : 0;
}

static bool later(const struct mmp_ordered *a, const struct mmp_ordered *b)
{
	return a->key != b->key ? a->key > b->key : a->number > b->number;
}

static void swap(struct mmp_ordered *a, struct mmp_ordered *b)
{
	struct mmp_ordered kept = *a;

	*a = *b;
	*b = kept;
}

static void sift_up(struct mmp_ordered *heap, size_t at)
{
	for (; at && later(&heap[at], &heap[(at - 1) / 2]); at = (at - 1) / 2)
		swap(&heap[at], &heap[(at - 1) / 2]);
}

static void sift_down(struct mmp_ordered *heap, size_t n)
{
	size_t at = 0, child;

	while ((child = at * 2 + 1) < n) {
		if (child + 1 < n && later(&heap[child + 1], &heap[child]))
			child++;
		if (!later(&heap[child], &heap[at]))
			return;
		swap(&heap[child], &heap[at]);
		at = child;
	}
}

/* The latest of those in the window. */
static int read_sorted(struct mmp_order *order, struct mmp_ordered *out)
{
	while (order->left && order->n < MMP_ORDER_WINDOW) {
		int err = read_one(order, &order->heap[order->n]);

		if (err)
			return err;
		sift_up(order->heap, order->n++);
	}
	*out = order->heap[0];
	order->heap[0] = order->heap[--order->n];
	sift_down(order->heap, order->n);
	return 0;
}

static int batch_room(struct batch *batch, u64 most)
{
	if (!batch->items)
		batch->items = calloc(most < BATCH ? most + 1 : BATCH, sizeof(*batch->items));
	return batch->items ? 0 : -ENOMEM;
}

static bool order_make(void *context, u32 place)
{
	struct mmp_order *order = context;
	struct batch *batch = &order->batches[place];

	batch->err = batch_room(batch, order->file->nevents);
	for (batch->n = 0; !batch->err && batch->n < BATCH && order->left + order->n; batch->n++)
		batch->err = order->heap ? read_sorted(order, &batch->items[batch->n])
					 : read_one(order, &batch->items[batch->n]);
	batch->last = batch->err || !(order->left + order->n);
	return !batch->last;
}

int mmp_order_new(struct mmp_file *file, bool sorted, struct mmp_order **out)
{
	CLEANUP(mmp_order_free) struct mmp_order *order = calloc(1, sizeof(*order));

	if (!order)
		return -ENOMEM;
	order->file = file;
	order->left = file->nevents;
	order->key = UINT64_MAX;
	if (sorted) {
		order->heap = calloc(MMP_ORDER_WINDOW, sizeof(*order->heap));
		if (!order->heap)
			return -ENOMEM;
	}
	if (ahead_new(order_make, order, &order->ahead))
		return -ENOMEM;
	*out = TAKE_PTR(order);
	return 0;
}

void mmp_order_free(struct mmp_order **out)
{
	struct mmp_order *order = *out;

	if (!order)
		return;
	*out = NULL;
	ahead_free(&order->ahead);
	for (u32 i = 0; i < AHEAD_BATCHES; i++)
		free(order->batches[i].items);
	free(order->heap);
	free(order);
}

int mmp_order_next(struct mmp_order *order, const struct mmp_ordered **items, u32 *n)
{
	const struct batch *batch;

	if (order->ended)
		return 0;
	batch = &order->batches[ahead_next(order->ahead)];
	order->ended = batch->last;
	*items = batch->items;
	*n = batch->n;
	return batch->err ? batch->err : 1;
}
