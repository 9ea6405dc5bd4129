/* SPDX-License-Identifier: MIT */
/* One run of the main job: from options to written outputs. */
#ifndef SPANTRACE_SESSION_H
#define SPANTRACE_SESSION_H

#include "../cli/cli.h"

/* Traces as OPTIONS say and returns spantrace's exit status. */
int session_run(const struct options *options);

#endif
