/* SPDX-License-Identifier: MIT */
/* Decimal digits in a hurry: eight at once, for the formats that write several numbers a span. */
#ifndef SPANTRACE_DECIMAL_H
#define SPANTRACE_DECIMAL_H

#include <string.h>

#include "../include/types.h"

/* Room that a number needs: what is written goes beyond its last digit. */
#define DECIMAL_ROOM 32

/* The digits of VALUE, below 10^8, the first in the lowest byte: halved into numbers of four digits, of two, of one, all
 * of a round by one multiplication. */
static inline u64 decimal_8(u32 value)
{
	u64 digits = value / 10000 | (u64)(value % 10000) << 32, high;

	high = digits * 10486 >> 20 & 0x0000007f0000007fu; /* by 100 */
	digits = high | (digits - 100 * high) << 16;
	high = digits * 103 >> 10 & 0x000f000f000f000fu; /* by 10 */
	return high | (digits - 10 * high) << 8;
}

#define DECIMAL_ZEROES 0x3030303030303030u

/* The digits of decimal_8() without zeroes in front. */
static inline char *decimal_put_short(char *at, u64 digits)
{
	unsigned zeroes = digits ? (unsigned)__builtin_ctzll(digits) / 8 : 7;
	u64 text = (digits | DECIMAL_ZEROES) >> (8 * zeroes);

	_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
		       "the first digit is the lowest byte");
	memcpy(at, &text, sizeof(text));
	return at + 8 - zeroes;
}

/* Writes VALUE at AT; returns what is behind it. */
static inline char *decimal_put(char *at, u64 value)
{
	const u64 unit = 100000000;
	u64 low, text;

	if (value < unit)
		return decimal_put_short(at, decimal_8((u32)value));
	low = value % unit;
	value /= unit;
	if (value < unit)
		at = decimal_put_short(at, decimal_8((u32)value));
	else
		at = decimal_put(at, value);
	text = decimal_8((u32)low) | DECIMAL_ZEROES;
	memcpy(at, &text, sizeof(text));
	return at + 8;
}

/* NS as microseconds with three decimals. */
static inline char *decimal_put_us(char *at, u64 ns)
{
	u64 text = decimal_8((u32)(ns % 1000)) >> 40 | 0x303030;

	at = decimal_put(at, ns / 1000);
	*at++ = '.';
	memcpy(at, &text, sizeof(text));
	return at + 3;
}

#endif
