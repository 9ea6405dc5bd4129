/* SPDX-License-Identifier: MIT */
/* Whether a function of a file goes on to one of some others, by direct calls and jumps, also through the file's procedure
 * linkage table: of two that do, only one may be counted. */
#ifndef SPANTRACE_REACH_H
#define SPANTRACE_REACH_H

#include "elfimage.h"

struct reach;

/* IMAGE is borrowed and must outlive the object. 0 or -ENOMEM. */
int reach_new(const struct elfimage *image, struct reach **out);
void reach_free(struct reach **reach);

/* What is looked for: a function of the file by its address, or one that the file may import by its name (borrowed). 0 or
 * -ENOMEM. */
int reach_add(struct reach *reach, u64 address, const char *name);

/* Whether the function at ADDRESS, of SIZE bytes (0: not known), itself goes on to one of those other than itself. False
 * too where the code cannot be read. */
bool reach_from(struct reach *reach, u64 address, u64 size);

#endif
