/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* The kernel side, one object: each file below is one concern.
 *
 *   a hit ▸ thread_of: is this thread traced, and what is its state?
 *         ▸ the stack of open spans changes; the time since the last change goes to the frame on top
 *         ▸ what closes becomes one record on this CPU's ring, which nobody is woken for
 *   batch takes what threads have written down by themselves, and treats it as so many hits
 *   fork, exec and exit keep the table of traced processes and close what ends with them
 *   stay, where asked for, times system calls and page faults
 *   collect writes what is still open when the trace ends
 */
#include "guard.bpf.h"

#include "stack.bpf.h"

#include "label.bpf.h"

#include "span.bpf.c"

#include "batch.bpf.c"

#include "async.bpf.c"

#include "alloc.bpf.c"

#include "map.bpf.c"

#include "life.bpf.c"

#include "stay.bpf.c"

#include "collect.bpf.c"

char LICENSE[] SEC("license") = "Dual MIT/GPL";
