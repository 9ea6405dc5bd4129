/* SPDX-License-Identifier: MIT */
/* What to trace: processes by number, checked before anything is done, and the children they have. */
#ifndef SPANTRACE_TARGET_H
#define SPANTRACE_TARGET_H

#include <stddef.h>
#include <sys/types.h>

/* 0 when PID is a process that can be traced; else -ESRCH or -EINVAL, with WHY (of LEN bytes) a sentence. */
int target_check(pid_t pid, char *why, size_t len);
/* Adds to PIDS (owned by the caller, *N of them) every process that descends from one of them. 0 or -errno. */
int target_add_descendants(pid_t **pids, size_t *n);
/* Every process that can be seen, in a block for free(). 0 or -errno. */
int target_all(pid_t **pids, size_t *n);
/* Its name, "?" if there is none. */
void target_comm(pid_t pid, char comm[16]);

#endif
