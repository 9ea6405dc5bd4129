// SPDX-License-Identifier: MIT
/* Arguments of markers: where each begins and ends, its size, and which grammar reads the rest. */
#include "operand.h"

#include <elf.h>
#include <errno.h>

#include "operand_text.h"

static bool is_space(char ch)
{
	return ch == ' ' || ch == '\t' || ch == '\n' || ch == '\r' || ch == '\v' || ch == '\f';
}

/* Does an argument begin here: "8@", "-4@", "8f@", with or without space before the @? */
static bool is_size(const char *at, const char *end)
{
	const char *digits;

	if (at < end && *at == '-')
		at++;
	for (digits = at; at < end && *at >= '0' && *at <= '9';)
		at++;
	if (at == digits)
		return false;
	if (at < end && *at == 'f')
		at++;
	while (at < end && is_space(*at))
		at++;
	return at < end && *at == '@';
}

/* Operands can have spaces in them: "8@[sp, 16]", and "8@QWORD PTR [rsp+8]" from code compiled
 * with -masm=intel. So an argument reaches to the next size. Too long a piece is one argument
 * that cannot be read; too short a piece would also shift the ones behind it, and give them each
 * other's values. */
size_t operand_next(const char **text, const char *end, const char **argument)
{
	const char *at = *text, *begin, *next;

	while (at < end && is_space(*at))
		at++;
	begin = at;
	while (at < end) {
		for (next = at; next < end && is_space(*next); next++)
			;
		if (next == end || (next > at && is_size(next, end)))
			break;
		at = next > at ? next : at + 1;
	}
	*text = at;
	*argument = begin;
	return (size_t)(at - begin);
}

/* Reads "-4@" or "8f@". */
static bool parse_size(struct operand_cursor *c, struct operand *out, u64 *size, bool *is_float)
{
	out->is_signed = operand_take(c, '-');
	if (!operand_number(c, size))
		return false;
	*is_float = operand_take(c, 'f');
	return operand_take(c, '@');
}

static int parse(const struct operand_site *site, struct operand_cursor *c, struct operand *out,
		 const char **why)
{
	bool is_float;
	u64 size;
	int err;

	if (site->machine != EM_X86_64 && site->machine != EM_AARCH64) {
		*why = "spantrace reads arguments on x86-64 and arm64 only";
		return -EOPNOTSUPP;
	}
	if (!parse_size(c, out, &size, &is_float)) {
		*why = "it does not begin with its size, as in 8@";
		return -EINVAL;
	}
	if (size != 1 && size != 2 && size != 4 && size != 8) {
		*why = "its size is not 1, 2, 4 or 8 bytes";
		return -EINVAL;
	}
	out->size = (u8)size;
	if (is_float) {
		out->form = OPERAND_FLOAT;
		*why = OPERAND_IS_FLOAT;
		return -EOPNOTSUPP;
	}
	*why = OPERAND_NOT_UNDERSTOOD;
	if (site->machine == EM_X86_64)
		err = operand_parse_x86(site, c, out, why);
	else
		err = operand_parse_arm64(c, out, why);
	if (!err && !operand_at_end(c))
		err = -EINVAL;
	return err;
}

int operand_parse(const struct operand_site *site, const char *text, size_t len,
		  struct operand *out, const char **why)
{
	struct operand_cursor c = {.at = text, .end = text + len};
	const char *reason;
	int err;

	*out = (struct operand){.base = OPERAND_NO_REG, .index = OPERAND_NO_REG, .scale = 1};
	err = parse(site, &c, out, &reason);
	if (!err)
		return 0;
	if (out->form != OPERAND_FLOAT)
		out->form = OPERAND_NONE;
	*why = reason;
	return err;
}
