/* SPDX-License-Identifier: MIT */
/* Probes on the allocators of the traced processes.
 *
 *   process ▸ its mapped files ▸ allocator_find (once a file) ▸ probes that stand in that process alone
 *                              ▸ memory_markers_find: a process that has such markers tells by itself
 *
 * Everybody runs the C library: a probe in it without the kernel's process filter would be a trap for the whole machine. Where
 * the kernel has no such filter, or the trace is of the whole machine, the probes stand in the file, and that is said.
 */
#ifndef SPANTRACE_MEMORY_H
#define SPANTRACE_MEMORY_H

#include <stdbool.h>
#include <sys/types.h>

#include "../kernel/kernel.h"

struct memory;

struct memory_options {
	bool alloc;               /* allocations; else mappings alone */
	bool heap;                /* frees too */
	bool map;                 /* mmap and its like */
	bool uprobe_multi;        /* as attach_new() */
	bool session;             /* the kernel takes one program for entry and return */
	bool confined;            /* the kernel can keep probes within a process */
	const char *const *files; /* of --allocator: FILE[:PREFIX] */
	size_t nfiles;
	bool no_returns; /* none may be probed */
};

struct memory_counts {
	size_t functions; /* that are probed, in all processes */
	size_t markers;   /* sites of otel_memory's that are probed instead */
	size_t processes;
	size_t late; /* of them, those whose probes came after their fork */
};

/* OPTIONS is borrowed, with what it points to. 0 or -ENOMEM. */
int memory_new(struct kernel *kernel, const struct memory_options *options, struct memory **out);
/* Detaches all. */
void memory_free(struct memory **memory);
/* Looks at the files of process PID, as often as it may have new ones, and probes those that have not been. FORKED: it has
 * begun, and may have allocated, while the trace ran. 0 or -errno: no such process, no memory. What cannot be probed is told by a
 * warning. */
int memory_add_process(struct memory *memory, pid_t pid, bool forked);
/* The process has ended. */
void memory_end_process(struct memory *memory, pid_t pid);
void memory_count(const struct memory *memory, struct memory_counts *out);
/* The first --allocator whose FILE no process had mapped; NULL: there is none. */
const char *memory_unused_file(const struct memory *memory);

#endif
