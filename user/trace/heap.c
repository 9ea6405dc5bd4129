/* SPDX-License-Identifier: MIT */
/* See heap.h. */
#include "heap.h"

#include <errno.h>
#include <stdlib.h>

#include "../util/cleanup.h"
#include "../util/grow.h"
#include "../util/intmap.h"

/* A look through the table costs as much as it holds, so it is not done for each process. */
#define SWEEP_NS 1000000000ull
/* Images that have ended are remembered a little longer: a thread's end can be told after its process's. */
#define SWEPT_MAX 65536u

struct heap {
	struct kernel *kernel;
	struct trace *trace;
	u64 leaks_ns;
	struct intmap ended; /* image ▸ an index in times, plus 1 */
	u64 *times;
	size_t ntimes;
	size_t swept; /* of times */
	u64 last_ns;
	/* of the call that runs */
	u64 end_ns; /* finish: of the trace */
	kernel_row_fn row;
	void *row_context;
};

int heap_new(struct kernel *kernel, struct trace *trace, u64 leaks_ns, struct heap **out)
{
	struct heap *heap = calloc(1, sizeof(*heap));

	if (!heap)
		return -ENOMEM;
	heap->kernel = kernel;
	heap->trace = trace;
	heap->leaks_ns = leaks_ns;
	*out = heap;
	return 0;
}

void heap_free(struct heap **out)
{
	if (!*out)
		return;
	intmap_free(&(*out)->ended);
	free((*out)->times);
	free(*out);
	*out = NULL;
}

int heap_end_image(struct heap *heap, u32 image, u64 when_ns)
{
	if (GROW(heap->times, heap->ntimes) ||
	    intmap_set(&heap->ended, image, (void *)(uintptr_t)(heap->ntimes + 1)))
		return -ENOMEM;
	heap->times[heap->ntimes++] = when_ns;
	return 0;
}

/* When the image ended; 0: it has not. */
static u64 ended_at(const struct heap *heap, u32 image)
{
	void **found = intmap_find(&heap->ended, image);

	return found ? heap->times[(uintptr_t)*found - 1] : 0;
}

static void note_leak(struct heap *heap, const struct wire_object *object, u64 end_ns)
{
	u64 age = end_ns > object->time_ns ? end_ns - object->time_ns : 0;
	u32 thread, path;

	if (heap->leaks_ns && age >= heap->leaks_ns &&
	    kernel_row_of(heap->kernel, object->row, &thread, &path))
		trace_take_leak(heap->trace, thread, path, object->objects, object->bytes, age);
}

static bool sweep_object(void *context, const struct wire_object_key *key,
			 const struct wire_object *object)
{
	struct heap *heap = context;
	u64 when = ended_at(heap, key->process);

	if (when)
		note_leak(heap, object, when);
	return when != 0;
}

static void release_row(void *context, const struct wire_row *gained,
			const struct wire_octave *pieces, size_t n)
{
	struct heap *heap = context;

	heap->row(heap->row_context, gained, pieces, n);
}

static bool has_ended(void *context, u32 thread)
{
	struct heap *heap = context;

	return ended_at(heap, trace_process_of(heap->trace, thread)) != 0;
}

void heap_tick(struct heap *heap, u64 now_ns, kernel_row_fn fn, void *context)
{
	if (now_ns - heap->last_ns < SWEEP_NS)
		return;
	heap->last_ns = now_ns;
	if (heap->swept < heap->ntimes) {
		/* One that fails is made up for by the next, or by the end. */
		if (kernel_walk_objects(heap->kernel, sweep_object, heap))
			return;
		heap->swept = heap->ntimes;
	}
	heap->row = fn;
	heap->row_context = context;
	kernel_release_rows(heap->kernel, release_row, has_ended, heap);
	if (heap->swept < SWEPT_MAX)
		return;
	/* No block is left that names one of these. */
	intmap_free(&heap->ended);
	heap->ntimes = 0;
	heap->swept = 0;
	free(heap->times);
	heap->times = NULL;
}

static bool finish_object(void *context, const struct wire_object_key *key,
			  const struct wire_object *object)
{
	struct heap *heap = context;
	u64 when = ended_at(heap, key->process);

	note_leak(heap, object, when ? when : heap->end_ns);
	return false;
}

int heap_finish(struct heap *heap, u64 end_ns)
{
	if (!heap->leaks_ns)
		return 0;
	heap->end_ns = end_ns;
	return kernel_walk_objects(heap->kernel, finish_object, heap);
}
