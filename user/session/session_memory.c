/* SPDX-License-Identifier: MIT */
/* Allocations and live heap in a run: what memory.c (probes) and heap.c (live blocks) are told, and when. */
#include <errno.h>
#include <string.h>

#include "../util/log.h"
#include "session_impl.h"

int session_new_memory(struct session *s)
{
	const struct options *options = s->options;
	int err = 0;

	s->memory_options = (struct memory_options){
		.alloc = options->metrics & METRIC_ALLOC,
		.heap = options->metrics & METRIC_HEAP,
		.map = options->metrics & METRIC_MMAP,
		.session = s->features.uprobe_session,
		.uprobe_multi = s->features.uprobe_multi,
		.confined = options->mode != MODE_ALL && s->features.uprobe_multi &&
			    s->features.uprobe_multi_pid_exact,
		.files = options->allocators,
		.nfiles = options->nallocators,
		/* Without sessions a return stands for every call, also of a thread that has confined itself meanwhile. */
		.no_returns = s->returns_kill && !s->features.uprobe_session,
	};
	if (!s->memory_options.alloc && !s->memory_options.map)
		return 0;
	if (!s->memory_options.confined && options->mode != MODE_ALL)
		log_warn(
			"this kernel cannot keep probes within a process: every process that allocates by the same library pays for them; use Linux 6.10 or newer");
	if (s->memory_options.no_returns)
		log_warn(
			"this kernel kills a process under seccomp at a probe on a function's return: allocations count at their entry, failed ones too, and live heap is not followed; use Linux 6.14 or newer");
	if (s->memory_options.heap)
		err = heap_new(s->kernel, s->trace, options->leaks_ns, &s->heap);
	return err ? err : memory_new(s->kernel, &s->memory_options, &s->memory);
}

void session_close_memory(struct session *s)
{
	const char *unused;

	if (!s->memory)
		return;
	unused = memory_unused_file(s->memory);
	if (unused)
		log_warn("--allocator %s: no traced process had mapped that file", unused);
	if (kernel_shy(s->kernel))
		log_warn(
			"some threads were under seccomp, and this kernel would kill them at a probe on a function's return: what they allocated counts at its entry, failed or not, and is not followed; use Linux 6.14 or newer");
	memory_count(s->memory, &s->memory_counts);
	memory_free(&s->memory);
}

int session_probe_memory(struct session *s, pid_t pid, bool forked)
{
	int err = s->memory ? memory_add_process(s->memory, pid, forked) : 0;

	if (err && err != -ENOMEM)
		log_debug("process %d: its allocators are not seen: %s", pid, strerror(-err));
	/* One that has ended in between allocates no more. */
	return err == -ENOMEM ? err : 0;
}

bool session_has_probes(const struct session *s)
{
	struct plan_counts counts;
	struct memory_counts memory = s->memory_counts;

	plan_count(s->plan, &counts);
	if (s->memory)
		memory_count(s->memory, &memory);
	return counts.attached || memory.functions || memory.markers;
}

void session_tick_memory(struct session *s, u64 now_ns)
{
	struct profile so_far;

	if (!s->heap)
		return;
	heap_tick(s->heap, now_ns, session_row, s);
	if (!s->snapped_ns)
		s->snapped_ns = s->begin_ns;
	if (now_ns - s->snapped_ns < s->options->heap_interval_ns)
		return;
	s->snapped_ns = now_ns;
	if (!outputs_want_heap(s->outputs))
		return;
	session_take_rows(s);
	session_lost(s);
	session_describe(s, &so_far);
	if (trace_profile(s->trace, now_ns, &so_far) == 0)
		outputs_heap(s->outputs, &so_far);
}
