/* SPDX-License-Identifier: MIT */
/* The markers otel_memory:alloc(block, bytes, weighted bytes) and otel_memory:free(block), by which a program or its allocator
 * tells of its own samples: cheaper than probes on the allocator, and known to it alone which blocks it samples.
 */
#ifndef SPANTRACE_MEMORY_MARKERS_H
#define SPANTRACE_MEMORY_MARKERS_H

#include "../attach/attach.h"

struct memory_markers {
	struct attach_probe *probes;    /* cookies are not set */
	struct wire_alloc_site *values; /* what each reads */
	size_t n;
};

/* Those of the file open at FD. 0; *OUT is left alone where it has none that serve, with a sentence in *WHY where it has some;
 * or -ENOMEM. HEAP: frees are wanted too. */
int memory_markers_find(int fd, bool heap, struct memory_markers **out, const char **why);
void memory_markers_free(struct memory_markers **markers);

#endif
