/* SPDX-License-Identifier: MIT */
/* What a trace itself has cost, for --stats: the loader's CPU and memory, how full the rings became, and what the
 * kernel measured of the BPF programs.
 *
 * The kernel measures programs only while somebody holds its switch (BPF_ENABLE_STATS), at some 20 ns a run: so only
 * with --stats.
 */
#ifndef SPANTRACE_STATS_H
#define SPANTRACE_STATS_H

#include <stdio.h>

#include "../kernel/kernel.h"

struct stats {
	int fd; /* the switch; -1: the kernel does not measure */
	u64 begin_ns;
	u64 cpu_ns; /* the loader's, at the beginning */
	u64 drains;
	u64 records;
	u64 fullest; /* bytes that waited in one ring, at most */
};

/* Begins to measure, at NOW_NS. */
void stats_begin(struct stats *stats, u64 now_ns);
/* The rings are about to be drained. */
void stats_drain(struct stats *stats, const struct kernel *kernel);
/* Prints what there is to say, at NOW_NS, while the kernel side is still loaded. RING_BYTES is the size of each ring. */
void stats_print(const struct stats *stats, const struct kernel *kernel, size_t ring_bytes,
		 u64 now_ns, FILE *out);
void stats_end(struct stats *stats);

#endif
