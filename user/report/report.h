/* SPDX-License-Identifier: MIT */
/* The commands that add files up: `spantrace report`, `diff` and `aggregate`. Each returns an exit status. */
#ifndef SPANTRACE_REPORT_H
#define SPANTRACE_REPORT_H

int report_run(int argc, char **argv);
int diff_run(int argc, char **argv);
int aggregate_run(int argc, char **argv);

#endif
