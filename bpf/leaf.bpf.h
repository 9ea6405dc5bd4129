/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* The batched lane's short way: spans without children, which most are.
 *
 * An enter and its exit next to each other in a buffer leave the stack as it was. So they are not replayed on it: a loop
 * takes all that follow each other and are of one kind, a few nanoseconds each, and what they come to is added up in the
 * row, or sent as one record, at its end. The numbers are those that a replay op by op gives.
 */
#ifndef SPANTRACE_LEAF_BPF_H
#define SPANTRACE_LEAF_BPF_H

#include "stack.bpf.h"

struct batch_walk {
	struct thread_state *t;
	struct batch *b;
	struct task_struct *task;
};

/* Jumps out of a loop that the verifier need not see the end of: after some thousand rounds. Only kernels that can have
 * batched spans load this, and all of those have the instruction. */
#define LOOP_GUARD()                                                                  \
	({                                                                            \
		__label__ out, on;                                                    \
		bool more = true;                                                     \
		asm volatile goto("1: .byte 0xe5; .byte 0;"                           \
				  ".long ((%l[out] - 1b - 8) / 8) & 0xffff; .short 0" \
				  :                                                   \
				  :                                                   \
				  :                                                   \
				  : out);                                             \
		goto on;                                                              \
	out:                                                                          \
		more = false;                                                         \
	on:                                                                           \
		more;                                                                 \
	})

/* OP's time on the clock of all others. What is seconds away from the fetch is of another trace, or nonsense. */
static __always_inline u64 batch_time(const struct batch_news *news, u64 time)
{
	s64 ticks = time - news->tsc;

	if (!news->clock)
		return time;
	if (unlikely((u64)ticks + tsc_far > 2 * tsc_far))
		return ticks < 0 ? 0 : ~0ULL;
	return news->tsc_ns + ((ticks * (s64)tsc_mult) >> 32);
}

/* The slot of the memo for the leaf that begins with the op WHAT. */
static __always_inline struct batch_leaf *leaf_slot(struct batch *b, u64 what)
{
	return &b->leaves[what >> 1 & (BATCH_LEAVES - 1)];
}

/* In not_leaf, of the marker of the op WHAT. */
static __always_inline u64 leaf_bit(u64 what)
{
	return 1ULL << (what & 63);
}

/* Whether the ops ENTER and EXIT of source K are both ends of a span that makes no difference to the stack. Notes in LEAF
 * what it is. */
static __noinline bool leaf_learn(struct batch_walk *walk, struct batch_leaf *leaf, u32 k,
				  u64 enter, u64 exit)
{
	u32 first = BATCH_OP_MARKER(enter), last = BATCH_OP_MARKER(exit);
	struct thread_state *t = walk->t;
	const struct batch_news *news;
	struct path_memo *step;
	u64 *found, cookie;

	if (k >= BATCH_SOURCES_MAX)
		return false;
	news = &walk->b->news[k];
	if (BATCH_OP_SP(enter) != BATCH_OP_SP(exit) || first >= news->count || last >= news->count)
		return false;
	first += news->first;
	last += news->first;
	found = bpf_map_lookup_elem(&batch_markers, &first);
	if (!found || !(COOKIE_FLAGS(*found) & SITE_OP_ENTER))
		return false;
	cookie = *found;
	found = bpf_map_lookup_elem(&batch_markers, &last);
	if (!found || !(COOKIE_FLAGS(*found) & SITE_OP_EXIT) ||
	    COOKIE_DEF(*found) != COOKIE_DEF(cookie))
		return false;
	leaf->def = COOKIE_DEF(cookie);
	leaf->parent = path_of_top(t, walk->task);
	step = path_step(t, leaf->parent, leaf->def, 0);
	leaf->path = step->path;
	leaf->row = step->row;
	leaf->site = COOKIE_SITE(cookie);
	leaf->octave = 0;
	leaf->source = k;
	leaf->enter = enter;
	leaf->exit = exit;
	return true;
}

/* Adds the run to the row of LEAF, but for its histogram. */
static __always_inline void leaf_add_row(struct wire_row *row, const struct leaf_sums *sums, u32 n)
{
	row->count += n;
	row->wall_ns += sums->busy;
	row->busy_ns += sums->busy;
	row->self_ns += sums->busy;
	row->system_ns += sums->system;
	row->self_system_ns += sums->system;
	if (sums->least > row->least_ns)
		row->least_ns = sums->least;
	if (sums->most > row->most_ns)
		row->most_ns = sums->most;
}

