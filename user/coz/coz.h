/* SPDX-License-Identifier: MIT */
/* The command `spantrace coz`: causal profiling of a program by its spans and events. */
#ifndef SPANTRACE_COZ_COMMAND_H
#define SPANTRACE_COZ_COMMAND_H

#include "../cli/cli.h"
#include "coz_points.h"

struct coz_options {
	struct options trace; /* -P, -s, -x, --rules, -q, -v; the command in argv */
	const char **latency;
	size_t nlatency;
	const char **progress;
	size_t nprogress;
	const char *output;
	bool append;
	const char *report; /* a profile to show, without a run */
	const char *plot;
	u64 top;
	bool json;
	const char *libcoz;
	const char **binaries; /* the scopes, as coz has them: % is its wildcard */
	size_t nbinaries;
	const char **sources;
	size_t nsources;
	const char *fixed_line;
	const char *fixed_speedup;
	bool helped;
};

#define COZ_OUTPUT "profile.coz"

/* The whole line. 0 or -errno, with the message printed; O is released by coz_options_free() in any case. */
int coz_options_parse(int argc, char **argv, struct coz_options *o);
void coz_options_free(struct coz_options *o);

/* Runs the command under coz. Returns its exit status, or 125 to 127; *RAN: there may be a profile. */
int coz_session(struct coz_options *o, bool *ran);
/* Shows the profile in the file PATH. 0; -ENODATA where there is no experiment in it, without a message; or -errno with
 * the message printed. */
int coz_show(const struct coz_options *o, const char *path);

/* The command. Returns an exit status. */
int coz_run(int argc, char **argv);

#endif
