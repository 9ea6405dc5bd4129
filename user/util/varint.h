/* SPDX-License-Identifier: MIT */
/* Numbers in as few bytes as they need: unsigned LEB128, and zigzag for signed ones. */
#ifndef SPANTRACE_VARINT_H
#define SPANTRACE_VARINT_H

#include <stdbool.h>

#include "../../include/types.h"

#define VARINT_MAX 10 /* bytes of the longest */

/* Writes VALUE at AT; returns what is behind it. */
static inline u8 *varint_put(u8 *at, u64 value)
{
	for (; value >= 0x80; value >>= 7)
		*at++ = (u8)(value | 0x80);
	*at++ = (u8)value;
	return at;
}

/* Small numbers of either sign become small ones. */
static inline u64 varint_zigzag(s64 value)
{
	return (u64)value << 1 ^ (u64)(value >> 63);
}

static inline s64 varint_unzigzag(u64 value)
{
	return (s64)(value >> 1 ^ -(value & 1));
}

/* Reads one from *AT and moves it on. False, with *AT anywhere up to END, where there is none: it goes on beyond END, or
 * beyond 64 bits. */
static inline bool varint_get(const u8 **at, const u8 *end, u64 *value)
{
	const u8 *p = *at;
	unsigned shift = 0;
	u64 sum = 0;

	if (p < end && *p < 0x80) {
		*value = *p;
		*at = p + 1;
		return true;
	}
	for (; p < end && shift < 64; shift += 7) {
		u64 byte = *p++;

		if (shift == 63 && byte > 1)
			break;
		sum |= (byte & 0x7f) << shift;
		if (byte < 0x80) {
			*value = sum;
			*at = p;
			return true;
		}
	}
	*at = p;
	return false;
}

#endif
