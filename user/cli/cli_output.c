/* SPDX-License-Identifier: MIT */
/* Parses -o [FORMAT[,KEY=VALUE…]:]PATH.
 *
 * The first colon ends the format. What stands before it is a path only where it cannot be meant
 * as a format: a format is lower-case letters and `_`, so `./odd:name.json` is a path and
 * `jsn:x` a mistake.
 */
#define _GNU_SOURCE 1 /* strchrnul */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../util/cleanup.h"
#include "../util/log.h"
#include "cli.h"

static void append(char *list, size_t size, const char *word)
{
	size_t used = strlen(list);

	snprintf(list + used, size - used, "%s%s", used ? ", " : "", word);
}

static void list_formats(char *list, size_t size)
{
	*list = '\0';
	for (size_t i = 0; exporters_all[i]; i++)
		append(list, size, exporters_all[i]->name);
}

static bool is_format_word(const char *word)
{
	return *word && !word[strspn(word, "abcdefghijklmnopqrstuvwxyz_")];
}

/* TEXT is "KEY=VALUE", LEN bytes, and export_option_set() did not take it. */
static void complain(const struct exporter_ops *format, const char *text, int len, int err)
{
	bool is_value = !strncmp(text, "value=", strlen("value="));
	bool is_encoding = !strncmp(text, "encoding=", strlen("encoding="));
	char words[256] = "";

	if (err == -ENOENT) {
		for (size_t i = 0; format->keys && format->keys[i]; i++)
			append(words, sizeof(words), format->keys[i]);
		log_error("-o: format %s takes no option \"%.*s\"; it takes %s", format->name, len,
			  text, *words ? words : "none");
		return;
	}
	for (enum export_value v = EXPORT_BUSY; is_value && v <= EXPORT_INUSE_SPACE; v++)
		append(words, sizeof(words), export_value_name(v));
	log_error("-o: \"%.*s\" is not understood; write %.*s=%s", len, text,
		  (int)strcspn(text, "=,"), text,
		  is_value      ? words
		  : is_encoding ? "json or protobuf"
				: "0 or 1");
}

/* OPTIONS is "KEY=VALUE,KEY=VALUE". */
static int parse_options(const char *options, struct options_output *output)
{
	const char *end;

	for (const char *at = options;; at = end + 1) {
		int err;

		end = strchrnul(at, ',');
		err = export_option_set(output->format, &output->options, at, (size_t)(end - at));
		if (err == -ENOENT || err == -EINVAL) {
			complain(output->format, at, (int)(end - at), err);
			return -EINVAL;
		}
		if (err || !*end)
			return err;
	}
}

/* FORMAT[,OPTION…] before the colon. 0 with output->format NULL when it is part of a path. */
static int parse_format(char *text, struct options_output *output)
{
	char *options = strchr(text, ',');
	char formats[256];

	if (options)
		*options++ = '\0';
	output->format = exporter_by_name(text);
	if (output->format)
		return options ? parse_options(options, output) : 0;
	if (!is_format_word(text))
		return 0;
	list_formats(formats, sizeof(formats));
	log_error(
		"-o: unknown format `%s`; spantrace knows: %s (for a file of that name write ./%s:…)",
		text, formats, text);
	return -EINVAL;
}

/* Whether it goes to a server: of formats that can, see exporter.send. */
static bool is_url(const struct options_output *output)
{
	return !strcmp(output->format->name, "otlp") &&
	       (!strncmp(output->path, "http://", 7) || !strncmp(output->path, "https://", 8));
}

int cli_parse_output(const char *text, struct options_output *out)
{
	struct options_output output = {.options = EXPORT_OPTIONS_DEFAULT, .path = text};
	const char *colon = strchr(text, ':');
	char formats[256];

	if (colon) {
		AUTO_FREE char *prefix = strndup(text, (size_t)(colon - text));
		int err = prefix ? parse_format(prefix, &output) : -ENOMEM;

		if (err)
			return err;
		if (output.format)
			output.path = colon + 1;
	}
	if (!*output.path) {
		log_error("-o: \"%s\" names no file; write [FORMAT:]PATH, with `-` for stdout",
			  text);
		return -EINVAL;
	}
	if (!output.format)
		output.format = strcmp(output.path, "-") ? exporter_by_path(output.path)
							 : exporter_by_name("summary");
	if (!output.format) {
		list_formats(formats, sizeof(formats));
		log_error(
			"-o: cannot tell the format of \"%s\" from its name; write FORMAT:%s, with one of: %s",
			text, exporter_by_name(text) ? "-" : text, formats);
		return -EINVAL;
	}
	output.is_url = output.format->extension && is_url(&output);
	export_options_settle(output.format, &output.options, output.path, output.is_url);
	*out = output;
	return 0;
}

void cli_print_formats(FILE *out)
{
	fputs("\nformats of -o, with their options:\n", out);
	for (size_t i = 0; exporters_all[i]; i++) {
		const struct exporter_ops *format = exporters_all[i];

		fprintf(out, "  %-12s %s", format->name,
			format->extension ? format->extension : "");
		for (size_t j = 0; format->keys && format->keys[j]; j++)
			fprintf(out, "%s%s", j ? "," : "  ", format->keys[j]);
		fputc('\n', out);
	}
}

int cli_default_output(bool json, struct options_output *out)
{
	return cli_parse_output(json ? "json:-" : "summary:-", out);
}
