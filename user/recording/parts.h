/* SPDX-License-Identifier: MIT */
/* The names of an output that is written in parts, and what becomes of the files.
 *
 *   run.spans                  the one that is being written
 *   run.1.spans, run.2.spans   rotation: those before it, the newest first; each moves up by one as the next comes
 *   run.1.spans, run.2.spans   flight recorder: in the order in which they were written; none is ever moved
 *
 * Files are only ever renamed, and never onto another; only `keep` removes any.
 */
#ifndef SPANTRACE_PARTS_H
#define SPANTRACE_PARTS_H

#include <stddef.h>

#include "../../include/types.h"

#define PARTS_KEEP_ALL UINT32_MAX

/* PATH with NUMBER before its ending: "dir/run.3.spans"; "run.3" where it has none. NULL: no memory. */
char *parts_name(const char *path, u32 number);
/* The numbers of the parts of PATH that are there, lowest first. 0 or -errno; *NUMBERS is the caller's. */
int parts_find(const char *path, u32 **numbers, size_t *n);
/* PATH becomes part 1, what was in its way moves up; then those above KEEP are removed. 0, or -errno with the message
 * printed; what could not be moved is where it was, or a number further. */
int parts_rotate(const char *path, u32 keep);
/* Removes the lowest-numbered parts until KEEP are left. 0, or -errno with the message printed. */
int parts_drop_lowest(const char *path, u32 keep);

#endif
