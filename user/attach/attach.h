/* SPDX-License-Identifier: MIT */
/* Probes in files: made many at a time, taken out together.
 *
 * A probe stands in the file, for every process that maps it, unless the trace is confined to processes
 * (--no-follow). The kernel counts the semaphores up and down with the probes, also when this process is
 * killed. A probe that the kernel refuses does not take the others with it.
 */
#ifndef SPANTRACE_ATTACH_H
#define SPANTRACE_ATTACH_H

#include "../kernel/kernel.h"

struct attach_probe {
	u64 offset;
	u64 sema_offset; /* 0: none */
	u64 cookie;
	enum kernel_program program;
	int error; /* out: 0, or the -errno of the kernel's refusal */
};

struct attach_set;

/* PIDS: 0 of them: every process. */
int attach_new(struct kernel *kernel, bool uprobe_multi, const pid_t *pids, size_t npids,
	       struct attach_set **out);
/* Before any file: makes of it a set of parts (attach_parts.h), one for each definition. 0 or -ENOMEM. */
int attach_divide(struct attach_set *set);
/* Those parts; NULL where it was not divided. */
struct attach_parts *attach_parts_of(struct attach_set *set);
/* Detaches all. */
void attach_free(struct attach_set **set);
/* Attaches N probes in the file that PATH names now; sets the error of each. Returns how many stand. */
size_t attach_file(struct attach_set *set, const char *path, struct attach_probe *probes, size_t n);

#endif
