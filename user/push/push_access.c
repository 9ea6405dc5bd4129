/* SPDX-License-Identifier: MIT */
/* See push_access.h. */
#include "push_access.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../util/cleanup.h"
#include "../util/grow.h"

#define SECRET_MAX 16384
/* What is shorter stands in too many words to be a secret. */
#define SECRET_MIN 4

void push_headers_free(struct push_headers *h)
{
	for (size_t i = 0; i < h->n; i++)
		free(h->lines[i]);
	for (size_t i = 0; i < h->nsecrets; i++) {
		explicit_bzero(h->secrets[i], strlen(h->secrets[i]));
		free(h->secrets[i]);
	}
	free(h->lines);
	free(h->secrets);
	*h = (struct push_headers){0};
}

/* A value must not end its header, or begin another. */
static bool is_value(const char *value)
{
	for (; *value; value++)
		if (iscntrl((unsigned char)*value) && *value != '\t')
			return false;
	return true;
}

static bool is_name(const char *name, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (!isalnum((unsigned char)name[i]) && !strchr("!#$%&'*+-.^_`|~", name[i]))
			return false;
	return len;
}

/* The text of a file, without the white space at its end. */
static int read_secret(const char *path, char **out, char *why, size_t size)
{
	AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	AUTO_FREE char *text = malloc(SECRET_MAX + 1);
	ssize_t n;

	if (!text)
		return -ENOMEM;
	n = fd < 0 ? -1 : read(fd, text, SECRET_MAX);
	if (n < 0) {
		int err = -errno;

		snprintf(why, size, "cannot read %s: %s", path, strerror(-err));
		return err;
	}
	while (n && isspace((unsigned char)text[n - 1]))
		n--;
	text[n] = '\0';
	if (!n || strlen(text) != (size_t)n || !is_value(text)) {
		snprintf(why, size, "%s is to hold one line of text", path);
		return -EINVAL;
	}
	*out = TAKE_PTR(text);
	return 0;
}

static int keep_secret(struct push_headers *h, const char *secret)
{
	if (strlen(secret) < SECRET_MIN)
		return 0;
	if (GROW(h->secrets, h->nsecrets))
		return -ENOMEM;
	h->secrets[h->nsecrets] = strdup(secret);
	return h->secrets[h->nsecrets++] ? 0 : -ENOMEM;
}

/* Takes LINE; NULL: there was no memory. */
static int add_line(struct push_headers *h, char *line)
{
	if (!line || GROW(h->lines, h->n)) {
		free(line);
		return -ENOMEM;
	}
	h->lines[h->n++] = line;
	return 0;
}

__attribute__((format(printf, 2, 3))) static int add_header(struct push_headers *h,
							    const char *format, ...)
{
	char *line = NULL;
	va_list args;
	int n;

	va_start(args, format);
	n = vasprintf(&line, format, args);
	va_end(args);
	return add_line(h, n < 0 ? NULL : line);
}

/* SECRET is that of FILE, or of VARIABLE; NULL where there is neither. */
static int find_secret(const char *file, const char *variable, char **secret, char *why,
		       size_t size)
{
	const char *value = getenv(variable);

	if (file)
		return read_secret(file, secret, why, size);
	if (!value || !*value)
		return 0;
	if (!is_value(value)) {
		snprintf(why, size, "%s is to hold one line of text", variable);
		return -EINVAL;
	}
	*secret = strdup(value);
	return *secret ? 0 : -ENOMEM;
}

static char *base64(const char *text)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	size_t len = strlen(text), at = 0;
	char *out = malloc((len + 2) / 3 * 4 + 1);

	for (size_t i = 0; out && i < len; i += 3) {
		u32 bits = (u32)(u8)text[i] << 16;

		if (i + 1 < len)
			bits |= (u32)(u8)text[i + 1] << 8;
		if (i + 2 < len)
			bits |= (u8)text[i + 2];
		out[at++] = digits[bits >> 18];
		out[at++] = digits[bits >> 12 & 63];
		out[at++] = i + 1 < len ? digits[bits >> 6 & 63] : '=';
		out[at++] = i + 2 < len ? digits[bits & 63] : '=';
	}
	if (out)
		out[at] = '\0';
	return out;
}

