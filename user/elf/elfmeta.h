/* SPDX-License-Identifier: MIT */
/* What spantrace.h says about its sites in .note.spantrace (include/note.h): source line and
 * label keys. Private to user/elfnote.c. */
#ifndef SPANTRACE_ELFMETA_H
#define SPANTRACE_ELFMETA_H

#include "../util/strpool.h"
#include "elfnote.h"

struct elfmeta;

int elfmeta_new(struct elfmeta **out);
void elfmeta_free(struct elfmeta **meta);

/* Takes one note's description (SIZE bytes of DESC). Returns 0; -EINVAL for one that is damaged;
 * -E2BIG beyond ELFNOTE_MAX_SITES of them; -ENOMEM. */
int elfmeta_add(struct elfmeta *meta, const char *desc, size_t size);
/* Gives each site of FILE what belongs to it, with the text in STRINGS. SHIFT is what the
 * addresses in the notes lack to those of the sites. */
int elfmeta_apply(struct elfmeta *meta, u64 shift, struct elfnote_file *file,
		  struct strpool *strings);

#endif
