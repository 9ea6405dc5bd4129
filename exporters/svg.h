/* SPDX-License-Identifier: MIT */
/* Text and numbers for SVG: escaped, and the same in every locale. */
#ifndef SPANTRACE_SVG_H
#define SPANTRACE_SVG_H

#include "text.h"

/* TEXT made safe and escaped for content or an attribute, at most MAX code points and an
 * ellipsis. */
void svg_add_text(struct text_buf *b, const char *text, size_t max);
/* The same for safe text, cut to COLUMNS. */
void svg_add_cut(struct text_buf *b, const char *text, unsigned columns);
/* BEFORE, then VALUE (0 to 10^15) to two decimals, without zeroes at the end. */
void svg_add_number(struct text_buf *b, const char *before, double value);

#endif
