/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* The stack of open spans of one thread: push, close in any order, and the record of what was closed.
 *
 * A frame that is closed while others stand above it is marked dead and dropped when it comes to the top.
 */
#ifndef SPANTRACE_STACK_BPF_H
#define SPANTRACE_STACK_BPF_H

#include "async_table.bpf.h"
#include "count.bpf.h"
#include "ids.bpf.h"
#include "path.bpf.h"

static __always_inline u64 def_bit(u32 def)
{
	return 1ULL << (def & 63);
}

static __always_inline void fill_usage(struct wire_usage *out, const struct frame *f,
				       const struct usage *now)
{
	out->off_ns = now->off - f->base.off;
	out->run_delay_ns = now->run_delay - f->base.run_delay;
	out->self_off_ns = f->self_off;
	out->self_run_delay_ns = f->self_run_delay;
	out->system_ns = now->system - f->base.system;
	out->self_system_ns = f->self_system;
	out->vol_switches = now->vol_switches - f->base.vol_switches;
	out->invol_switches = now->invol_switches - f->base.invol_switches;
	out->minor_faults = now->minor_faults - f->base.minor_faults;
	out->major_faults = now->major_faults - f->base.major_faults;
}

static __always_inline void fill_alloc(struct wire_span *record, const struct thread_state *t,
				       const struct frame *f)
{
	record->alloc.objects = t->alloc.objects - f->alloc_base.objects;
	record->alloc.bytes = t->alloc.bytes - f->alloc_base.bytes;
	record->self_alloc = f->self_alloc;
}

/* Adds a segment to the async span it is part of, if that still lives. MOVED: more happened than running. What is 0
 * is not added: other threads may work on the span, and each atomic costs. */
static __noinline void add_segment(struct thread_state *t, const struct frame *f, u64 now,
				   bool moved)
{
	const struct usage *usage = &t->usage;
	struct wire_async *span = async_of_frame(f, t->process);

	if (!span)
		return;
	__sync_fetch_and_add(&span->busy_ns, now - f->start);
	__sync_fetch_and_add(&span->self_ns, f->self_ns);
	if (usage->system != f->base.system) {
		__sync_fetch_and_add(&span->system_ns, usage->system - f->base.system);
		__sync_fetch_and_add(&span->self_system_ns, f->self_system);
	}
	if (knob_alloc) {
		__sync_fetch_and_add(&span->alloc.objects,
				     t->alloc.objects - f->alloc_base.objects);
		__sync_fetch_and_add(&span->alloc.bytes, t->alloc.bytes - f->alloc_base.bytes);
		__sync_fetch_and_add(&span->self_alloc.objects, f->self_alloc.objects);
		__sync_fetch_and_add(&span->self_alloc.bytes, f->self_alloc.bytes);
	}
	if (!moved)
		return;
	add_shared(&span->off_ns, usage->off - f->base.off);
	add_shared(&span->run_delay_ns, usage->run_delay - f->base.run_delay);
	add_shared(&span->self_off_ns, f->self_off);
	add_shared(&span->self_run_delay_ns, f->self_run_delay);
	add_shared(&span->vol_switches, usage->vol_switches - f->base.vol_switches);
	add_shared(&span->invol_switches, usage->invol_switches - f->base.invol_switches);
	add_shared(&span->minor_faults, usage->minor_faults - f->base.minor_faults);
	add_shared(&span->major_faults, usage->major_faults - f->base.major_faults);
}

static __always_inline void fill_labels(struct wire_span *record, const struct frame *f)
{
	if (f->flags & FRAME_LABELS)
		__builtin_memcpy(record->labels, f->labels, sizeof(record->labels));
	else
		__builtin_memset(record->labels, 0, sizeof(record->labels));
}

/* The record of frame F with all its parts up to SIZE, a constant. */
static __always_inline void emit_whole(struct thread_state *t, const struct frame *f, u64 now,
				       u8 flags, u32 size)
{
	struct wire_span *record = ring_reserve(size);

	if (!record)
		return;
	if (size > WIRE_SPAN_WHOLE) {
		if (f->flags & FRAME_LABELS)
			flags |= WIRE_LABELS;
		fill_labels(record, f);
	}
	if (size > WIRE_SPAN_LABELLED)
		fill_alloc(record, t, f);
	if (size > WIRE_SPAN_ALLOC)
		ids_of_frame(&record->ids, f);
	set_head(&record->head, size, WIRE_SPAN, flags, t->serial);
	record->path = f->path;
	record->site = f->site;
	record->start_ns = f->start;
	record->busy_ns = now - f->start;
	record->self_ns = f->self_ns;
	fill_usage(&record->usage, f, &t->usage);
	record->id = f->id;
	ring_submit(record);
}

