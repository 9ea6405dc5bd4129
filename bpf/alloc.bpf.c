/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* Allocations: functions of the allocator, charged to the path on top of the calling thread's stack.
 *
 *   entry ▸ the arguments; where the entry tells enough (no heap, no realloc) the allocation counts here
 *   return ▸ the block, or that it failed ▸ count; with heap ▸ the table of live blocks
 *   free ▸ the block's row gets its bytes back, whichever thread frees it
 *
 * Functions of the allocator call each other (realloc of a null pointer calls malloc): what is called below the stack
 * pointer of a call that has not returned is a part of it, and so is what it jumps to at the same stack pointer. Whether it
 * has returned shows in its return address, which the kernel has replaced by its own: a longjmp leaves a call behind.
 */

static __always_inline struct frame *top_of(struct thread_state *t)
{
	return t->depth ? frame_at(t, t->depth - 1) : NULL;
}

/* The row that the thread's allocations count in while TOP is on top. */
static __always_inline u32 alloc_row(struct thread_state *t, const struct frame *top)
{
	return top ? top->row : row_of(t, PATH_ROOT);
}

static __always_inline void alloc_add(struct wire_alloc_counts *counts, u64 objects_, u64 bytes)
{
	counts->objects += objects_;
	counts->bytes += bytes;
}

/* Counts OBJECTS blocks of BYTES in all, in the span on top and in its row; returns the row, 0 where there is none. */
static __always_inline u32 alloc_count(struct thread_state *t, u64 objects_, u64 bytes)
{
	struct frame *top = top_of(t);
	u32 index = alloc_row(t, top);
	struct wire_row *row = row_at(index);

	alloc_add(&t->alloc, objects_, bytes);
	if (top)
		alloc_add(&top->self_alloc, objects_, bytes);
	if (unlikely(!row)) {
		count_loss(LOSS_ALLOC_ROWS, objects_);
		return 0;
	}
	row->alloc_objects += objects_;
	row->alloc_bytes += bytes;
	return index;
}

/* Adds SIGN times a block to what its row holds. */
static __always_inline void heap_add(const struct wire_object *object, s64 sign)
{
	struct wire_row *row = row_at(object->row);

	if (!row)
		return;
	__sync_fetch_and_add(&row->inuse_objects, sign * object->objects);
	__sync_fetch_and_add(&row->inuse_bytes, sign * object->bytes);
}

/* Puts a block into the table, and into its row's numbers unless it is there already. */
static __noinline int heap_put(struct thread_state *t, u64 address,
			       const struct wire_object *object, bool counted)
{
	struct wire_object_key key = {.address = address, .process = t->process};
	struct wire_object *old;

	if (!object)
		return -1;
	old = bpf_map_lookup_elem(&objects, &key);
	/* One that is there already was freed unseen. */
	if (unlikely(old))
		heap_add(old, -1);
	if (bpf_map_update_elem(&objects, &key, object, BPF_ANY)) {
		count_loss(LOSS_HEAP_FULL, object->objects);
		if (counted)
			heap_add(object, -1);
		return -1;
	}
	if (!counted)
		heap_add(object, 1);
	return 0;
}

/* Takes a block out of the table, not out of its row's numbers. Returns whether it was there, and then *OBJECT is what was
 * known of it. */
static __noinline bool heap_take(struct thread_state *t, u64 address, struct wire_object *object)
{
	struct wire_object_key key = {.address = address, .process = t->process};
	struct wire_object *found = bpf_map_lookup_elem(&objects, &key);

	if (!found || !object)
		return false;
	*object = *found;
	/* Of two threads that free it, which is the program's mistake, one. */
	return bpf_map_delete_elem(&objects, &key) == 0;
}

/* A block is no more, if it was known. */
static __always_inline void heap_drop(struct thread_state *t, u64 address)
{
	struct wire_object object;

	if (knob_heap && heap_take(t, address, &object))
		heap_add(&object, -1);
}

