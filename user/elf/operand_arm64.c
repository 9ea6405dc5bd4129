// SPDX-License-Identifier: MIT
/* arm64 operands: x0, w1, 5, [x0], [sp, 16], [x1, x2], [x1, x2, lsl 3]. */
#include <errno.h>
#include <string.h>

#include "operand_text.h"

#define REG_SP   31
#define REG_ZERO 32 /* xzr, wzr: no register in an operand, but the constant 0 */

struct reg {
	u8 number;
	u8 width;
};

static bool find_reg(const char *name, struct reg *reg)
{
	const char *rest;
	int number;

	if (strcmp(name, "sp") == 0 || strcmp(name, "wsp") == 0) {
		*reg = (struct reg){REG_SP, name[0] == 's' ? 8 : 4};
		return true;
	}
	if (strcmp(name, "fp") == 0 || strcmp(name, "lr") == 0) {
		*reg = (struct reg){name[0] == 'f' ? 29 : 30, 8};
		return true;
	}
	if (name[0] != 'x' && name[0] != 'w')
		return false;
	reg->width = name[0] == 'x' ? 8 : 4;
	if (strcmp(name + 1, "zr") == 0) {
		reg->number = REG_ZERO;
		return true;
	}
	number = operand_small_number(name + 1, &rest);
	if (number < 0 || number > 30 || *rest)
		return false;
	reg->number = (u8)number;
	return true;
}

/* b0, h1, s2, d3, q4, v5: the floating-point registers by width. */
static bool is_float_reg(const char *name)
{
	const char *rest;
	int number;

	if (!name[0] || !strchr("bhsdqv", name[0]))
		return false;
	number = operand_small_number(name + 1, &rest);
	return number >= 0 && number <= 31 && !*rest;
}

static int parse_number(struct operand_cursor *c, s64 *number)
{
	struct operand_sum sum;

	operand_take(c, '#');
	if (!operand_sum(c, &sum) || !sum.present || sum.symbol)
		return -EINVAL;
	*number = (s64)sum.number;
	return 0;
}

static int parse_register(const char *name, struct operand *out, const char **why)
{
	struct reg reg;

	if (is_float_reg(name)) {
		out->form = OPERAND_FLOAT;
		*why = OPERAND_IS_FLOAT;
		return -EOPNOTSUPP;
	}
	if (!find_reg(name, &reg))
		return -EINVAL;
	if (reg.number == REG_ZERO) {
		out->form = OPERAND_CONST;
		return 0;
	}
	out->form = OPERAND_REG;
	out->base = reg.number;
	if (reg.width < out->size)
		out->size = reg.width;
	return 0;
}

/* "x2" or "x2, lsl 3", behind the base. */
static int parse_index(const char *name, struct operand_cursor *c, struct operand *out,
		       const char **why)
{
	char shift[8];
	struct reg reg;
	s64 amount;

	if (!find_reg(name, &reg) || reg.number == REG_SP)
		return -EINVAL;
	if (reg.width != 8) {
		*why = "its address is in a register of less than 64 bits";
		return -EOPNOTSUPP;
	}
	if (operand_take(c, ',')) {
		if (!operand_word(c, shift, sizeof(shift)) || strcmp(shift, "lsl") != 0 ||
		    parse_number(c, &amount) || amount < 0 || amount > 3)
			return -EINVAL;
		out->scale = (u8)(1u << amount);
	}
	if (reg.number != REG_ZERO)
		out->index = reg.number;
	return 0;
}

static int parse_memory(struct operand_cursor *c, struct operand *out, const char **why)
{
	char name[8];
	struct reg reg;
	int err = 0;

	if (!operand_word(c, name, sizeof(name)) || !find_reg(name, &reg) || reg.width != 8 ||
	    reg.number == REG_ZERO)
		return -EINVAL;
	out->base = reg.number;
	if (operand_take(c, ',')) {
		operand_skip_space(c);
		if (c->at < c->end && (*c->at | 0x20) >= 'a' && (*c->at | 0x20) <= 'z') {
			if (!operand_word(c, name, sizeof(name)))
				return -EINVAL;
			err = parse_index(name, c, out, why);
		} else {
			err = parse_number(c, &out->disp);
		}
	}
	if (err)
		return err;
	/* What follows the bracket ("]!", "], 8") changes the register: no compiler prints it
	 * here. */
	if (!operand_take(c, ']'))
		return -EINVAL;
	out->form = OPERAND_MEM;
	return 0;
}

int operand_parse_arm64(struct operand_cursor *c, struct operand *out, const char **why)
{
	struct operand_cursor start;
	char name[8];

	if (operand_take(c, '['))
		return parse_memory(c, out, why);
	start = *c;
	if (!parse_number(c, &out->disp)) {
		out->disp = operand_extend((u64)out->disp, out->size, out->is_signed);
		out->form = OPERAND_CONST;
		return 0;
	}
	*c = start;
	if (!operand_word(c, name, sizeof(name)))
		return -EINVAL;
	return parse_register(name, out, why);
}
