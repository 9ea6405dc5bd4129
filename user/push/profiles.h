/* SPDX-License-Identifier: MIT */
/* `--pyroscope URL`: what the trace gained in each interval, as profiles for a Pyroscope server.
 *
 *   gained rows ▸ by the labels of their process (tags.h) ▸ one row for each path and its labels
 *               ▸ for each family of sample types, cut to what the server takes ▸ push.h
 *
 * Each profile has an id and a time that no other has: what is sent again is the same profile. A push has as many as a
 * server takes at once.
 */
#ifndef SPANTRACE_PROFILES_H
#define SPANTRACE_PROFILES_H

#include "../cli/cli.h"
#include "../trace/trace.h"

struct profiles;

/* Borrows OPTIONS. 0, or -errno with the message printed. */
int profiles_new(const struct options *options, struct profiles **out);
void profiles_free(struct profiles **profiles);
/* After the last fork. 0, or -errno with the message printed. */
int profiles_start(struct profiles *profiles);
/* Process PID is traced, as IMAGE. Later ones are known by their records. */
void profiles_process(struct profiles *profiles, u32 image, pid_t pid);
/* A record of the control ring: who threads and processes are. Others are left alone. */
void profiles_record(struct profiles *profiles, const struct wire_head *record);
/* GAINED is what TRACE gained since the last call, as trace_profile_gained() has it. */
void profiles_interval(struct profiles *profiles, const struct trace *trace,
		       const struct profile *gained);
/* Delivers what waits, as long as --push-wait says. */
void profiles_close(struct profiles *profiles);
/* For its counts. */
struct push *profiles_push(struct profiles *profiles);

#endif
