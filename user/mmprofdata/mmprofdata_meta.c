/* SPDX-License-Identifier: MIT */
/* See mmprofdata_meta.h. A scanner of its own, because no JSON library takes what measureme writes: the command line is
 * escaped by the rules of Rust, so a quote is \' and anything beyond ASCII \u{e9}. Both are taken here besides JSON's
 * own escapes. */
#include "mmprofdata_meta.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../../exporters/text.h"

#define DEPTH_MAX 8
#define KEY_MAX   128

struct scan {
	const char *at; /* the text ends in a NUL, which no token contains */
	const char *end;
	const struct model_loss *names;
	struct mmp_meta *meta;
	char key[KEY_MAX]; /* "counter.name": where the scan is */
	unsigned depth;
};

static int scan_value(struct scan *s);

static void skip_space(struct scan *s)
{
	while (*s->at == ' ' || *s->at == '\t' || *s->at == '\n' || *s->at == '\r')
		s->at++;
}

static bool take(struct scan *s, char c)
{
	skip_space(s);
	if (*s->at != c)
		return false;
	s->at++;
	return true;
}

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

/* AT is behind "\u": four digits, or up to six in braces. */
static int scan_code(struct scan *s, u32 *code)
{
	bool braces = *s->at == '{';
	int digits = 0;

	*code = 0;
	s->at += braces;
	for (; digits < (braces ? 6 : 4) && hex_digit(*s->at) >= 0; digits++)
		*code = *code << 4 | (u32)hex_digit(*s->at++);
	if (braces ? !digits || *s->at != '}' : digits < 4)
		return -EINVAL;
	s->at += braces;
	return 0;
}

static int scan_unicode(struct scan *s, struct text_buf *out)
{
	u32 code, low;
	int err = scan_code(s, &code);

	if (err)
		return err;
	if (code >= 0xd800 && code < 0xdc00 && s->at[0] == '\\' && s->at[1] == 'u') {
		s->at += 2;
		err = scan_code(s, &low);
		if (err)
			return err;
		if (low >= 0xdc00 && low < 0xe000)
			code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
	}
	if (!code || code > 0x10ffff || (code >= 0xd800 && code < 0xe000))
		code = TEXT_REPLACEMENT;
	text_add_code(out, code);
	return 0;
}

/* AT is behind the opening quote. */
static int scan_string(struct scan *s, struct text_buf *out)
{
	static const char escapes[] = "b\bf\fn\nr\rt\t\"\"\\\\//''";
	size_t i;

	for (; *s->at != '"'; s->at++) {
		if (s->at == s->end)
			return -EINVAL;
		if (*s->at != '\\') {
			text_add(out, s->at, 1);
			continue;
		}
		s->at++;
		if (*s->at == 'u') {
			int err;

			s->at++;
			err = scan_unicode(s, out);
			if (err)
				return err;
			s->at--;
			continue;
		}
		for (i = 0; escapes[i] && escapes[i] != *s->at; i += 2)
			;
		if (!escapes[i])
			return -EINVAL;
		text_add(out, &escapes[i + 1], 1);
	}
	s->at++;
	return out->failed ? -ENOMEM : 0;
}

static int keep_text(const struct scan *s, const struct text_buf *text)
{
	const struct {
		const char *key;
		char **to;
	} texts[] = {
		{"cmd", &s->meta->cmd},
		{"counter.name", &s->meta->counter},
		{"spantrace.version", &s->meta->version},
		{"spantrace.kernel", &s->meta->kernel},
		{"spantrace.clock", &s->meta->clock},
	};
	size_t i;

	for (i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		char *copy;

		if (strcmp(s->key, texts[i].key) != 0)
			continue;
		copy = strdup(text->data ? text->data : "");
		if (!copy)
			return -ENOMEM;
		free(*texts[i].to);
		*texts[i].to = copy;
	}
	return 0;
}

