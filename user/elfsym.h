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

#endif
