/* SPDX-License-Identifier: MIT */
/* See leaves.h. */
#include "leaves.h"

#include <errno.h>

#include "../../include/wire.h"

int leaves_each(const void *record, size_t size,
		void (*fn)(void *context, const void *record, size_t size), void *context)
{
	const struct wire_leaves *run = record;
	struct wire_span span = {.head.kind = WIRE_SPAN};
	size_t n, i;
	u64 last;

	if (size < sizeof(*run) || run->head.kind != WIRE_LEAVES || run->head.size > size ||
	    run->head.size < sizeof(*run) ||
	    (run->head.size - sizeof(*run)) % sizeof(run->leaves[0]))
		return -EINVAL;
	n = (run->head.size - sizeof(*run)) / sizeof(run->leaves[0]);
	span.head.thread = run->head.thread;
	span.path = run->path;
	span.site = run->site;
	last = run->start_ns;
	for (i = 0; i < n; i++) {
		const struct wire_leaf *leaf = &run->leaves[i];

		span.head.size = leaf->system_ns ? WIRE_SPAN_SPLIT : WIRE_SPAN_SHORT;
		span.start_ns = last + leaf->gap_ns;
		span.busy_ns = leaf->busy_ns;
		span.self_ns = leaf->busy_ns;
		span.usage.system_ns = leaf->system_ns;
		span.usage.self_system_ns = leaf->system_ns;
		fn(context, &span, span.head.size);
		last = span.start_ns + span.busy_ns;
	}
	return 0;
}
