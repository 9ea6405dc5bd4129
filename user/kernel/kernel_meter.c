/* SPDX-License-Identifier: MIT */
/* Hits by process and definition, and definitions that are shed; see kernel.h. */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>

#include "../util/cleanup.h"
#include "kernel_impl.h"

int kernel_walk_meters(struct kernel *kernel, kernel_meter_fn fn, void *context)
{
	int fd = bpf_map__fd(kernel->skel->maps.meters);
	int cpus = libbpf_num_possible_cpus(), cpu, err;
	AUTO_FREE u64 *values = calloc(cpus > 0 ? (size_t)cpus : 1, sizeof(*values));
	struct wire_meter_key key, next;
	u32 steps = 0;

	if (!values)
		return -ENOMEM;
	/* A row that goes meanwhile starts the walk again: so it is bounded. */
	for (err = bpf_map_get_next_key(fd, NULL, &next); !err && steps < 2 * METERS_MAX; steps++) {
		u64 hits = 0;

		key = next;
		/* The step comes before the delete: a key that is gone starts the walk again. */
		err = bpf_map_get_next_key(fd, &key, &next);
		if (bpf_map_lookup_elem(fd, &key, values))
			continue;
		for (cpu = 0; cpu < cpus; cpu++)
			hits += values[cpu];
		if (fn(context, &key, hits))
			bpf_map_delete_elem(fd, &key);
	}
	return err && err != -ENOENT ? err : 0;
}

int kernel_shed(struct kernel *kernel, u32 def, bool shed)
{
	int fd = bpf_map__fd(kernel->skel->maps.def_states);
	struct wire_def_state state;

	if (bpf_map_lookup_elem(fd, &def, &state))
		return -errno;
	state.shed = shed;
	return bpf_map_update_elem(fd, &def, &state, BPF_ANY) ? -errno : 0;
}

int kernel_forget(struct kernel *kernel, u32 def)
{
	int fd = bpf_map__fd(kernel->skel->maps.def_states);
	u32 *epoch = &kernel->skel->bss->shed_epoch;
	struct wire_def_state state = {.shed = 1, .gone = *epoch + 1};

	if (bpf_map_update_elem(fd, &def, &state, BPF_ANY))
		return -errno;
	__atomic_store_n(epoch, state.gone, __ATOMIC_SEQ_CST);
	kernel_forget_async(kernel, def);
	return 0;
}

void kernel_walk_processes(const struct kernel *kernel, kernel_process_fn fn, void *context)
{
	int fd = bpf_map__fd(kernel->skel->maps.processes);
	struct wire_process process;
	u32 key, next, steps = 0;
	int err;

	for (err = bpf_map_get_next_key(fd, NULL, &next); !err && steps < 2 * PROCESSES_MAX;
	     err = bpf_map_get_next_key(fd, &key, &next), steps++) {
		key = next;
		if (bpf_map_lookup_elem(fd, &key, &process) == 0)
			fn(context, (pid_t)key, process.serial);
	}
}
