/* SPDX-License-Identifier: MIT */
/* Parses --span NAME=START..END[,END…][@ARG]; see pair_spec.h. */
#include "pair_spec.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../elf/elfnote.h"
#include "../util/cleanup.h"
#include "../util/grow.h"

#define FORM "write NAME=PROVIDER:START..PROVIDER:END"

__attribute__((format(printf, 3, 4))) static int fail(char *why, size_t len, const char *format,
						      ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(why, len, format, args);
	va_end(args);
	return -EINVAL;
}

/* Splits "provider:name" in place. WHAT is the part's name in messages. */
static int parse_marker(char *text, const char *what, struct pair_name *out, char *why, size_t len)
{
	char *colon = strchr(text, ':');

	if (!*text)
		return fail(why, len, "%s is empty; " FORM, what);
	if (!colon)
		return fail(why, len, "%s `%s` has no provider; write PROVIDER:%s", what, text,
			    text);
	if (colon == text)
		return fail(why, len, "%s `%s` has nothing before the colon; write PROVIDER%s",
			    what, text, text);
	if (!colon[1])
		return fail(why, len, "%s `%s` has nothing after the colon; write %sNAME", what,
			    text, text);
	*colon = '\0';
	out->provider = text;
	out->name = colon + 1;
	return 0;
}

static int parse_arg(const char *text, int *out, char *why, size_t len)
{
	const char *digits = strncmp(text, "arg", 3) == 0 ? text + 3 : text;
	char *end;
	long n;

	errno = 0;
	n = strtol(digits, &end, 10);
	if (!isdigit((unsigned char)*digits) || *end)
		return fail(why, len,
			    "`@%s` is not an argument; write @0 for the first, @1 for the next",
			    text);
	if (errno || n >= ELFNOTE_MAX_ARGS)
		return fail(why, len, "`@%s`: a marker has at most %d arguments, @0 to @%d", text,
			    ELFNOTE_MAX_ARGS, ELFNOTE_MAX_ARGS - 1);
	*out = (int)n;
	return 0;
}

static int parse_ends(struct pair_spec *spec, char *text, char *why, size_t len)
{
	char *end;
	int err;

	while ((end = strsep(&text, ","))) {
		struct pair_name name = {"", ""};

		err = parse_marker(end, "END", &name, why, len);
		if (err)
			return err;
		if (!strcmp(name.provider, spec->start.provider) &&
		    !strcmp(name.name, spec->start.name))
			return fail(why, len,
				    "`%s:%s` is both START and END; a span needs two markers",
				    name.provider, name.name);
		for (size_t i = 0; i < spec->nends; i++)
			if (!strcmp(name.provider, spec->ends[i].provider) &&
			    !strcmp(name.name, spec->ends[i].name))
				return fail(why, len, "END `%s:%s` is named twice", name.provider,
					    name.name);
		err = GROW(spec->ends, spec->nends);
		if (err) {
			fail(why, len, "out of memory");
			return err;
		}
		spec->ends[spec->nends++] = name;
	}
	return 0;
}

/* NAME, after START: its provider is the default. */
static int parse_label(struct pair_spec *spec, char *text, char *why, size_t len)
{
	if (strchr(text, ':'))
		return parse_marker(text, "NAME", &spec->label, why, len);
	if (!*text)
		return fail(why, len, "NAME is empty; " FORM);
	spec->label = (struct pair_name){spec->start.provider, text};
	return 0;
}

int pair_spec_new(const char *text, struct pair_spec **out, char *why, size_t len)
{
	CLEANUP(pair_spec_free) struct pair_spec *spec = calloc(1, sizeof(*spec));
	char *start, *end, *arg;
	int err;

	if (spec)
		spec->text = strdup(text);
	if (!spec || !spec->text) {
		fail(why, len, "out of memory");
		return -ENOMEM;
	}
	spec->id_arg = -1;

	start = strchr(spec->text, '=');
	if (!start)
		return fail(why, len, "there is no `=`; " FORM);
	*start++ = '\0';
	end = strstr(start, "..");
	if (!end)
		return fail(why, len, "there is no `..` after `%s`; " FORM, start);
	*end = '\0';
	end += 2;
	arg = strrchr(end, '@');
	if (arg) {
		*arg++ = '\0';
		err = parse_arg(arg, &spec->id_arg, why, len);
		if (err)
			return err;
	}
	err = parse_marker(start, "START", &spec->start, why, len);
	if (!err)
		err = parse_label(spec, spec->text, why, len);
	if (!err)
		err = parse_ends(spec, end, why, len);
	if (err)
		return err;
	*out = TAKE_PTR(spec);
	return 0;
}

void pair_spec_free(struct pair_spec **spec)
{
	if (!*spec)
		return;
	free((*spec)->ends);
	free((*spec)->text);
	free(*spec);
	*spec = NULL;
}
