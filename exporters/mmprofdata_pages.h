/* SPDX-License-Identifier: MIT */
/* The container of an event file, as it is written: three streams in pages, strings by id, events. Pages go out so that
 * no event stands in the file before the strings that it names: a file that was cut can be read up to there. The format
 * is in include/mmprofdata.h. Errors of the file itself are left to whoever closes it. */
#ifndef SPANTRACE_MMPROFDATA_PAGES_H
#define SPANTRACE_MMPROFDATA_PAGES_H

#include <stdio.h>

#include "../include/mmprofdata.h"
#include "text.h"

struct mmp_pages_out;

/* Begins the file. 0 or -ENOMEM. */
int mmp_pages_new(FILE *out, struct mmp_pages_out **pages);
void mmp_pages_free(struct mmp_pages_out **pages);

/* Writes a string and gives its id. TEXT holds references as mmp_add_reference() makes them. */
u64 mmp_pages_string(struct mmp_pages_out *pages, const struct text_buf *text);
/* The same, and the same id for the same text as long as memory for that is left. 0 or -ENOMEM. */
int mmp_pages_intern(struct mmp_pages_out *pages, const struct text_buf *text, u64 *id);
/* From here on string ID is the file's metadata. */
void mmp_pages_metadata(struct mmp_pages_out *pages, u64 id);
void mmp_pages_event(struct mmp_pages_out *pages, const struct mmp_event *event);
/* Writes what is waiting. */
void mmp_pages_flush(struct mmp_pages_out *pages);

void mmp_add_reference(struct text_buf *text, u64 id);
/* TEXT without what an event id must not hold: what is not UTF-8, and control characters but white space. */
void mmp_add_text(struct text_buf *out, const char *text);

#endif
