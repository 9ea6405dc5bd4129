/* SPDX-License-Identifier: MIT */
/* A comparison as a flame graph: widths of one side, colours by the change. */
#ifndef SPANTRACE_DIFF_FLAME_H
#define SPANTRACE_DIFF_FLAME_H

#include "../cli/cli.h"
#include "diff.h"

/* Refuses, with a message, an output that `diff` cannot draw. 0 or -EINVAL. */
int diff_flame_check(const struct options_output *output);
/* Draws DIFF, whose keys are paths, after diff_read(). WIDTH is DIFF_BASE or DIFF_CHANGE. 0, or -errno with the message
 * printed. */
int diff_flame(const struct diff *diff, const struct options_output *output, int width);

#endif
