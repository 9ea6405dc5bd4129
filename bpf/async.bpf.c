/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* Async spans (rule 3): they live in a table by process, definition and id; each stretch that a thread
 * works on one is a frame on that thread's stack. They never abandon each other. */

struct parent_search {
	struct wire_async_key key;
	u32 path; /* 0: not found */
};

/* What a new async span stands under. */
struct async_place {
	u32 path;
	u32 site; /* of the marker that makes it */
	u64 id;   /* of the async span, where that is one */
	u32 named; /* knob_ids: definition of the parent that is named, plus 1; 0: what is open on the thread */
	u32 reserved;
};

static long parent_step(u32 i, struct parent_search *s)
{
	u32 *def = bpf_map_lookup_elem(&async_defs, &i);
	struct wire_async *parent;

	if (!def || i >= async_defs_used)
		return 1;
	s->key.def = *def;
	parent = async_find(&s->key);
	if (!parent)
		return 0;
	s->path = parent->path;
	return 1;
}

/* What is open on this thread. */
static __always_inline void place_on_top(struct thread_state *t, struct async_place *place)
{
	struct frame *top = t->depth ? frame_at(t, t->depth - 1) : NULL;

	place->path = top ? top->path : PATH_ROOT;
	place->id = top && top->flags & FRAME_ASYNC && !is_left_out(top) ? top->id : 0;
	place->named = 0;
}

/* The place of a new async span: under the parent it names, else on this thread. */
static __noinline void async_parent(struct pt_regs *ctx, struct thread_state *t, u64 cookie,
				    struct async_place *place)
{
	u32 index = COOKIE_SITE(cookie);
	struct wire_site *site = bpf_map_lookup_elem(&sites, &index);
	struct parent_search s = {.key.process = t->process, .key.def = COOKIE_DEF(cookie)};
	struct wire_async *parent;

	place_on_top(t, place);
	if (!site || site->parent.form == OPERAND_NONE)
		return;
	if (read_operand(ctx, &site->parent, &s.key.id) || !s.key.id)
		return;
	/* An id is most often of the same definition; else whichever has it. */
	parent = async_find(&s.key);
	if (parent)
		s.path = parent->path;
	else
		bpf_loop(ASYNC_DEFS_MAX, parent_step, &s, 0);
	if (!s.path) {
		count_loss(LOSS_UNKNOWN_PARENT, 1);
		return;
	}
	place->path = s.path;
	place->id = s.key.id;
	place->named = s.key.def + 1;
}

/* Sends the record of an async span that is over. */
static __noinline void emit_async(const struct wire_async *span, u32 def, u64 now, u8 flags)
{
	struct wire_async *record;

	if (may_leave_out() && span->head.flags & WIRE_LEFT_OUT)
		return;
	if (knob_counts) {
		count_ended(def);
		return;
	}
	if (knob_totals && row_take_async(span, now, flags))
		return;
	record = ring_reserve(sizeof(*record));
	if (!record)
		return;
	*record = *span;
	record->end_ns = now;
	record->head.flags |= flags;
	ring_submit(record);
}

/* Whether the caller is the one who ends SPAN. */
static __always_inline bool claim_async(struct wire_async *span, u64 now)
{
	return __sync_val_compare_and_swap(&span->end_ns, 0, now) == 0;
}

#define MAKE_SHED 0x80000000u /* with a place's site: no record is to be sent of it */

static __always_inline bool place_is_left_out(const struct async_place *place)
{
	return is_unsampled(place->path) || (knob_meter && place->site & MAKE_SHED);
}

/* SPAN, all 0, becomes one made now at PLACE; where they are not NULL, with LABELS. */
static __always_inline void fill_async(struct thread_state *t, struct wire_async *span,
				       const struct wire_async_key *key,
				       const struct async_place *place, const u64 *labels)
{
	struct wire_row *row;

	set_head(&span->head, sizeof(*span), WIRE_ASYNC, 0, t->serial);
	span->path = place->path;
	span->parent = place->id;
	if (place_is_left_out(place)) {
		span->head.flags = WIRE_LEFT_OUT;
	} else {
		span->row = row_of(t, place->path);
		row = row_at(span->row);
		if (row)
			row->async = 1;
	}
	span->process = t->process;
	span->id = key->id;
	span->site = place->site;
	if (labels) {
		span->head.flags = WIRE_LABELS;
		__builtin_memcpy(span->labels, labels, sizeof(span->labels));
	}
	span->start_ns = bpf_ktime_get_ns();
}

/* Puts a new span into the table. 0, or -1: there is no room. */
static __noinline long put_async_far(struct thread_state *t, const struct wire_async_key *key,
				     const struct async_place *place, const u64 *labels)
{
	struct wire_async span = {};

	fill_async(t, &span, key, place, labels);
	return async_put_far(key, &span);
}

