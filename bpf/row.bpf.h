/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* Aggregated mode: what a span was is added to the row of its thread and path, and no record is sent. A span that
 * finds no row, or no piece of its histogram, goes to the ring as in the other mode: nothing is lost by a full table.
 *
 * A thread's rows are written by that thread alone. Only those of async spans, which any thread closes, need atomics.
 */
#ifndef SPANTRACE_ROW_BPF_H
#define SPANTRACE_ROW_BPF_H

#include "task.bpf.h"

/* A fresh element of one of the two tables: one given back, else the next that was never used; 0: none. */
static __always_inline u32 row_alloc(void *given_back, u32 *used, u32 max)
{
	u32 index;

	if (bpf_map_pop_elem(given_back, &index) == 0)
		return index;
	if (*used >= max)
		return 0;
	index = __sync_fetch_and_add(used, 1);
	return index < max ? index : 0;
}

/* The thread's row of PATH, made if it has none; 0 where there is no room. */
__noinline int row_find(struct thread_state *t, u32 path)
{
	struct wire_row_key key = {.path = path};
	u32 *found;
	struct wire_row *row;
	u32 index;

	if (!t)
		return 0;
	key.thread = t->serial;
	found = bpf_map_lookup_elem(&row_index, &key);
	if (found)
		return *found;
	index = row_alloc(&free_rows, &rows_used, knob_rows);
	row = index ? bpf_map_lookup_elem(&rows, &index) : NULL;
	if (!row || bpf_map_update_elem(&row_index, &key, &index, BPF_NOEXIST))
		return 0;
	row->path = path;
	row->next = t->first_row;
	row->thread = t->serial;
	t->first_row = index;
	return index;
}

static __always_inline struct wire_row *row_at(u32 index)
{
	return index ? bpf_map_lookup_elem(&rows, &index) : NULL;
}

/* The octave of VALUE. */
static __always_inline u32 octave_of(u64 value)
{
	u64 high = value >> OCTAVE_BITS;
	u32 shift = 0, step;

	if (!high)
		return 0;
	/* The position of the highest bit. */
	step = (high > 0xffffffff) << 5;
	high >>= step;
	shift |= step;
	step = (high > 0xffff) << 4;
	high >>= step;
	shift |= step;
	step = (high > 0xff) << 3;
	high >>= step;
	shift |= step;
	step = (high > 0xf) << 2;
	high >>= step;
	shift |= step;
	step = (high > 0x3) << 1;
	high >>= step;
	shift |= step;
	shift |= high >> 1;
	return shift + 1;
}

/* How far a value in OCTAVE is moved for the number of its bucket. */
static __always_inline u32 octave_shift(u32 octave)
{
	return (octave - (octave != 0)) & 63;
}

/* Hangs a new piece for OCTAVE on LINK, the end of a row's histogram. Returns its number, 0 where there is no room. */
static __always_inline u32 octave_add(u32 *link, u32 octave)
{
	u32 index = row_alloc(&free_octaves, &octaves_used, OCTAVES_OF(knob_rows));
	struct wire_octave *piece = index ? bpf_map_lookup_elem(&octaves, &index) : NULL;

	if (!piece || !link)
		return 0;
	piece->octave = octave;
	/* Another thread may have given the row of an async span one: then this one is the loader's to find. */
	if (__sync_val_compare_and_swap(link, 0, index) == 0)
		return index;
	bpf_map_push_elem(&free_octaves, &index, BPF_ANY);
	return 0;
}

/* The number of the piece of row ROW_INDEX for VALUE, made if it has none; 0 where there is no room. Not static, so that the
 * verifier looks at it once and not at each call: from 7.2 on its loop would be too much otherwise. */
__noinline int row_octave(u32 row_index, u64 value)
{
	struct wire_row *row = row_at(row_index);
	struct wire_octave *piece;
	u32 octave = octave_of(value), i, index;
	u32 *link;

	if (!row)
		return 0;
	link = &row->octave;
	for (i = 0; i < 64; i++) {
		index = *link;
		if (unlikely(!index))
			return octave_add(link, octave);
		piece = bpf_map_lookup_elem(&octaves, &index);
		if (!piece)
			return 0;
		if (likely(piece->octave == octave))
			return index;
		link = &piece->next;
	}
	return 0;
}

/* Counts VALUE in the histogram of row ROW_INDEX; false where there is no room. SHARED: others do that too. */
static __always_inline bool row_add_duration(u32 row_index, u64 value, bool shared)
{
	u32 index = row_octave(row_index, value);
	struct wire_octave *piece = index ? bpf_map_lookup_elem(&octaves, &index) : NULL;
	u32 *count;

	if (!piece)
		return false;
	count = &piece->counts[(value >> octave_shift(piece->octave)) & (OCTAVE_SIZE - 1)];
	if (shared)
		__sync_fetch_and_add(count, 1);
	else
		(*count)++;
	return true;
}

static __always_inline u64 at_most(u64 value, u64 limit)
{
	return value < limit ? value : limit;
}

