/* SPDX-License-Identifier: MIT */
/* What a hit costs on this machine. */
#ifndef SPANTRACE_CALIBRATE_H
#define SPANTRACE_CALIBRATE_H

#include "../kernel/kernel.h"

/* What one hit of a span's marker takes from a target, in ns: measured on a marker of this process's own, in some
 * milliseconds. Nothing of it is seen in the trace. Where it cannot be measured, a usual value. */
u64 calibrate_hit(struct kernel *kernel, bool uprobe_multi);

#endif
