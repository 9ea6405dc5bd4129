/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* How time on the CPU splits into user and system time.
 *
 * The kernel knows at each tick of its clock whether the task was in it: utime and stime are sums of whole ticks.
 * getrusage() scales them to the time that the task really ran. The same is done here: what that makes of system time
 * so far, less what spans and the time between them were charged already, is due. What runs on the path where the last
 * system tick fell is system time as long as something is due, what runs elsewhere as long as more than a tick is. So
 * sums are those of getrusage() to a tick, and no span has more system time than it ran. A hit pays for one comparison,
 * unless there was a tick or a switch since the last.
 *
 * With knob_cpu_exact the time between the entries and exits of system calls and page faults becomes due instead.
 */
#ifndef SPANTRACE_CPU_BPF_H
#define SPANTRACE_CPU_BPF_H

#include "ring.bpf.h"

#define FEW_TICKS 32

/* Time that the CPU of TASK did not give to tasks since it started. The way to the CPU's run queue is by
 * the task's group: the symbol of the queue itself is not in every kernel's table. */
static __always_inline u64 cpu_skew(struct task_struct *task)
{
	struct rq *rq;

	if (!bpf_core_field_exists(task->se.cfs_rq) || !bpf_core_field_exists(struct cfs_rq, rq))
		return 0;
	rq = task->se.cfs_rq->rq;
	return rq->clock - rq->clock_task;
}

/* Time off the CPU of TASK, the current one, as struct usage has it. */
static __always_inline u64 off_clock(struct task_struct *task)
{
	return task->se.exec_start + cpu_skew(task) - task->se.sum_exec_runtime;
}

/* X * PART / WHOLE for PART <= WHOLE, to some 30 bits of the ratio. */
static __always_inline u64 scale(u64 x, u64 part, u64 whole)
{
	u64 ratio;
	int i;

	/* Ticks: what is cut off is far below one. */
	for (i = 0; i < 2 && whole >> 32; i++) {
		whole >>= 16;
		part >>= 16;
	}
	if (!whole)
		return 0;
	ratio = (part << 32) / whole;
	return (x >> 32) * ratio + ((x & 0xffffffff) * ratio >> 32);
}

/* The system time that getrusage() would give: what RUNTIME has more or less than the ticks say is shared out as they are.
 * Their first few say little of how: from one system tick and no other getrusage() makes system time of all there was,
 * which spans would keep. */
static __always_inline u64 scaled_system(u64 utime, u64 stime, u64 runtime)
{
	u64 ticks = utime + stime, few = FEW_TICKS * (u64)knob_tick_ns;
	u64 whole = ticks > few ? ticks : few;

	if (runtime >= ticks)
		return stime + scale(runtime - ticks, stime, whole);
	return stime - scale(ticks - runtime, stime, whole);
}

/* There was a tick or a switch since the last look, while PATH ran, or this is the first look. */
static __noinline void look_at_ticks(struct thread_state *t, struct task_struct *task, u32 path)
{
	u64 utime = task->utime, stime = task->stime;
	u64 system = scaled_system(utime, stime, task->se.sum_exec_runtime);

	if (!t->last)
		t->usage.system = system;
	if (stime != t->stime)
		t->system_path = path;
	t->stime = stime;
	t->system_due = system - t->usage.system;
}

/* What of RUN, on PATH, was system time; from then on it is due no more. */
static __always_inline u64 take_due(struct thread_state *t, u32 path, u64 run)
{
	s64 system = t->system_due;

	if (likely(system <= 0))
		return 0;
	if (!knob_cpu_exact && path != t->system_path)
		system -= knob_tick_ns;
	if (system > (s64)run)
		system = run;
	if (system <= 0)
		return 0;
	/* A stay that was longer than all that ran: a hypervisor had the CPU meanwhile, and the scheduler told of it since. That
	 * is no time of what comes next. */
	t->system_due = knob_cpu_exact ? 0 : t->system_due - system;
	return system;
}

/* Splits RUN, what ran since the stack last changed, on PATH. Returns its system time. */
static __always_inline u64 split_run(struct thread_state *t, struct task_struct *task, u32 path,
				     u64 run)
{
	if (!knob_cpu_exact && unlikely(task->se.sum_exec_runtime != t->last_run))
		look_at_ticks(t, task, path);
	return take_due(t, path, run);
}

/* What the task has run by now, up to a constant. */
static __always_inline u64 run_clock(struct task_struct *task)
{
	return bpf_ktime_get_ns() - off_clock(task);
}

/* A stay of the thread in the kernel goes on, or ends, with its run clock at RUN. */
static __always_inline void settle_stay(struct thread_state *t, u64 run)
{
	s64 stayed = run - t->stay_since;

	if (stayed > 0) {
		t->system_due += stayed;
		t->stay_since = run;
	}
}

#endif
