/* SPDX-License-Identifier: MIT */
/* Durations and sizes as people write them. */
#ifndef SPANTRACE_UTIL_UNITS_H
#define SPANTRACE_UTIL_UNITS_H

#include "../../include/types.h"

/* "10s", "1.5s", "200ms", "500us", "20ns", "2m", "1h", "1d"; a bare number is seconds. What is
 * finer than a nanosecond is cut off. 0, -EINVAL when it is none of these, -ERANGE when it does
 * not fit in *NS. */
int units_parse_duration(const char *text, u64 *ns);

/* "4096", "64K", "1M", "1.5GiB" (powers of 1024), "1kB", "1MB" (powers of 1000). As above. */
int units_parse_size(const char *text, u64 *bytes);

/* "0.05", "5%", in parts of a thousand million; what is finer is cut off. As above. */
int units_parse_share(const char *text, u64 *ppb);

#endif
