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

unsigned summary_put_cut(FILE *out, const char *text, unsigned width)
{
	unsigned used = text_columns(text);
	size_t len;

	if (used <= width) {
		fputs(text, out);
		return used;
	}
	if (!width)
		return 0;
	used = width - 1;
	len = text_fit(text, used);
	/* Where a wide character did not fit, a column stays empty. */
	while (used && text_fit(text, used - 1) == len)
		used--;
	fwrite(text, 1, len, out);
	fputs("…", out);
	return used + 1;
}

void summary_put_padded(FILE *out, const char *text, unsigned width)
{
	summary_put_spaces(out, width - summary_put_cut(out, text, width));
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