/* The same of one that nothing happened to but running: SIZE is a constant, with the system time or without it. */
static __always_inline void emit_short(struct thread_state *t, const struct frame *f, u64 now,
				       u64 system, u8 flags, u32 size)
{
	struct wire_span *record = ring_reserve(size);

	if (!record)
		return;
	set_head(&record->head, size, WIRE_SPAN, flags, t->serial);
	record->path = f->path;
	record->site = f->site;
	record->start_ns = f->start;
	record->busy_ns = now - f->start;
	record->self_ns = f->self_ns;
	if (size > WIRE_SPAN_SHORT) {
		record->usage.system_ns = system;
		record->usage.self_system_ns = f->self_system;
	}
	ring_submit(record);
}

/* Sends the record of frame F, which ends at NOW. */
static __always_inline void emit_frame(struct thread_state *t, const struct frame *f, u64 now,
				       u8 flags)
{
	const struct usage *usage = &t->usage;
	bool allocated = knob_alloc && (t->alloc.bytes != f->alloc_base.bytes ||
					t->alloc.objects != f->alloc_base.objects);
	u64 system = usage->system - f->base.system;
	bool moved =
		knob_usage && (usage->off != f->base.off || usage->run_delay != f->base.run_delay ||
			       usage->minor_faults != f->base.minor_faults ||
			       usage->vol_switches != f->base.vol_switches ||
			       usage->invol_switches != f->base.invol_switches ||
			       usage->major_faults != f->base.major_faults);

	if (is_left_out(f))
		return;
	if (knob_counts) {
		if (!(f->flags & FRAME_ASYNC))
			count_ended(f->def);
		return;
	}
	if (knob_totals && row_take(f, now - f->start, system, moved ? usage : NULL, flags)) {
		if (f->flags & FRAME_ASYNC)
			add_segment(t, f, now, moved);
		return;
	}
	if (likely(!moved && !allocated &&
		   !(f->flags & (FRAME_ASYNC | FRAME_LABELS | FRAME_IDS)))) {
		if (knob_usage && system)
			emit_short(t, f, now, system, flags, WIRE_SPAN_SPLIT);
		else
			emit_short(t, f, now, 0, flags, WIRE_SPAN_SHORT);
		return;
	}
	if (f->flags & FRAME_ASYNC) {
		flags |= WIRE_SEGMENT;
		add_segment(t, f, now, moved);
	}
	if (knob_ids && f->flags & FRAME_IDS)
		emit_whole(t, f, now, flags, sizeof(struct wire_span));
	else if (allocated)
		emit_whole(t, f, now, flags, WIRE_SPAN_ALLOC);
	else if (f->flags & FRAME_LABELS)
		emit_whole(t, f, now, flags, WIRE_SPAN_LABELLED);
	else
		emit_whole(t, f, now, flags, WIRE_SPAN_WHOLE);
}

/* Puts a frame on top. Returns it with path, id, an async one's slot and base still to be set, or NULL: too deep, counted. */
static __always_inline struct frame *push(struct thread_state *t, struct task_struct *task,
					  u64 cookie, u64 sp, u32 flags)
{
	struct frame *f;

	if (unlikely(t->depth >= FRAMES_NEAR && (t->depth - FRAMES_NEAR) % FRAMES_CHUNK == 0))
		add_chunk(t);
	f = frame_at(t, t->depth);
	if (unlikely(!f)) {
		if (!t->too_deep++)
			t->too_deep_sp = sp;
		count_loss(LOSS_TOO_DEEP, 1);
		return NULL;
	}
	f->sp = sp;
	f->def = COOKIE_DEF(cookie);
	f->site = COOKIE_SITE(cookie);
	f->flags = flags;
	f->self_ns = 0;
	f->self_off = 0;
	f->self_run_delay = 0;
	f->self_system = 0;
	if (knob_alloc) {
		f->alloc_base = t->alloc;
		f->self_alloc = (struct wire_alloc_counts){};
	}
	f->open_mask = t->open_mask;
	if (knob_ids)
		ids_inherit(t, f);
	return f;
}

