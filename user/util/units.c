/* SPDX-License-Identifier: MIT */
/* Numbers with a unit, in integers throughout: 0.1s is 100,000,000 ns exactly. See units.h. */
#include "units.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

struct unit {
	const char *name;
	u64 factor;
};

/* TEXT is digits, maybe a point and more digits, then one of UNITS. */
static int parse(const char *text, const struct unit *units, u64 *out)
{
	u64 whole = 0, fraction = 0, scale = 1, result;
	bool digits = false;

	for (; isdigit((unsigned char)*text); text++, digits = true)
		if (__builtin_mul_overflow(whole, 10, &whole) ||
		    __builtin_add_overflow(whole, (u64)(*text - '0'), &whole))
			return -ERANGE;
	if (*text == '.')
		for (text++; isdigit((unsigned char)*text); text++, digits = true) {
			/* Beyond nine digits nothing is left of it in any unit that matters. */
			if (scale >= 1000000000)
				continue;
			fraction = fraction * 10 + (u64)(*text - '0');
			scale *= 10;
		}
	if (!digits)
		return -EINVAL;
	while (units->name && strcmp(units->name, text))
		units++;
	if (!units->name)
		return -EINVAL;
	/* By parts, so that the product of fraction and factor (below 10^9 * 2^50) cannot
	 * overflow. */
	result = units->factor / scale * fraction + units->factor % scale * fraction / scale;
	if (__builtin_mul_overflow(whole, units->factor, &whole) ||
	    __builtin_add_overflow(whole, result, &result))
		return -ERANGE;
	*out = result;
	return 0;
}

int units_parse_duration(const char *text, u64 *ns)
{
	static const struct unit units[] = {
		{"", 1000000000ull},
		{"s", 1000000000ull},
		{"ms", 1000000ull},
		{"us", 1000ull},
		{"µs", 1000ull},
		{"ns", 1ull},
		{"m", 60 * 1000000000ull},
		{"min", 60 * 1000000000ull},
		{"h", 3600 * 1000000000ull},
		{"d", 86400 * 1000000000ull},
		{NULL, 0},
	};

	return parse(text, units, ns);
}

int units_parse_size(const char *text, u64 *bytes)
{
	static const struct unit units[] = {
		{"", 1},
		{"B", 1},
		{"K", 1ull << 10},
		{"k", 1ull << 10},
		{"KiB", 1ull << 10},
		{"M", 1ull << 20},
		{"MiB", 1ull << 20},
		{"G", 1ull << 30},
		{"GiB", 1ull << 30},
		{"T", 1ull << 40},
		{"TiB", 1ull << 40},
		{"kB", 1000ull},
		{"MB", 1000000ull},
		{"GB", 1000000000ull},
		{"TB", 1000000000000ull},
		{NULL, 0},
	};

	return parse(text, units, bytes);
}

int units_parse_share(const char *text, u64 *ppb)
{
	static const struct unit units[] = {
		{"", 1000000000ull},
		{"%", 10000000ull},
		{NULL, 0},
	};

	return parse(text, units, ppb);
}
