/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* Paths are interned here, so that a record names its whole path in four bytes and the loss of one
 * record takes nothing from another. A thread remembers the steps it made last: the table itself is
 * asked only for new ones. */
#ifndef SPANTRACE_PATH_BPF_H
#define SPANTRACE_PATH_BPF_H

#include "task.bpf.h"

static __noinline u32 path_lookup(u32 parent, u32 def)
{
	struct wire_path node = {.parent = parent, .def = def};
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

/* The path of DEF under PARENT. */
static __always_inline u32 path_child(struct thread_state *t, u32 parent, u32 def)
{
	struct path_memo *memo = &t->memo[(parent * 7 + def) % PATH_MEMO];

	if (likely(memo->path && memo->node.parent == parent && memo->node.def == def))
		return memo->path;
	memo->path = path_lookup(parent, def);
	memo->node.parent = parent;
	memo->node.def = def;
	return memo->path;
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