static void keep_number(const struct scan *s, u64 value)
{
	static const char losses[] = "spantrace.losses.";
	const struct {
		const char *key;
		u64 *to;
	} numbers[] = {
		{"start_time", &s->meta->start_time},
		{"process_id", &s->meta->process_id},
		{"spantrace.start_ns", &s->meta->start_ns},
		{"spantrace.end_ns", &s->meta->end_ns},
		{"spantrace.finished", &s->meta->finished},
		{"spantrace.sample_ppb", &s->meta->sample_ppb},
	};
	size_t i;

	for (i = 0; i < sizeof(numbers) / sizeof(*numbers); i++)
		if (strcmp(s->key, numbers[i].key) == 0)
			*numbers[i].to = value;
	if (strncmp(s->key, losses, sizeof(losses) - 1) != 0)
		return;
	for (i = 0; i < REPLAY_LOSSES; i++)
		if (strcmp(s->key + sizeof(losses) - 1, s->names[i].name) == 0)
			s->meta->losses[i] = value;
}

/* Whole numbers that fit are kept; the rest of JSON's numbers, true, false and null are passed over. */
static int scan_plain(struct scan *s)
{
	const char *from = s->at;
	u64 value = 0;
	bool whole = true;

	for (; strchr("+-.0123456789abcdefghijklmnopqrstuvwxyzE", *s->at) && *s->at; s->at++) {
		whole &= *s->at >= '0' && *s->at <= '9';
		whole &= !__builtin_mul_overflow(value, 10, &value);
		whole &= !__builtin_add_overflow(value, (u64)(*s->at & 15), &value);
	}
	if (s->at == from)
		return -EINVAL;
	if (whole)
		keep_number(s, value);
	return 0;
}

/* The members of an object, whose brace is taken, each under KEY.NAME. */
static int scan_object(struct scan *s)
{
	size_t length = strlen(s->key);

	if (take(s, '}'))
		return 0;
	do {
		AUTO_TEXT name = {0};
		int err;

		if (!take(s, '"'))
			return -EINVAL;
		err = scan_string(s, &name);
		if (err)
			return err;
		if (!take(s, ':'))
			return -EINVAL;
		if (length + name.len + 2 <= KEY_MAX) {
			if (length)
				s->key[length] = '.';
			memcpy(s->key + length + !!length, name.data ? name.data : "", name.len);
			s->key[length + !!length + name.len] = '\0';
		}
		err = scan_value(s);
		if (err)
			return err;
		s->key[length] = '\0';
	} while (take(s, ','));
	return take(s, '}') ? 0 : -EINVAL;
}

/* Nothing in an array is asked for. */
static int scan_array(struct scan *s)
{
	if (take(s, ']'))
		return 0;
	do {
		int err = scan_value(s);

		if (err)
			return err;
	} while (take(s, ','));
	return take(s, ']') ? 0 : -EINVAL;
}

static int scan_value(struct scan *s)
{
	AUTO_TEXT text = {0};
	int err;

	if (take(s, '"')) {
		err = scan_string(s, &text);
		return err ? err : keep_text(s, &text);
	}
	if (*s->at != '{' && *s->at != '[')
		return scan_plain(s);
	if (s->depth == DEPTH_MAX)
		return -EINVAL;
	s->depth++;
	err = *s->at++ == '{' ? scan_object(s) : scan_array(s);
	s->depth--;
	return err;
}

int mmp_meta_read(const char *text, size_t length, const struct model_loss names[REPLAY_LOSSES],
		  struct mmp_meta *meta)
{
	struct scan s = {.at = text, .end = text + length, .names = names, .meta = meta};

	skip_space(&s);
	return *s.at == '{' ? scan_value(&s) : -EINVAL;
}

void mmp_meta_free(struct mmp_meta *meta)
{
	free(meta->cmd);
	free(meta->counter);
	free(meta->version);
	free(meta->kernel);
	free(meta->clock);
}
