/* SPDX-License-Identifier: MIT */
/* How long to wait before a request is made again. */
#ifndef SPANTRACE_PUSH_RETRY_H
#define SPANTRACE_PUSH_RETRY_H

#include "../../include/types.h"

/* After FAILURES (1 or more) in a row: MIN_NS, twice as long each time, up to MAX_NS; of that half for certain and the
 * rest by RANDOM, so that many clients of one server do not come back all at once. */
u64 push_retry_ns(u32 failures, u64 min_ns, u64 max_ns, u32 random);

#endif
