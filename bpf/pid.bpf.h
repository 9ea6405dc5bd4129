/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* Numbers of processes and threads as spantrace sees them. It may run in a container, whose numbers are not
 * the machine's: what goes to the loader and what the loader asks for are numbers of its own PID namespace. */
#ifndef SPANTRACE_PID_BPF_H
#define SPANTRACE_PID_BPF_H

#include "ring.bpf.h"

#define PID_LEVELS 33 /* the most that the kernel nests */

/* The entry of LEVEL. upid is of another size in the kernel than here, as far as the compiler knows. PID was read
 * by a helper: with a pointer that the verifier knows, older kernels allow no such arithmetic. */
static __always_inline struct upid *pid_entry(struct pid *pid, u32 level)
{
	return (void *)&pid->numbers[0] + level * bpf_core_type_size(struct upid);
}

/* TASK's number in the namespace of spantrace; 0 where it has none, and so is not seen. */
static __noinline u32 pid_here(struct task_struct *task)
{
	struct pid *pid = BPF_CORE_READ(task, thread_pid);
	u32 depth = BPF_CORE_READ(pid, level);
	u32 level;

	for (level = 0; level < PID_LEVELS; level++) {
		struct upid *entry = pid_entry(pid, level);

		if (level > depth)
			break;
		if (BPF_CORE_READ(entry, ns, ns.inum) == knob_pid_ns)
			return BPF_CORE_READ(entry, nr);
	}
	return 0;
}

static __always_inline u32 tid_of(struct task_struct *task)
{
	return knob_pid_ns ? pid_here(task) : task->pid;
}

static __always_inline u32 pid_of(struct task_struct *task)
{
	return knob_pid_ns ? pid_here(task->group_leader) : task->tgid;
}

/* The number that the process has for itself, in the innermost namespace. */
static __noinline u32 pid_inside(struct task_struct *task)
{
	struct pid *pid = BPF_CORE_READ(task, group_leader, thread_pid);
	u32 level = BPF_CORE_READ(pid, level);

	return BPF_CORE_READ(pid_entry(pid, level), nr);
}

#endif
