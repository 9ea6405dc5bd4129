/* SPDX-License-Identifier: MIT */
/* JSON into a text_buf, for formats that write the same few members again and again: jsonw.h looks after commas and
 * lines, here the caller does. */
#ifndef SPANTRACE_JSONTEXT_H
#define SPANTRACE_JSONTEXT_H

#include "text.h"

/* TEXT in quotes, with its escapes. */
void jsontext_string(struct text_buf *b, const char *text);

#endif
