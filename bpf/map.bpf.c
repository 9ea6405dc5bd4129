/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* -m mmap: memory that is mapped and unmapped by the C library's functions, the allocator's own calls included. It has
 * numbers of its own, beside those of the blocks that are cut from it. */

static __always_inline u64 whole_pages(u64 bytes)
{
	return (bytes + PAGE_BYTES - 1) & ~(PAGE_BYTES - 1ULL);
}

static __always_inline void map_count(struct thread_state *t, u64 before, u64 after)
{
	struct wire_row *row = row_at(alloc_row(t, top_of(t)));

	if (is_unsampled(path_of_top(t, bpf_get_current_task_btf())))
		return;
	if (!row) {
		count_loss(LOSS_ALLOC_ROWS, 1);
		return;
	}
	if (after > before) {
		row->map_calls++;
		row->map_bytes += after - before;
	} else if (before > after) {
		row->unmap_calls++;
		row->unmap_bytes += before - after;
	}
}

static __always_inline int map_begin(struct pt_regs *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	u64 cookie = bpf_get_attach_cookie(ctx);
	struct thread_state *t = thread_of(task, cookie);
	struct map_call *call;

	if (!t)
		return ALLOC_NO_RETURN;
	call = &t->map;
	call->sp = ctx->sp;
	call->kind = COOKIE_DEF(cookie);
	call->bytes = REGISTER(ctx, si);
	call->old = 0;
	switch (call->kind) {
	case ALLOC_MUNMAP:
		call->old = call->bytes;
		call->bytes = 0;
		break;
	case ALLOC_MREMAP:
		call->old = call->bytes;
		call->bytes = REGISTER(ctx, dx);
		break;
	case ALLOC_BRK:
		call->old = task->mm->brk;
		break;
	}
	if (!shuns_return(t, task))
		return ALLOC_RETURN;
	/* As if it went well; what brk did is not known. */
	if (call->kind != ALLOC_BRK)
		map_count(t, whole_pages(call->old), whole_pages(call->bytes));
	call->kind = 0;
	return ALLOC_NO_RETURN;
}

static __always_inline void map_end(struct pt_regs *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct thread_state *t = thread_of(task, bpf_get_attach_cookie(ctx));
	struct map_call *call;
	u32 kind;

	if (!t)
		return;
	call = &t->map;
	kind = call->kind;
	if (!kind || ctx->sp != call->sp + 8)
		return;
	call->kind = 0;
	/* All of them say -1 when they fail, some as an int. */
	if (kind == ALLOC_MUNMAP || kind == ALLOC_BRK ? (s32)ctx->ax < 0 : ctx->ax == ~0UL)
		return;
	if (kind == ALLOC_BRK)
		map_count(t, call->old, task->mm->brk);
	else
		map_count(t, whole_pages(call->old), whole_pages(call->bytes));
}

HIT_PROGRAM("?uprobe", map_enter)
{
	map_begin(ctx);
	return 0;
}

HIT_PROGRAM("?uprobe", map_return)
{
	map_end(ctx);
	return 0;
}

HIT_PROGRAM("?uprobe", map_session)
{
	if (bpf_get_func_ip(ctx) == ctx->ip)
		return map_begin(ctx) == ALLOC_NO_RETURN;
	map_end(ctx);
	return 0;
}