/* Follows a block of the row INDEX from now on. */
static __always_inline void heap_follow(struct thread_state *t, u64 address, u32 index,
					u32 objects_, u64 bytes)
{
	struct wire_object object = {
		.bytes = bytes,
		.objects = objects_,
		.row = index,
		.time_ns = bpf_ktime_get_ns(),
	};
	struct wire_row *row = row_at(index);

	if (!row)
		return;
	/* Any thread may free it, also after this one has ended. */
	if (!row->heap)
		row->heap = 1;
	heap_put(t, address, &object, false);
}

/* -ln of a random number between 0 and 1, in 2^-24. */
static __always_inline u64 sample_exponential(void)
{
	u32 r = bpf_get_prandom_u32(), halvings = 1;
	int i;

	if (!r)
		r = 1;
	for (i = 16; i; i /= 2) {
		if (r >> (32 - i))
			continue;
		r <<= i;
		halvings += i;
	}
	/* r is 2^32 * (1 + f) / 2 now: -ln is halvings * ln 2 - ln(1 + f). */
	return (u64)halvings * 11629080 -
	       sample_log[r >> (31 - SAMPLE_LOG_BITS) & (SAMPLE_LOG_SIZE - 1)];
}

static __always_inline u64 sample_distance(void)
{
	return (sample_exponential() * knob_sample >> 24) + 1;
}

/* How many blocks of BYTES are WEIGHT bytes. A part of one is one at that part of the times. */
static __always_inline u32 weight_objects(u64 bytes, u64 weight)
{
	u64 n, rest;

	if (!bytes)
		return 1;
	n = weight / bytes;
	rest = weight % bytes;
	/* The product must fit. */
	for (; bytes >> 32; bytes >>= 16)
		rest >>= 16;
	if (((u64)bpf_get_prandom_u32() * bytes >> 32) < rest)
		n++;
	return n > ~0u ? ~0u : (u32)n;
}

/* Whether the next sample falls into a block of BYTES. Then how many bytes and objects that stands for: the chance was
 * 1 - exp(-BYTES / knob_sample), and the weight is what makes the expected sum right. */
static __noinline bool sample_hits(struct thread_state *t, u64 bytes, u64 *weight, u32 *objects_)
{
	u64 size = bytes ? bytes : 1, at, low, high;
	u32 index;

	if (!weight || !objects_)
		return false;
	if (!t->sample_left)
		t->sample_left = sample_distance();
	if (size < t->sample_left) {
		t->sample_left -= size;
		return false;
	}
	t->sample_left = sample_distance();
	*weight = bytes;
	*objects_ = 1;
	if (size >= 16ull * knob_sample)
		return true;
	at = (size * SAMPLE_WEIGHT_STEP << 16) / knob_sample;
	index = (u32)(at >> 16);
	if (index >= SAMPLE_WEIGHT_SIZE - 1)
		return true;
	low = sample_weight[index];
	high = sample_weight[index + 1];
	at = (low + ((high - low) * (at & 0xffff) >> 16)) * knob_sample >> 20;
	*objects_ = weight_objects(size, at);
	if (bytes)
		*weight = at;
	return true;
}

/* A process has no more than that, unless it asks mmap for more by name. */
#define ADDRESS_BITS 47

static __always_inline u64 alloc_product(u64 n, u64 bytes)
{
	if ((n | bytes) >> 32 && n && bytes > (1ULL << ADDRESS_BITS) / n)
		return ~0ULL;
	return n * bytes;
}

static __always_inline u64 alloc_bytes(struct pt_regs *ctx, u32 kind)
{
	switch (kind) {
	case ALLOC_MALLOC:
		return REGISTER(ctx, di);
	case ALLOC_CALLOC:
		return alloc_product(REGISTER(ctx, di), REGISTER(ctx, si));
	case ALLOC_REALLOC:
	case ALLOC_ALIGNED:
		return REGISTER(ctx, si);
	case ALLOC_REALLOCARRAY:
		return alloc_product(REGISTER(ctx, si), REGISTER(ctx, dx));
	case ALLOC_POSIX:
		return REGISTER(ctx, dx);
	}
	return ~0ULL;
}

/* Whether the function that was called at SP has still to return: the kernel's own address stands where its return
 * address was. */
