/* SPDX-License-Identifier: MIT */
/* See figures.h. All in integers: printf() would write the locale's decimal comma. */
#include "figures.h"

#include <stdio.h>

struct unit {
	const char *name;
	u64 size;
};

static const struct unit time_units[] = {
	{"ns", 1}, {"µs", 1000}, {"ms", 1000000}, {"s", 1000000000}, {NULL, 0},
};

static const struct unit byte_units[] = {
	{"B", 1},
	{"KiB", 1ull << 10},
	{"MiB", 1ull << 20},
	{"GiB", 1ull << 30},
	{"TiB", 1ull << 40},
	{NULL, 0},
};

/* AMOUNT / SIZE in steps of 1 / STEPS, to the nearest. STEPS <= 100. */
static u64 in_steps(u64 amount, u64 size, unsigned steps)
{
	u64 rest = amount % size;

	return amount / size * steps + (rest * steps + size / 2) / size;
}

/* COUNT's digits in groups of three; returns the end, where a NUL stands. At most 27 bytes. */
static char *put_grouped(char *to, u64 count)
{
	char digits[24];
	int len = snprintf(digits, sizeof(digits), "%llu", (unsigned long long)count);

	for (int i = 0; i < len; i++) {
		if (i && (len - i) % 3 == 0)
			*to++ = ',';
		*to++ = digits[i];
	}
	*to = '\0';
	return to;
}

const char *figures_count(char buf[FIGURES_SIZE], u64 count)
{
	put_grouped(buf, count);
	return buf;
}

const char *figures_signed(char buf[FIGURES_SIZE], s64 value)
{
	if (value < 0) {
		buf[0] = '-';
		put_grouped(buf + 1, -(u64)value);
	} else {
		put_grouped(buf, (u64)value);
	}
	return buf;
}

/* The smallest unit that needs no more than three digits, or the largest there is. */
static const char *scaled(char buf[FIGURES_SIZE], u64 amount, const struct unit *unit)
{
	u64 hundredths;

	while (unit[1].name && in_steps(amount, unit->size, 1) >= 1000)
		unit++;
	hundredths = in_steps(amount, unit->size, 100);
	if (unit->size == 1 || in_steps(amount, unit->size, 10) >= 1000) {
		char *end = put_grouped(buf, in_steps(amount, unit->size, 1));

		snprintf(end, FIGURES_SIZE - (size_t)(end - buf), " %s", unit->name);
	} else if (hundredths >= 1000) {
		unsigned tenths = (unsigned)in_steps(amount, unit->size, 10);

		snprintf(buf, FIGURES_SIZE, "%u.%u %s", tenths / 10, tenths % 10, unit->name);
	} else {
		snprintf(buf, FIGURES_SIZE, "%u.%02u %s", (unsigned)hundredths / 100,
			 (unsigned)hundredths % 100, unit->name);
	}
	return buf;
}

const char *figures_time(char buf[FIGURES_SIZE], u64 ns)
{
	return scaled(buf, ns, time_units);
}

const char *figures_bytes(char buf[FIGURES_SIZE], u64 bytes)
{
	return scaled(buf, bytes, byte_units);
}

const char *figures_share(char buf[FIGURES_SIZE], u64 part, u64 whole)
{
	double share = whole ? (double)part / (double)whole : 0;
	unsigned hundredths = (unsigned)(share * 10000 + 0.5);
	unsigned tenths = (unsigned)(share * 1000 + 0.5);

	if (hundredths >= 1000)
		snprintf(buf, FIGURES_SIZE, "%u.%u %%", tenths / 10, tenths % 10);
	else
		snprintf(buf, FIGURES_SIZE, "%u.%02u %%", hundredths / 100, hundredths % 100);
	return buf;
}

const char *figures_sample(char buf[FIGURES_SIZE], u32 ppb)
{
	snprintf(buf, FIGURES_SIZE, "%.9g %%", (double)ppb * 100 / PPB);
	return buf;
}

const char *figures_value(char buf[FIGURES_SIZE], enum export_value value, u64 amount)
{
	switch (export_value_unit(value)[0]) {
	case 'n':
		return figures_time(buf, amount);
	case 'b':
		return figures_bytes(buf, amount);
	default:
		return figures_count(buf, amount);
	}
}