static __noinline long put_async(struct thread_state *t, const struct wire_async_key *key,
				 const struct async_place *place, const u64 *labels)
{
	struct wire_async_slot *slot = async_slot_take(key);

	if (unlikely(!slot))
		return -1;
	__builtin_memset(&slot->span, 0, sizeof(slot->span));
	fill_async(t, &slot->span, key, place, labels);
	async_slot_done(slot);
	return 0;
}

/* Ends the span whose id a new one has, if there is one. */
static __noinline void end_reused(const struct wire_async_key *key)
{
	struct wire_async_slot *slot = key ? async_slot(key) : NULL;
	struct wire_async *earlier = key ? async_in(slot, key) : NULL;
	u64 now;

	if (likely(!earlier))
		return;
	now = bpf_ktime_get_ns();
	count_loss(LOSS_ID_REUSED, 1);
	if (!claim_async(earlier, now))
		return;
	emit_async(earlier, key->def, now, WIRE_ABANDONED);
	async_remove(slot, key);
}

/* Gives a span that was made at PLACE its ids: those of its parent, and its own. In the table, for there is no room for them
 * on the stack. */
static __noinline void ids_of_async(struct thread_state *t, const struct wire_async_key *key,
				    const struct async_place *place)
{
	struct wire_async_key parent_key = {.id = place->id, .process = t->process};
	struct wire_async *span = async_find(key), *parent;

	if (!span)
		return;
	if (place->named) {
		parent_key.def = place->named - 1;
		parent = async_find(&parent_key);
		if (parent)
			span->ids = parent->ids;
	} else {
		ids_of_top(t, &span->ids);
	}
	if (span->head.flags & WIRE_LABELS)
		ids_of_labels(&span->ids, place->site, span->labels);
}

static __always_inline int make_async(struct thread_state *t, const struct wire_async_key *key,
				      const struct async_place *place, const u64 *labels)
{
	bool left_out = place_is_left_out(place);

	if (left_out)
		count_left_out(place->path);
	end_reused(key);
	if (put_async(t, key, place, labels) && put_async_far(t, key, place, labels)) {
		if (!left_out)
			count_loss(LOSS_ASYNC_FULL, 1);
		return -1;
	}
	if (knob_ids)
		ids_of_async(t, key, place);
	if (knob_counts)
		count_begun(key->def);
	return 0;
}

/* Which async span the site speaks of. -1 when its id cannot be read, which is counted. */
static __always_inline int read_key(struct pt_regs *ctx, struct thread_state *t, u64 cookie,
				    struct wire_async_key *key)
{
	key->process = t->process;
	key->def = COOKIE_DEF(cookie);
	return read_id(ctx, cookie, &key->id);
}

static __always_inline int new_async(struct pt_regs *ctx, bool texts)
{
	struct task_struct *task = bpf_get_current_task_btf();
	u64 cookie = bpf_get_attach_cookie(ctx);
	struct thread_state *t = thread_of(task, cookie);
	struct wire_async_key key = {};
	u64 labels[LABELS_MAX] = {};
	struct async_place place;
	u64 name = 0;

	if (!t)
		return 0;
	if (read_key(ctx, t, cookie, &key))
		return 0;
	async_parent(ctx, t, cookie, &place);
	place.site = COOKIE_SITE(cookie);
	if (meter(t, key.def, 2)) {
		place.site = COOKIE_SITE(cookie) | MAKE_SHED;
		make_async(t, &key, &place, NULL);
		return 0;
	}
	place.path = sample(place.path);
	if (is_unsampled(place.path)) {
		make_async(t, &key, &place, NULL);
		return 0;
	}
	if (texts && !knob_counts && COOKIE_FLAGS(cookie) & SITE_HAS_NAME)
		name = read_name(text_context(ctx), cookie);
	place.path = path_step(t, place.path, key.def, name)->path;
	if (COOKIE_FLAGS(cookie) & SITE_HAS_LABELS) {
		read_labels(ctx, cookie, labels, texts);
		make_async(t, &key, &place, labels);
	} else {
		make_async(t, &key, &place, NULL);
	}
	return 0;
}

HIT_PROGRAM("uprobe", async_new)
{
	return new_async(ctx, false);
}

/* sleepable where knob_faults says so */
HIT_PROGRAM("uprobe", async_new_text)
{
	return new_async(ctx, true);
}

