/* SPDX-License-Identifier: MIT */
/* Short names for the fixed-width integers that every contract in this folder uses. The kernel side
 * gets the same names from vmlinux/vmlinux.h, so that one header serves both. */
#ifndef SPANTRACE_TYPES_H
#define SPANTRACE_TYPES_H

#ifndef __bpf__
#include <stdint.h>

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef int32_t s32;
typedef int64_t s64;
#endif

#endif
