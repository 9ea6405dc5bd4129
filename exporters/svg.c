/* SPDX-License-Identifier: MIT */
/* See svg.h. */
#include "svg.h"

static void add_escaped(struct text_buf *b, u32 code)
{
	switch (code) {
	case '&':
		text_add_str(b, "&amp;");
		break;
	case '<':
		text_add_str(b, "&lt;");
		break;
	case '>':
		text_add_str(b, "&gt;");
		break;
	case '"':
		text_add_str(b, "&quot;");
		break;
	case '\'':
		text_add_str(b, "&#39;");
		break;
	default:
		text_add_code(b, text_safe(code));
	}
}

void svg_add_text(struct text_buf *b, const char *text, size_t max)
{
	u32 code;

	for (size_t n = 0; (code = text_next(&text)); n++) {
		if (n == max) {
			text_add_str(b, "…");
			return;
		}
		add_escaped(b, code);
	}
}

void svg_add_cut(struct text_buf *b, const char *text, unsigned columns)
{
	const char *end;
	bool whole = text[text_fit(text, columns)] == '\0';

	end = text + text_fit(text, whole || !columns ? columns : columns - 1);
	while (text < end)
		add_escaped(b, text_next(&text));
	if (!whole && columns)
		text_add_str(b, "…");
}

void svg_add_number(struct text_buf *b, const char *before, double value)
{
	u64 hundredths = value > 0 ? (u64)(value * 100 + 0.5) : 0;
	char decimals[3] = {'.', (char)('0' + hundredths / 10 % 10), (char)('0' + hundredths % 10)};

	text_add_str(b, before);
	text_add_u64(b, hundredths / 100);
	if (hundredths % 10)
		text_add(b, decimals, 3);
	else if (hundredths % 100)
		text_add(b, decimals, 2);
}
