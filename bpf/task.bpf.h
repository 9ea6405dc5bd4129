/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* The state of the thread that hit a probe: found or made, announced to the loader, its clock and its
 * stack of frames. */
#ifndef SPANTRACE_TASK_BPF_H
#define SPANTRACE_TASK_BPF_H

#include "cpu.bpf.h"
#include "pid.bpf.h"
#include "sample.bpf.h"

/* Now, or the end of the trace once that has come. */
static __always_inline u64 trace_time(void)
{
	return session_closed ? session_closed : bpf_ktime_get_ns();
}

static __always_inline void read_counts(struct task_struct *task, struct usage *u)
{
	if (bpf_core_field_exists(task->sched_info.run_delay))
		u->run_delay = task->sched_info.run_delay;
	u->vol_switches = (u32)task->nvcsw;
	u->invol_switches = (u32)task->nivcsw;
	u->minor_faults = (u32)task->min_flt;
	u->major_faults = (u32)task->maj_flt;
}

/* Of the current task. */
static __always_inline void read_usage(struct task_struct *task, struct usage *u)
{
	if (!knob_usage)
		return;
	u->off = off_clock(task);
	read_counts(task, u);
}

/* Tells the loader who this thread is. Where the ring is full the next hit tries again. */
static __noinline void announce(struct thread_state *t, struct task_struct *task)
{
	struct wire_thread *record = control_reserve(sizeof(*record));

	if (!record)
		return;
	set_head(&record->head, sizeof(*record), WIRE_THREAD, 0, t->serial);
	record->process = t->process;
	record->pid = pid_of(task);
	record->tid = tid_of(task);
	record->nspid = pid_inside(task);
	record->start_ns = task->start_time;
	bpf_probe_read_kernel(record->process_comm, sizeof(record->process_comm),
			      task->group_leader->comm);
	bpf_probe_read_kernel(record->comm, sizeof(record->comm), task->comm);
	ring_submit(record);
	t->announced = t->batched ? ANNOUNCED_BATCHED : ANNOUNCED;
}

#define CGROUP_LEVELS 64

/* Whether the current task is in the cgroup of knob_cgroup. Not by a map of cgroups: sleepable programs may not have
 * one. How deep the cgroup lies is not known inside a cgroup namespace. */
static __noinline bool is_in_cgroup(void)
{
	u32 level;

	for (level = 0; level < CGROUP_LEVELS; level++) {
		u64 id = bpf_get_current_ancestor_cgroup_id(level);

		if (!id)
			break;
		if (id == knob_cgroup)
			return true;
	}
	return false;
}

/* The serial of the process of TASK, which is the current one, if it is traced, else 0. */
static __always_inline u32 traced_process(struct task_struct *task)
{
	u32 pid = pid_of(task);
	struct wire_process *process = bpf_map_lookup_elem(&processes, &pid);
	struct wire_process fresh = {};

	if (process)
		return process->serial;
	if (!knob_all_processes || !pid || pid == knob_self)
		return 0;
	if (knob_cgroup && !is_in_cgroup())
		return 0;
	fresh.serial = __sync_fetch_and_add(&process_serials, 1) + 1;
	if (bpf_map_update_elem(&processes, &pid, &fresh, BPF_NOEXIST) == 0)
		return fresh.serial;
	/* Another of its threads was first, or the table is full. */
	process = bpf_map_lookup_elem(&processes, &pid);
	if (process)
		return process->serial;
	count_loss(LOSS_NO_STATE, 1);
	return 0;
}

static __noinline struct thread_state *make_thread(struct task_struct *task)
{
	u32 process = traced_process(task);
	struct thread_state *t;

	if (!process)
		return NULL;
	t = bpf_task_storage_get(&threads, task, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!t) {
		count_loss(LOSS_NO_STATE, 1);
		return NULL;
	}
	t->serial = __sync_fetch_and_add(&thread_serials, 1) + 1;
	t->process = process;
	t->shed_epoch = shed_epoch;
	return t;
}

/* Whether the thread was switched out, and so was counted, just now. */
enum batch_why {
	BATCH_HIT = 0,
	BATCH_SWITCH_VOLUNTARY = 1,
	BATCH_SWITCH_INVOLUNTARY = 2,
};

/* Takes what the current thread has in its buffers: batch.bpf.c. */
int batch_sync(u32 why);

static __noinline void forget_shed(struct thread_state *t, struct task_struct *task);

