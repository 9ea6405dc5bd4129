/* SPDX-License-Identifier: MIT */
/* See cli_config.h. */
#include "cli_config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../util/cleanup.h"
#include "../util/log.h"

static int config_read(const char *path, char **out)
{
	AUTO_FCLOSE FILE *file = fopen(path, "re");
	AUTO_FREE char *text = malloc(CONFIG_BYTES_MAX + 1);
	size_t n;

	if (!text)
		return -ENOMEM;
	if (!file) {
		log_error("--config: cannot read %s: %s", path, strerror(errno));
		return -EINVAL;
	}
	n = fread(text, 1, CONFIG_BYTES_MAX + 1, file);
	if (ferror(file)) {
		log_error("--config: cannot read %s: %s", path, strerror(errno));
		return -EINVAL;
	}
	if (n > CONFIG_BYTES_MAX || memchr(text, '\0', n)) {
		log_error("--config: %s is %s; it takes lines of `option = value`", path,
			  n > CONFIG_BYTES_MAX ? "larger than 1 MiB" : "no text");
		return -EINVAL;
	}
	text[n] = '\0';
	*out = TAKE_PTR(text);
	return 0;
}

/* TEXT without blanks around it, in place. */
static char *trim(char *text)
{
	size_t len;

	text += strspn(text, " \t");
	len = strlen(text);
	while (len && strchr(" \t\r", text[len - 1]))
		text[--len] = '\0';
	return text;
}

static const struct cli_option *config_find(const struct cli_config *config, const char *name)
{
	const struct cli_grammar *grammar = config->grammar;

	for (size_t i = 0; i < grammar->n; i++)
		if (cli_option_belongs(&grammar->table[i], grammar->forms) &&
		    !strcmp(grammar->table[i].name, name))
			return &grammar->table[i];
	return NULL;
}

/* Whether a switch is on: 1, 0, or -EINVAL with the message printed. VALUE is NULL where the line is its name alone. */
static int config_switch(const char *name, const char *value)
{
	static const char *const words[] = {"no", "yes", "false", "true", "off", "on", "0", "1"};

	if (!value)
		return 1;
	for (int i = 0; i < 8; i++)
		if (!strcmp(value, words[i]))
			return i % 2;
	log_error("%s takes no value but yes and no", name);
	return -EINVAL;
}

static int config_option(const struct cli_config *config, void *context, const char *name,
			 const char *value)
{
	const struct cli_option *option = config_find(config, name);
	const int *letter = config->not_here;
	int on;

	if (!option && name[0] == '-') {
		log_error("\"%s\": options stand here without the dashes in front", name);
		return -EINVAL;
	}
	while (option && *letter && *letter != option->letter)
		letter++;
	if (!option || *letter) {
		log_error("%s \"%s\"; see %s",
			  option ? "there is no place here for" : "unknown option", name,
			  config->grammar->help);
		return -EINVAL;
	}
	if (option->arg && !value) {
		log_error("%s needs a value; write %s = %s", name, name, option->arg);
		return -EINVAL;
	}
	if (!option->arg) {
		on = config_switch(name, value);
		if (on <= 0)
			return on;
	}
	if (config->skip(config->skip_context, option->letter))
		return 0;
	return config->grammar->take(context, option->letter, option->arg ? value : NULL);
}

static int config_line(const struct cli_config *config, void *context, char *line)
{
	char *equals, *value = NULL;

	line = trim(line);
	if (!*line || *line == '#' || *line == ';')
		return 0;
	equals = strchr(line, '=');
	if (equals) {
		*equals = '\0';
		value = trim(equals + 1);
	}
	return config_option(config, context, trim(line), value);
}

int cli_config_take(const struct cli_config *config, void *context, char **text)
{
	char *rest, *line;
	unsigned number = 0;
	int err;

	err = config_read(config->path, text);
	if (err)
		return err;
	rest = *text;
	while (!err && (line = strsep(&rest, "\n"))) {
		log_set_place(config->path, ++number);
		err = config_line(config, context, line);
	}
	log_set_place(NULL, 0);
	return err;
}
