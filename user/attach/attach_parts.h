/* SPDX-License-Identifier: MIT */
/* Probes that can be taken out and put back definition by definition while the others stand, for --max-overhead: a link
 * of the kernel's holds many probes and goes as a whole, so each definition of a file gets an attach_set of its own.
 */
#ifndef SPANTRACE_ATTACH_PARTS_H
#define SPANTRACE_ATTACH_PARTS_H

#include "attach.h"

/* Definitions that can be taken out; those that come later are attached together, for good. Each takes two links or more,
 * which are files of this process and some milliseconds at the end. */
#define ATTACH_PARTS_MAX 512

struct attach_parts;

/* As attach_new(). */
int attach_parts_new(struct kernel *kernel, bool uprobe_multi, const pid_t *pids, size_t npids,
		     struct attach_parts **out);
/* Detaches all. */
void attach_parts_free(struct attach_parts **parts);
/* As attach_file(). */
size_t attach_parts_file(struct attach_parts *parts, const char *path, struct attach_probe *probes,
			 size_t n);

/* Whether all probes of DEF can be taken out. */
bool attach_parts_has(const struct attach_parts *parts, u32 def);
/* Takes them out, and puts them back. What cannot be put back is missing from then on: 0 or -errno. */
void attach_parts_pause(struct attach_parts *parts, u32 def);
int attach_parts_resume(struct attach_parts *parts, u32 def);

#endif
