/* SPDX-License-Identifier: MIT */
/* The async spans that live, the loader's side of bpf/async_table.bpf.h: how many there are, taking out those of a process, of
 * a definition or all, and adding to one what the kernel side no longer can.
 */
#include <bpf/bpf.h>
#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "kernel_impl.h"

#define SLOTS_BYTES (ASYNC_SLOTS * sizeof(struct wire_async_slot))

int kernel_async_map(struct kernel *kernel)
{
	void *slots = mmap(NULL, SLOTS_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED,
			   bpf_map__fd(kernel->skel->maps.async_slots), 0);

	if (slots == MAP_FAILED)
		return -errno;
	kernel->async_slots = slots;
	return 0;
}

void kernel_async_unmap(struct kernel *kernel)
{
	if (kernel->async_slots)
		munmap(kernel->async_slots, SLOTS_BYTES);
}

/* At least as many as there are: the ends are read first. */
static u64 count_alive(const struct kernel *kernel)
{
	u64 made = 0, ended = 0;

	for (size_t i = 0; i < ASYNC_CELLS; i++)
		ended += __atomic_load_n(&kernel->skel->bss->async_ended[i * ASYNC_CELL_STRIDE],
					 __ATOMIC_ACQUIRE);
	for (size_t i = 0; i < ASYNC_CELLS; i++)
		made += __atomic_load_n(&kernel->skel->bss->async_made[i * ASYNC_CELL_STRIDE],
					__ATOMIC_RELAXED);
	return made - ended;
}

static void count_ended(struct kernel *kernel)
{
	__atomic_fetch_add(&kernel->skel->bss->async_ended[0], 1, __ATOMIC_RELAXED);
}

/* Which are to be taken out. */
struct selection {
	u32 process; /* 0: of all */
	u32 def;
	bool by_def;
};

static bool is_selected(const struct selection *selection, const struct wire_async_key *key)
{
	return (!selection->process || key->process == selection->process) &&
	       (!selection->by_def || key->def == selection->def);
}

static void take_slot(struct kernel *kernel, struct wire_async_slot *slot, kernel_async_fn fn,
		      void *context)
{
	struct wire_async span;
	u64 alive = 0;

	/* What its closer has claimed is told and taken out by it. */
	if (!__atomic_compare_exchange_n(&slot->span.end_ns, &alive, 1, false, __ATOMIC_ACQ_REL,
					 __ATOMIC_RELAXED))
		return;
	span = slot->span;
	span.end_ns = 0;
	__atomic_store_n(&slot->state, ASYNC_SLOT_FREE, __ATOMIC_RELEASE);
	count_ended(kernel);
	if (fn && !(span.head.flags & WIRE_LEFT_OUT))
		fn(context, &span);
}

static void take_slots(struct kernel *kernel, const struct selection *selection, kernel_async_fn fn,
		       void *context)
{
	for (u32 i = 0; i < ASYNC_SLOTS; i++) {
		struct wire_async_slot *slot = &kernel->async_slots[i];

		if (__atomic_load_n(&slot->state, __ATOMIC_ACQUIRE) == ASYNC_SLOT_LIVE &&
		    is_selected(selection, &slot->key))
			take_slot(kernel, slot, fn, context);
	}
}

static int take_far(struct kernel *kernel, const struct selection *selection, kernel_async_fn fn,
		    void *context)
{
	int fd = bpf_map__fd(kernel->skel->maps.async_spans);
	struct wire_async_key key, next;
	struct wire_async span;
	u32 steps = 0;
	int err;

	/* A span that goes meanwhile starts the walk again: so it is bounded. */
	for (err = bpf_map_get_next_key(fd, NULL, &next); !err && steps < 2 * ASYNC_MAX; steps++) {
		key = next;
		/* The step comes before the delete: a key that is gone starts the walk again. */
		err = bpf_map_get_next_key(fd, &key, &next);
		if (!is_selected(selection, &key))
			continue;
		if (bpf_map_lookup_elem(fd, &key, &span) || bpf_map_delete_elem(fd, &key))
			continue;
		__atomic_fetch_sub(&kernel->skel->bss->async_far, 1, __ATOMIC_RELAXED);
		count_ended(kernel);
		/* What its closer has claimed is told by it. */
		if (fn && !span.end_ns && !(span.head.flags & WIRE_LEFT_OUT))
			fn(context, &span);
	}
	return err == -ENOENT ? 0 : err;
}

static int take(struct kernel *kernel, const struct selection *selection, kernel_async_fn fn,
		void *context)
{
	if (!count_alive(kernel))
		return 0;
	take_slots(kernel, selection, fn, context);
	if (!__atomic_load_n(&kernel->skel->bss->async_far, __ATOMIC_RELAXED))
		return 0;
	return take_far(kernel, selection, fn, context);
}

int kernel_take_async(struct kernel *kernel, u32 process, kernel_async_fn fn, void *context)
{
	return take(kernel, &(struct selection){.process = process}, fn, context);
}

void kernel_forget_async(struct kernel *kernel, u32 def)
{
	take(kernel, &(struct selection){.by_def = true, .def = def}, NULL, NULL);
}

static void add_segment(struct wire_async *span, const struct wire_span *segment)
{
	span->busy_ns += segment->busy_ns;
	span->self_ns += segment->self_ns;
	span->off_ns += segment->usage.off_ns;
	span->run_delay_ns += segment->usage.run_delay_ns;
	span->self_off_ns += segment->usage.self_off_ns;
	span->self_run_delay_ns += segment->usage.self_run_delay_ns;
	span->system_ns += segment->usage.system_ns;
	span->self_system_ns += segment->usage.self_system_ns;
	span->vol_switches += segment->usage.vol_switches;
	span->invol_switches += segment->usage.invol_switches;
	span->minor_faults += segment->usage.minor_faults;
	span->major_faults += segment->usage.major_faults;
	span->alloc.objects += segment->alloc.objects;
	span->alloc.bytes += segment->alloc.bytes;
	span->self_alloc.objects += segment->self_alloc.objects;
	span->self_alloc.bytes += segment->self_alloc.bytes;
}

void kernel_add_segment(struct kernel *kernel, u32 process, u32 def,
			const struct wire_span *segment)
{
	struct wire_async_key key = {.id = segment->id, .process = process, .def = def};
	int fd = bpf_map__fd(kernel->skel->maps.async_spans);
	struct wire_async span;

	for (u32 i = 0; i < 2; i++) {
		struct wire_async_slot *slot = &kernel->async_slots[async_slot_of(&key) ^ i];

		if (slot->state != ASYNC_SLOT_LIVE || memcmp(&slot->key, &key, sizeof(key)) != 0)
			continue;
		add_segment(&slot->span, segment);
		return;
	}
	if (bpf_map_lookup_elem(fd, &key, &span))
		return;
	add_segment(&span, segment);
	bpf_map_update_elem(fd, &key, &span, BPF_EXIST);
}
