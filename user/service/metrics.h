/* SPDX-License-Identifier: MIT */
/* What a service tells of itself and of what it has traced, in the text format of Prometheus (0.0.4). */
#ifndef SPANTRACE_METRICS_H
#define SPANTRACE_METRICS_H

#include <stdio.h>

#include "../push/push.h"
#include "names.h"

enum metrics_server { METRICS_PYROSCOPE, METRICS_OTLP, METRICS_PUSHES };

/* A server that gets something. */
struct metrics_push {
	enum metrics_server server;
	const char *name;
	struct push_counts counts;
};

/* A trace as it is at this moment. */
struct metrics_trace {
	const struct model_loss *losses;
	size_t nlosses;
	u32 metrics; /* METRIC_* */
	u32 threads; /* that the loader has rows of */
	u64 probes;
	u64 ring_fill, ring_size; /* bytes, of the fullest ring */
	size_t outputs, outputs_failed;
	struct metrics_push pushes[METRICS_PUSHES];
	size_t npushes;
};

/* The whole run, over all reloads. */
struct metrics_run {
	const char *version, *kernel;
	u64 start_realtime_ns;
	u64 reloads, reloads_refused;
	bool reload_ok;                  /* the last one */
	u64 cpu_ns, memory_bytes, files; /* of this process */
	const struct names *names;
};

void metrics_write(FILE *out, const struct metrics_run *run, const struct metrics_trace *trace);

#endif
