/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* What is still open when the trace ends: the loader stops all probes, then reads this iterator, which
 * writes for each thread the spans open on it, as the records they would have become, and its end. The
 * kernel may run it twice for one task, so it changes nothing but what a second run leaves as it is. */

struct open_walk {
	struct bpf_iter__task *ctx;
	struct task_struct *task;
	struct thread_state *t;
	u32 depth;
};

static long write_open(u32 i, struct open_walk *walk)
{
	struct wire_span record = {};
	struct frame *f;

	if (i >= walk->depth)
		return 1;
	f = frame_at(walk->t, walk->depth - 1 - i);
	if (!f)
		return 1;
	if (f->flags & FRAME_DEAD || is_left_out(f) || is_forgotten(walk->t, f))
		return 0;
	set_head(&record.head, sizeof(record), WIRE_SPAN, WIRE_OPEN, walk->t->serial);
	if (f->flags & FRAME_ASYNC)
		record.head.flags |= WIRE_SEGMENT;
	record.path = f->path;
	record.start_ns = f->start;
	record.busy_ns = session_closed - f->start;
	record.self_ns = f->self_ns;
	record.id = f->id;
	record.site = f->site;
	if (f->flags & FRAME_LABELS) {
		record.head.flags |= WIRE_LABELS;
		__builtin_memcpy(record.labels, f->labels, sizeof(record.labels));
	}
	fill_usage(&record.usage, f, &walk->t->usage);
	fill_alloc(&record, walk->t, f);
	ids_of_frame(&record.ids, f);
	bpf_seq_write(walk->ctx->meta->seq, &record, sizeof(record));
	return 0;
}

/* What read_usage() says of the current task, of any other: since the stack last changed it ran as much
 * as the scheduler has booked, which is right to a tick of its clock. */
static __always_inline void read_usage_of(struct thread_state *t, struct task_struct *task,
					  struct usage *usage)
{
	u64 since = session_closed - t->last;
	u64 run = task->se.sum_exec_runtime - t->last_run;

	if (!knob_usage)
		return;
	if (run > since)
		run = since;
	usage->off = t->usage.off + since - run;
	read_counts(task, usage);
}

SEC("iter/task")
int collect_open(struct bpf_iter__task *ctx)
{
	struct open_walk walk = {.ctx = ctx, .task = ctx->task};
	struct wire_thread_end end = {};
	struct usage raw = {};

	if (!walk.task)
		return 0;
	walk.t = bpf_task_storage_get(&threads, walk.task, NULL, 0);
	if (!walk.t || !walk.t->serial || (!walk.t->announced && !walk.t->last))
		return 0;
	read_usage_of(walk.t, walk.task, &raw);
	if (knob_cpu_exact && walk.t->stay)
		settle_stay(walk.t, session_closed - raw.off);
	charge(walk.t, walk.task, session_closed, &raw);
	walk.depth = walk.t->depth;
	bpf_loop(FRAMES_MAX, write_open, &walk, 0);
	set_head(&end.head, sizeof(end), WIRE_THREAD_END, 0, walk.t->serial);
	end.time_ns = session_closed;
	end.inside_ns = walk.t->inside;
	bpf_probe_read_kernel(end.comm, sizeof(end.comm), walk.task->comm);
	bpf_seq_write(ctx->meta->seq, &end, sizeof(end));
	return 0;
}
