/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* The batched lane: ops that a thread has written into its buffer (include/batch.h) are fetched and replayed on its stack
 * of open spans, each as the hit that it stands for: so all rules are those of single hits, and the two lanes mix.
 *
 * The stack is brought up to date
 *   - when the buffer is full or its deadline has passed: the program says so, by the one marker that costs a trap
 *   - before any other hit of the thread: a marker, a call of the allocator
 *   - when the thread leaves its CPU: so no op comes later than a switch that it was before, and time off the CPU goes where
 *     it belongs; and what a thread that waits or sleeps has done is known
 *   - before its program is replaced, and before it ends, however it does, while its memory is still there
 * A thread that runs is behind by less than a deadline. At the end of a trace the loader visits each CPU: then none is.
 */

/* More than a buffer can have been full since the last look: it lies. */
#define BATCH_LAPS_MAX (1u << 24)

#ifdef SMALL_STACK
/* Programs that keep to the kernel's 512 bytes of stack (bpf/guard.bpf.h) have none left for a replay below them: the object
 * that is built so has no batched lane, and the loader refuses batched markers there. */
__noinline int batch_sync(u32 why)
{
	return why >> 31;
}
#else
#include "leaf.bpf.h"

/* An event of the batched lane, at NOW. */
static __noinline void batch_event(struct thread_state *t, struct task_struct *task, u64 cookie,
				   u64 now, u64 value)
{
	u8 flags = COOKIE_FLAGS(cookie) & SITE_HAS_VALUE ? WIRE_VALUE : 0;
	u32 parent = path_of_top(t, task);
	struct wire_event event = {};
	struct path_memo *step;

	if (knob_counts) {
		count_event(COOKIE_DEF(cookie));
		return;
	}
	if (meter(t, COOKIE_DEF(cookie), 1) || is_unsampled(parent)) {
		count_left_out(parent);
		return;
	}
	step = path_step(t, parent, COOKIE_DEF(cookie), 0);
	if (knob_totals && row_take_event(step->row, value, flags))
		return;
	event.path = step->path;
	event.site = COOKIE_SITE(cookie);
	event.time_ns = now;
	event.value = flags ? value : 0;
	emit_event(t, &event, flags, WIRE_EVENT_SHORT);
}

/* Replays one op of source K. Not static: the verifier looks at it once, whatever led there. */
__noinline int batch_replay(struct thread_state *t, struct batch *b, u32 k, u64 time, u64 what)
{
	struct task_struct *task = bpf_get_current_task_btf();
	const struct batch_news *news;
	u32 marker = BATCH_OP_MARKER(what);
	struct frame *f;
	u64 *found, cookie;
	u32 parent;

	if (!t || !b || k >= BATCH_SOURCES_MAX)
		return 0;
	news = &b->news[k];
	if (marker == BATCH_OP_VALUE) {
		b->sources[k].value = time;
		return 0;
	}
	if (marker >= news->count) {
		count_loss(LOSS_BATCH_DAMAGED, 1);
		return 0;
	}
	marker += news->first;
	found = bpf_map_lookup_elem(&batch_markers, &marker);
	if (!found)
		return 0;
	cookie = *found;
	time = batch_time(news, time);
	/* Of before the trace, the fork or the exec; or of a marker that is not wanted. */
	if (unlikely(time < news->since || !cookie))
		return 0;
	if (unlikely(session_closed && time > session_closed))
		return 0;
	if (unlikely(time > b->now))
		time = b->now;
	if (unlikely(time < t->last))
		time = t->last;
	if (COOKIE_FLAGS(cookie) & SITE_OP_ENTER) {
		f = push_span(t, task, cookie, BATCH_OP_SP(what), time, &parent);
		if (!f)
			return 0;
		name_frame(t, f, parent, COOKIE_DEF(cookie), 0);
		start_frame_at(t, task, f, time, &b->raw);
	} else if (COOKIE_FLAGS(cookie) & SITE_OP_EXIT) {
		pop_span(t, task, cookie, BATCH_OP_SP(what), time, &b->raw);
	} else {
		batch_event(t, task, cookie, time, b->sources[k].value);
	}
	return 0;
}

