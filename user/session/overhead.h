/* SPDX-License-Identifier: MIT */
/* What the probes take from each process, and --max-overhead: a limit on it.
 *
 *   hits of each process and definition, counted in the kernel  ▸ times the cost of one, measured on this machine
 *   ▸ against the process's own CPU time, twice a second
 *   ▸ above the limit: the hottest definitions are shed until the rest is below it
 *
 * A definition is shed so: its new spans are left out, open ones end as they do, and then its probes are taken out. To
 * leave spans out and keep the probes would save a tenth: the trap is the price. The probes come back after a while, so
 * long that half a second in that time is within the limit. So a definition that stays hot is sampled in time, and one
 * that is hot no more stays.
 */
#ifndef SPANTRACE_OVERHEAD_H
#define SPANTRACE_OVERHEAD_H

#include <stdio.h>

#include "../attach/attach.h"
#include "../attach/plan.h"
#include "../trace/trace.h"

struct overhead;

struct overhead_options {
	u32 limit_ppb; /* of a process's CPU time; 0: none */
	bool metered;  /* the kernel side counts hits */
	bool uprobe_multi;
};

/* All but OPTIONS is borrowed. PROBES are divided where there is a limit. 0 or -errno. */
int overhead_new(struct kernel *kernel, struct trace *trace, struct attach_set *probes,
		 const struct overhead_options *options, struct overhead **out);
void overhead_free(struct overhead **overhead);

/* Some ten times a second: what is due, where there is a limit. */
void overhead_tick(struct overhead *overhead, u64 now_ns);
/* Once a second, when TRACE has what the kernel has added up: where there is no limit, says it once if the probes take
 * much of the targets' CPU time. */
void overhead_watch(struct overhead *overhead, u64 now_ns);
/* The trace ends at NOW_NS and its probes still stand: takes the last counts, puts what was shed among the refused of
 * PLAN. */
void overhead_end(struct overhead *overhead, struct plan *plan, u64 begin_ns, u64 now_ns);
/* The hits of the hottest definitions, for --stats. */
void overhead_print(const struct overhead *overhead, FILE *out);

#endif
