/* SPDX-License-Identifier: MIT */
/* The batched lane: its binaries are told to the kernel side, its hooks attached once there is one, and the CPUs visited
 * at the end. */
#define _GNU_SOURCE 1 /* CPU_ALLOC */
#include <bpf/bpf.h>
#include <errno.h>
#include <sched.h>
#include <time.h>

#include "kernel_impl.h"

#define CALIBRATE_NS 20000000
#define TSC_FAR_NS   2000000000u

/* Where there is none before an exec or, up to 6.15, at an exit, what the last buffer holds is lost with it. */
void kernel_want_batches(struct kernel *kernel, const struct kernel_options *options)
{
	struct spantrace_bpf *skel = kernel->skel;

	bpf_program__set_autoload(skel->progs.batch_switch, true);
	bpf_program__set_autoload(skel->progs.batch_fork, options->follow);
	bpf_program__set_autoload(skel->progs.batch_exit, options->task_hooks);
	bpf_program__set_autoload(skel->progs.batch_prepare_exec, options->prepare_exec);
	bpf_program__set_autoload(skel->progs.batch_exec,
				  options->task_hooks && !options->prepare_exec);
}

static u64 monotonic_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (u64)t.tv_sec * 1000000000 + (u64)t.tv_nsec;
}

/* The counter that SPANTRACE_TSC stamps with. */
static u64 ticks(void)
{
#if defined(__x86_64__)
	return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
	u64 now;

	__asm__ __volatile__("mrs %0,cntvct_el0" : "=r"(now));
	return now;
#else
	return monotonic_ns();
#endif
}

/* A pair of readings; the best of a few, since one can be interrupted between the two. */
static void read_clocks(u64 *tick, u64 *ns)
{
	u64 best = UINT64_MAX;

	for (int i = 0; i < 10; i++) {
		u64 before = ticks(), now = monotonic_ns(), after = ticks();

		if (after - before >= best)
			continue;
		best = after - before;
		*tick = before + best / 2;
		*ns = now;
	}
}

static void calibrate(struct kernel *kernel)
{
	struct timespec pause = {.tv_nsec = CALIBRATE_NS};
	u64 tick = 0, ns = 0, tick_end = 0, ns_end = 0;

	if (kernel->skel->bss->tsc_mult)
		return;
	read_clocks(&tick, &ns);
	nanosleep(&pause, NULL);
	read_clocks(&tick_end, &ns_end);
	if (tick_end <= tick)
		return;
	kernel->skel->bss->tsc_mult =
		(u64)((double)(ns_end - ns) / (double)(tick_end - tick) * 0x1p32);
	kernel->skel->bss->tsc_far = TSC_FAR_NS * (tick_end - tick) / (ns_end - ns);
}

static int attach_hook(struct bpf_program *program, struct bpf_link **link)
{
	if (!bpf_program__autoload(program) || *link)
		return 0;
	*link = bpf_program__attach(program);
	return *link ? 0 : -errno;
}

static int attach_hooks(struct kernel *kernel)
{
	struct spantrace_bpf *skel = kernel->skel;
	int err = attach_hook(skel->progs.batch_switch, &skel->links.batch_switch);

	if (!err)
		err = attach_hook(skel->progs.batch_fork, &skel->links.batch_fork);
	if (!err)
		err = attach_hook(skel->progs.batch_exit, &skel->links.batch_exit);
	if (!err)
		err = attach_hook(skel->progs.batch_prepare_exec, &skel->links.batch_prepare_exec);
	if (!err)
		err = attach_hook(skel->progs.batch_exec, &skel->links.batch_exec);
	return err;
}

int kernel_add_batch(struct kernel *kernel, const u64 *cookies, u32 n, u32 clock, u32 *file)
{
	struct spantrace_bpf *skel = kernel->skel;
	int markers = bpf_map__fd(skel->maps.batch_markers);
	struct wire_batch_file row = {.count = n, .clock = clock};
	int err;

	if (kernel->small)
		return kernel->batched ? -EOPNOTSUPP : -EBUSY;
	if (kernel->nbatch_files == BATCH_FILES_MAX ||
	    n > bpf_map__max_entries(skel->maps.batch_markers) - kernel->nbatch_markers)
		return -ENOSPC;
	err = attach_hooks(kernel);
	if (err)
		return err;
	if (clock == BATCH_CLOCK_TSC)
		calibrate(kernel);
	row.first = kernel->nbatch_markers;
	for (u32 i = 0; i < n; i++) {
		u32 key = row.first + i;

		if (bpf_map_update_elem(markers, &key, &cookies[i], BPF_ANY))
			return -errno;
	}
	if (bpf_map_update_elem(bpf_map__fd(skel->maps.batch_files), &kernel->nbatch_files, &row,
				BPF_ANY))
		return -errno;
	kernel->nbatch_markers += n;
	*file = kernel->nbatch_files++;
	return 0;
}

void kernel_open_batches(struct kernel *kernel)
{
	int fd = bpf_map__fd(kernel->skel->maps.batch_files);
	struct wire_batch_file row;

	for (; kernel->nbatch_open < kernel->nbatch_files; kernel->nbatch_open++) {
		if (bpf_map_lookup_elem(fd, &kernel->nbatch_open, &row))
			continue;
		row.since_ns = monotonic_ns();
		bpf_map_update_elem(fd, &kernel->nbatch_open, &row, BPF_ANY);
	}
}

/* Whoever runs on a CPU is switched out when this thread comes there, and then the hook fetches what it has. */
void kernel_fetch_batches(struct kernel *kernel)
{
	size_t size = CPU_ALLOC_SIZE(kernel->nrings);
	cpu_set_t *was, *here;
	u32 cpu;

	if (!kernel->nbatch_files)
		return;
	was = CPU_ALLOC(kernel->nrings);
	here = CPU_ALLOC(kernel->nrings);
	if (was && here && sched_getaffinity(0, size, was) == 0) {
		for (cpu = 0; cpu < kernel->nrings; cpu++) {
			CPU_ZERO_S(size, here);
			CPU_SET_S(cpu, size, here);
			/* One that is offline, or not for us, is refused. */
			sched_setaffinity(0, size, here);
		}
		sched_setaffinity(0, size, was);
	}
	if (was)
		CPU_FREE(was);
	if (here)
		CPU_FREE(here);
}
