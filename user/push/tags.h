/* SPDX-License-Identifier: MIT */
/* What a server tells processes apart by: labels of each process, from what it says of itself and where it runs.
 *
 *   service_name   --app; else OTEL_SERVICE_NAME, or service.name in OTEL_RESOURCE_ATTRIBUTES, of its environment; else comm
 *   comm           the name of its program
 *   hostname       of this machine
 *   cgroup         as in /proc/PID/cgroup, where it is in one below the root
 *   container_id   where the cgroup's path holds one
 *   …              what --tag says: of these too
 *
 * Processes with the same labels share a set. No label is a number of the process: servers keep a series for each.
 */
#ifndef SPANTRACE_TAGS_H
#define SPANTRACE_TAGS_H

#include <stddef.h>

#include "../../exporters/pyroscope.h"
#include "../../include/types.h"

#define TAGS_MAX 24 /* of a set; servers take 30 labels, those of --by among them */

struct tags;

/* Sorted by name. */
struct tag_set {
	u32 serial;
	size_t n;
	struct pyroscope_label labels[TAGS_MAX];
};

/* APP may be NULL; STATICS are N times "KEY=VALUE". 0, or -errno with the message printed. */
int tags_new(const char *app, const char *const *statics, size_t n, struct tags **out);
void tags_free(struct tags **tags);

/* IMAGE is a process image of the trace, first seen now: PID and COMM are its own. What /proc does not show any more is
 * that of the image it was forked from, FROM (0: not known). */
void tags_see(struct tags *tags, u32 image, u32 from, u32 pid, const char *comm);
/* It has ended: its labels are not needed behind the next tags_sweep(). */
void tags_end(struct tags *tags, u32 image);
/* Those of IMAGE; good until the next tags_sweep(). NULL: it has not been seen. */
const struct tag_set *tags_of(const struct tags *tags, u32 image);
void tags_sweep(struct tags *tags);

/* NAME as servers want labels called, in OUT: [A-Za-z_][A-Za-z0-9_]*, without two _ in front. */
void tags_name(const char *name, char *out, size_t size);
/* The service's name in an environment as /proc/PID/environ has it, LEN bytes and a NUL. Owned; NULL: none. */
char *tags_service(const char *environment, size_t len);
/* The id of the container that a cgroup's path belongs to; false: none. */
bool tags_container(const char *cgroup, char id[65]);

#endif
