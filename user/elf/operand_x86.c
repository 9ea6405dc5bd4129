// SPDX-License-Identifier: MIT
/* x86-64 operands in AT&T syntax: %edi, $-5, 8(%rsp), (%rax,%rcx,4), name+8(%rip), name. */
#include <errno.h>
#include <string.h>

#include "operand_text.h"

struct reg {
	u8 number;
	u8 width;
	bool high_byte;
};

static const struct {
	char name[5];
	struct reg reg;
} old_regs[] = {
	{"rax", {OPERAND_RAX, 8, false}}, {"eax", {OPERAND_RAX, 4, false}},
	{"ax", {OPERAND_RAX, 2, false}},  {"al", {OPERAND_RAX, 1, false}},
	{"ah", {OPERAND_RAX, 1, true}},   {"rbx", {OPERAND_RBX, 8, false}},
	{"ebx", {OPERAND_RBX, 4, false}}, {"bx", {OPERAND_RBX, 2, false}},
	{"bl", {OPERAND_RBX, 1, false}},  {"bh", {OPERAND_RBX, 1, true}},
	{"rcx", {OPERAND_RCX, 8, false}}, {"ecx", {OPERAND_RCX, 4, false}},
	{"cx", {OPERAND_RCX, 2, false}},  {"cl", {OPERAND_RCX, 1, false}},
	{"ch", {OPERAND_RCX, 1, true}},   {"rdx", {OPERAND_RDX, 8, false}},
	{"edx", {OPERAND_RDX, 4, false}}, {"dx", {OPERAND_RDX, 2, false}},
	{"dl", {OPERAND_RDX, 1, false}},  {"dh", {OPERAND_RDX, 1, true}},
	{"rsi", {OPERAND_RSI, 8, false}}, {"esi", {OPERAND_RSI, 4, false}},
	{"si", {OPERAND_RSI, 2, false}},  {"sil", {OPERAND_RSI, 1, false}},
	{"rdi", {OPERAND_RDI, 8, false}}, {"edi", {OPERAND_RDI, 4, false}},
	{"di", {OPERAND_RDI, 2, false}},  {"dil", {OPERAND_RDI, 1, false}},
	{"rbp", {OPERAND_RBP, 8, false}}, {"ebp", {OPERAND_RBP, 4, false}},
	{"bp", {OPERAND_RBP, 2, false}},  {"bpl", {OPERAND_RBP, 1, false}},
	{"rsp", {OPERAND_RSP, 8, false}}, {"esp", {OPERAND_RSP, 4, false}},
	{"sp", {OPERAND_RSP, 2, false}},  {"spl", {OPERAND_RSP, 1, false}},
	{"rip", {OPERAND_PC, 8, false}},
};

/* r8 to r15, r8d, r8w, r8b and the r8l that some assemblers write for it. */
static bool new_reg(const char *name, struct reg *reg)
{
	const char *suffix;
	int number;

	if (name[0] != 'r')
		return false;
	number = operand_small_number(name + 1, &suffix);
	if (number < 8 || number > 15)
		return false;
	*reg = (struct reg){.number = (u8)(OPERAND_R8 + number - 8)};
	if (!*suffix)
		reg->width = 8;
	else if (suffix[1])
		return false;
	else if (*suffix == 'd')
		reg->width = 4;
	else if (*suffix == 'w')
		reg->width = 2;
	else if (*suffix == 'b' || *suffix == 'l')
		reg->width = 1;
	return reg->width;
}

static bool find_reg(const char *name, struct reg *reg)
{
	for (size_t i = 0; i < sizeof(old_regs) / sizeof(old_regs[0]); i++)
		if (strcmp(name, old_regs[i].name) == 0) {
			*reg = old_regs[i].reg;
			return true;
		}
	return new_reg(name, reg);
}

static bool is_float_reg(const char *name)
{
	static const char *const prefix[] = {"xmm", "ymm", "zmm", "mm", "st"};

	for (size_t i = 0; i < sizeof(prefix) / sizeof(prefix[0]); i++)
		if (strncmp(name, prefix[i], strlen(prefix[i])) == 0)
			return true;
	return false;
}

static int parse_register(struct operand_cursor *c, struct operand *out, const char **why)
{
	char name[8];
	struct reg reg;

	if (!operand_word(c, name, sizeof(name)))
		return -EINVAL;
	if (operand_take(c, ':')) {
		*why = "it is relative to a segment register (thread-local)";
		return -EOPNOTSUPP;
	}
	if (is_float_reg(name)) {
		out->form = OPERAND_FLOAT;
		*why = OPERAND_IS_FLOAT;
		return -EOPNOTSUPP;
	}
	if (!find_reg(name, &reg) || reg.number == OPERAND_PC)
		return -EINVAL;
	out->form = OPERAND_REG;
	out->base = reg.number;
	out->high_byte = reg.high_byte;
	/* What stands above the register's named part is not the argument's. */
	if (reg.width < out->size)
		out->size = reg.width;
	return 0;
}

