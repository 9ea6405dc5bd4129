/* SPDX-License-Identifier: MIT */
/* `spantrace export`: a file that holds a trace, written in other formats. */
#ifndef SPANTRACE_EXPORT_H
#define SPANTRACE_EXPORT_H

/* The command. Returns an exit status. */
int export_run(int argc, char **argv);

#endif
