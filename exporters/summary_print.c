/* SPDX-License-Identifier: MIT */
/* See summary_print.h. */
#include "summary_print.h"

#include "text.h"

void summary_put_style(const struct export_options *o, FILE *out, const char *style)
{
	if (o->color)
		fputs(style, out);
}

void summary_put_spaces(FILE *out, unsigned n)
{
	while (n--)
		putc_unlocked(' ', out);
}

void summary_put_padded(FILE *out, const char *text, unsigned width)
{
	unsigned used = text_columns(text);

	if (used <= width) {
		fputs(text, out);
		summary_put_spaces(out, width - used);
		return;
	}
	if (!width)
		return;
	fwrite(text, 1, text_fit(text, width - 1), out);
	fputs("…", out);
}

void summary_put_right(FILE *out, const char *text, unsigned width)
{
	summary_put_spaces(out, width - text_columns(text));
	fputs(text, out);
}

void summary_put_safe(FILE *out, const char *text)
{
	char bytes[4];
	u32 code;

	while ((code = text_next(&text)))
		fwrite(bytes, 1, text_encode(text_safe(code), bytes), out);
}
