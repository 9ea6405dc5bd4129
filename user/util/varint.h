/* SPDX-License-Identifier: MIT */
/* Numbers in as few bytes as they need: unsigned LEB128, and zigzag for signed ones. */
#ifndef SPANTRACE_VARINT_H
#define SPANTRACE_VARINT_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

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

/* As varint_get(), a byte at a time. */
static inline bool varint_get_bytewise(const u8 **at, const u8 *end, u64 *value)
{
	const u8 *p = *at;
	unsigned shift = 0;
	u64 sum = 0;

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

/* Reads one from *AT and moves it on. False, with *AT anywhere up to END, where there is none: it goes on beyond END, or
 * beyond 64 bits. Lengths follow no pattern, and a wrong guess costs more than the number: so up to 8 bytes are taken at
 * once, without a branch that depends on how many they are. */
static inline bool varint_get(const u8 **at, const u8 *end, u64 *value)
{
	u64 word, last;

	_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "the first byte is the lowest");
	if (end - *at < (ptrdiff_t)sizeof(word))
		return varint_get_bytewise(at, end, value);
	memcpy(&word, *at, sizeof(word));
	last = ~word & 0x8080808080808080ULL;
	if (!last)
		return varint_get_bytewise(at, end, value);
	*at += (__builtin_ctzll(last) >> 3) + 1;
	word &= last ^ (last - 1); /* up to the first byte that ends one */
	word = (word & 0x007f007f007f007fULL) | (word & 0x7f007f007f007f00ULL) >> 1;
	word = (word & 0x00003fff00003fffULL) | (word & 0x3fff00003fff0000ULL) >> 2;
	*value = (word & 0x000000000fffffffULL) | (word & 0x0fffffff00000000ULL) >> 4;
	return true;
}

#endif
