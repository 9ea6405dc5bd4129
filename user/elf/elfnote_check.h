/* SPDX-License-Identifier: MIT */
/* Must a site be left alone? Private to user/elfnote*.c. */
#ifndef SPANTRACE_ELFNOTE_CHECK_H
#define SPANTRACE_ELFNOTE_CHECK_H

#include "elfimage.h"
#include "elfnote.h"

/* Sets offset, sema_offset, nop and refused of every site of FILE, whose sites are in order of
 * address. What is refused already stays so, with the reason that it has. */
void elfnote_check(const struct elfimage *image, struct elfnote_file *file);

#endif
