/* SPDX-License-Identifier: MIT */
/* From the text of a marker's arguments ("8@%rdi -4@12(%rsp)") to operands that bpf/ can
 * evaluate.
 *
 * The text is what the compiler gave the assembler, so each machine has its own grammar; what
 * they share (the size in front, where one argument ends) stands in operand.c. An argument that
 * cannot be read is said to be so, with the reason: a guessed value would be worse than none.
 */
#ifndef SPANTRACE_USER_OPERAND_H
#define SPANTRACE_USER_OPERAND_H

#include <stdbool.h>
#include <stddef.h>

#include "../../include/operand.h"

/* Where the argument stands, as far as its meaning depends on it. */
struct operand_site {
	u16 machine;          /* EM_X86_64 or EM_AARCH64; others have no grammar here */
	bool fixed_addresses; /* ET_EXEC: a symbol's linked address is the one at run time */
	u64 pc;               /* of the marker, as linked */
	/* Puts the linked address of the symbol NAME (LEN bytes) into *ADDRESS. Returns 0;
	 * -ENOENT for no such symbol; -ENOTUNIQ for several; other -errno. NULL: there are no
	 * symbols. */
	int (*symbol)(void *arg, const char *name, size_t len, u64 *address);
	void *symbol_arg;
};

/* Cuts the next argument off *TEXT, which ends at END, and moves *TEXT behind it. Returns its
 * length, with its first byte in *ARGUMENT, or 0 when there are no more. Spaces inside an
 * argument stay in it. */
size_t operand_next(const char **text, const char *end, const char **argument);

/* Decodes one argument (LEN bytes of TEXT). Returns 0. Or -EOPNOTSUPP (understood, but nothing
 * that spantrace reads), -EINVAL (not understood) or what the symbol lookup said, with a static
 * sentence about "it" in *WHY; OUT then has the form OPERAND_FLOAT, or OPERAND_NONE. */
int operand_parse(const struct operand_site *site, const char *text, size_t len,
		  struct operand *out, const char **why);

#endif