static __noinline bool call_lives(struct task_struct *task, u64 sp)
{
	struct mm_struct *mm = task->mm;
	struct xol_area *area;
	u64 address;

	if (!bpf_core_field_exists(mm->uprobes_state.xol_area) ||
	    !bpf_core_field_exists(struct xol_area, vaddr))
		return true;
	if (!mm)
		return false;
	area = mm->uprobes_state.xol_area;
	if (!area || bpf_probe_read_user(&address, sizeof(address), (void *)sp))
		return false;
	return address == area->vaddr;
}

/* A thread is under seccomp, by now: notes its process. */
static __noinline void note_shy(struct thread_state *t, struct task_struct *task)
{
	u32 pid = pid_of(task);
	struct wire_process *process = bpf_map_lookup_elem(&processes, &pid);

	if (process && __sync_lock_test_and_set(&process->shy, 1) == 0)
		__sync_fetch_and_add(&processes_shy, 1);
	t->shy = t->process;
}

/* Whether the return of a call must be left alone: the kernel comes back from probed functions by a system call, and where it
 * does not exempt that from seccomp the thread would die of it. Asked at each call, as a thread may confine itself at any
 * time. */
static __always_inline bool shuns_return(struct thread_state *t, struct task_struct *task)
{
	if (!knob_returns_kill || !bpf_core_field_exists(task->seccomp.mode) || !task->seccomp.mode)
		return false;
	if (t->shy != t->process)
		note_shy(t, task);
	return true;
}

/* What a call asks of its return. */
enum alloc_want { ALLOC_RETURN, ALLOC_NO_RETURN };

static __always_inline int alloc_begin(struct pt_regs *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	u64 cookie = bpf_get_attach_cookie(ctx);
	struct thread_state *t = thread_of(task, cookie);
	u32 kind = COOKIE_DEF(cookie), flags = COOKIE_FLAGS(cookie);
	bool moves = kind == ALLOC_REALLOC || kind == ALLOC_REALLOCARRAY, shuns;
	struct alloc_call *call;
	u64 bytes, weight, sp;
	u32 n = 1;

	if (!t)
		return ALLOC_NO_RETURN;
	shuns = shuns_return(t, task);
	call = &t->call;
	sp = ctx->sp;
	if (unlikely(call->kind && sp <= call->sp && call_lives(task, call->sp)))
		return ALLOC_NO_RETURN;
	call->kind = 0;
	bytes = alloc_bytes(ctx, kind);
	if (unlikely(bytes >> ADDRESS_BITS))
		return ALLOC_NO_RETURN; /* it fails, whatever the allocator */
	weight = bytes;
	if (is_unsampled(path_of_top(t, task)) ||
	    (knob_sample && !sample_hits(t, bytes, &weight, &n))) {
		n = 0;
		/* The old block of a realloc goes all the same. */
		if (!moves || !knob_heap)
			return ALLOC_NO_RETURN;
	}
	if (!(flags & ALLOC_RETURN_SEEN) || shuns ||
	    (!knob_heap && flags & ALLOC_ENTRY_TELLS && bytes < ALLOC_LARGE)) {
		/* When the inner one is over cannot be told: that one counts. */
		if (shuns && flags & ALLOC_INNER && kind != ALLOC_REALLOC)
			return ALLOC_NO_RETURN;
		/* Without a return a realloc of no block is left to the malloc that it calls. */
		if (moves && flags & ALLOC_INNER && !ctx->di)
			return ALLOC_NO_RETURN;
		alloc_count(t, n, weight);
		if (shuns && moves)
			heap_drop(t, ctx->di);
		if (knob_heap)
			count_loss(LOSS_HEAP_UNSEEN, n);
		return ALLOC_NO_RETURN;
	}
	call->sp = sp;
	call->bytes = bytes;
	call->weight = weight;
	call->objects = n;
	call->kind = kind;
	call->had_old = 0;
	if (kind == ALLOC_POSIX)
		call->out = ctx->di;
	if (moves && knob_heap) {
		/* Before another thread can get the same block from the allocator. */
		call->old = ctx->di;
		if (call->old && heap_take(t, call->old, &call->old_object))
			call->had_old = 1;
	}
	return ALLOC_RETURN;
}

