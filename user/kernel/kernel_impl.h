/* SPDX-License-Identifier: MIT */
/* What the files of this folder share. */
#ifndef SPANTRACE_KERNEL_IMPL_H
#define SPANTRACE_KERNEL_IMPL_H

#include <bpf/libbpf.h>

#include "kernel.h"
#include "spantrace.skel.h"

struct kernel {
	struct spantrace_bpf *skel;
	struct ring_buffer *control;
	struct ring_buffer *rings;
	int *ring_fds;     /* one a CPU */
	void **ring_marks; /* of each: a page with the reader's position, one with the writers' */
	u32 nrings;
	size_t ring_bytes;
	const struct wire_path *paths;
	size_t paths_bytes;
	struct wire_async_slot *async_slots;
	struct wire_count *counts; /* COUNTS_MAX a CPU, mapped; NULL: not counted */
	size_t counts_bytes;
	u32 nrows, noctaves;   /* aggregated mode; else 0 */
	struct wire_row *rows; /* as the kernel has them, mapped as far as they are used */
	struct wire_octave *octaves;
	size_t rows_mapped, octaves_mapped; /* bytes */
	struct wire_row *rows_taken;        /* what of them was handed on */
	struct wire_octave *octaves_taken;
	u32 *kept; /* rows of threads that have ended, which live blocks or async spans name */
	u32 nkept;
	bool batched;                     /* the batched lane was wanted */
	bool small;                       /* without the batched lane */
	u32 nbatch_files, nbatch_markers; /* in the tables of the batched lane */
	u32 nbatch_open;                  /* of the files, those whose trace has begun */
	kernel_record_fn record;
	void *context;
};

/* Between open and load: room for ROWS rows. 0 or -errno. */
int kernel_rows_size(struct kernel *kernel, u32 rows);
/* Maps the tables of the aggregated mode. 0 or -errno. */
int kernel_rows_map(struct kernel *kernel);
void kernel_rows_unmap(struct kernel *kernel);

/* Between open and load: room for the counts of SLOTS CPUs. 0 or -errno. */
int kernel_counts_size(struct kernel *kernel, u32 slots);
/* 0 or -errno. */
int kernel_counts_map(struct kernel *kernel);
void kernel_counts_unmap(struct kernel *kernel);

/* Maps the slots of async spans. 0 or -errno. */
int kernel_async_map(struct kernel *kernel);
void kernel_async_unmap(struct kernel *kernel);
/* Async spans that began before the probes of DEF were taken out: none of their markers is seen any more. */
void kernel_forget_async(struct kernel *kernel, u32 def);

/* Between open and load: the hooks of the batched lane. */
void kernel_want_batches(struct kernel *kernel, const struct kernel_options *options);
/* From here on what its binaries do counts. */
void kernel_open_batches(struct kernel *kernel);

/* Between open and load: samples allocations, one in BYTES on average. */
void kernel_heap_sample(struct kernel *kernel, u32 bytes);

#endif
