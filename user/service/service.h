/* SPDX-License-Identifier: MIT */
/* What stands around a trace that runs for months: it tells Prometheus, /healthz and systemd how it is doing, and outlives
 * the traces between two reloads. Where nobody asked for that, all of it does nothing. */
#ifndef SPANTRACE_SERVICE_H
#define SPANTRACE_SERVICE_H

#include "../cli/cli.h"
#include "metrics.h"

#define SERVICE_LOSSES_MAX 64

struct service;

/* Listens where OPTIONS say. 0, or -errno with the message printed. */
int service_new(const struct options *options, struct service **out);
void service_free(struct service **service);
/* From now on TRACE is what it tells of. 0 or -ENOMEM. */
int service_listen(struct service *service, struct trace *trace);
/* All probes stand. */
void service_ready(struct service *service);
/* Whether it is time for service_tell(). */
bool service_due(const struct service *service, u64 now_ns);
/* How the trace is doing; WHY it is not well, or NULL. */
void service_tell(struct service *service, const struct metrics_trace *trace, const char *why,
		  u64 now_ns);
/* The trace has ended with these losses; another may follow. */
void service_trace_ended(struct service *service, const struct metrics_trace *trace);
/* SIGHUP: a trace with other options is to follow; when that is ready, the reload was a success … */
void service_reloading(struct service *service);
/* … and else what is said here. */
void service_reloaded(struct service *service, bool taken);

#endif
