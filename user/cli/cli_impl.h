/* SPDX-License-Identifier: MIT */
/* What cli.c and reading.c (which option it is) and cli_values.c (what its value says) share. */
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
int cli_value_allocator(struct options *o, const char *text);
int cli_value_alloc_sample(struct options *o, const char *text);
int cli_value_heap_objects(struct options *o, const char *text);
/* A fraction or a percentage above 0, at most 1, in 1e-9; OPTION is its name in messages, EXAMPLE what to write. */
int cli_value_share(u32 *ppb, const char *option, const char *example, const char *text);
int cli_value_sample(struct options *o, const char *text);
/* Which options of memory go together. */
int cli_settle_memory(struct options *o);
/* The same for a list of numbers of processes or threads, each kept once. */
struct cli_ids {
	const char *option; /* its name in messages */
	const char *what;   /* "process" */
	long min, max;
};

int cli_value_ids(pid_t **ids, size_t *n, const struct cli_ids *kind, const char *text);
/* The same for a list of globs, ITEMS; OPTION is its name in messages. */
int cli_value_glob(const char ***items, size_t *n, const char *option, const char *text);

/* cli_service.c, as above. */
int cli_value_listen(struct options *o, const char *text);
int cli_value_log_level(struct options *o, const char *text);

/* Adds an output; two to one path are refused. */
int cli_add_output(struct options *o, const struct options_output *output);
/* Where no output was asked for, and where --json was: the default one. */
int cli_settle_outputs(struct options *o);

/* cli_record.c, as above. */
int cli_value_max_size(struct options *o, const char *text);
int cli_value_keep(struct options *o, const char *text);
int cli_value_trigger(struct options *o, const char *text);
/* A time of AT_LEAST ns; OPTION is its name in messages. */
int cli_value_time(u64 *ns, const char *option, u64 at_least, const char *text);
/* Whether what is asked for of parts goes together. */
int cli_settle_parts(const struct options *o);
/* What `record` writes, where -o does not say it; and whether its options go together. */
int cli_settle_record(struct options *o);

/* cli_push.c, as above. */
/* --otlp URL: an output. */
int cli_value_otlp(struct options *o, const char *text);
int cli_value_url(const char **url, const char *option, const char *text);
int cli_value_app(struct options *o, const char *text);
int cli_value_tag(struct options *o, const char *text);
int cli_value_push_header(struct options *o, const char *text);
int cli_value_spool_size(struct options *o, const char *text);
/* Which options of delivery go together. Before the outputs' interval is settled. */
int cli_settle_push(struct options *o);

#endif
