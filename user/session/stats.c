/* SPDX-License-Identifier: MIT */
/* See stats.h. */
#include "stats.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "../../exporters/figures.h"
#include "../util/cleanup.h"
#include "../util/log.h"

static u64 own_cpu(struct rusage *usage)
{
	const u64 second = 1000000000, micro = 1000;

	if (getrusage(RUSAGE_SELF, usage))
		memset(usage, 0, sizeof(*usage));
	return ((u64)usage->ru_utime.tv_sec + (u64)usage->ru_stime.tv_sec) * second +
	       ((u64)usage->ru_utime.tv_usec + (u64)usage->ru_stime.tv_usec) * micro;
}

void stats_begin(struct stats *stats, u64 now_ns)
{
	struct rusage usage;

	*stats = (struct stats){.begin_ns = now_ns, .cpu_ns = own_cpu(&usage)};
	stats->fd = bpf_enable_stats(BPF_STATS_RUN_TIME);
	if (stats->fd < 0)
		log_warn("--stats: the kernel does not measure BPF programs: %s", strerror(errno));
}

void stats_drain(struct stats *stats, const struct kernel *kernel)
{
	u64 waiting = kernel_ring_fill(kernel);

	stats->drains++;
	if (waiting > stats->fullest)
		stats->fullest = waiting;
}

static void print_program(const struct kernel *kernel, enum kernel_program program, FILE *out)
{
	char runs[FIGURES_SIZE], each[FIGURES_SIZE];
	struct kernel_runs cost;

	if (kernel_runs(kernel, program, &cost) || !cost.runs)
		return;
	fprintf(out, "  %-14s %14s hits   %8s each in the program\n", cost.name,
		figures_count(runs, cost.runs), figures_time(each, cost.ns / cost.runs));
}

void stats_print(const struct stats *stats, const struct kernel *kernel, size_t ring_bytes,
		 u64 now_ns, FILE *out)
{
	char a[FIGURES_SIZE], b[FIGURES_SIZE], c[FIGURES_SIZE];
	struct rusage usage;
	u64 cpu = own_cpu(&usage) - stats->cpu_ns;
	u64 wall = now_ns - stats->begin_ns;
	int i;

	fprintf(out, "what this trace has cost\n");
	fprintf(out, "  spantrace      %s of CPU in %s: %s of a core, at most %s of memory\n",
		figures_time(a, cpu), figures_time(b, wall), figures_share(c, cpu, wall),
		figures_bytes((char[FIGURES_SIZE]){0}, (u64)usage.ru_maxrss * 1024));
	fprintf(out,
		"  rings          %s waited at most, of %s each CPU's holds; drained %s times\n",
		figures_bytes(a, stats->fullest), figures_bytes(b, ring_bytes),
		figures_count(c, stats->drains));
	for (i = 0; stats->fd >= 0 && i < KERNEL_PROGRAMS; i++)
		print_program(kernel, i, out);
	if (stats->fd >= 0)
		fprintf(out, "  (a hit's trap comes on top; `make bench` measures it)\n");
}

void stats_end(struct stats *stats)
{
	cleanup_close(&stats->fd);
	stats->fd = -1;
}
