/* SPDX-License-Identifier: MIT */
/* The table of async spans: how many live, taking out those of a process or all, and adding to one what the kernel side no
 * longer can. */
#include <bpf/bpf.h>
#include <errno.h>

#include "kernel_impl.h"

/* At least as many as there are: the ends are read first. */
u64 kernel_async_alive(const struct kernel *kernel)
{
	u64 made = 0, ended = 0;

	for (size_t i = 0; i < ASYNC_CELLS; i++)
		ended += __atomic_load_n(&kernel->skel->bss->async_ended[i * ASYNC_CELL_STRIDE],
					 __ATOMIC_ACQUIRE);
	for (size_t i = 0; i < ASYNC_CELLS; i++)
		made += __atomic_load_n(&kernel->skel->bss->async_made[i * ASYNC_CELL_STRIDE],
					__ATOMIC_RELAXED);
	return made - ended;
}

int kernel_take_async(struct kernel *kernel, u32 process, kernel_async_fn fn, void *context)
{
	int fd = bpf_map__fd(kernel->skel->maps.async_spans);
	struct wire_async_key key, next;
	struct wire_async span;
	int err;

	if (!kernel_async_alive(kernel))
		return 0;
	err = bpf_map_get_next_key(fd, NULL, &next);
	while (!err) {
		key = next;
		/* The step comes before the delete: a key that is gone starts the walk again. */
		err = bpf_map_get_next_key(fd, &key, &next);
		if (process && key.process != process)
			continue;
		if (bpf_map_lookup_elem(fd, &key, &span) || bpf_map_delete_elem(fd, &key))
			continue;
		__atomic_fetch_add(&kernel->skel->bss->async_ended[0], 1, __ATOMIC_RELAXED);
		/* What its closer has claimed is told by it. */
		if (!span.end_ns && !(span.head.flags & WIRE_LEFT_OUT))
			fn(context, &span);
	}
	return err == -ENOENT ? 0 : err;
}

void kernel_add_segment(struct kernel *kernel, u32 process, u32 def,
			const struct wire_span *segment)
{
	struct wire_async_key key = {.id = segment->id, .process = process, .def = def};
	int fd = bpf_map__fd(kernel->skel->maps.async_spans);
	struct wire_async span;

	if (bpf_map_lookup_elem(fd, &key, &span))
		return;
	span.busy_ns += segment->busy_ns;
	span.self_ns += segment->self_ns;
	span.off_ns += segment->usage.off_ns;
	span.run_delay_ns += segment->usage.run_delay_ns;
	span.self_off_ns += segment->usage.self_off_ns;
	span.self_run_delay_ns += segment->usage.self_run_delay_ns;
	span.system_ns += segment->usage.system_ns;
	span.self_system_ns += segment->usage.self_system_ns;
	span.vol_switches += segment->usage.vol_switches;
	span.invol_switches += segment->usage.invol_switches;
	span.minor_faults += segment->usage.minor_faults;
	span.major_faults += segment->usage.major_faults;
	span.alloc.objects += segment->alloc.objects;
	span.alloc.bytes += segment->alloc.bytes;
	span.self_alloc.objects += segment->self_alloc.objects;
	span.self_alloc.bytes += segment->self_alloc.bytes;
	bpf_map_update_elem(fd, &key, &span, BPF_EXIST);
}
