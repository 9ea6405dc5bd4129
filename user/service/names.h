/* SPDX-License-Identifier: MIT */
/* Spans and events by name, over all threads and paths, from the begin of the service: what /metrics shows. As many
 * names as a time series database can bear; those that come later are one called (other). */
#ifndef SPANTRACE_NAMES_H
#define SPANTRACE_NAMES_H

#include "../trace/trace.h"

#define NAMES_MAX_SERIES 256 /* of spans, and of events */
#define NAMES_OTHER      "(other)"

/* Walls shorter than 1024 ns, than four times that, and so on; the last bucket holds those of 68.7 s and more. */
#define NAMES_BUCKETS 15

struct names_total {
	char *provider, *name;
	u64 buckets
		[NAMES_BUCKETS]; /* of finished spans, by wall; of an event the first holds all */
	u64 wall_ns;             /* of finished spans */
	u64 abandoned, open;
	u64 self_ns, self_cpu_ns;
};

struct names_list {
	struct names_total *items;
	size_t n;
	u64 folded; /* names that are in the last one */
};

struct names {
	struct names_list spans, events;
	u32 *of_def; /* 1 + place in its list, by the trace's definition; 0: not looked up */
	u32 ndefs;
};

void names_init(struct names *names);
void names_clear(struct names *names);
/* Listens to TRACE, and to no other any more. 0 or -ENOMEM. */
int names_listen(struct names *names, struct trace *trace);

/* Where a wall time is counted. */
u32 names_bucket(u64 wall_ns);
/* The longest of a bucket; UINT64_MAX of the last. */
u64 names_bound(u32 bucket);
/* Finished spans, or events. */
u64 names_count(const struct names_total *total);

#endif
