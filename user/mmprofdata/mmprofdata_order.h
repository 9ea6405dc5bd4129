/* SPDX-License-Identifier: MIT */
/* The events of a file from the last to the first: as they stand, or, for a file in which a thread's events are not in
 * the order of their ends, sorted within a window. They are read ahead, in a thread of its own: until mmp_order_free()
 * nobody else may ask the file for events. */
#ifndef SPANTRACE_MMPROFDATA_ORDER_H
#define SPANTRACE_MMPROFDATA_ORDER_H

#include "mmprofdata_file.h"

#define MMP_ORDER_WINDOW 4096u

struct mmp_ordered {
	struct mmp_event event;
	u64 number;    /* where it stands in the file */
	u64 key;       /* its end; of an integer event, which has none, that of the one behind it */
	bool is_value; /* an integer event that is the value of the instant before it */
};

struct mmp_order;

/* 0 or -ENOMEM. */
int mmp_order_new(struct mmp_file *file, bool sorted, struct mmp_order **out);
void mmp_order_free(struct mmp_order **order);
/* The next N of them, good until the next call: 1; 0 at the end; -errno. */
int mmp_order_next(struct mmp_order *order, const struct mmp_ordered **items, u32 *n);

#endif
