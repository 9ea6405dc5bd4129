/* SPDX-License-Identifier: MIT */
/* Draws stacks as a flame graph, alone or compared with what the same frames weighed before. */
#ifndef SPANTRACE_FLAMEGRAPH_DRAW_H
#define SPANTRACE_FLAMEGRAPH_DRAW_H

#include "stacks.h"

/* The other side of a comparison, for each frame of the stacks. */
struct flamegraph_other {
	u64 self;
	u64 total;
};

struct flamegraph {
	const struct stacks *stacks; /* widths are theirs */
	enum export_value value;
	const char *title;
	const char *subtitle;                  /* safe text, as the title */
	const struct flamegraph_other *others; /* NULL: no comparison */
	bool is_base;     /* the stacks are what was before, others what came after */
	const char *note; /* in front of what is left out; or "" */
};

/* 0 or -ENOMEM. */
int flamegraph_draw(const struct flamegraph *graph, FILE *out);

#endif