HIT_PROGRAM("uprobe", async_enter)
{
	struct task_struct *task = bpf_get_current_task_btf();
	u64 cookie = bpf_get_attach_cookie(ctx);
	struct thread_state *t = thread_of(task, cookie);
	struct wire_async_key key = {};
	struct wire_async_slot *slot;
	struct wire_async *span;
	struct async_place place;
	struct frame *f;
	u64 sp = ctx->sp; /* here: the compiler must not make one pointer of two accesses */
	bool shed, left_out;
	u32 parent;

	barrier_var(sp);
	if (!t)
		return 0;
	if (read_key(ctx, t, cookie, &key))
		return 0;
	parent = path_of_top(t, task);
	slot = async_slot(&key);
	span = async_in(slot, &key);
	if (span) {
		place.path = span->path;
		left_out = span->head.flags & WIRE_LEFT_OUT;
		meter(t, key.def, 2);
	} else if (COOKIE_FLAGS(cookie) & SITE_HAS_NEW) {
		count_orphan(key.def, LOSS_ORPHAN_ENTER);
		return 0;
	} else {
		place_on_top(t, &place);
		shed = meter(t, key.def, 4);
		if (!shed)
			place.path = sample(place.path);
		left_out = shed || is_unsampled(place.path);
		if (!left_out)
			place.path = path_step(t, place.path, key.def, 0)->path;
		place.site = COOKIE_SITE(cookie) | (shed ? MAKE_SHED : 0);
		if (make_async(t, &key, &place, NULL))
			return 0;
		slot = async_slot(&key);
	}
	if (may_leave_out() && left_out) {
		push_left_out(t, task, cookie, sp,
			      FRAME_ASYNC | (is_unsampled(place.path) ? 0 : FRAME_SHED), key.id,
			      parent, place.path);
		return 0;
	}
	f = push(t, task, cookie, sp, FRAME_ASYNC);
	if (!f)
		return 0;
	f->path = place.path;
	f->row = row_of(t, place.path);
	f->id = key.id;
	f->slot = async_slot_number(slot);
	if (knob_ids && span)
		ids_to_frame(f, &span->ids);
	start_frame(t, task, f);
	return 0;
}

/* Ends the nearest stretch of span ID on this thread. Returns whether there was one. */
static __noinline bool leave_async(struct thread_state *t, struct task_struct *task, u32 def,
				   u64 id, u64 now)
{
	struct close_walk walk = {.now = now, .only_to = true};
	struct frame_search s = {.id = id, .def = def, .flags = FRAME_ASYNC, .top = t->depth};

	search(&s);
	if (!s.nearest)
		return false;
	charge_top(t, task, now);
	walk.top = t->depth;
	walk.to = s.nearest - 1;
	close_walk(&walk);
	return true;
}

HIT_PROGRAM("uprobe", async_exit)
{
	u64 now = time_at_once();
	struct task_struct *task = bpf_get_current_task_btf();
	u64 cookie = bpf_get_attach_cookie(ctx);
	struct thread_state *t = thread_of(task, cookie);
	struct frame *top;
	u64 id;

	if (!t)
		return 0;
	if (read_id(ctx, cookie, &id))
		return 0;
	top = t->depth ? frame_at(t, t->depth - 1) : NULL;
	if (likely(top && top->flags & FRAME_ASYNC && top->id == id &&
		   top->def == COOKIE_DEF(cookie))) {
		if (is_left_out(top)) {
			pop_left_out(t, task, top);
			return 0;
		}
		now = time_if_late(now);
		charge_top(t, task, now);
		emit_frame(t, top, now, 0);
		pop_top(t, top);
		return 0;
	}
	if (leave_async(t, task, COOKIE_DEF(cookie), id, time_if_late(now)))
		return 0;
	if (t->too_deep)
		t->too_deep--;
	else
		count_orphan(COOKIE_DEF(cookie), LOSS_ORPHAN_EXIT);
	return 0;
}

HIT_PROGRAM("uprobe", async_close)
{
	u64 now = time_at_once();
	struct task_struct *task = bpf_get_current_task_btf();
	u64 cookie = bpf_get_attach_cookie(ctx);
	struct thread_state *t = thread_of(task, cookie);
	struct wire_async_key key = {};
	struct wire_async_slot *slot;
	struct wire_async *span;

	if (!t)
		return 0;
	if (read_key(ctx, t, cookie, &key))
		return 0;
	slot = async_slot(&key);
	span = async_in(slot, &key);
	if (!span) {
		count_orphan(key.def, LOSS_ORPHAN_EXIT);
		return 0;
	}
	now = time_if_late(now);
	if (t->depth)
		leave_async(t, task, key.def, key.id, now);
	if (claim_async(span, now)) {
		emit_async(span, key.def, now, 0);
		async_remove(slot, &key);
	}
	return 0;
}
