/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* -m cpu=exact: how long threads with open spans stay in the kernel, from the entry of a system call or page fault to its
 * exit. Only loaded when asked for: they run for every thread on the machine, and leave most at once. */

/* The state of the current thread if it has open spans, else NULL: nothing else is charged. */
static __always_inline struct thread_state *thread_in_span(struct task_struct *task)
{
	struct thread_state *t = bpf_task_storage_get(&threads, task, NULL, 0);

	if (t && t->batched)
		batch_sync(BATCH_HIT);
	return t && t->depth ? t : NULL;
}

static __always_inline void begin_stay(struct thread_state *t, struct task_struct *task,
				       enum stay why)
{
	t->stay = why;
	t->stay_since = run_clock(task);
}

static __always_inline void end_stay(struct thread_state *t, struct task_struct *task)
{
	settle_stay(t, run_clock(task));
	t->stay = STAY_NONE;
}

SEC("?tp_btf/sys_enter")
int call_begin(void *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct thread_state *t = thread_in_span(task);

	if (t)
		begin_stay(t, task, STAY_CALL);
	return 0;
}

SEC("?tp_btf/sys_exit")
int call_end(void *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct thread_state *t = thread_in_span(task);

	if (t && t->stay == STAY_CALL)
		end_stay(t, task);
	return 0;
}

/* The kernel tells of a page fault's begin, not of its end: this function does nearly all of it. */
SEC("?fentry/handle_mm_fault")
int fault_begin(void *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct thread_state *t = thread_in_span(task);

	if (t && t->stay == STAY_NONE)
		begin_stay(t, task, STAY_FAULT);
	return 0;
}

SEC("?fexit/handle_mm_fault")
int fault_end(void *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct thread_state *t = thread_in_span(task);

	if (t && t->stay == STAY_FAULT)
		end_stay(t, task);
	return 0;
}
