/* SPDX-License-Identifier: MIT */
/* What the kernel side tells of itself: losses, hits that were missed, what its programs cost, how full the rings are.
 * See kernel.h. */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../util/cleanup.h"
#include "kernel_impl.h"

int kernel_losses(const struct kernel *kernel, u64 losses[LOSS_KINDS])
{
	int fd = bpf_map__fd(kernel->skel->maps.losses);
	int cpus = libbpf_num_possible_cpus();
	AUTO_FREE u64 *values = calloc((size_t)cpus, sizeof(*values));
	u32 cause;
	int cpu;

	if (!values)
		return -ENOMEM;
	for (cause = 0; cause < LOSS_KINDS; cause++) {
		if (bpf_map_lookup_elem(fd, &cause, values))
			return -errno;
		losses[cause] = 0;
		for (cpu = 0; cpu < cpus; cpu++)
			losses[cause] += values[cpu];
	}
	return 0;
}

u64 kernel_shy(const struct kernel *kernel)
{
	return __atomic_load_n(&kernel->skel->bss->processes_shy, __ATOMIC_RELAXED);
}

u64 kernel_missed(const struct kernel *kernel)
{
	u64 missed = 0;
	int i;

	for (i = 0; i < KERNEL_PROGRAMS; i++) {
		struct bpf_prog_info info = {};
		u32 len = sizeof(info);
		int fd = bpf_program__fd(kernel_program((struct kernel *)kernel, i));

		if (fd >= 0 && bpf_obj_get_info_by_fd(fd, &info, &len) == 0)
			missed += info.recursion_misses;
	}
	return missed;
}

int kernel_runs(const struct kernel *kernel, enum kernel_program program, struct kernel_runs *out)
{
	int fd = bpf_program__fd(kernel_program((struct kernel *)kernel, program));
	struct bpf_prog_info info = {};
	u32 len = sizeof(info);

	if (fd < 0)
		return -ENOENT;
	if (bpf_obj_get_info_by_fd(fd, &info, &len))
		return -errno;
	*out = (struct kernel_runs){.runs = info.run_cnt, .ns = info.run_time_ns};
	memcpy(out->name, info.name, sizeof(out->name) - 1);
	return 0;
}

u64 kernel_ring_fill(const struct kernel *kernel)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);
	u64 most = 0;
	u32 i;

	for (i = 0; i < kernel->nrings; i++) {
		const u64 *read = kernel->ring_marks[i];
		const u64 *written = (const void *)((const char *)read + page);
		u64 waiting = __atomic_load_n(written, __ATOMIC_RELAXED) -
			      __atomic_load_n(read, __ATOMIC_RELAXED);

		if (waiting > most)
			most = waiting;
	}
	return most;
}