/* Sends a run of one. SIZE is a constant, with the system time or without it. */
static __always_inline void leaf_send_one(const struct thread_state *t,
					  const struct batch_leaf *leaf,
					  const struct leaf_sums *sums, u32 size)
{
	struct wire_span *record = ring_reserve(size);

	if (!record)
		return;
	set_head(&record->head, size, WIRE_SPAN, 0, t->serial);
	record->path = leaf->path;
	record->site = leaf->site;
	record->start_ns = sums->last - sums->busy;
	record->busy_ns = sums->busy;
	record->self_ns = sums->busy;
	if (size > WIRE_SPAN_SHORT) {
		record->usage.system_ns = sums->system;
		record->usage.self_system_ns = sums->system;
	}
	ring_submit(record);
}

/* Sends the run. Its leaves stand where the first ops of the buffer were, which have been taken, with room for the head
 * before them. */
static __noinline void leaf_send(struct batch_walk *walk, const struct batch_leaf *leaf, u64 start,
				 u32 n)
{
	struct wire_leaves *record = (struct wire_leaves *)walk->b->ops;
	u32 cpu = bpf_get_smp_processor_id() & (knob_cpus - 1);
	void *ring = bpf_map_lookup_elem(&rings, &cpu);
	u64 size = sizeof(*record) + n * sizeof(record->leaves[0]);

	if (!ring || !n || n > LEAVES_MAX)
		return;
	set_head(&record->head, size, WIRE_LEAVES, 0, walk->t->serial);
	record->path = leaf->path;
	record->site = leaf->site;
	record->start_ns = start;
	record->reserved = 0;
	if (bpf_ringbuf_output(ring, record, size, BPF_RB_NO_WAKEUP))
		count_loss(LOSS_RING_FULL, n);
}

/* Adds the run to what the thread and its frame on top have. The time before each leaf is their parent's. */
static __always_inline void leaf_charge(struct thread_state *t, const struct leaf_sums *sums)
{
	struct frame *top = t->depth ? frame_at(t, t->depth - 1) : NULL;
	u64 whole = sums->last - t->last;

	t->last = sums->last;
	t->usage.system += sums->gap_system + sums->system;
	if (!top) {
		t->inside += sums->busy;
		return;
	}
	t->inside += whole;
	top->self_ns += whole - sums->busy;
	top->self_system += sums->gap_system;
}

/* The buckets that the last leaf fell into, of 64: most of the next fall there too. */
struct leaf_octave {
	struct wire_octave *piece; /* NULL: none yet */
	u32 shift, first;
};

static __always_inline bool leaf_octave(struct leaf_octave *o, u32 index)
{
	o->piece = index ? bpf_map_lookup_elem(&octaves, &index) : NULL;
	if (!o->piece)
		return false;
	o->first = o->piece->octave ? OCTAVE_SIZE : 0;
	o->shift = octave_shift(o->piece->octave);
	return true;
}

/* Counts BUSY in the histogram of the row of LEAF. False: there is no room. */
static __always_inline bool leaf_count(struct batch_leaf *leaf, struct leaf_octave *o, u64 busy)
{
	u64 bucket = (busy >> o->shift) - o->first;

	if (unlikely(!o->piece || bucket >= OCTAVE_SIZE)) {
		leaf->octave = row_octave(leaf->row, busy);
		if (!leaf_octave(o, leaf->octave))
			return false;
		bucket = (busy >> o->shift) - o->first;
	}
	o->piece->counts[bucket & (OCTAVE_SIZE - 1)]++;
	return true;
}

/* Not static, so that the verifier looks at it once. */
__noinline u64 leaf_due(struct thread_state *t, u32 path, u64 run)
{
	return t ? take_due(t, path, run) : 0;
}

/* Leaves of more ticks than that, and those after a longer gap, need no short way; products fit. */
#define LEAF_TICKS_BITS 25

/* Takes the leaves of the kind of LEAF from op BEGIN on, that one first. TOTALS is a constant. Returns the op behind the last
 * of them. */
