/* SPDX-License-Identifier: MIT */
/* The async spans that live, each with the stretch in which a thread worked on it last: what viewers draw as an arrow goes
 * from one stretch to the next, on whatever threads they are. Starts as zeroes. */
#ifndef SPANTRACE_FLOWS_H
#define SPANTRACE_FLOWS_H

#include <stddef.h>

#include "../include/model.h"

/* Beyond that many at once the oldest knowledge is given up: their arrows begin anew. */
#define FLOWS_MAX (1u << 18)

struct flow {
	u64 number; /* of the async span: unique in the file; 0: the slot is free */
	u64 id;
	const struct model_def *def;
	u32 pid;
	/* Its last stretch that an arrow can leave from; tid 0: there was none. For the format to set. */
	u32 tid;
	u64 start_ns;
	void *own; /* the format's */
};

struct flows {
	struct flow *slots;
	size_t nslots; /* a power of two, at most half of them used */
	size_t count;
	u64 last_number;
};

/* The flow of SPAN, an async span or a stretch of one; found or made. NULL: no memory. Good until the next call. */
struct flow *flows_take(struct flows *flows, const struct model_span *span);
/* The same; NULL: it is not there. */
struct flow *flows_find(const struct flows *flows, const struct model_span *span);
/* SPAN, an async span, has ended. */
void flows_drop(struct flows *flows, const struct model_span *span);
void flows_free(struct flows *flows);

#endif
