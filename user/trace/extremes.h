/* SPDX-License-Identifier: MIT */
/* The few smallest and largest of any number of values; what shares a value is counted, what stands alone is known. */
#ifndef SPANTRACE_EXTREMES_H
#define SPANTRACE_EXTREMES_H

#include <stddef.h>

#include "../../include/types.h"

#define EXTREMES_MOST 10

enum stretch_kind { STRETCH_START, STRETCH_END, STRETCH_INSTANT };

/* An instant at which something starts, ends or happens: a record of a chain, numbered from 1, and the one around it. */
struct stretch_point {
	enum stretch_kind kind;
	u64 record;
	u64 parent; /* 0: none */
};

/* The time between two neighbouring instants on a thread. */
struct stretch {
	u32 thread;
	struct stretch_point from, to;
};

struct extreme {
	u64 value;
	u64 count;
	struct stretch first; /* to be counted */
};

struct extremes {
	struct extreme smallest[EXTREMES_MOST]; /* upwards */
	struct extreme largest[EXTREMES_MOST];  /* upwards too */
	size_t nsmallest, nlargest;
};

void extremes_add_small(struct extremes *e, u64 value, const struct stretch *stretch);
void extremes_add_large(struct extremes *e, u64 value, const struct stretch *stretch);

#endif
