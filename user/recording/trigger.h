/* SPDX-License-Identifier: MIT */
/* `--trigger NAME>DURATION`: which spans make a flight recorder write. */
#ifndef SPANTRACE_TRIGGER_H
#define SPANTRACE_TRIGGER_H

#include <stddef.h>

#include "../../include/model.h"

struct trigger {
	const char *text; /* borrowed; the glob is its first LENGTH bytes */
	size_t length;
	u64 longer_ns;
};

/* TEXT is borrowed. 0, or -EINVAL with the message printed. */
int trigger_parse(const char *text, struct trigger *out);
/* The first of the N triggers that SPAN, a finished one, is longer than; else NULL. NAME matches "provider:name", or
 * where it has no colon the name alone. */
const struct trigger *trigger_of(const struct trigger *triggers, size_t n,
				 const struct model_span *span);

#endif
