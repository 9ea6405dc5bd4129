// SPDX-License-Identifier: MIT
/* Numbers, names and sums in the text of an operand; see operand_text.h. */
#include "operand_text.h"

#include <errno.h>
#include <string.h>

static bool is_digit(char ch)
{
	return ch >= '0' && ch <= '9';
}

static bool is_letter(char ch)
{
	return (ch >= 'a' && ch <= 'z') || (ch >= 'A' && ch <= 'Z');
}

/* Bytes from 0x80 on are part of names: compilers take UTF-8 identifiers. */
static bool is_name(char ch)
{
	return is_letter(ch) || is_digit(ch) || ch == '_' || ch == '.' || ch == '$' ||
	       (unsigned char)ch >= 0x80;
}

void operand_skip_space(struct operand_cursor *c)
{
	while (c->at < c->end && strchr(" \t\n\r\v\f", *c->at) && *c->at)
		c->at++;
}

bool operand_take(struct operand_cursor *c, char ch)
{
	operand_skip_space(c);
	if (c->at == c->end || *c->at != ch)
		return false;
	c->at++;
	return true;
}

bool operand_at_end(struct operand_cursor *c)
{
	operand_skip_space(c);
	return c->at == c->end;
}

bool operand_word(struct operand_cursor *c, char *word, size_t size)
{
	size_t len = 0;

	operand_skip_space(c);
	for (; c->at < c->end && (is_letter(*c->at) || is_digit(*c->at)); c->at++) {
		if (len + 1 >= size)
			return false;
		word[len++] = is_letter(*c->at) ? (char)(*c->at | 0x20) : *c->at;
	}
	word[len] = '\0';
	return len > 0;
}

static int digit_value(char ch)
{
	if (is_digit(ch))
		return ch - '0';
	if (is_letter(ch))
		return (ch | 0x20) - 'a' + 10;
	return 99;
}

bool operand_number(struct operand_cursor *c, u64 *number)
{
	unsigned base = 10;
	const char *at;
	u64 value = 0;

	operand_skip_space(c);
	at = c->at;
	if (at == c->end || !is_digit(*at))
		return false;
	if (*at == '0' && c->end - at > 2 && (at[1] | 0x20) == 'x' && digit_value(at[2]) < 16) {
		base = 16;
		at += 2;
	} else if (*at == '0') {
		base = 8;
	}
	for (; at < c->end && digit_value(*at) < (int)base; at++)
		if (__builtin_mul_overflow(value, base, &value) ||
		    __builtin_add_overflow(value, (u64)digit_value(*at), &value))
			return false;
	c->at = at;
	*number = value;
	return true;
}

int operand_small_number(const char *text, const char **rest)
{
	int value;

	if (!is_digit(text[0]) || (text[0] == '0' && is_digit(text[1])))
		return -1;
	value = text[0] - '0';
	text++;
	if (is_digit(*text))
		value = value * 10 + (*text++ - '0');
	*rest = text;
	return value;
}

bool operand_sum(struct operand_cursor *c, struct operand_sum *sum)
{
	*sum = (struct operand_sum){0};
	for (;;) {
		bool negative = false, sign = false;
		u64 number;

		for (;;) {
			if (operand_take(c, '-'))
				negative = !negative;
			else if (!operand_take(c, '+'))
				break;
			sign = true;
		}
		if (sum->present && !sign)
			return true;
		operand_skip_space(c);
		if (operand_number(c, &number)) {
			sum->number += negative ? -number : number;
		} else if (c->at < c->end && is_name(*c->at) && !is_digit(*c->at)) {
			if (sum->symbol || negative)
				return false;
			sum->symbol = c->at;
			while (c->at < c->end && is_name(*c->at))
				c->at++;
			sum->symbol_len = (size_t)(c->at - sum->symbol);
		} else {
			return !sign; /* a sign needs a term; nothing at all is no sum, and fine */
		}
		sum->present = true;
	}
}

int operand_resolve(const struct operand_site *site, const struct operand_sum *sum, u64 *address,
		    const char **why)
{
	int err = -ENOENT;

	if (site->symbol)
		err = site->symbol(site->symbol_arg, sum->symbol, sum->symbol_len, address);
	switch (err) {
	case 0:
		break;
	case -ENOENT:
		*why = "the file has no symbol of its name; a stripped file keeps only exported ones";
		break;
	case -ENOTUNIQ:
		*why = "the file has several symbols of its name";
		break;
	default:
		*why = "the file's symbols cannot be read";
		break;
	}
	return err;
}

s64 operand_extend(u64 number, unsigned size, bool is_signed)
{
	unsigned unused = 64 - size * 8;

	if (is_signed)
		return (s64)(number << unused) >> unused;
	return (s64)(number << unused >> unused);
}
