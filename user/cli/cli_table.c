/* SPDX-License-Identifier: MIT */
/* See cli_table.h. */
#include "cli_table.h"

#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include "../util/cleanup.h"
#include "../util/log.h"

/* getopt found an option that is not in the table, has no argument, or one too many. WORD is
 * where, HELP the command that explains. */
static void complain(int result, const char *word, const char *help)
{
	bool is_long = !strncmp(word, "--", 2);

	if (result == ':' && is_long)
		log_error("%s needs a value; see %s", word, help);
	else if (result == ':')
		log_error("-%c needs a value; see %s", optopt, help);
	else if (is_long && optopt)
		log_error("%.*s takes no value", (int)strcspn(word, "="), word);
	else if (is_long)
		log_error("unknown option %s; see %s", word, help);
	else
		log_error("unknown option -%c; see %s", optopt, help);
}

/* Writes what getopt wants: SHORTS of at least 2 N + 3 bytes, LONGS of N + 1. */
static void describe(const struct cli_grammar *grammar, char *shorts, struct option *longs)
{
	if (grammar->stop)
		*shorts++ = '+';
	*shorts++ = ':';
	for (size_t i = 0; i < grammar->n; i++) {
		const struct cli_option *option = &grammar->table[i];

		if (!cli_option_belongs(option, grammar->forms))
			continue;
		if (option->letter < 256) {
			*shorts++ = (char)option->letter;
			if (option->arg)
				*shorts++ = ':';
		}
		*longs++ = (struct option){
			.name = option->name,
			.has_arg = option->arg ? required_argument : no_argument,
			.val = option->letter,
		};
	}
	*shorts = '\0';
	*longs = (struct option){0};
}

int cli_take_options(int argc, char **argv, const struct cli_grammar *grammar, void *context,
		     struct cli_words *words)
{
	AUTO_FREE struct option *longs = calloc(grammar->n + 1, sizeof(*longs));
	AUTO_FREE char *shorts = calloc(grammar->n + 2, 2);

	if (!longs || !shorts)
		return -ENOMEM;
	describe(grammar, shorts, longs);
	optind = 0; /* glibc: begin anew */
	opterr = 0;
	for (int before = 1;; before = optind) {
		int letter = getopt_long(argc, argv, shorts, longs, NULL);
		int err;

		if (letter == -1) {
			words->rest = optind;
			words->dashes = optind > before;
			return 0;
		}
		if (letter == '?' || letter == ':') {
			complain(letter, argv[optind > before ? optind - 1 : optind],
				 grammar->help);
			return -EINVAL;
		}
		err = grammar->take(context, letter, optarg);
		if (err)
			return err < 0 ? err : 0;
	}
}

void cli_print_table(FILE *out, const struct cli_option *table, size_t n, unsigned forms)
{
	for (size_t i = 0; i < n; i++) {
		const char *arg = table[i].arg;
		char left[80];

		if (!cli_option_belongs(&table[i], forms))
			continue;
		if (table[i].letter < 256)
			snprintf(left, sizeof(left), "-%c, --%s%s%s", table[i].letter,
				 table[i].name, arg ? " " : "", arg ? arg : "");
		else
			snprintf(left, sizeof(left), "    --%s%s%s", table[i].name, arg ? " " : "",
				 arg ? arg : "");
		fprintf(out, "  %s\n        %s\n", left, table[i].help);
	}
}
