/* SPDX-License-Identifier: MIT */
/* Tells who runs the service how it is doing: datagrams to the socket that NOTIFY_SOCKET names, as systemd reads them.
 * Where there is none, nothing happens. */
#ifndef SPANTRACE_NOTIFY_H
#define SPANTRACE_NOTIFY_H

#include "../../include/types.h"

/* STATE is "READY=1", "STOPPING=1", "WATCHDOG=1", several on a line each. */
void notify_send(const char *state);
/* "RELOADING=1", with the time that goes with it. */
void notify_reloading(u64 now_ns);

#endif
