/* SPDX-License-Identifier: MIT */
/* See mmprofdata_order.h. */
#include "mmprofdata_order.h"

#include <errno.h>
#include <stdlib.h>

int mmp_order_init(struct mmp_order *order, struct mmp_file *file, bool sorted)
{
	*order = (struct mmp_order){
		.file = file, .left = file->nevents, .key = UINT64_MAX, .sorted = sorted};
	if (!sorted)
		return 0;
	order->heap = calloc(MMP_ORDER_WINDOW, sizeof(*order->heap));
	return order->heap ? 0 : -ENOMEM;
}

void mmp_order_free(struct mmp_order *order)
{
	free(order->heap);
	order->heap = NULL;
}

static int read_one(struct mmp_order *order, struct mmp_ordered *out)
{
	int err = mmp_file_event(order->file, order->left - 1, &out->event);

	if (err)
		return err;
	out->number = --order->left;
	if (mmp_is_interval(&out->event))
		order->key = out->event.value2;
	else if (out->event.value2 == MMP_INSTANT)
		order->key = out->event.value1;
	out->key = order->key;
	return 0;
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

int mmp_order_next(struct mmp_order *order, struct mmp_ordered *out)
{
	int err;

	if (!order->sorted) {
		if (!order->left)
			return 0;
		err = read_one(order, out);
		return err ? err : 1;
	}
	while (order->left && order->n < MMP_ORDER_WINDOW) {
		err = read_one(order, &order->heap[order->n]);
		if (err)
			return err;
		sift_up(order->heap, order->n++);
	}
	if (!order->n)
		return 0;
	*out = order->heap[0];
	order->heap[0] = order->heap[--order->n];
	sift_down(order->heap, order->n);
	return 1;
}