/* Where op I of a buffer is. */
static __always_inline const void *batch_op_at(const struct batch_source *source, u32 i)
{
	return (const void *)(source->address + __builtin_offsetof(struct batch_buffer, ops) +
			      i * sizeof(struct batch_op));
}

/* Reads the next op of source K, where several have news. */
static __always_inline void batch_next(struct batch *b, u32 k)
{
	struct batch_news *news = &b->news[k];

	if (news->at >= news->end)
		return;
	if (bpf_probe_read_user(&b->next[k], sizeof(b->next[k]),
				batch_op_at(&b->sources[k], news->at))) {
		count_loss(LOSS_BATCH_OPS, news->end - news->at);
		news->at = news->end;
	}
}

/* A step of a replay. One source: its ops are here. Several: the earliest op of all is next. */
static long batch_step(u32 i, struct batch_walk *walk)
{
	struct batch *b = walk->b;
	u64 time, earliest = ~0ULL;
	u32 k = b->from % BATCH_SOURCES_MAX, j;
	u32 at = walk->b->at, end;

	if (likely(b->nnews == 1)) {
		end = b->news[k].end;
		if (at >= end || at >= BATCH_OPS)
			return 1;
		if (at && !(b->not_leaf & leaf_bit(b->ops[at].what)) && at + 1 < end &&
		    leaf_run(walk, b, k))
			return 0;
		walk->b->at = at + 1;
		batch_replay(walk->t, b, k, b->ops[at].time, b->ops[at].what);
		return 0;
	}
	k = BATCH_SOURCES_MAX;
	for (j = 0; j < BATCH_SOURCES_MAX; j++) {
		if (b->news[j].at >= b->news[j].end)
			continue;
		time = BATCH_OP_MARKER(b->next[j].what) == BATCH_OP_VALUE
			       ? 0 /* belongs to the op behind it */
			       : batch_time(&b->news[j], b->next[j].time);
		if (time < earliest) {
			earliest = time;
			k = j;
		}
	}
	if (k >= BATCH_SOURCES_MAX)
		return 1;
	batch_replay(walk->t, b, k, b->next[k].time, b->next[k].what);
	b->news[k].at++;
	batch_next(b, k);
	return 0;
}

/* Whether source K has news; notes them, and that they are taken. */
static __always_inline bool batch_look(struct batch *b, struct task_struct *task, u32 k)
{
	struct batch_source *source = &b->sources[k];
	struct batch_news *news = &b->news[k];
	struct wire_batch_file *file;
	struct batch_head *head = &b->head;
	u32 lap, used;

	news->at = 0;
	news->end = 0;
	if (!source->address)
		return false;
	/* The library that it belongs to was unloaded. */
	if (bpf_probe_read_user(head, sizeof(*head), (const void *)source->address) ||
	    head->magic != (source->address ^ BATCH_MAGIC) || (u32)head->born != source->born) {
		source->address = 0;
		return false;
	}
	lap = head->state >> 32;
	used = (u32)head->state;
	if (used > BATCH_OPS || lap - source->lap > BATCH_LAPS_MAX) {
		count_loss(LOSS_BATCH_DAMAGED, 1);
		source->address = 0;
		return false;
	}
	if (unlikely((u32)head->dropped != source->dropped)) {
		count_loss(LOSS_BATCH_OPS, (u32)head->dropped - source->dropped);
		source->dropped = (u32)head->dropped;
	}
	if (lap != source->lap) {
		u64 full = (u64)(lap - source->lap) * BATCH_OPS;

		/* Once the trace is over the program may fill buffers that nobody is told of. */
		if (unlikely(full != source->used) && !session_closed)
			count_loss(LOSS_BATCH_OPS, full - source->used);
		source->lap = lap;
		source->used = 0;
	}
	file = bpf_map_lookup_elem(&batch_files, &source->file);
	if (!file || used <= source->used)
		return false;
	news->at = source->used;
	news->end = used;
	source->used = used;
	news->first = file->first;
	news->count = file->count;
	news->clock = file->clock;
	news->since = file->since_ns;
	if (news->since < task->start_time)
		news->since = task->start_time;
	news->tsc = head->clock;
	news->tsc_ns = head->clock_ns;
	return true;
}

