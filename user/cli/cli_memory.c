/* SPDX-License-Identifier: MIT */
/* The options about memory: their values, and which of them go together. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../util/grow.h"
#include "../util/log.h"
#include "../util/units.h"
#include "cli_impl.h"

#define SAMPLE_MIN 64u
#define SAMPLE_MAX (1u << 30)

int cli_value_allocator(struct options *o, const char *text)
{
	if (!*text || *text == ':') {
		log_error("--allocator: no file in \"%s\"; write FILE or FILE:PREFIX", text);
		return -EINVAL;
	}
	if (GROW(o->allocators, o->nallocators))
		return -ENOMEM;
	o->allocators[o->nallocators++] = text;
	return 0;
}

int cli_value_alloc_sample(struct options *o, const char *text)
{
	u64 bytes = 0;

	if (units_parse_size(text, &bytes) || bytes < SAMPLE_MIN || bytes > SAMPLE_MAX) {
		log_error("--alloc-sample: \"%s\" is not a size from 64 to 1G; write 512K", text);
		return -EINVAL;
	}
	o->alloc_sample = (u32)bytes;
	return 0;
}

int cli_value_heap_objects(struct options *o, const char *text)
{
	char *end = (char *)text;
	unsigned long n = 0;

	if (*text >= '0' && *text <= '9')
		n = strtoul(text, &end, 10);
	if (*end || n < HEAP_OBJECTS_MIN || n > HEAP_OBJECTS_MAX) {
		log_error("--heap-objects: \"%s\" is not a number from %u to %u; write 4000000",
			  text, HEAP_OBJECTS_MIN, HEAP_OBJECTS_MAX);
		return -EINVAL;
	}
	o->heap_objects = (u32)n;
	return 0;
}

int cli_settle_memory(struct options *o)
{
	if (o->leaks_ns && !(o->metrics & METRIC_HEAP)) {
		log_error("--leaks needs the live heap; write -m heap too");
		return -EINVAL;
	}
	if ((o->alloc_sample || o->nallocators) && !(o->metrics & METRIC_ALLOC)) {
		log_error("%s needs allocations; write -m alloc or -m heap too",
			  o->alloc_sample ? "--alloc-sample" : "--allocator");
		return -EINVAL;
	}
	return 0;
}
