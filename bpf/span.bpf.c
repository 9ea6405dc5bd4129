/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* Thread spans and events: rules 1, 2 and 5 of the README, on the stack of the thread that hit. */

/* An enter ends the open span of its definition that lives no more: longjmp, an exception or an error
 * return took its frame away without an exit. NOW is 0 where nobody has asked the clock yet. Not static, as some others here,
 * so that the verifier looks at it once and not at each call. */
__noinline int end_dead_spans(struct thread_state *t, u64 cookie, u64 sp, u64 now)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct close_walk walk = {
		.flags = WIRE_ABANDONED,
		.to_flags = WIRE_ABANDONED,
		.unwind = true,
	};
	struct frame_search s = {
		.sp = sp,
		.def = COOKIE_DEF(cookie),
		.site = COOKIE_SITE(cookie),
		.flags = COOKIE_FLAGS(cookie) & SITE_RECURSIVE ? FRAME_RECURSIVE : 0,
		.stack = {.high = ~0ULL},
	};

	if (!t)
		return 0;
	s.top = t->depth;
	search(&s);
	if (!s.dead)
		return 0;
	find_stack(task, sp, &walk.stack);
	s.stack = walk.stack;
	search(&s);
	if (!s.dead)
		return 0;
	walk.now = now ? now : bpf_ktime_get_ns();
	walk.top = t->depth;
	walk.to = s.dead - 1;
	charge_top(t, task, walk.now);
	close_walk(&walk);
	return 0;
}

/* Spans entered beyond the stack's end are counted, not kept. Those whose C frames are gone are over. */
static __always_inline void forget_too_deep(struct thread_state *t, u64 cookie, u64 sp)
{
	if (t->too_deep && sp > t->too_deep_sp && !(COOKIE_FLAGS(cookie) & SITE_RECURSIVE))
		t->too_deep = 0;
}

/* Puts a frame on top, whatever it finds there. *PARENT is the path that was open. NULL: too deep or left out,
 * counted. */
static __always_inline struct frame *push_span(struct thread_state *t, struct task_struct *task,
					       u64 cookie, u64 sp, u64 now, u32 *parent)
{
	struct frame *f;
	bool shed;
	u32 path;

	if (unlikely(t->too_deep))
		forget_too_deep(t, cookie, sp);
	if (unlikely(t->open_mask & def_bit(COOKIE_DEF(cookie))) && !t->too_deep)
		end_dead_spans(t, cookie, sp, now);
	*parent = path_of_top(t, task);
	shed = meter(t, COOKIE_DEF(cookie), 2);
	path = shed ? *parent : sample(*parent);
	if (shed || is_unsampled(path)) {
		if (push_left_out(t, task, cookie, sp, shed ? FRAME_SHED : 0, 0, *parent, path)) {
			t->open_mask |= def_bit(COOKIE_DEF(cookie));
			count_left_out(path);
		}
		return NULL;
	}
	f = push(t, task, cookie, sp, 0);
	if (f && knob_counts)
		count_begun(COOKIE_DEF(cookie));
	return f;
}

static __always_inline void name_frame(struct thread_state *t, struct frame *f, u32 parent, u32 def,
				       u64 name)
{
	struct path_memo *step = path_step(t, parent, def, name);

	f->path = step->path;
	f->row = step->row;
	f->id = 0;
	t->open_mask |= def_bit(def);
}

/* TEXTS, a constant: the site's labels and name may be strings. */
static __always_inline int enter_span(struct pt_regs *ctx, bool texts)
{
	struct task_struct *task = bpf_get_current_task_btf();
	u64 cookie = bpf_get_attach_cookie(ctx);
	struct thread_state *t = thread_of(task, cookie);
	struct frame *f;
	u64 name = 0;
	u32 parent;

	if (!t)
		return 0;
	f = push_span(t, task, cookie, ctx->sp, 0, &parent);
	if (!f)
		return 0;
	if (texts && !knob_counts && COOKIE_FLAGS(cookie) & SITE_HAS_NAME)
		name = read_name(text_context(ctx), cookie);
	/* Asked again where texts are read: the verifier goes through that once for each way that PARENT came. */
	name_frame(t, f, texts ? path_of_top(t, task) : parent, COOKIE_DEF(cookie), name);
	if (COOKIE_FLAGS(cookie) & SITE_HAS_LABELS) {
		f->flags |= FRAME_LABELS;
		read_labels(ctx, cookie, f->labels, texts);
		if (knob_ids)
			ids_of_frame_labels(f, cookie);
	}
	start_frame(t, task, f);
	return 0;
}

HIT_PROGRAM("uprobe", span_enter)
{
	return enter_span(ctx, false);
}

/* sleepable where knob_faults says so */
HIT_PROGRAM("uprobe", span_enter_text)
{
	return enter_span(ctx, true);
}