/* Brings all ops of the one source with news here, to the front. */
static __always_inline void batch_bring(struct batch *b)
{
	u32 k = b->from % BATCH_SOURCES_MAX;
	struct batch_news *news = &b->news[k];
	u32 bytes = (news->end - news->at) * sizeof(struct batch_op);

	barrier_var(bytes);
	if (bytes > sizeof(b->ops) ||
	    bpf_probe_read_user(b->ops, bytes, batch_op_at(&b->sources[k], news->at))) {
		count_loss(LOSS_BATCH_OPS, news->end - news->at);
		bytes = 0;
	}
	news->end = bytes / sizeof(struct batch_op);
}

/* What is counted by now but not of the ops: the switch that just took the thread off its CPU. */
static __always_inline void batch_before_switch(struct thread_state *t, struct usage *raw, u32 why)
{
	u32 *count = why == BATCH_SWITCH_VOLUNTARY ? &raw->vol_switches : &raw->invol_switches;
	u32 charged =
		why == BATCH_SWITCH_VOLUNTARY ? t->usage.vol_switches : t->usage.invol_switches;

	if (*count != charged)
		--*count;
}

/* Not static, so that the verifier looks at it once and not at each call. */
__noinline int batch_sync(u32 why)
{
	struct batch_walk walk = {.task = bpf_get_current_task_btf()};
	u32 k;

	walk.t = bpf_task_storage_get(&threads, walk.task, NULL, 0);
	if (!walk.t)
		return 0;
	walk.b = bpf_task_storage_get(&batches, walk.task, NULL, 0);
	/* Busy: the thread is switched out in the middle of this. */
	if (!walk.b || walk.b->busy)
		return 0;
	walk.b->busy = 1;
	walk.b->nnews = 0;
	walk.b->at = 0;
	walk.b->not_leaf = 0;
	for (k = 0; k < BATCH_SOURCES_MAX; k++) {
		if (!batch_look(walk.b, walk.task, k))
			continue;
		walk.b->nnews++;
		walk.b->from = k;
	}
	if (!walk.b->nnews)
		goto out;
	if (unlikely(!walk.t->announced))
		announce(walk.t, walk.task);
	walk.b->now = bpf_ktime_get_ns();
	read_usage(walk.task, &walk.b->raw);
	if (why)
		batch_before_switch(walk.t, &walk.b->raw, why);
	if (walk.b->nnews == 1)
		batch_bring(walk.b);
	else
		for (k = 0; k < BATCH_SOURCES_MAX; k++)
			batch_next(walk.b, k);
	bpf_loop(BATCH_OPS * BATCH_SOURCES_MAX, batch_step, &walk, 0);
out:
	walk.b->busy = 0;
	return 0;
}
#endif

/* Notes a buffer of the thread that fires for the first time, in FILE. */
static __noinline void batch_add_source(struct batch *b, u64 address, u32 file)
{
	struct batch_head *head = &b->head;
	u32 k, slot = BATCH_SOURCES_MAX;

	if (bpf_probe_read_user(head, sizeof(*head), (const void *)address)) {
		count_loss(LOSS_BATCH_DAMAGED, 1);
		return;
	}
	for (k = 0; k < BATCH_SOURCES_MAX; k++) {
		if (b->sources[k].address == address) {
			if (b->sources[k].born == (u32)head->born)
				return;
			b->sources[k].address = 0;
		}
		if (!b->sources[k].address)
			slot = k;
	}
	if (slot >= BATCH_SOURCES_MAX) {
		count_loss(LOSS_BATCH_SOURCES, 1);
		return;
	}
	b->sources[slot].address = address;
	b->sources[slot].file = file;
	/* What stands in it may be older than the trace: each op's time says. */
	b->sources[slot].lap = head->state >> 32;
	b->sources[slot].used = 0;
	b->sources[slot].born = (u32)head->born;
	b->sources[slot].dropped = (u32)head->dropped;
}

