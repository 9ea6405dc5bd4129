/* SPDX-License-Identifier: MIT */
/* What is done with the kernel side once it is loaded; see kernel.h. */
#include "kernel.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../util/cleanup.h"
#include "../util/grow.h"
#include "kernel_impl.h"

struct bpf_program *kernel_program(struct kernel *kernel, enum kernel_program program)
{
	struct spantrace_bpf *skel = kernel->skel;

	switch (program) {
	case KERNEL_SPAN_ENTER:
		return skel->progs.span_enter;
	case KERNEL_SPAN_EXIT:
		return skel->progs.span_exit;
	case KERNEL_ASYNC_NEW:
		return skel->progs.async_new;
	case KERNEL_ASYNC_ENTER:
		return skel->progs.async_enter;
	case KERNEL_ASYNC_EXIT:
		return skel->progs.async_exit;
	case KERNEL_ASYNC_CLOSE:
		return skel->progs.async_close;
	case KERNEL_SPAN_ENTER_TEXT:
		return skel->progs.span_enter_text;
	case KERNEL_ASYNC_NEW_TEXT:
		return skel->progs.async_new_text;
	case KERNEL_EVENT_TEXT:
		return skel->progs.event_hit_text;
	case KERNEL_ALLOC_ENTER:
		return skel->progs.alloc_enter;
	case KERNEL_ALLOC_RETURN:
		return skel->progs.alloc_return;
	case KERNEL_FREE_ENTER:
		return skel->progs.free_enter;
	case KERNEL_ALLOC_MARKER:
		return skel->progs.alloc_marker;
	case KERNEL_FREE_MARKER:
		return skel->progs.free_marker;
	case KERNEL_ALLOC_SESSION:
		return skel->progs.alloc_session;
	case KERNEL_MAP_ENTER:
		return skel->progs.map_enter;
	case KERNEL_MAP_RETURN:
		return skel->progs.map_return;
	case KERNEL_MAP_SESSION:
		return skel->progs.map_session;
	case KERNEL_BATCH_FETCH:
		return skel->progs.batch_fetch;
	default:
		return skel->progs.event_hit;
	}
}

const struct wire_path *kernel_paths(const struct kernel *kernel, u32 *n)
{
	*n = PATHS_MAX;
	return kernel->paths;
}

int kernel_set_site(struct kernel *kernel, u32 site, const struct wire_site *value)
{
	if (site >= bpf_map__max_entries(kernel->skel->maps.sites))
		return -ENOSPC;
	if (bpf_map_update_elem(bpf_map__fd(kernel->skel->maps.sites), &site, value, BPF_ANY))
		return -errno;
	return 0;
}

int kernel_set_async_defs(struct kernel *kernel, const u32 *defs, u32 n)
{
	int fd = bpf_map__fd(kernel->skel->maps.async_defs);
	u32 i;

	for (i = 0; i < n && i < ASYNC_DEFS_MAX; i++)
		if (bpf_map_update_elem(fd, &i, &defs[i], BPF_ANY))
			return -errno;
	kernel->skel->bss->async_defs_used = i;
	return 0;
}

int kernel_add_process(struct kernel *kernel, pid_t pid)
{
	u32 key = (u32)pid;
	struct wire_process process = {
		.serial = __sync_add_and_fetch(&kernel->skel->bss->process_serials, 1),
	};

	/* One that is there already came by its parent's fork, and keeps its number. */
	if (bpf_map_update_elem(bpf_map__fd(kernel->skel->maps.processes), &key, &process,
				BPF_NOEXIST) &&
	    errno != EEXIST)
		return -errno;
	return 0;
}

u32 kernel_image_of(struct kernel *kernel, pid_t pid)
{
	struct wire_process process;
	u32 key = (u32)pid;

	if (bpf_map_lookup_elem(bpf_map__fd(kernel->skel->maps.processes), &key, &process))
		return 0;
	return process.serial;
}

void kernel_open(struct kernel *kernel, u32 sites)
{
	kernel_open_batches(kernel);
	__atomic_store_n(&kernel->skel->bss->sites_open, sites, __ATOMIC_SEQ_CST);
}

void kernel_close(struct kernel *kernel, u64 now_ns)
{
	__atomic_store_n(&kernel->skel->bss->session_closed, now_ns, __ATOMIC_SEQ_CST);
	__atomic_store_n(&kernel->skel->bss->sites_open, 0, __ATOMIC_SEQ_CST);
}

int kernel_life_fd(const struct kernel *kernel)
{
	return ring_buffer__epoll_fd(kernel->control);
}

void kernel_drain_life(void *context)
{
	struct kernel *kernel = context;

	ring_buffer__consume(kernel->control);
}

int kernel_drain(struct kernel *kernel, kernel_record_fn fn, void *context)
{
	int life, spans;

	kernel->record = fn;
	kernel->context = context;
	life = ring_buffer__consume(kernel->control);
	if (life < 0)
		return life;
	spans = ring_buffer__consume(kernel->rings);
	if (spans < 0)
		return spans;
	return life > INT32_MAX - spans ? INT32_MAX : life + spans;
}

int kernel_collect(struct kernel *kernel, kernel_record_fn fn, void *context)
{
	AUTO_CLOSE int fd = bpf_iter_create(bpf_link__fd(kernel->skel->links.collect_open));
	char buffer[64 * 1024] __attribute__((aligned(8)));
	size_t have = 0;

	if (fd < 0)
		return -errno;
	for (;;) {
		ssize_t n = read(fd, buffer + have, sizeof(buffer) - have);
		size_t at = 0;

		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			return 0;
		have += (size_t)n;
		while (have - at >= sizeof(struct wire_head)) {
			const struct wire_head *head = (const void *)(buffer + at);

			if (head->size < sizeof(*head) || head->size > have - at)
				break;
			fn(context, head, head->size);
			at += head->size;
		}
		have -= at;
		memmove(buffer, buffer + at, have);
	}
}

bool kernel_has_processes(const struct kernel *kernel)
{
	u32 key;

	return bpf_map_get_next_key(bpf_map__fd(kernel->skel->maps.processes), NULL, &key) == 0;
}

bool kernel_has_process(const struct kernel *kernel, pid_t pid)
{
	struct wire_process process;
	u32 key = (u32)pid;

	return bpf_map_lookup_elem(bpf_map__fd(kernel->skel->maps.processes), &key, &process) == 0;
}

int kernel_processes(const struct kernel *kernel, pid_t **out, size_t *out_n)
{
	int fd = bpf_map__fd(kernel->skel->maps.processes);
	AUTO_FREE pid_t *pids = NULL;
	u32 key, next;
	size_t n = 0;
	int err;

	/* A row that goes meanwhile starts the walk again: so it is bounded. */
	for (err = bpf_map_get_next_key(fd, NULL, &next); !err && n < 2ul * PROCESSES_MAX;
	     err = bpf_map_get_next_key(fd, &key, &next)) {
		if (GROW(pids, n))
			return -ENOMEM;
		pids[n++] = (pid_t)next;
		key = next;
	}
	*out = TAKE_PTR(pids);
	*out_n = n;
	return 0;
}
