/* SPDX-License-Identifier: MIT */
/* The command line: words in, one struct out, every mistake answered by a sentence that names
 * it.
 *
 *   argv ─▶ cli_main ─▶ a command's run()            spantrace list …
 *                   └▶ cli_parse ─options▶ trace()    spantrace -p PID, -a, -- CMD
 *
 * An option is a line in the table of cli.c and a case below it; a command is a line in main's
 * table.
 */
#ifndef SPANTRACE_CLI_H
#define SPANTRACE_CLI_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/types.h>

#include "../../exporters/exporter.h"
#include "../../include/limits.h"
#include "../../include/version.h"
#include "../pair/pair.h"
#include "../pair/pair_spec.h"
#include "../pair/rules.h"
#include "../push/push.h"
#include "../recording/parts.h"
#include "../recording/trigger.h"

struct coz_driver;

enum cli_status {
	CLI_DONE = 0,
	CLI_FAILED = 1,
	CLI_USAGE = 2,
};

enum options_mode {
	MODE_NONE, /* `list FILE…` */
	MODE_PIDS,
	MODE_CMD,
	MODE_ALL,
};

/* What is asked for before anything is done. */
enum options_action {
	ACTION_RUN,
	ACTION_HELP,
	ACTION_VERSION,
};

struct options_output {
	const struct exporter_ops *format;
	struct export_options options;
	const char *path; /* "-" is stdout */
	bool is_url;      /* of a server */
};

/* How `record` cuts recordings into files. */
struct options_parts {
	bool on;       /* SIGUSR1 ends one too */
	u64 max_bytes; /* 0: no limit */
	u64 max_ns;
	bool untimed; /* a replay: no ticks */
	u32 keep;     /* besides the current one, or PARTS_KEEP_ALL */
	u64 last_ns;  /* flight recorder: what it holds; 0: none */
	struct trigger *triggers;
	size_t ntriggers;
};

/* Where /metrics and /healthz are. */
struct options_listen {
	bool on;
	bool is_public;
	const char *text; /* as given */
	union {
		struct sockaddr any;
		struct sockaddr_in v4;
		struct sockaddr_in6 v6;
	} address;
};

/* The words that options were made of, to read them and their file again. */
struct options_line {
	int argc;
	char **argv;
	unsigned form;
};

#define RECORD_PATH    "spantrace.spans"
#define PART_BYTES_MIN (256u << 10)
#define LAST_MIN_NS    1000000000ull

#define INTERVAL_MIN_NS      100000000ull
#define TOP_INTERVAL_NS      2000000000ull
#define PUSH_INTERVAL_NS     10000000000ull
#define PUSH_INTERVAL_MIN_NS 1000000000ull

#define RING_BYTES_DEFAULT (8u << 20)
#define RING_BYTES_MIN     (64u << 10)
#define RING_BYTES_MAX     (1u << 30)
#define HEAP_INTERVAL_NS   10000000000ull

/* Strings are those of argv, which live as long, or of config_text; that and the arrays are owned. */
struct options {
	enum options_action action;
	enum options_mode mode;
	pid_t *pids; /* each once */
	size_t npids;
	const char *cgroup; /* of MODE_ALL only those in it; NULL: all */
	char **argv;        /* the command to run, or the files of `list`; NULL-terminated */
	size_t argc;
	size_t ring_bytes;     /* of each CPU; a power of two */
	u64 duration_ns;       /* 0: until a signal or the last target's end */
	u64 interval_ns;       /* of periodic profiles; 0: none */
	const char *pyroscope; /* URL of the server that gets them; NULL: none */
	const char *app;       /* what it calls all that is traced; NULL: by process */
	const char **tags;     /* "KEY=VALUE" */
	size_t ntags;
	struct push_access push; /* how servers are reached; its headers are the next */
	const char **push_headers;
	u64 push_wait_ns; /* for what is not delivered at the end */
	struct options_output *outputs;
	size_t noutputs;
	u32 metrics; /* METRIC_* */
	const char **providers;
	size_t nproviders;
	const char **excludes;
	size_t nexcludes;
	struct pair_spec **spans;
	size_t nspans;
	struct rules *rules; /* built-in ones, and those of --rules */
	const char **by;     /* label keys that split rows */
	size_t nby;
	struct options_parts parts;
	bool follow;      /* the children too */
	u32 sample_ppb;   /* of struct profile */
	u32 limit_ppb;    /* --max-overhead, of a process's CPU time; 0: none */
	u32 rows;         /* room in the kernel for totals */
	u32 heap_objects; /* live blocks to follow at one time */
	u32 alloc_sample; /* bytes between samples, on average; 0: no sampling */
	u64 heap_interval_ns;
	u64 leaks_ns;            /* 0: no list of them */
	const char **allocators; /* FILE[:PREFIX] */
	size_t nallocators;
	struct coz_driver *coz; /* spans are counted for coz, not recorded; borrowed. NULL: no */
	struct options_listen listen;
	struct options_line line;
	const char *config; /* the file that some are of; NULL: none */
	char *config_text;
	bool stats;   /* what the trace itself costs */
	bool stream;  /* records of single spans, also where totals would do */
	bool batched; /* batched markers are expected, though none may be there yet */
	bool json;
	bool quiet;
	unsigned verbose;
};

/* A subcommand. RUN gets its own name as argv[0] and returns an exit status; `--help` is its
 * own. */
struct command {
	const char *name;
	const char *summary;
	int (*run)(int argc, char **argv);
};

/* The whole program: finds the command, or parses the options and calls TRACE. COMMANDS ends
 * with a NULL name. Returns an exit status. */
int cli_main(int argc, char **argv, const struct command *commands,
	     int (*trace)(const struct options *options));

/* The options of a trace (argv[0] is not looked at). On success *OUT is released by
 * options_free(). On failure the message is printed and *OUT left alone: -EINVAL for bad usage,
 * or -ENOMEM. */
int cli_parse(int argc, char **argv, struct options *out);
/* The same for `list`, which takes fewer options, and files in argv (it is put in order). */
int cli_parse_list(int argc, char **argv, struct options *out);
/* The same for `record`, which takes more. */
int cli_parse_record(int argc, char **argv, struct options *out);
/* The same for `top`, which takes fewer. */
int cli_parse_top(int argc, char **argv, struct options *out);
/* The same as OPTIONS were made, from the same words and the file that they name, as it is by now. */
int cli_parse_again(const struct options *options, struct options *out);
void options_free(struct options *options);

/* What -P, -x, --span and --rules say, borrowed. */
struct pair_options options_pairing(const struct options *options);

/* Whether -q and -v go together: 0, or -EINVAL with the message printed. */
int cli_check_log(bool quiet, unsigned verbose);
/* Sets what messages are printed. */
void cli_set_log(bool quiet, unsigned verbose);
/* The exit status for what cli_parse() returned. */
int cli_status_of(int err);

/* The option tables for people. */
void cli_print_options(FILE *out);
void cli_print_list_options(FILE *out);
void cli_print_record_options(FILE *out);
void cli_print_top_options(FILE *out);

/* Every format of -o and the options it takes. */
void cli_print_formats(FILE *out);

/* One -o: [FORMAT[,KEY=VALUE…]:]PATH (cli_output.c). Prints its message on -EINVAL. */
int cli_parse_output(const char *text, struct options_output *out);
/* The default output of a trace: a summary, or JSON with --json, on stdout. */
int cli_default_output(bool json, struct options_output *out);

#endif
