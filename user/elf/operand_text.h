/* SPDX-License-Identifier: MIT */
/* What the grammars of operands share: a cursor over text that is not NUL-terminated, numbers,
 * symbols and sums of them. Private to user/operand*.c. */
#ifndef SPANTRACE_OPERAND_TEXT_H
#define SPANTRACE_OPERAND_TEXT_H

#include <stdbool.h>
#include <stddef.h>

#include "operand.h"

struct operand_cursor {
	const char *at;
	const char *end;
};

/* A sum such as -8+name+40: what the numbers add up to (modulo 2^64), and the one name, if any. */
struct operand_sum {
	u64 number;
	const char *symbol;
	size_t symbol_len;
	bool present; /* there was at least one term */
};

#define OPERAND_NOT_UNDERSTOOD "it is not in a form that spantrace knows"
#define OPERAND_IS_FLOAT       "it is a floating-point value; spantrace reads integers and pointers only"

void operand_skip_space(struct operand_cursor *c);
/* Skips spaces, then takes CH if it comes next. */
bool operand_take(struct operand_cursor *c, char ch);
/* Skips spaces; is that the end? */
bool operand_at_end(struct operand_cursor *c);
/* Takes letters and digits into WORD, in lower case and NUL-terminated. False if there are none,
 * or too many for SIZE. */
bool operand_word(struct operand_cursor *c, char *word, size_t size);
/* An unsigned number as assemblers write it: decimal, 0x or octal. */
bool operand_number(struct operand_cursor *c, u64 *number);
/* False for what is no sum, or has more than one name in it; the cursor then stands at what did
 * not fit. */
bool operand_sum(struct operand_cursor *c, struct operand_sum *sum);
/* "8" in x8 or r8d: the decimal number of one or two digits at TEXT, or -1; *REST is set behind
 * it. */
int operand_small_number(const char *text, const char **rest);

/* Looks SUM's symbol up. Returns 0 with its address in *ADDRESS, or as operand_parse(). */
int operand_resolve(const struct operand_site *site, const struct operand_sum *sum, u64 *address,
		    const char **why);
/* NUMBER cut to SIZE bytes, then extended again. */
s64 operand_extend(u64 number, unsigned size, bool is_signed);

/* The grammars. Each finds OUT with size and sign set and no registers, and *WHY not understood. */
int operand_parse_x86(const struct operand_site *site, struct operand_cursor *c,
		      struct operand *out, const char **why);
int operand_parse_arm64(struct operand_cursor *c, struct operand *out, const char **why);

#endif
