/* SPDX-License-Identifier: MIT */
/* `spantrace record`: a trace that is kept in files, one or a row of them. See README. */
#ifndef SPANTRACE_RECORD_H
#define SPANTRACE_RECORD_H

/* The command; see struct command in cli.h. */
int record_run(int argc, char **argv);

#endif
