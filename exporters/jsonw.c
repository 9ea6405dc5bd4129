/* SPDX-License-Identifier: MIT */
/* See jsonw.h. Bytes go to the stream's buffer unlocked: an export has one thread, and locks would
 * be most of its time. */
#include "jsonw.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "text.h"

static void put(struct jsonw *w, const char *bytes, size_t len)
{
	fwrite_unlocked(bytes, 1, len, w->out);
}

static void put_char(struct jsonw *w, char c)
{
	putc_unlocked(c, w->out);
}

/* What CODE is between quotes; returns the number of bytes. */
static size_t escape(u32 code, char out[JSONW_ESCAPE_MAX])
{
	static const char hex[] = "0123456789abcdef", begin[] = {'\\', 'u', '0', '0'};
	static const char plain[] = "\"\\\n\r\t", letter[] = "\"\\nrt";
	const char *found = code && code < 0x80 ? strchr(plain, (int)code) : NULL;

	if (found) {
		out[0] = '\\';
		out[1] = letter[found - plain];
		return 2;
	}
	if (code >= 0x80)
		return text_encode(code, out);
	memcpy(out, begin, sizeof(begin));
	out[4] = hex[code >> 4];
	out[5] = hex[code & 15];
	return JSONW_ESCAPE_MAX;
}

static bool is_plain(unsigned char c)
{
	return c >= 0x20 && c < 0x7f && c != '"' && c != '\\';
}

size_t jsonw_piece(const char **text, char out[JSONW_ESCAPE_MAX], const char **piece)
{
	const char *run = *text;

	while (is_plain((unsigned char)**text))
		++*text;
	*piece = run;
	if (*text != run || !**text)
		return (size_t)(*text - run);
	*piece = out;
	return escape(text_next(text), out);
}

static void put_text(struct jsonw *w, const char *text)
{
	char escaped[JSONW_ESCAPE_MAX];
	const char *piece;
	size_t len;

	while ((len = jsonw_piece(&text, escaped, &piece)))
		put(w, piece, len);
}

static void put_u64(struct jsonw *w, u64 value)
{
	char digits[20], *at = digits + sizeof(digits);

	do {
		*--at = (char)('0' + value % 10);
		value /= 10;
	} while (value);
	put(w, at, (size_t)(digits + sizeof(digits) - at));
}

/* All containers up to the innermost one have their members on lines. */
static bool on_lines(const struct jsonw *w)
{
	return w->depth && w->layout[w->depth] == JSONW_LINES;
}

static void new_line(struct jsonw *w, unsigned indent)
{
	put_char(w, '\n');
	while (indent--)
		put_char(w, '\t');
}

/* What stands before a value: comma, line break, key. */
static void lead_in(struct jsonw *w, const char *key)
{
	if (w->started[w->depth])
		put_char(w, ',');
	if (on_lines(w))
		new_line(w, w->depth);
	else if (w->started[w->depth])
		put_char(w, ' ');
	w->started[w->depth] = true;
	if (key) {
		put_char(w, '"');
		put_text(w, key);
		put(w, "\": ", 3);
	}
}

static void open_container(struct jsonw *w, const char *key, enum jsonw_layout layout,
			   const char *brackets)
{
	assert(w->depth < JSONW_MAX_DEPTH);
	lead_in(w, key);
	put_char(w, brackets[0]);
	if (w->depth && !on_lines(w))
		layout = JSONW_INLINE;
	w->depth++;
	w->started[w->depth] = false;
	w->layout[w->depth] = layout;
	w->close[w->depth] = brackets[1];
}

void jsonw_object(struct jsonw *w, const char *key, enum jsonw_layout layout)
{
	open_container(w, key, layout, "{}");
}

void jsonw_array(struct jsonw *w, const char *key, enum jsonw_layout layout)
{
	open_container(w, key, layout, "[]");
}

void jsonw_end(struct jsonw *w)
{
	assert(w->depth > 0);
	if (on_lines(w) && w->started[w->depth])
		new_line(w, w->depth - 1);
	put_char(w, w->close[w->depth]);
	if (!--w->depth)
		put_char(w, '\n');
}

void jsonw_u64(struct jsonw *w, const char *key, u64 value)
{
	lead_in(w, key);
	put_u64(w, value);
}

void jsonw_s64(struct jsonw *w, const char *key, s64 value)
{
	lead_in(w, key);
	if (value < 0)
		put_char(w, '-');
	put_u64(w, value < 0 ? -(u64)value : (u64)value);
}

void jsonw_f64(struct jsonw *w, const char *key, double value)
{
	char digits[32];

	lead_in(w, key);
	if (isfinite(value))
		put(w, digits, (size_t)snprintf(digits, sizeof(digits), "%.15g", value));
	else
		put(w, "null", 4);
}

void jsonw_bool(struct jsonw *w, const char *key, bool value)
{
	lead_in(w, key);
	put(w, value ? "true" : "false", value ? 4 : 5);
}

void jsonw_string(struct jsonw *w, const char *key, const char *text)
{
	lead_in(w, key);
	put_char(w, '"');
	put_text(w, text);
	put_char(w, '"');
}

void jsonw_string_pair(struct jsonw *w, const char *key, const char *a, const char *b)
{
	lead_in(w, key);
	put_char(w, '"');
	put_text(w, a);
	put_char(w, ':');
	put_text(w, b);
	put_char(w, '"');
}
