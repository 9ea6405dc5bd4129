/* SPDX-License-Identifier: MIT */
/* Bytes as a gzip file: the same bytes for the same input, for its header holds neither a time nor a name. */
#ifndef SPANTRACE_GZIP_H
#define SPANTRACE_GZIP_H

#include "text.h"

/* Adds LEN bytes, packed, to OUT. 0 or -ENOMEM. */
int gzip_add(struct text_buf *out, const char *bytes, size_t len);

#endif
