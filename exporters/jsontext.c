/* SPDX-License-Identifier: MIT */
/* See jsontext.h. */
#include "jsontext.h"

#include "jsonw.h"

void jsontext_string(struct text_buf *b, const char *text)
{
	char escaped[JSONW_ESCAPE_MAX];
	const char *piece;
	size_t len;

	text_add(b, "\"", 1);
	while ((len = jsonw_piece(&text, escaped, &piece)))
		text_add(b, piece, len);
	text_add(b, "\"", 1);
}
