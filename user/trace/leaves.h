/* SPDX-License-Identifier: MIT */
/* Spans that came together in one record, WIRE_LEAVES, one by one. */
#ifndef SPANTRACE_LEAVES_H
#define SPANTRACE_LEAVES_H

#include <stddef.h>

/* Calls FN with a WIRE_SPAN for each span of RECORD, SIZE bytes, in their order. 0, or -EINVAL when it is no such record or
 * its sizes do not fit: then FN was not called. */
int leaves_each(const void *record, size_t size,
		void (*fn)(void *context, const void *record, size_t size), void *context);

#endif
