/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* Threads and processes that come, change and go: which ones are traced, and rule 4: the end of a thread
 * or of its program closes its open spans at that instant. */

static __always_inline void tell_life(u8 kind, u32 process, u32 old, struct task_struct *task,
				      bool by_thread)
{
	struct wire_life *record = control_reserve(sizeof(*record));

	if (!record)
		return;
	set_head(&record->head, sizeof(*record), kind, 0, 0);
	record->process = process;
	record->old_process = old;
	record->pid = pid_of(task);
	record->by_thread = by_thread;
	record->time_ns = bpf_ktime_get_ns();
	bpf_probe_read_kernel(record->comm, sizeof(record->comm), task->comm);
	/* The records that the loader is woken for: a new program waits for its probes. */
	bpf_ringbuf_submit(record, kind == WIRE_EXEC || (kind == WIRE_FORK && knob_eager_forks)
					   ? BPF_RB_FORCE_WAKEUP
					   : BPF_RB_NO_WAKEUP);
}

/* Closes all that is open on the current thread and tells its end. */
static __noinline void end_thread(struct thread_state *t, struct task_struct *task)
{
	struct close_walk walk = {.flags = WIRE_OPEN, .to_flags = WIRE_OPEN};
	struct wire_thread_end *record;

	/* A thread that came by a fork with a buffer that it never used. */
	if (!t->announced && !t->last)
		return;
	walk.now = trace_time();
	if (knob_cpu_exact && t->stay)
		settle_stay(t, run_clock(task));
	if (knob_meter && t->shed_epoch != shed_epoch)
		forget_shed(t, task);
	t->stay = STAY_NONE; /* a new program begins in no system call of the old one's */
	charge_top(t, task, walk.now);
	walk.top = t->depth;
	close_walk(&walk);
	free_chunks(t);
	t->too_deep = 0;
	record = control_reserve(sizeof(*record));
	if (!record)
		return;
	set_head(&record->head, sizeof(*record), WIRE_THREAD_END, 0, t->serial);
	record->time_ns = walk.now;
	record->inside_ns = t->inside;
	record->row = t->first_row;
	record->reserved = 0;
	bpf_probe_read_kernel(record->comm, sizeof(record->comm), task->comm);
	ring_submit(record);
}

/* Loaded only where children are followed: with -a every process is traced when it first hits a probe. */
SEC("tp_btf/sched_process_fork")
int BPF_PROG(process_fork, struct task_struct *parent, struct task_struct *child)
{
	struct wire_process fresh = {};
	struct wire_process *known;
	u32 parent_pid, pid;

	if (parent->tgid == child->tgid)
		return 0;
	parent_pid = pid_of(parent);
	pid = pid_of(child);
	known = bpf_map_lookup_elem(&processes, &parent_pid);
	if (!known)
		return 0;
	fresh.serial = __sync_fetch_and_add(&process_serials, 1) + 1;
	if (bpf_map_update_elem(&processes, &pid, &fresh, BPF_ANY)) {
		count_loss(LOSS_NO_STATE, 1);
		return 0;
	}
	tell_life(WIRE_FORK, fresh.serial, known->serial, child, false);
	return 0;
}

SEC("tp_btf/sched_process_exec")
int BPF_PROG(process_exec, struct task_struct *task, pid_t old_pid, struct linux_binprm *binprm)
{
	struct thread_state *t;
	struct wire_process *process;
	u32 pid = pid_of(task);
	u32 old;

	process = bpf_map_lookup_elem(&processes, &pid);
	if (!process)
		return 0;
	old = process->serial;
	process->serial = __sync_fetch_and_add(&process_serials, 1) + 1;
	t = bpf_task_storage_get(&threads, task, NULL, 0);
	if (t) {
		end_thread(t, task);
		t->serial = __sync_fetch_and_add(&thread_serials, 1) + 1;
		t->process = process->serial;
		t->announced = ANNOUNCED_NOT;
		batch_forget(t, task);
		t->inside = 0;
		t->first_row = 0;
		__builtin_memset(t->memo, 0, sizeof(t->memo)); /* its rows were the old serial's */
	}
	tell_life(WIRE_EXEC, process->serial, old, task, old_pid != task->pid);
	return 0;
}

SEC("tp_btf/sched_process_exit")
int BPF_PROG(process_exit, struct task_struct *task)
{
	struct thread_state *t = bpf_task_storage_get(&threads, task, NULL, 0);
	struct wire_process *process;
	u32 pid, serial;

	if (t) {
		if (t->batched)
			batch_sync(BATCH_HIT);
		end_thread(t, task);
		t->serial = 0; /* collect has nothing to add */
	}
	if (task->signal->live.counter > 0)
		return 0;
	pid = pid_of(task);
	process = bpf_map_lookup_elem(&processes, &pid);
	if (!process)
		return 0;
	serial = process->serial;
	bpf_map_delete_elem(&processes, &pid);
	tell_life(WIRE_EXIT, serial, 0, task, false);
	return 0;
}
