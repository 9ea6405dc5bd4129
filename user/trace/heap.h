/* SPDX-License-Identifier: MIT */
/* Live blocks while a trace runs: those of processes that have ended are taken out of the kernel's table, and old ones are
 * noted as suspects (--leaks). What a process held when it ended stays in its rows.
 */
#ifndef SPANTRACE_HEAP_H
#define SPANTRACE_HEAP_H

#include "../kernel/kernel.h"
#include "trace.h"

struct heap;

/* LEAKS_NS: the age from which a block is suspect; 0: none is. KERNEL and TRACE are borrowed. 0 or -ENOMEM. */
int heap_new(struct kernel *kernel, struct trace *trace, u64 leaks_ns, struct heap **out);
void heap_free(struct heap **heap);
/* The process image IMAGE ended at WHEN. 0 or -ENOMEM. */
int heap_end_image(struct heap *heap, u32 image, u64 when_ns);
/* As often as one likes: now and then looks through the table for blocks of ended images, and gives back rows. */
void heap_tick(struct heap *heap, u64 now_ns, kernel_row_fn fn, void *context);
/* The trace ended at END_NS: notes the suspects among all blocks that are left. 0 or -errno. */
int heap_finish(struct heap *heap, u64 end_ns);

#endif