static __always_inline void alloc_end(struct pt_regs *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	u64 cookie = bpf_get_attach_cookie(ctx);
	struct thread_state *t = thread_of(task, cookie);
	struct alloc_call *call;
	u64 block;
	u32 row;

	if (!t)
		return;
	call = &t->call;
	/* The return address has been popped. */
	if (!call->kind || ctx->sp != call->sp + 8)
		return;
	block = ctx->ax;
	if (call->kind == ALLOC_POSIX &&
	    ((u32)block || bpf_probe_read_user(&block, sizeof(block), (void *)call->out)))
		block = 0;
	call->kind = 0;
	if (!block && call->had_old && call->bytes) {
		/* It failed, and left the block as it was. */
		heap_put(t, call->old, &call->old_object, true);
		return;
	}
	/* realloc to no bytes frees, and may give none. */
	if (call->had_old)
		heap_add(&call->old_object, -1);
	if (!block || !call->objects)
		return;
	row = alloc_count(t, call->objects, call->weight);
	if (knob_heap && row)
		heap_follow(t, block, row, call->objects, call->weight);
}

HIT_PROGRAM("?uprobe", alloc_enter)
{
	alloc_begin(ctx);
	return 0;
}

HIT_PROGRAM("?uprobe", alloc_return)
{
	alloc_end(ctx);
	return 0;
}

/* Both in one, where the kernel has uprobe sessions: the return is taken only where it is asked for. At the entry the
 * thread stands at the address of the probe. */
HIT_PROGRAM("?uprobe", alloc_session)
{
	if (bpf_get_func_ip(ctx) == ctx->ip)
		return alloc_begin(ctx) == ALLOC_NO_RETURN;
	alloc_end(ctx);
	return 0;
}

HIT_PROGRAM("?uprobe", free_enter)
{
	struct task_struct *task = bpf_get_current_task_btf();
	u64 cookie = bpf_get_attach_cookie(ctx);
	struct thread_state *t;
	u64 block = ctx->di;

	if (!block)
		return 0;
	t = thread_of(task, cookie);
	if (t)
		heap_drop(t, block);
	return 0;
}

/* The site of a marker of otel_memory, and the block that it tells of. */
static __always_inline struct wire_alloc_site *marker_block(struct pt_regs *ctx, u64 cookie,
							    u64 *block)
{
	u32 index = COOKIE_DEF(cookie);
	struct wire_alloc_site *site = bpf_map_lookup_elem(&alloc_sites, &index);

	if (site && read_operand(ctx, &site->block, block) == 0)
		return site;
	count_loss(LOSS_UNREADABLE_ARG, 1);
	return NULL;
}

/* A sample that the program has taken by itself, with the bytes that it stands for: of those --alloc-sample takes none of its
 * own. */
HIT_PROGRAM("?uprobe", alloc_marker)
{
	u64 cookie = bpf_get_attach_cookie(ctx), block, bytes, weight;
	struct thread_state *t = thread_of(bpf_get_current_task_btf(), cookie);
	struct wire_alloc_site *site;
	u32 n, row;

	if (!t)
		return 0;
	site = marker_block(ctx, cookie, &block);
	if (!site)
		return 0;
	if (read_operand(ctx, &site->bytes, &bytes) || read_operand(ctx, &site->weight, &weight) ||
	    (bytes | weight) >> ADDRESS_BITS) {
		count_loss(LOSS_UNREADABLE_ARG, 1);
		return 0;
	}
	n = weight_objects(bytes, weight);
	row = alloc_count(t, n, weight);
	if (knob_heap && row && block)
		heap_follow(t, block, row, n, weight);
	return 0;
}

HIT_PROGRAM("?uprobe", free_marker)
{
	u64 cookie = bpf_get_attach_cookie(ctx), block;
	struct thread_state *t = thread_of(bpf_get_current_task_btf(), cookie);

	if (t && marker_block(ctx, cookie, &block))
		heap_drop(t, block);
	return 0;
}
