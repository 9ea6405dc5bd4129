/* SPDX-License-Identifier: MIT */
/* The events of a file from the first to the last, with what the walk found of each. They are read ahead, in a thread of
 * its own: until mmp_forward_free() nobody else may ask the file for events, or the nest for results. */
#ifndef SPANTRACE_MMPROFDATA_FORWARD_H
#define SPANTRACE_MMPROFDATA_FORWARD_H

#include "mmprofdata_nest.h"

struct mmp_forward;

/* After the walk. 0 or -ENOMEM. */
int mmp_forward_new(struct mmp_file *file, struct mmp_nest *nest, struct mmp_forward **out);
void mmp_forward_free(struct mmp_forward **forward);
/* The next N of them, good until the next call: 1; 0 at the end; -errno. */
int mmp_forward_next(struct mmp_forward *forward, const struct mmp_nested **items, u32 *n);

#endif
