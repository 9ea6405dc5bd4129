/* SPDX-License-Identifier: MIT */
/* A small HTTP server on a thread of its own: it gives what it was last told, and asks for nothing, so that no client
 * can hold up a trace.
 *
 *	/metrics   the text of listen_publish()
 *	/healthz   200 "ok", or 503 and why not
 *
 * Clients are bounded: 32 connections, 4 KiB of request, one answer, 10 s without a byte, 30 s in all.
 */
#ifndef SPANTRACE_LISTEN_H
#define SPANTRACE_LISTEN_H

#include "../cli/cli.h"

struct listen;

/* 0, or -errno with the message printed. */
int listen_new(const struct options_listen *where, struct listen **out);
void listen_free(struct listen **listen);
/* "http://127.0.0.1:9437", with the port that the kernel chose where 0 was asked for. */
const char *listen_url(const struct listen *listen);

/* Takes over *TEXT, of LEN bytes, as what /metrics gives from now on, unless it is being read at this moment. */
void listen_publish(struct listen *listen, char **text, size_t len, u64 now_ns);
/* What /healthz says; WHY is copied; NULL: all is well. */
void listen_health(struct listen *listen, const char *why, u64 now_ns);
/* Ends connections that have taken too long. */
void listen_tick(struct listen *listen, u64 now_ns);

#endif
