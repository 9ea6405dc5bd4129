/* SPDX-License-Identifier: MIT */
/* UTF-8 and text buffers; see text.h. No locale: output must be the same bytes everywhere. */
#include "text.h"

#include <stdlib.h>
#include <string.h>

#include "decimal.h"

struct range {
	u32 first;
	u32 last;
};

/* Ordered, for the search below. Rough on purpose: a column too many or too few in a rare script is
 * no harm. */
static const struct range no_columns[] = {
	{0x0300, 0x036f}, {0x0483, 0x0489}, {0x0591, 0x05bd}, {0x064b, 0x065f}, {0x200b, 0x200d},
	{0x20d0, 0x20ff}, {0xfe00, 0xfe0f}, {0xfe20, 0xfe2f}, {0xfeff, 0xfeff}, {0xe0100, 0xe01ef},
};

static const struct range two_columns[] = {
	{0x1100, 0x115f},   {0x2e80, 0x303e},   {0x3041, 0xa4cf},   {0xa960, 0xa97c},
	{0xac00, 0xd7a3},   {0xf900, 0xfaff},   {0xfe30, 0xfe6f},   {0xff00, 0xff60},
	{0xffe0, 0xffe6},   {0x1f300, 0x1f64f}, {0x1f680, 0x1f6ff}, {0x1f900, 0x1f9ff},
	{0x20000, 0x3fffd},
};

static const struct range unsafe[] = {
	{0x00, 0x1f},     {0x7f, 0x9f},     {0x061c, 0x061c}, {0x200e, 0x200f},
	{0x2028, 0x202e}, {0x2066, 0x2069}, {0xfdd0, 0xfdef}, {0xfff9, 0xfffb},
};

static bool in_ranges(u32 code, const struct range *ranges, size_t n)
{
	size_t low = 0, high = n;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (code > ranges[middle].last)
			low = middle + 1;
		else if (code < ranges[middle].first)
			high = middle;
		else
			return true;
	}
	return false;
}

#define IN(code, ranges) in_ranges(code, ranges, sizeof(ranges) / sizeof(*(ranges)))

u32 text_next(const char **at)
{
	const unsigned char *s = (const unsigned char *)*at;
	unsigned more;
	u32 code, least;

	if (s[0] < 0x80) {
		*at += s[0] != 0;
		return s[0];
	}
	if (s[0] >= 0xc2 && s[0] <= 0xdf) {
		code = s[0] & 0x1f;
		more = 1;
		least = 0x80;
	} else if (s[0] >= 0xe0 && s[0] <= 0xef) {
		code = s[0] & 0x0f;
		more = 2;
		least = 0x800;
	} else if (s[0] >= 0xf0 && s[0] <= 0xf4) {
		code = s[0] & 0x07;
		more = 3;
		least = 0x10000;
	} else {
		*at += 1;
		return TEXT_REPLACEMENT;
	}
	for (unsigned i = 1; i <= more; i++) {
		/* The terminating NUL fails here too, so nothing behind it is read. */
		if ((s[i] & 0xc0) != 0x80) {
			*at += 1;
			return TEXT_REPLACEMENT;
		}
		code = code << 6 | (s[i] & 0x3f);
	}
	if (code < least || code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff)) {
		*at += 1;
		return TEXT_REPLACEMENT;
	}
	*at += more + 1;
	return code;
}

size_t text_encode(u32 code, char out[4])
{
	if (code < 0x80) {
		out[0] = (char)code;
		return 1;
	}
	if (code < 0x800) {
		out[0] = (char)(0xc0 | code >> 6);
		out[1] = (char)(0x80 | (code & 0x3f));
		return 2;
	}
	if (code < 0x10000) {
		out[0] = (char)(0xe0 | code >> 12);
		out[1] = (char)(0x80 | (code >> 6 & 0x3f));
		out[2] = (char)(0x80 | (code & 0x3f));
		return 3;
	}
	out[0] = (char)(0xf0 | code >> 18);
	out[1] = (char)(0x80 | (code >> 12 & 0x3f));
	out[2] = (char)(0x80 | (code >> 6 & 0x3f));
	out[3] = (char)(0x80 | (code & 0x3f));
	return 4;
}

bool text_is_unsafe(u32 code)
{
	return IN(code, unsafe) || (code & 0xfffe) == 0xfffe;
}

u32 text_safe(u32 code)
{
	if ((code >= '\t' && code <= '\r') || code == 0x85 || code == 0x2028 || code == 0x2029)
		return ' ';
	return text_is_unsafe(code) ? TEXT_REPLACEMENT : code;
}

static unsigned columns_of(u32 code)
{
	if (code < 0x300)
		return 1;
	if (IN(code, no_columns))
		return 0;
	return IN(code, two_columns) ? 2 : 1;
}

unsigned text_columns(const char *text)
{
	unsigned columns = 0;
	u32 code;

	while ((code = text_next(&text)))
		columns += columns_of(code);
	return columns;
}

size_t text_fit(const char *text, unsigned columns)
{
	const char *at = text, *end = text;
	unsigned used = 0;
	u32 code;

	while ((code = text_next(&at))) {
		used += columns_of(code);
		if (used > columns)
			break;
		end = at;
	}
	return (size_t)(end - text);
}

void text_buf_free(struct text_buf *b)
{
	free(b->data);
	*b = (struct text_buf){0};
}

void text_cut(struct text_buf *b, size_t len)
{
	b->len = len;
	if (b->data)
		b->data[len] = '\0';
}

char *text_room(struct text_buf *b, size_t len)
{
	if (b->failed)
		return NULL;
	if (b->size - b->len <= len) {
		size_t size = (b->len + len + 1) * 2;
		char *data = realloc(b->data, size);

		if (!data) {
			b->failed = true;
			return NULL;
		}
		b->data = data;
		b->size = size;
	}
	return b->data + b->len;
}

void text_add(struct text_buf *b, const char *bytes, size_t len)
{
	char *at = text_room(b, len);

	if (!at)
		return;
	memcpy(at, bytes, len);
	text_end(b, at + len);
}

void text_add_str(struct text_buf *b, const char *s)
{
	text_add(b, s, strlen(s));
}

void text_add_u64(struct text_buf *b, u64 value)
{
	char *at = text_room(b, DECIMAL_ROOM);

	if (at)
		text_end(b, decimal_put(at, value));
}

void text_add_code(struct text_buf *b, u32 code)
{
	char bytes[4];

	text_add(b, bytes, text_encode(code, bytes));
}

void text_add_safe(struct text_buf *b, const char *s)
{
	text_add(b, "", 0);
	while (*s) {
		const char *run = s;

		while (*s >= ' ' && *s < 0x7f) /* nearly all of it */
			s++;
		text_add(b, run, (size_t)(s - run));
		if (*s)
			text_add_code(b, text_safe(text_next(&s)));
	}
}
