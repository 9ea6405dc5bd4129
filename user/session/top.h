/* SPDX-License-Identifier: MIT */
/* `spantrace top`: what a program does right now. */
#ifndef SPANTRACE_TOP_H
#define SPANTRACE_TOP_H

/* As struct command has it. */
int top_run(int argc, char **argv);

#endif
