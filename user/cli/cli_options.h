/* SPDX-License-Identifier: MIT */
/* The options of a trace, `record`, `top` and `list`: one table, of which each takes its part. */
#ifndef SPANTRACE_CLI_OPTIONS_H
#define SPANTRACE_CLI_OPTIONS_H

#include "cli.h"
#include "cli_table.h"

/* Who takes an option. */
#define FOR_TRACE  0x1u
#define FOR_LIST   0x2u
#define FOR_RECORD 0x4u
#define FOR_TOP    0x8u
#define FOR_BOTH   (FOR_TRACE | FOR_RECORD)
#define FOR_RUNS   (FOR_BOTH | FOR_TOP)

/* Options without a letter. */
enum {
	OPT_NO_FOLLOW = 256,
	OPT_BY,
	OPT_CGROUP,
	OPT_INTERVAL,
	OPT_JSON,
	OPT_RING_SIZE,
	OPT_ROWS,
	OPT_STATS,
	OPT_STREAM,
	OPT_RULES,
	OPT_VERSION,
	OPT_MAX_SIZE,
	OPT_MAX_TIME,
	OPT_KEEP,
	OPT_LAST,
	OPT_TRIGGER,
	OPT_ALLOCATOR,
	OPT_ALLOC_SAMPLE,
	OPT_HEAP_OBJECTS,
	OPT_HEAP_INTERVAL,
	OPT_LEAKS,
	OPT_PYROSCOPE,
	OPT_OTLP,
	OPT_APP,
	OPT_TAG,
	OPT_SPOOL,
	OPT_SPOOL_SIZE,
	OPT_PUSH_USER,
	OPT_PUSH_PASSWORD_FILE,
	OPT_PUSH_TOKEN_FILE,
	OPT_PUSH_TENANT,
	OPT_PUSH_HEADER,
	OPT_PUSH_CA,
	OPT_PUSH_TIMEOUT,
	OPT_PUSH_WAIT,
	OPT_SAMPLE,
	OPT_MAX_OVERHEAD,
	OPT_BATCHED,
	OPT_CONFIG,
	OPT_LISTEN,
	OPT_LOG_LEVEL,
	OPT_END,
};

extern const struct cli_option cli_options[];
extern const size_t cli_noptions;

/* Takes the option LETTER with its value into CONTEXT, a struct options: 0; 1 where nothing more counts; -EINVAL, with the
 * message printed; or -ENOMEM. */
int cli_take_option(void *context, int letter, const char *arg);

#endif
