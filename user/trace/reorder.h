/* SPDX-License-Identifier: MIT */
/* Span records in the order of their ends, for the formats that want single spans.
 *
 *   each ring's records (nearly ordered) ▸ reorder_add: kept, with their end
 *   ▸ after all rings were read: sorted ▸ those that ended before the reading began are handed on, the rest stays
 *
 * A thread moves between CPUs and so between rings: what it wrote to a ring that was read already is missing while
 * what it wrote after that is there. Both lie after the moment when the reading began. So on one thread the order
 * is exact; between threads it is but for records that a probe was slow to hand in.
 */
#ifndef SPANTRACE_REORDER_H
#define SPANTRACE_REORDER_H

#include <stddef.h>

#include "../../include/types.h"

struct reorder;

typedef void (*reorder_fn)(void *context, const void *record, size_t size);

int reorder_new(struct reorder **out);
void reorder_free(struct reorder **reorder);
/* Keeps a copy of a WIRE_SPAN, WIRE_ASYNC or WIRE_EVENT; 0, -ENOMEM, or -EINVAL for any other record, also one that is
 * too short: those are the caller's. */
int reorder_add(struct reorder *reorder, const void *record, size_t size);
/* Hands on those that ended at CUT_NS or before, in order; equal ends in the order in which they came. 0, or
 * -ENOMEM: then the rest, which should have waited, is handed on too. */
int reorder_pass(struct reorder *reorder, u64 cut_ns, reorder_fn fn, void *context);

#endif
