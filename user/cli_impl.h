/* SPDX-License-Identifier: MIT */
/* What cli.c (which option it is) and cli_values.c (what its value says) share. */
#ifndef SPANTRACE_CLI_IMPL_H
#define SPANTRACE_CLI_IMPL_H

#include "cli.h"

/* Each takes the TEXT of one option into O: it adds where the option is repeatable, else it
 * replaces. 0; -EINVAL, with the message printed; or -ENOMEM. */
int cli_value_pids(struct options *o, const char *text);
int cli_value_duration(struct options *o, const char *text);
int cli_value_output(struct options *o, const char *text);
int cli_value_metrics(struct options *o, const char *text);
int cli_value_span(struct options *o, const char *text);
int cli_value_by(struct options *o, const char *text);
int cli_value_rules(struct options *o, const char *path);
int cli_value_ring_size(struct options *o, const char *text);
int cli_value_rows(struct options *o, const char *text);
/* The same for a list of globs, ITEMS; OPTION is its name in messages. */
int cli_value_glob(const char ***items, size_t *n, const char *option, const char *text);

/* Adds an output; two to one path are refused. */
int cli_add_output(struct options *o, const struct options_output *output);

#endif
