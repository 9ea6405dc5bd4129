/* SPDX-License-Identifier: MIT */
/* Writes JSON as it goes: commas, escapes and line breaks are its business, values are the
 * caller's. Text may be any bytes; what is not UTF-8 becomes U+FFFD, so the result always
 * parses. */
#ifndef SPANTRACE_JSONW_H
#define SPANTRACE_JSONW_H

#include <stdbool.h>
#include <stdio.h>

#include "../include/types.h"

#define JSONW_MAX_DEPTH 16

enum jsonw_layout {
	JSONW_INLINE, /* on one line */
	JSONW_LINES,  /* a line for each member; within an inline one this is inline too */
};

/* Starts as zeroes but for `out`. Not for more than JSONW_MAX_DEPTH open containers. */
struct jsonw {
	FILE *out;
	unsigned depth;
	bool started[JSONW_MAX_DEPTH + 1]; /* the container has a member already */
	enum jsonw_layout layout[JSONW_MAX_DEPTH + 1];
	char close[JSONW_MAX_DEPTH + 1];
};

/* KEY is NULL in an array and at the top. */
void jsonw_object(struct jsonw *w, const char *key, enum jsonw_layout layout);
void jsonw_array(struct jsonw *w, const char *key, enum jsonw_layout layout);
/* Closes the innermost open container; a line end follows the outermost. */
void jsonw_end(struct jsonw *w);

void jsonw_u64(struct jsonw *w, const char *key, u64 value);
void jsonw_s64(struct jsonw *w, const char *key, s64 value);
/* To 15 digits, so that a whole number below 10^15 looks like one; null for what JSON has no number for. */
void jsonw_f64(struct jsonw *w, const char *key, double value);
void jsonw_bool(struct jsonw *w, const char *key, bool value);
void jsonw_string(struct jsonw *w, const char *key, const char *text);
/* One string made of A, a colon and B: "app:outer". */
void jsonw_string_pair(struct jsonw *w, const char *key, const char *a, const char *b);

/* For who writes JSON another way: the next piece of TEXT as it stands between quotes, some of TEXT or OUT. Returns its
 * length, 0 at the end. */
#define JSONW_ESCAPE_MAX 6
size_t jsonw_piece(const char **text, char out[JSONW_ESCAPE_MAX], const char **piece);

#endif