static int add_user(const struct push_access *access, struct push_headers *h, char *why,
		    size_t size)
{
	AUTO_FREE char *secret = NULL;
	AUTO_FREE char *both = NULL;
	AUTO_FREE char *packed = NULL;
	int err;

	if (strchr(access->user, ':') || !is_value(access->user)) {
		snprintf(why, size, "a user's name has no colon; the password stands in a file");
		return -EINVAL;
	}
	err = find_secret(access->password_file, PUSH_PASSWORD_VARIABLE, &secret, why, size);
	if (err)
		return err;
	if (asprintf(&both, "%s:%s", access->user, secret ? secret : "") < 0)
		both = NULL;
	packed = both ? base64(both) : NULL;
	if (!packed)
		return -ENOMEM;
	err = secret ? keep_secret(h, secret) : 0;
	if (!err && secret)
		err = keep_secret(h, packed);
	return err ? err : add_header(h, "Authorization: Basic %s", packed);
}

static int add_token(const struct push_access *access, struct push_headers *h, char *why,
		     size_t size)
{
	AUTO_FREE char *secret = NULL;
	int err = find_secret(access->token_file, PUSH_TOKEN_VARIABLE, &secret, why, size);

	if (err || !secret)
		return err;
	err = keep_secret(h, secret);
	return err ? err : add_header(h, "Authorization: Bearer %s", secret);
}

/* "NAME:VALUE" or "NAME:@FILE". */
static int add_own(struct push_headers *h, const char *text, char *why, size_t size)
{
	AUTO_FREE char *secret = NULL;
	const char *colon = strchr(text, ':');
	const char *value = colon ? colon + 1 + strspn(colon + 1, " \t") : "";
	int len = colon ? (int)(colon - text) : 0;
	int err = 0;

	/* What stands there could be the secret itself: it is not shown. */
	if (!is_name(text, (size_t)len) || !is_value(value)) {
		snprintf(why, size, "a header is NAME:VALUE, or NAME:@FILE for a secret");
		return -EINVAL;
	}
	if (*value == '@') {
		err = read_secret(value + 1, &secret, why, size);
		if (!err)
			err = keep_secret(h, secret);
		value = secret;
	}
	/* This is how curl wants a header without a value. */
	if (!err)
		err = *value ? add_header(h, "%.*s: %s", len, text, value)
			     : add_header(h, "%.*s;", len, text);
	return err;
}

int push_headers_make(const struct push_access *access, struct push_headers *out, char *why,
		      size_t size)
{
	AUTO_HEADERS h = {0};
	int err = 0;

	snprintf(why, size, "out of memory");
	if (access->user && access->token_file) {
		snprintf(why, size, "a user and a token exclude each other");
		return -EINVAL;
	}
	err = access->user ? add_user(access, &h, why, size) : add_token(access, &h, why, size);
	if (!err && access->tenant && !is_value(access->tenant)) {
		snprintf(why, size, "the tenant's name has control characters");
		err = -EINVAL;
	}
	if (!err && access->tenant)
		err = add_header(&h, "X-Scope-OrgID: %s", access->tenant);
	for (size_t i = 0; i < access->nheaders && !err; i++)
		err = add_own(&h, access->headers[i], why, size);
	if (err)
		return err;
	*out = h;
	h = (struct push_headers){0};
	return 0;
}

void push_headers_clean(const struct push_headers *headers, char *words)
{
	char *to = words;
	bool blank = true;

	for (size_t i = 0; i < headers->nsecrets; i++) {
		size_t len = strlen(headers->secrets[i]);

		for (char *at = words; (at = strstr(at, headers->secrets[i])); at += len)
			memset(at, '*', len);
	}
	for (const char *at = words; *at; at++) {
		bool is_blank = isspace((unsigned char)*at) || iscntrl((unsigned char)*at);

		if (!is_blank || !blank)
			*to++ = is_blank ? ' ' : *at;
		blank = is_blank;
	}
	while (to > words && to[-1] == ' ')
		to--;
	*to = '\0';
}
