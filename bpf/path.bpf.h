/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* Paths are interned here, so that a record names its whole path in four bytes and the loss of one
 * record takes nothing from another. A thread remembers the steps it made last: the table itself is
 * asked only for new ones. */
#ifndef SPANTRACE_PATH_BPF_H
#define SPANTRACE_PATH_BPF_H

#include "row.bpf.h"

/* Not static, so that the verifier looks at it once and not at each call. */
__noinline int path_lookup(u32 parent, u32 def, u64 name)
{
	struct wire_path node = {.parent = parent, .def = def, .name = name};
	u32 *found = bpf_map_lookup_elem(&path_index, &node);
	struct wire_path *slot;
	u32 path;

	if (found)
		return *found;
	if (paths_used >= PATHS_MAX)
		goto full;
	path = __sync_fetch_and_add(&paths_used, 1);
	slot = bpf_map_lookup_elem(&paths, &path);
	if (!slot)
		goto full;
	*slot = node;
	if (bpf_map_update_elem(&path_index, &node, &path, BPF_NOEXIST) == 0)
		return path;
	/* Another CPU was first (PATH stays unused), or there is no memory. */
	found = bpf_map_lookup_elem(&path_index, &node);
	if (found)
		return *found;
full:
	count_loss(LOSS_PATHS_FULL, 1);
	return PATH_OVERFLOW;
}

/* The slot of the memo for one step: the product's top bits depend on all of them. */
static __always_inline struct path_memo *path_slot(struct thread_state *t, u32 parent, u32 def,
						   u64 name)
{
	return &t->memo[(parent * 31 + def + (u32)name) * 0x9e3779b1u >> (32 - PATH_MEMO_BITS)];
}

/* The step from PARENT to DEF, called NAME or, at 0, as DEF is; with the thread's row of it. */
static __always_inline struct path_memo *path_step(struct thread_state *t, u32 parent, u32 def,
						   u64 name)
{
	struct path_memo *memo = path_slot(t, parent, def, name);

	if (likely(memo->path && memo->node.parent == parent && memo->node.def == def &&
		   memo->node.name == name))
		return memo;
	memo->path = path_lookup(parent, def, name);
	memo->node.parent = parent;
	memo->node.def = def;
	memo->node.name = name;
	if (knob_rows)
		memo->row = row_find(t, memo->path);
	return memo;
}

#define PATH_KNOWN 0xffffffffu /* stands for a parent where the path itself is at hand */

/* The thread's row of PATH, wherever the path came from. */
static __always_inline u32 row_of(struct thread_state *t, u32 path)
{
	struct path_memo *memo;

	if (!knob_rows)
		return 0;
	memo = path_slot(t, PATH_KNOWN, path, 0);
	if (likely(memo->row && memo->node.parent == PATH_KNOWN && memo->node.def == path))
		return memo->row;
	memo->path = path;
	memo->node.parent = PATH_KNOWN;
	memo->node.def = path;
	memo->row = row_find(t, path);
	return memo->row;
}

/* The path of what is open on top of the thread's stack. */
static __always_inline u32 path_of_top(struct thread_state *t, struct task_struct *task)
{
	struct frame *top;

	if (!t->depth)
		return PATH_ROOT;
	top = frame_at(t, t->depth - 1);
	return top ? top->path : PATH_ROOT;
}

#endif
