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
	leaf->source = k;
	leaf->enter = enter;
	leaf->exit = exit;
	return true;
}

/* What a run has come to so far. */
struct leaf_sums {
	u64 last; /* end of the last one */
	u64 gaps; /* time before each, which is their parent's */
	u64 busy;
	u64 system, gap_system;
	u64 least, most; /* as in struct wire_row */
};

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

/* Adds the run to what the thread and its frame on top have. */
static __always_inline void leaf_charge(struct thread_state *t, const struct leaf_sums *sums)
{
	struct frame *top = t->depth ? frame_at(t, t->depth - 1) : NULL;

	t->last = sums->last;
	t->inside += sums->busy;
	t->usage.system += sums->gap_system + sums->system;
	if (!top)
		return;
	top->self_ns += sums->gaps;
	top->self_system += sums->gap_system;
	t->inside += sums->gaps;
}

/* The buckets that the last leaf fell into, of 64: most of the next fall there too. */
struct leaf_octave {
	struct wire_octave *piece; /* NULL: none yet */
	u32 shift, first;
};

/* Counts BUSY in the histogram of the row of LEAF. False: there is no room. */
static __always_inline bool leaf_count(const struct batch_leaf *leaf, struct leaf_octave *o,
				       u64 busy)
{
	u64 bucket = (busy >> o->shift) - o->first;
	u32 index;

	if (unlikely(!o->piece || bucket >= OCTAVE_SIZE)) {
		index = row_octave(leaf->row, busy);
		o->piece = index ? bpf_map_lookup_elem(&octaves, &index) : NULL;
		if (!o->piece)
			return false;
		o->first = o->piece->octave ? OCTAVE_SIZE : 0;
		o->shift = octave_shift(o->piece->octave);
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

/* Takes the leaves that follow each other from the next op of source K on, which are of one kind. False: there is none, the
 * op is to be replayed. Not for the first op of all, which has the time before it to settle. */
static __noinline bool leaf_run(struct batch_walk *walk, struct batch *b, u32 k)
{
	const struct batch_news *news = &b->news[k & (BATCH_SOURCES_MAX - 1)];
	struct thread_state *t = walk->t;
	struct leaf_sums sums = {.last = t->last};
	struct leaf_octave o = {};
	u64 now = b->now, enter, exit, start, end, first, gap;
	u32 at = b->at, begin = at, last = news->end, n;
	struct batch_leaf *leaf;
	struct wire_row *row = NULL;

	/* Counted, metered, sampled and labelled one by one. */
	if (knob_counts || may_leave_out() || knob_ids)
		return false;
	if (at >= BATCH_OPS - 1 || at + 1 >= last || t->depth >= FRAMES_NEAR || t->too_deep ||
	    session_closed)
		return false;
	enter = b->ops[at].what;
	exit = b->ops[at + 1].what;
	first = batch_time(news, b->ops[at].time);
	if (first < news->since)
		return false;
	leaf = leaf_slot(b, enter);
	if (unlikely(leaf->enter != enter || leaf->exit != exit || leaf->source != k ||
		     leaf->parent != path_of_top(t, walk->task)) &&
	    !leaf_learn(walk, leaf, k, enter, exit))
		return false;
	if (t->open_mask & def_bit(leaf->def))
		return false;
	if (knob_totals) {
		row = row_at(leaf->row);
		if (!row)
			return false;
	}
	while (LOOP_GUARD()) {
		u64 busy, system = 0;

		if (at + 1 >= last || at >= BATCH_OPS - 1)
			break;
		barrier_var(at);
		if (b->ops[at].what != enter || b->ops[at + 1].what != exit)
			break;
		start = batch_time(news, b->ops[at].time);
		end = batch_time(news, b->ops[at + 1].time);
		gap = start - sums.last;
		busy = end - start;
		/* Nonsense is looked at elsewhere, as is what is too long for the record. */
		if (unlikely(start < sums.last || end < start || end > now || (gap | busy) >> 32))
			break;
		if (knob_totals && !leaf_count(leaf, &o, busy))
			break;
		if (knob_usage && unlikely(t->system_due > 0)) {
			sums.gap_system += leaf_due(t, leaf->parent, gap);
			system = leaf_due(t, leaf->path, busy);
			sums.system += system;
		}
		if (knob_totals) {
			if (~busy > sums.least)
				sums.least = ~busy;
			if (busy > sums.most)
				sums.most = busy;
		} else {
			u32 slot =
				sizeof(struct wire_leaves) / sizeof(b->ops[0]) + (at - begin) / 2;

			if (slot >= BATCH_OPS)
				break;
			b->ops[slot].time = gap << 32 | busy;
			b->ops[slot].what = system;
		}
		sums.gaps += gap;
		sums.busy += busy;
		sums.last = end;
		at += 2;
	}
	n = (at - begin) / 2;
	if (!n)
		return false;
	b->at = at;
	if (row)
		leaf_add_row(row, &sums, n);
	else
		leaf_send(walk, leaf, t->last, n);
	leaf_charge(t, &sums);
	return true;
}

#endif
