/* SPDX-License-Identifier: MIT */
/* Strings as small numbers: equal text gets an equal id, ids count from 0. */
#ifndef SPANTRACE_STRTAB_H
#define SPANTRACE_STRTAB_H

#include <stdbool.h>
#include <stddef.h>

#include "../include/types.h"

struct strtab;

int strtab_new(struct strtab **out);
/* The id of LEN bytes of TEXT. 0 or -ENOMEM. */
int strtab_add(struct strtab *t, const char *text, size_t len, u32 *id);
/* The id of a text that was added; false: it was not. */
bool strtab_find(const struct strtab *t, const char *text, size_t len, u32 *id);
/* NUL-terminated, lives as long as T. */
const char *strtab_get(const struct strtab *t, u32 id);
u32 strtab_count(const struct strtab *t);
void strtab_free(struct strtab **t);

#endif
