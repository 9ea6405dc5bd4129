/* SPDX-License-Identifier: MIT */
/* What every command that reads files takes: the files, which of their spans, and how to talk about it.
 *
 *   argv ─▶ reading_parse ─┬─▶ its own options: the command's take()
 *                          └─▶ struct reading: files, filter, --json, -q, -v
 *
 * A command adds a table of its own options and the words of its help, nothing else.
 */
#ifndef SPANTRACE_READING_H
#define SPANTRACE_READING_H

#include <sys/types.h>

#include "../cli/cli_table.h"
#include "replay.h"

struct reading_command {
	const char *name; /* "export" */
	const char *usage; /* "FILE -o [FORMAT:]PATH…": what follows `spantrace NAME [OPTION…]` */
	const char *about;  /* what it does, lines for help */
	const char *status; /* "0 …; 1 …; 2 bad usage": its exit status, for help */
	size_t min_files;
	size_t max_files; /* 0: any number */
	/* Its own options, before the common ones in help. Letters, long names and numbers below READING_OPTIONS are its to
	 * choose, but for those of the common ones. */
	const struct cli_option *options;
	size_t noptions;
	cli_take_fn take;             /* takes those */
	void (*more_help)(FILE *out); /* behind the options; may be NULL */
};

/* Options without a letter: a command's own from here … */
#define READING_OWN_OPTIONS 256
/* … and the common ones from here. */
#define READING_OPTIONS 512

/* Starts as zeroes. Strings are those of argv and live as long. */
struct reading {
	char **files; /* of argv */
	size_t nfiles;
	struct replay_filter filter; /* of the arrays below */
	bool json;
	bool quiet;
	unsigned verbose;
	bool helped; /* help was asked for and printed: there is nothing more to do */
	pid_t *pids, *tids;
};

/* The whole line of COMMAND; CONTEXT is for its take(). Sets what messages are printed. 0 or -errno, with the message
 * printed, of which cli_status_of() makes an exit status. OUT is released by reading_free() in any case. */
int reading_parse(int argc, char **argv, const struct reading_command *command, void *context,
		  struct reading *out);
void reading_free(struct reading *reading);
/* What was lost while the file was made, and what was damaged in it: a warning for each cause. */
void reading_warn_losses(const struct replay_info *info);
/* Whether the filter leaves anything out. */
bool reading_is_filtered(const struct reading *reading);

#endif