/* The state of TASK, which is the current one and has hit the site of COOKIE; NULL when it is not traced. */
static __always_inline struct thread_state *thread_of(struct task_struct *task, u64 cookie)
{
	struct thread_state *t;

	if (unlikely(COOKIE_SITE(cookie) >= sites_open))
		return NULL;
	t = bpf_task_storage_get(&threads, task, NULL, 0);
	if (unlikely(!t)) {
		t = make_thread(task);
		if (!t)
			return NULL;
	}
	if (unlikely(t->announced != ANNOUNCED)) {
		if (!t->announced)
			announce(t, task);
		if (t->batched)
			batch_sync(BATCH_HIT);
	}
	if (knob_meter && unlikely(t->shed_epoch != shed_epoch))
		forget_shed(t, task);
	return t;
}

static __noinline struct frame *deep_frame(struct thread_state *t, u32 i)
{
	struct chunk_key key = {.thread = t->serial, .chunk = i / FRAMES_CHUNK};
	struct chunk *chunk = bpf_map_lookup_elem(&chunks, &key);
	u32 index = i % FRAMES_CHUNK;

	if (!chunk)
		return NULL;
	barrier_var(index);
	if (index >= FRAMES_CHUNK)
		return NULL;
	return &chunk->frames[index];
}

/* Frame I of the thread's stack, 0 at the bottom; NULL when there is no such place. */
static __always_inline struct frame *frame_at(struct thread_state *t, u32 i)
{
	if (likely(i < FRAMES_NEAR))
		return &t->frames[i];
	return deep_frame(t, i - FRAMES_NEAR);
}

/* Makes the chunk that the next frame needs. */
static __noinline void add_chunk(struct thread_state *t)
{
	struct chunk_key key = {
		.thread = t->serial,
		.chunk = (t->depth - FRAMES_NEAR) / FRAMES_CHUNK,
	};
	u32 zero = 0;
	struct chunk *empty = bpf_map_lookup_elem(&empty_chunk, &zero);

	if (empty && key.chunk < FRAMES_CHUNKS)
		bpf_map_update_elem(&chunks, &key, empty, BPF_NOEXIST);
}

static long free_chunk(u32 i, struct chunk_key *key)
{
	key->chunk = i;
	return bpf_map_delete_elem(&chunks, key) != 0;
}

/* A thread that ends gives its chunks back; most have none. */
static __noinline void free_chunks(struct thread_state *t)
{
	struct chunk_key key = {.thread = t->serial};

	bpf_loop(FRAMES_CHUNKS, free_chunk, &key, 0);
}

/* Of SLICE, the time since the stack last changed, what the task was off the CPU. A hypervisor's share is known at the
 * scheduler's next update only: what a slice is too short for is left to the next ones. */
static __always_inline u64 settle_off(struct thread_state *t, u64 slice, const struct usage *raw)
{
	s64 off = raw->off - t->usage.off;

	if (unlikely(!t->last)) {
		t->usage.off = raw->off;
		return 0;
	}
	if (off <= 0)
		return 0;
	if (off > (s64)slice)
		off = slice;
	t->usage.off += off;
	return off;
}

/* Charges the time since the stack last changed to the frame on top. RAW is what the kernel has counted by NOW; from
 * here on t->usage is what of it was charged. */
static __always_inline void charge(struct thread_state *t, struct task_struct *task, u64 now,
				   const struct usage *raw)
{
	struct frame *top = t->depth ? frame_at(t, t->depth - 1) : NULL;
	u64 slice = now - t->last, off = 0, system = 0;

	if (knob_usage) {
		off = settle_off(t, slice, raw);
		system = split_run(t, task, top ? top->path : PATH_ROOT, slice - off);
	}
	if (top) {
		/* A frame of no path is one that is left out, outside all others. */
		if (!may_leave_out() || (top->path != PATH_UNSAMPLED && top->path != PATH_ROOT))
			t->inside += slice;
		top->self_ns += slice;
		if (knob_usage) {
			top->self_off += off;
			top->self_run_delay += raw->run_delay - t->usage.run_delay;
			top->self_system += system;
		}
	}
	t->last = now;
	if (knob_usage) {
		t->usage.run_delay = raw->run_delay;
		t->usage.system += system;
		t->usage.vol_switches = raw->vol_switches;
		t->usage.invol_switches = raw->invol_switches;
		t->usage.minor_faults = raw->minor_faults;
		t->usage.major_faults = raw->major_faults;
		t->last_run = task->se.sum_exec_runtime;
	}
}

/* The same of the current task. Called at each change of its stack, so self time is right whatever the order of enters
 * and exits. */
static __always_inline void charge_top(struct thread_state *t, struct task_struct *task, u64 now)
{
	struct usage raw = {};

	read_usage(task, &raw);
	charge(t, task, now, &raw);
}

#endif
