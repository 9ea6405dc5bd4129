/* SPDX-License-Identifier: MIT */
/* A control group, version 2: which processes are in it or below it, in the loader's eyes. The kernel side
 * decides by itself, by the number. */
#ifndef SPANTRACE_CGROUP_H
#define SPANTRACE_CGROUP_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "../../include/types.h"

struct cgroup;

/* PATH is its directory. 0, or -errno with WHY (of LEN bytes) a sentence. */
int cgroup_new(const char *path, struct cgroup **out, char *why, size_t len);
void cgroup_free(struct cgroup **cgroup);

/* Its number, as the kernel's programs see it. */
u64 cgroup_id(const struct cgroup *cgroup);
/* Whether PID is in it or below it; false for a process that has ended. */
bool cgroup_has(const struct cgroup *cgroup, pid_t pid);

/* The name that /proc/PID/cgroup gives to the directory DIR, by the TEXT of /proc/self/mountinfo. A new string, or
 * NULL: it is in no mount of cgroup2 (or there is no memory). */
char *cgroup_name(const char *mountinfo, const char *dir);
/* Whether the TEXT of /proc/PID/cgroup is that of a process in NAME or below it. */
bool cgroup_is_in(const char *text, const char *name);

#endif