/* A buffer is full, or its deadline has passed. */
HIT_PROGRAM("uprobe", batch_fetch)
{
	struct task_struct *task = bpf_get_current_task_btf();
	u64 cookie = bpf_get_attach_cookie(ctx);
	u64 address = PT_REGS_PARM1(ctx);
	u32 file_index = COOKIE_DEF(cookie);
	struct wire_batch_file *file = bpf_map_lookup_elem(&batch_files, &file_index);
	struct thread_state *t;
	struct batch *b;

	if (!file || !file->since_ns)
		return 0;
	t = bpf_task_storage_get(&threads, task, NULL, 0);
	if (!t) {
		if (session_closed)
			return 0;
		t = make_thread(task);
		if (!t)
			return 0;
	}
	b = bpf_task_storage_get(&batches, task, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!b) {
		count_loss(LOSS_NO_STATE, 1);
		return 0;
	}
	t->batched = 1;
	if (t->announced)
		t->announced = ANNOUNCED_BATCHED;
	else
		announce(t, task);
	batch_add_source(b, address, file_index);
	batch_sync(BATCH_HIT);
	return 0;
}

/* The thread has become another program: its buffers are no more. */
static __noinline void batch_forget(struct thread_state *t, struct task_struct *task)
{
	struct batch *b = bpf_task_storage_get(&batches, task, NULL, 0);
	u32 k;

	t->batched = 0;
	for (k = 0; b && k < BATCH_SOURCES_MAX; k++)
		b->sources[k].address = 0;
}

/* Attached while there are batched markers in the trace. */
SEC("?tp_btf/sched_switch")
int BPF_PROG(batch_switch, bool preempt, struct task_struct *prev, struct task_struct *next,
	     unsigned int prev_state)
{
	struct thread_state *t = bpf_task_storage_get(&threads, prev, NULL, 0);

	if (t && t->batched)
		batch_sync(!preempt && prev_state ? BATCH_SWITCH_VOLUNTARY
						  : BATCH_SWITCH_INVOLUNTARY);
	return 0;
}

/* A child has its parent's buffers: it may end before it asks for the first fetch. Their ops up to here are the parent's. */
SEC("?tp_btf/sched_process_fork")
int BPF_PROG(batch_fork, struct task_struct *parent, struct task_struct *child)
{
	struct batch *from = bpf_task_storage_get(&batches, parent, NULL, 0), *to;
	struct thread_state *t;

	if (!from || parent->mm == child->mm)
		return 0;
	t = make_thread(child);
	if (!t)
		return 0;
	to = bpf_task_storage_get(&batches, child, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!to) {
		count_loss(LOSS_NO_STATE, 1);
		return 0;
	}
	__builtin_memcpy(to->sources, from->sources, sizeof(to->sources));
	t->batched = 1;
	return 0;
}

static __always_inline int batch_last_chance(void)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct thread_state *t = bpf_task_storage_get(&threads, task, NULL, 0);

	if (t && t->batched)
		batch_sync(BATCH_HIT);
	return 0;
}

/* Before the thread's memory goes, where sched_process_exit comes later: up to 6.15. */
SEC("?fentry/exit_signals")
int batch_exit(void *ctx)
{
	return batch_last_chance();
}

/* Before an exec takes the memory: one of these two. */
SEC("?tp_btf/sched_prepare_exec")
int batch_prepare_exec(void *ctx)
{
	return batch_last_chance();
}

SEC("?fentry/begin_new_exec")
int batch_exec(void *ctx)
{
	return batch_last_chance();
}