/* Starts the clock of a frame that push() made, and of the thread, at NOW, when RAW was counted. */
static __always_inline void start_frame_at(struct thread_state *t, struct task_struct *task,
					   struct frame *f, u64 now, const struct usage *raw)
{
	charge(t, task, now, raw);
	f->start = now;
	if (knob_usage)
		f->base = t->usage;
	t->depth++;
}

/* The same now. */
static __always_inline void start_frame(struct thread_state *t, struct task_struct *task,
					struct frame *f)
{
	u64 now = bpf_ktime_get_ns();
	struct usage raw = {};

	read_usage(task, &raw);
	start_frame_at(t, task, f, now, &raw);
}

/* Drops dead frames from the top. */
static long drop_dead(u32 i, void *context)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct thread_state *t = bpf_task_storage_get(&threads, task, NULL, 0);
	struct frame *top;

	if (!t || !t->depth || !t->dead)
		return 1;
	top = frame_at(t, t->depth - 1);
	if (!top || !(top->flags & FRAME_DEAD))
		return 1;
	t->open_mask = top->open_mask;
	t->depth--;
	t->dead--;
	return 0;
}

static __always_inline void pop_top(struct thread_state *t, const struct frame *top)
{
	t->open_mask = top->open_mask;
	t->depth--;
	if (unlikely(t->dead))
		bpf_loop(FRAMES_MAX, drop_dead, NULL, 0);
}

/* Puts a frame of PATH for a span that is left out on top of one of PARENT. False: too deep, counted. */
static __always_inline bool push_left_out(struct thread_state *t, struct task_struct *task,
					  u64 cookie, u64 sp, u32 flags, u64 id, u32 parent,
					  u32 path)
{
	struct frame *f = push(t, task, cookie, sp, flags);

	if (!f)
		return false;
	f->path = path;
	f->row = is_unsampled(path) ? 0 : row_of(t, path);
	f->id = id;
	if (path != parent && t->depth)
		charge_top(t, task, bpf_ktime_get_ns());
	t->depth++;
	return true;
}

/* Takes it off. Time inside a frame that is shed is that of the one below, where no other was charged in between; where
 * one was, it stands with the frame. Time in an unsampled frame is nobody's, and matters only to one below that is not. */
static __always_inline void pop_left_out(struct thread_state *t, struct task_struct *task,
					 const struct frame *top)
{
	struct frame *below = t->depth > 1 ? frame_at(t, t->depth - 2) : NULL;

	if (below && is_unsampled(top->path) && (t->dead || !is_unsampled(below->path)))
		charge_top(t, task, bpf_ktime_get_ns());
	if (below && top->flags & FRAME_SHED) {
		below->self_ns += top->self_ns;
		below->self_off += top->self_off;
		below->self_run_delay += top->self_run_delay;
		below->self_system += top->self_system;
	}
	pop_top(t, top);
}

/* Whether the probes of its definition have been taken out since it was opened: nobody will tell its end. */
static __always_inline bool is_forgotten(const struct thread_state *t, const struct frame *f)
{
	u32 def = f->def;
	struct wire_def_state *state = knob_meter ? bpf_map_lookup_elem(&def_states, &def) : NULL;

	return state && (s32)(state->gone - t->shed_epoch) > 0;
}

static long forget_step(u32 i, void *context)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct thread_state *t = bpf_task_storage_get(&threads, task, NULL, 0);
	struct frame *f;

	if (!t || i >= t->depth)
		return 1;
	f = frame_at(t, i);
	if (!f)
		return 1;
	if (f->flags & FRAME_DEAD || !is_forgotten(t, f))
		return 0;
	if (!is_left_out(f) && !(f->flags & FRAME_ASYNC))
		count_loss(LOSS_SHED, 1);
	f->flags |= FRAME_DEAD;
	t->dead++;
	return 0;
}

/* Drops those from the stack. */
static __noinline void forget_shed(struct thread_state *t, struct task_struct *task)
{
	u32 epoch = shed_epoch;

	if (t->depth) {
		charge_top(t, task, trace_time());
		bpf_loop(FRAMES_MAX, forget_step, NULL, 0);
		bpf_loop(FRAMES_MAX, drop_dead, NULL, 0);
	}
	t->shed_epoch = epoch;
}

/* The C stack that a stack pointer lies on. A thread may have several: fibers, coroutines. */
struct c_stack {
	u64 low;
	u64 high;
};

