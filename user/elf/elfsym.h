/* SPDX-License-Identifier: MIT */
/* Addresses of a file's symbols by name, from .symtab and .dynsym. The tables are read at the
 * first question: few files have a marker that names a symbol. */
#ifndef SPANTRACE_ELFSYM_H
#define SPANTRACE_ELFSYM_H

#include "elfimage.h"

struct elfsym;

/* IMAGE is borrowed and must outlive the object. */
int elfsym_new(const struct elfimage *image, struct elfsym **out);
void elfsym_free(struct elfsym **symbols);

/* Puts the address of the data or function NAME (LEN bytes) into *ADDRESS. Returns 0; -ENOENT;
 * -ENOTUNIQ when several that stand at different addresses bear the name, as static variables do;
 * -EBADMSG or -EFBIG for tables that cannot be used; -ENOMEM. ARG is the struct elfsym: fits
 * struct operand_site. */
int elfsym_find(void *arg, const char *name, size_t len, u64 *address);

struct elfsym_function {
	u64 address;
	u64 size; /* as the file says; 0: it does not */
};

/* Puts the functions NAME that other files can see (LOCAL: the others too), each address once, into OUT and their number into *N: 0 where there are
 * none, more than one where a name has several versions. 0; -EFBIG for more than MAX; else as elfsym_find(). */
int elfsym_functions(struct elfsym *symbols, const char *name, bool local,
		     struct elfsym_function *out, size_t max, size_t *n);

#endif