/* Adds what the scheduler counted for a frame of BUSY time; parts never exceed the whole. */
static __always_inline void row_add_usage(struct wire_row *row, const struct frame *f, u64 busy,
					  const struct usage *now)
{
	u64 off = at_most(now->off - f->base.off, busy);
	u64 self_off = at_most(f->self_off, f->self_ns);

	row->off_ns += off;
	row->run_delay_ns += at_most(now->run_delay - f->base.run_delay, off);
	row->self_off_ns += self_off;
	row->self_run_delay_ns += at_most(f->self_run_delay, self_off);
	row->vol_switches += now->vol_switches - f->base.vol_switches;
	row->invol_switches += now->invol_switches - f->base.invol_switches;
	row->minor_faults += now->minor_faults - f->base.minor_faults;
	row->major_faults += now->major_faults - f->base.major_faults;
}

/* Adds frame F, closed after BUSY of which SYSTEM was system time. USAGE is NULL where nothing else happened but running.
 * False: it is for the ring. */
static __always_inline bool row_take(const struct frame *f, u64 busy, u64 system,
				     const struct usage *usage, u8 flags)
{
	struct wire_row *row = row_at(f->row);

	if (!row)
		return false;
	if (f->flags & FRAME_ASYNC) {
		u64 self_off = at_most(f->self_off, f->self_ns);

		row->segment_ns += f->self_ns;
		row->segment_off_ns += self_off;
		row->segment_run_delay_ns += at_most(f->self_run_delay, self_off);
		row->segment_system_ns += f->self_system;
		return true;
	}
	if (unlikely(flags & WIRE_OPEN)) {
		row->open++;
		row->open_wall_ns += busy;
	} else {
		if (!row_add_duration(f->row, busy, false))
			return false;
		row->count++;
		if (~busy > row->least_ns)
			row->least_ns = ~busy;
		if (busy > row->most_ns)
			row->most_ns = busy;
		if (unlikely(flags & WIRE_ABANDONED))
			row->abandoned++;
	}
	row->wall_ns += busy;
	row->busy_ns += busy;
	row->self_ns += f->self_ns;
	if (knob_usage && system) {
		row->system_ns += system;
		row->self_system_ns += f->self_system;
	}
	if (knob_usage && unlikely(usage))
		row_add_usage(row, f, busy, usage);
	return true;
}

static __always_inline bool row_take_event(u32 index, u64 value, u8 flags)
{
	struct wire_row *row = row_at(index);

	if (!row)
		return false;
	row->count++;
	if (flags & WIRE_VALUE) {
		row->values = 1;
		row->wall_ns += value;
	}
	return true;
}

/* Raises *MOST to VALUE. Others do the same at the same time: a few rounds, and in the end the greater one stays. */
static __always_inline void raise(u64 *most, u64 value)
{
	u64 seen = *most;
	int i;

	for (i = 0; i < 8 && seen < value; i++) {
		u64 was = __sync_val_compare_and_swap(most, seen, value);

		if (was == seen)
			return;
		seen = was;
	}
}

/* Adds VALUE to a number that others add to. Most are 0, and an atomic costs. */
static __always_inline void add_shared(u64 *number, u64 value)
{
	if (value)
		__sync_fetch_and_add(number, value);
}

/* The same for an async span, over at NOW, in the row of the thread that made it. */
static __noinline bool row_take_async(const struct wire_async *span, u64 now, u8 flags)
{
	struct wire_row *row;
	u64 wall, self_off, off, self_ns;

	if (!span)
		return false;
	row = row_at(span->row);
	if (!row)
		return false;
	wall = now - span->start_ns;
	if (!row_add_duration(span->row, wall, true))
		return false;
	off = at_most(span->off_ns, span->busy_ns);
	self_ns = at_most(span->self_ns, span->busy_ns);
	self_off = at_most(span->self_off_ns, self_ns);
	__sync_fetch_and_add(&row->count, 1);
	if (flags & WIRE_ABANDONED)
		__sync_fetch_and_add(&row->abandoned, 1);
	raise(&row->least_ns, ~wall);
	raise(&row->most_ns, wall);
	add_shared(&row->wall_ns, wall);
	add_shared(&row->busy_ns, span->busy_ns);
	add_shared(&row->self_ns, self_ns);
	if (!knob_usage)
		return true;
	add_shared(&row->off_ns, off);
	add_shared(&row->run_delay_ns, at_most(span->run_delay_ns, off));
	add_shared(&row->self_off_ns, self_off);
	add_shared(&row->self_run_delay_ns, at_most(span->self_run_delay_ns, self_off));
	add_shared(&row->system_ns, at_most(span->system_ns, span->busy_ns - off));
	add_shared(&row->self_system_ns, at_most(span->self_system_ns, self_ns - self_off));
	add_shared(&row->vol_switches, span->vol_switches);
	add_shared(&row->invol_switches, span->invol_switches);
	add_shared(&row->minor_faults, span->minor_faults);
	add_shared(&row->major_faults, span->major_faults);
	return true;
}

#endif