/* A symbol's address, where it is the same in each process: in no position-independent file. */
static int resolve_fixed(const struct operand_site *site, const struct operand_sum *sum,
			 u64 *address, const char **why)
{
	if (!site->fixed_addresses) {
		*why = "it needs the run-time address of a symbol in a position-independent file";
		return -EOPNOTSUPP;
	}
	return operand_resolve(site, sum, address, why);
}

static int parse_immediate(const struct operand_site *site, struct operand_cursor *c,
			   struct operand *out, const char **why)
{
	struct operand_sum sum;
	u64 address = 0;
	int err;

	if (!operand_sum(c, &sum) || !sum.present)
		return -EINVAL;
	if (sum.symbol) {
		err = resolve_fixed(site, &sum, &address, why);
		if (err)
			return err;
	}
	/* gcc prints an unsigned 200 in one byte as $-56. */
	out->disp = operand_extend(sum.number + address, out->size, out->is_signed);
	out->form = OPERAND_CONST;
	return 0;
}

static int parse_address_reg(struct operand_cursor *c, u8 *number, const char **why)
{
	char name[8];
	struct reg reg;

	if (!operand_word(c, name, sizeof(name)) || !find_reg(name, &reg))
		return -EINVAL;
	if (reg.width != 8) {
		*why = "its address is in a register of less than 64 bits";
		return -EOPNOTSUPP;
	}
	*number = reg.number;
	return 0;
}

/* What stands between the parentheses of D(base,index,scale). */
static int parse_base_index(struct operand_cursor *c, struct operand *out, const char **why)
{
	u64 scale;
	int err;

	if (operand_take(c, '%')) {
		err = parse_address_reg(c, &out->base, why);
		if (err)
			return err;
	}
	if (operand_take(c, ',')) {
		if (operand_take(c, '%')) {
			err = parse_address_reg(c, &out->index, why);
			if (err)
				return err;
		}
		if (operand_take(c, ',')) {
			if (!operand_number(c, &scale) ||
			    (scale != 1 && scale != 2 && scale != 4 && scale != 8))
				return -EINVAL;
			out->scale = (u8)scale;
		}
	}
	if (!operand_take(c, ')'))
		return -EINVAL;
	/* The machine has neither of these two as an index, and nothing beside %rip. */
	if (out->index == OPERAND_PC || out->index == OPERAND_RSP)
		return -EINVAL;
	if (out->base == OPERAND_PC && (out->index != OPERAND_NO_REG || out->scale != 1))
		return -EINVAL;
	if (out->base == OPERAND_NO_REG && out->index == OPERAND_NO_REG)
		return -EINVAL;
	return 0;
}

static int parse_memory(const struct operand_site *site, struct operand_cursor *c,
			struct operand *out, const char **why)
{
	struct operand_sum sum;
	u64 address = 0;
	int err;

	if (!operand_sum(c, &sum))
		return -EINVAL;
	if (operand_take(c, '@')) {
		*why = "its address comes from the linker's tables (GOT or thread-local storage)";
		return -EOPNOTSUPP;
	}
	if (operand_take(c, '(')) {
		err = parse_base_index(c, out, why);
		if (err)
			return err;
	} else if (!sum.symbol || !operand_at_end(c)) {
		/* A number alone is an address here, but a value in Intel's syntax. */
		return -EINVAL;
	}
	if (out->base == OPERAND_PC) {
		/* Without a symbol the number counts from an instruction that is not there. */
		if (!sum.symbol)
			return -EINVAL;
		err = operand_resolve(site, &sum, &address, why);
		if (err)
			return err;
		address -= site->pc;
	} else if (sum.symbol) {
		err = resolve_fixed(site, &sum, &address, why);
		if (err)
			return err;
	}
	out->disp = (s64)(sum.number + address);
	out->form = OPERAND_MEM;
	return 0;
}

int operand_parse_x86(const struct operand_site *site, struct operand_cursor *c,
		      struct operand *out, const char **why)
{
	if (operand_take(c, '%'))
		return parse_register(c, out, why);
	if (operand_take(c, '$'))
		return parse_immediate(site, c, out, why);
	return parse_memory(site, c, out, why);
}
