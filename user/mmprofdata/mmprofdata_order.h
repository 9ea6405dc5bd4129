/* SPDX-License-Identifier: MIT */
/* The events of a file from the last to the first: as they stand, or, for a file in which a thread's events are not in
 * the order of their ends, sorted within a window. */
#ifndef SPANTRACE_MMPROFDATA_ORDER_H
#define SPANTRACE_MMPROFDATA_ORDER_H

#include "mmprofdata_file.h"

#define MMP_ORDER_WINDOW 4096u

struct mmp_ordered {
	struct mmp_event event;
	u64 number; /* where it stands in the file */
	u64 key;    /* its end; of an integer event, which has none, that of the one behind it */
};

struct mmp_order {
	struct mmp_file *file;
	u64 left; /* not read yet */
	u64 key;  /* of the event read last */
	bool sorted;
	struct mmp_ordered *heap; /* the latest on top */
	size_t n;
};

int mmp_order_init(struct mmp_order *order, struct mmp_file *file, bool sorted);
void mmp_order_free(struct mmp_order *order);
/* 1 with the next one in *OUT, 0 at the end, -errno. */
int mmp_order_next(struct mmp_order *order, struct mmp_ordered *out);

#endif