static __always_inline u32 leaf_loop(struct thread_state *t, struct batch *b,
				     const struct batch_news *news, struct batch_leaf *leaf,
				     u32 begin, bool totals)
{
	u64 enter = leaf->enter, exit = leaf->exit, origin = 0, base = 0, factor = 1ULL << 32;
	u64 before = b->ops[begin % BATCH_OPS].time, now = b->now, start, end, busy, system = 0;
	bool due = knob_usage && t->system_due > 0;
	u64 at = begin, stop = news->end - 1, to;
	struct leaf_sums *sums = &b->sums;
	struct leaf_octave o = {};
	struct batch_op *op;

	if (totals)
		leaf_octave(&o, leaf->octave);
	if (news->clock) {
		origin = news->tsc;
		base = news->tsc_ns;
		factor = tsc_mult;
	} else {
		origin = before;
		base = before;
	}
	while (LOOP_GUARD()) {
		barrier_var(at);
		if (at >= stop || at >= BATCH_OPS - 1)
			break;
		op = &b->ops[at];
		barrier_var(op);
		if (op[0].what != enter || op[1].what != exit)
			break;
		start = op[0].time;
		end = op[1].time;
		/* Backwards, or long. */
		if (unlikely((start - before | end - start) >> LEAF_TICKS_BITS))
			break;
		before = end;
		start = base + ((s64)((start - origin) * factor) >> 32);
		end = base + ((s64)((end - origin) * factor) >> 32);
		/* The products of a run that goes on for seconds do not fit. */
		if (unlikely(start < sums->last || end < start || end > now))
			break;
		busy = end - start;
		if (totals && !leaf_count(leaf, &o, busy))
			break;
		if (unlikely(due)) {
			sums->gap_system += leaf_due(t, leaf->parent, start - sums->last);
			system = leaf_due(t, leaf->path, busy);
			sums->system += system;
		}
		if (totals) {
			if (~busy > sums->least)
				sums->least = ~busy;
			if (busy > sums->most)
				sums->most = busy;
		} else {
			to = sizeof(struct wire_leaves) / sizeof(*op) + (at - begin) / 2;
			barrier_var(to);
			if (to >= BATCH_OPS)
				break;
			op = &b->ops[to];
			barrier_var(op);
			op->time = (start - sums->last) << 32 | busy;
			op->what = system;
		}
		sums->busy += busy;
		sums->last = end;
		at += 2;
	}
	return at;
}

/* Takes the leaves that follow each other from the next op of source K on, which are of one kind. False: there is none, the
 * op is to be replayed. Not for the first op of all, which has the time before it to settle. */
static __noinline bool leaf_run(struct batch_walk *walk, struct batch *b, u32 k)
{
	const struct batch_news *news = &b->news[k & (BATCH_SOURCES_MAX - 1)];
	struct thread_state *t = walk->t;
	u32 at = b->at, n;
	struct batch_leaf *leaf;
	struct wire_row *row;
	u64 enter, exit, start;

	/* Counted, metered, sampled and labelled one by one. */
	if (knob_counts || may_leave_out() || knob_ids)
		return false;
	if (at >= BATCH_OPS - 1 || at + 1 >= news->end || t->depth >= FRAMES_NEAR || t->too_deep ||
	    session_closed)
		return false;
	enter = b->ops[at].what;
	exit = b->ops[at + 1].what;
	start = batch_time(news, b->ops[at].time);
	/* Nonsense is looked at elsewhere. */
	if (start < news->since || start < t->last || (start - t->last) >> 32)
		return false;
	leaf = leaf_slot(b, enter);
	if (unlikely(leaf->enter != enter || leaf->exit != exit || leaf->source != k ||
		     leaf->parent != path_of_top(t, walk->task)) &&
	    !leaf_learn(walk, leaf, k, enter, exit)) {
		b->not_leaf |= leaf_bit(enter);
		return false;
	}
	if (t->open_mask & def_bit(leaf->def))
		return false;
	b->sums = (struct leaf_sums){.last = t->last};
	if (knob_totals) {
		row = row_at(leaf->row);
		if (!row)
			return false;
		n = (leaf_loop(t, b, news, leaf, at, true) - at) / 2;
		if (!n)
			return false;
		leaf_add_row(row, &b->sums, n);
	} else {
		n = (leaf_loop(t, b, news, leaf, at, false) - at) / 2;
		if (!n)
			return false;
		if (n > 1)
			leaf_send(walk, leaf, t->last, n);
		else if (b->sums.system)
			leaf_send_one(t, leaf, &b->sums, WIRE_SPAN_SPLIT);
		else
			leaf_send_one(t, leaf, &b->sums, WIRE_SPAN_SHORT);
	}
	b->at = at + 2 * n;
	leaf_charge(t, &b->sums);
	return true;
}

#endif