static long note_stack(struct task_struct *task, struct vm_area_struct *vma, struct c_stack *stack)
{
	stack->low = vma->vm_start;
	stack->high = vma->vm_end;
	return 0;
}

/* Only asked in rare cases. Where the kernel cannot say, everything near counts as the same stack. */
static __noinline void find_stack(struct task_struct *task, u64 sp, struct c_stack *stack)
{
	stack->low = sp - (8 << 20);
	stack->high = sp + (8 << 20);
	bpf_find_vma(task, sp, note_stack, stack, 0);
}

static __always_inline bool on_stack(const struct c_stack *stack, u64 sp)
{
	return sp >= stack->low && sp < stack->high;
}

/* Closes every live frame from the top down to TO that CLOSES says. One walk for all rare cases:
 * abandoned spans, async exits out of order, the end of a thread. */
struct close_walk {
	u64 now;
	u32 top;  /* depth at the start: step I looks at frame TOP - 1 - I */
	u32 to;   /* the lowest frame to look at */
	u8 flags; /* of the records */
	bool unwind; /* leave async frames and those on other C stacks than STACK open; not TO itself */
	bool only_to; /* close frame TO alone */
	u8 to_flags;  /* record flags of frame TO */
	struct c_stack stack;
};

static long close_step(u32 i, struct close_walk *walk)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct thread_state *t = bpf_task_storage_get(&threads, task, NULL, 0);
	u32 index = walk->top - 1 - i;
	bool last = index == walk->to;
	struct frame *f;

	if (!t)
		return 1;
	f = frame_at(t, index);
	if (!f)
		return 1;
	if (!(f->flags & FRAME_DEAD) && (last || !walk->only_to) &&
	    (last || !walk->unwind ||
	     (!(f->flags & FRAME_ASYNC) && on_stack(&walk->stack, f->sp)))) {
		emit_frame(t, f, walk->now, last ? walk->to_flags : walk->flags);
		f->flags |= FRAME_DEAD;
		t->dead++;
	}
	return last;
}

static __noinline void close_walk(struct close_walk *walk)
{
	if (walk->top <= walk->to)
		return;
	bpf_loop(FRAMES_MAX, close_step, walk, 0);
	bpf_loop(FRAMES_MAX, drop_dead, NULL, 0);
}

/* A search of the stack from the top down. */
struct frame_search {
	u64 id;
	u64 sp;
	u32 def;
	u32 site;
	u32 flags; /* FRAME_ASYNC: an async frame of DEF and ID; else a thread frame of DEF */
	u32 top;
	u32 nearest; /* index + 1 of the nearest match, 0: none */
	u32 same_sp; /* index + 1 of the nearest match with the same stack pointer */
	u32 dead;    /* index + 1 of the lowest match that a new enter at SP, SITE ends (rule 2) */
	u32 stop;    /* an open one that nests was met: no dead ones below it */
	struct c_stack stack; /* of SP; frames on others are not dead */
};

static long search_step(u32 i, struct frame_search *s)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct thread_state *t = bpf_task_storage_get(&threads, task, NULL, 0);
	u32 index = s->top - 1 - i;
	struct frame *f;

	if (!t || i >= s->top)
		return 1;
	f = frame_at(t, index);
	if (!f)
		return 1;
	if (f->def != s->def || f->flags & FRAME_DEAD ||
	    (f->flags & FRAME_ASYNC) != (s->flags & FRAME_ASYNC))
		return 0;
	if (s->flags & FRAME_ASYNC) {
		if (f->id != s->id)
			return 0;
		s->nearest = index + 1;
		return 1;
	}
	if (!s->nearest)
		s->nearest = index + 1;
	if (!s->same_sp && f->sp == s->sp)
		s->same_sp = index + 1;
	if (!on_stack(&s->stack, f->sp))
		return 0;
	if (!s->stop && (s->sp > f->sp ||
			 (s->sp == f->sp && s->site == f->site && !(s->flags & FRAME_RECURSIVE))))
		s->dead = index + 1;
	else
		s->stop = 1;
	return s->stop && s->same_sp;
}

static __noinline void search(struct frame_search *s)
{
	s->nearest = 0;
	s->same_sp = 0;
	s->dead = 0;
	s->stop = 0;
	bpf_loop(FRAMES_MAX, search_step, s, 0);
}

#endif
