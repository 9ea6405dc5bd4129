/* SPDX-License-Identifier: MIT */
/* Names as they come (any bytes) made fit for people and formats: UTF-8 read code point by code
 * point, what could break a line or a terminal replaced, columns counted; and a buffer to build
 * text in. */
#ifndef SPANTRACE_TEXT_H
#define SPANTRACE_TEXT_H

#include <stdbool.h>
#include <stddef.h>

#include "../include/types.h"
#include "../user/util/cleanup.h"

#define TEXT_REPLACEMENT 0xFFFDu

/* Takes one code point from *AT, which ends in NUL; returns 0 there and stays. A byte that begins
 * no valid sequence (cut, overlong, surrogate, above U+10FFFF) is taken alone and gives U+FFFD. */
u32 text_next(const char **at);
/* CODE as UTF-8 in OUT; returns the number of bytes. */
size_t text_encode(u32 code, char out[4]);
/* Whether CODE must not reach a terminal, a line of text or XML: control characters, line
 * separators, characters that turn the direction of what follows, non-characters. */
bool text_is_unsafe(u32 code);
/* CODE itself, a space for an unsafe one that is white space, else U+FFFD. */
u32 text_safe(u32 code);

/* Columns that valid text takes on a terminal or in a monospaced font. */
unsigned text_columns(const char *text);
/* Bytes of TEXT that fit into COLUMNS. */
size_t text_fit(const char *text, unsigned columns);

/* Text under construction, always NUL-terminated once something was added. Additions after a failed
 * one do nothing: check `failed` at the end. Starts as zeroes. */
struct text_buf {
	char *data;
	size_t len;
	size_t size;
	bool failed;
};

void text_buf_free(struct text_buf *b);
#define AUTO_TEXT CLEANUP(text_buf_free) struct text_buf

/* Back to LEN bytes, which must not be more than there are. */
void text_cut(struct text_buf *b, size_t len);
void text_add(struct text_buf *b, const char *bytes, size_t len);
/* Room for LEN bytes and a NUL behind what there is, for who writes several pieces at once and says with text_end() how
 * far; NULL: no memory. */
char *text_room(struct text_buf *b, size_t len);
static inline void text_end(struct text_buf *b, const char *end)
{
	b->len = (size_t)(end - b->data);
	b->data[b->len] = '\0';
}

void text_add_str(struct text_buf *b, const char *s);
void text_add_u64(struct text_buf *b, u64 value);
void text_add_code(struct text_buf *b, u32 code);
/* Adds S with every code point made safe. */
void text_add_safe(struct text_buf *b, const char *s);

#endif
