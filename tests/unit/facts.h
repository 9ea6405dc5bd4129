/* SPDX-License-Identifier: MIT */
/* Facts of made-up machines, for the tests of who judges them. */
#ifndef TESTS_FACTS_H
#define TESTS_FACTS_H

#include <errno.h>
#include <linux/capability.h>
#include <stdint.h>

#include "../../user/attach/features.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define CAP(n)       (1ull << (n))

/* Root on a kernel where all is well. */
static inline struct features facts_good(void)
{
	return (struct features){
		.root = true,
		.caps = UINT64_MAX,
		.pid_ns_initial = true,
		.proc_own = true,
		.user_ns_initial = true,
		.memlock_limit = 8 << 20,
		.release = "6.18.0-test",
		.machine = "x86_64",
		.lockdown = FEATURES_LOCKDOWN_NONE,
		.perf_event_paranoid = 2,
		.unprivileged_bpf_disabled = FEATURES_UNKNOWN,
		.kernel_btf = true,
		.ringbuf = true,
		.task_storage = true,
		.bpf_loop = true,
		.attach_cookie = true,
		.read_kernel = true,
		.tp_btf = true,
		.iter_task = true,
		.uprobe_multi = true,
		.uprobe_perf = true,
		.uprobe_multi_pid_exact = true,
		.sched_info = true,
		.fault_hooks = true,
		.map_files = true,
		.mmap_events = true,
	};
}

/* The same kernel as a user without privileges sees it. */
static inline struct features facts_nobody(void)
{
	struct features f = facts_good();

	f.root = false;
	f.caps = 0;
	f.bpf_error = -EPERM;
	f.ringbuf = f.task_storage = f.bpf_loop = f.attach_cookie = f.read_kernel = false;
	f.tp_btf = f.iter_task = f.uprobe_multi = f.uprobe_multi_pid_exact = false;
	f.uprobe_perf = f.fault_hooks = f.map_files = f.mmap_events = false;
	f.perf_error = -EACCES;
	return f;
}

#endif