/* An exit at NOW that is not the plain one of the span on top. */
__noinline int exit_below_top(struct thread_state *t, u64 cookie, u64 sp, u64 now)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct close_walk walk = {
		.now = now,
		.flags = WIRE_ABANDONED,
		.unwind = true,
	};
	struct frame_search s = {
		.sp = sp,
		.def = COOKIE_DEF(cookie),
		.site = COOKIE_SITE(cookie),
	};

	if (!t)
		return 0;
	s.top = t->depth;
	search(&s);
	if (!s.nearest) {
		count_orphan(COOKIE_DEF(cookie), LOSS_ORPHAN_EXIT);
		return 0;
	}
	find_stack(task, sp, &walk.stack);
	walk.top = t->depth;
	walk.to = (s.same_sp ? s.same_sp : s.nearest) - 1;
	charge_top(t, task, now);
	close_walk(&walk);
	return 0;
}

/* RAW is what the kernel has counted by NOW; NULL: it is still to be asked. */
static __always_inline void pop_span(struct thread_state *t, struct task_struct *task, u64 cookie,
				     u64 sp, u64 now, const struct usage *raw)
{
	u32 def = COOKIE_DEF(cookie);
	struct frame *top;

	if (unlikely(t->too_deep)) {
		forget_too_deep(t, cookie, sp);
		if (t->too_deep) {
			t->too_deep--;
			return;
		}
	}
	if (unlikely(!t->depth || !(t->open_mask & def_bit(def)))) {
		count_orphan(def, LOSS_ORPHAN_EXIT);
		return;
	}
	top = frame_at(t, t->depth - 1);
	if (!top)
		return;
	if (unlikely(top->def != def || top->flags & FRAME_ASYNC ||
		     (top->sp != sp && top->open_mask & def_bit(def)))) {
		exit_below_top(t, cookie, sp, raw ? now : time_if_late(now));
		return;
	}
	if (is_left_out(top)) {
		pop_left_out(t, task, top);
		return;
	}
	if (raw) {
		charge(t, task, now, raw);
	} else {
		now = time_if_late(now);
		charge_top(t, task, now);
	}
	emit_frame(t, top, now, 0);
	pop_top(t, top);
}

HIT_PROGRAM("uprobe", span_exit)
{
	u64 now = time_at_once();
	struct task_struct *task = bpf_get_current_task_btf();
	u64 cookie = bpf_get_attach_cookie(ctx);
	struct thread_state *t = thread_of(task, cookie);

	if (t)
		pop_span(t, task, cookie, ctx->sp, now, NULL);
	return 0;
}

/* SIZE is a constant: with the labels or without. */
static __always_inline void emit_event(struct thread_state *t, const struct wire_event *event,
				       u8 flags, u32 size)
{
	struct wire_event *record = ring_reserve(size);

	if (!record)
		return;
	__builtin_memcpy(record, event, size);
	set_head(&record->head, size, WIRE_EVENT, flags, t->serial);
	ring_submit(record);
}

static __always_inline int hit_event(struct pt_regs *ctx, bool texts)
{
	u64 now = time_at_once();
	struct task_struct *task = bpf_get_current_task_btf();
	u64 cookie = bpf_get_attach_cookie(ctx);
	struct thread_state *t = thread_of(task, cookie);
	struct wire_event event = {};
	struct path_memo *step;
	u64 name = 0;
	u8 flags = 0;
	u32 parent;

	if (!t)
		return 0;
	if (knob_counts) {
		count_event(COOKIE_DEF(cookie));
		return 0;
	}
	parent = path_of_top(t, task);
	if (meter(t, COOKIE_DEF(cookie), 1) || is_unsampled(parent)) {
		count_left_out(parent);
		return 0;
	}
	now = time_if_late(now);
	if (COOKIE_FLAGS(cookie) & SITE_HAS_VALUE && read_id(ctx, cookie, &event.value) == 0)
		flags |= WIRE_VALUE;
	if (texts && COOKIE_FLAGS(cookie) & SITE_HAS_NAME)
		name = read_name(text_context(ctx), cookie);
	step = path_step(t, texts ? path_of_top(t, task) : parent, COOKIE_DEF(cookie), name);
	if (knob_totals && row_take_event(step->row, event.value, flags))
		return 0;
	event.path = step->path;
	event.site = COOKIE_SITE(cookie);
	event.time_ns = now;
	if (COOKIE_FLAGS(cookie) & SITE_HAS_LABELS) {
		read_labels(ctx, cookie, event.labels, texts);
		emit_event(t, &event, flags | WIRE_LABELS, sizeof(event));
	} else {
		emit_event(t, &event, flags, WIRE_EVENT_SHORT);
	}
	return 0;
}

HIT_PROGRAM("uprobe", event_hit)
{
	return hit_event(ctx, false);
}

/* sleepable where knob_faults says so */
HIT_PROGRAM("uprobe", event_hit_text)
{
	return hit_event(ctx, true);
}
