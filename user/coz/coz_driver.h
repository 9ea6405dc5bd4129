/* SPDX-License-Identifier: MIT */
/* Brings coz's counters in the target up to date, once a millisecond, from the counts of the kernel side.
 *
 *   coz_driver_new ▸ (the command starts, with coz_driver_fd() in its environment) ▸ coz_driver_begin
 *   ▸ coz_driver_define for each definition, at any time ▸ coz_driver_end ▸ coz_driver_say
 *
 * A thread of its own, ahead of others where it may be: coz reads the counters at the ends of experiments, and what was
 * not written by then is missing there (it comes in the next; nothing adds up wrongly). Writes go through the /proc/PID/mem
 * that was opened when the shim said hello: that is the memory of the very program, so when it becomes another one by exec
 * nothing of that is overwritten. */
#ifndef SPANTRACE_COZ_DRIVER_H
#define SPANTRACE_COZ_DRIVER_H

#include <sys/types.h>

#include "../kernel/kernel.h"
#include "coz_points.h"

struct coz_driver;

/* CHOICE is borrowed. 0 or -errno. */
int coz_driver_new(const struct coz_choice *choice, struct coz_driver **out);
void coz_driver_free(struct coz_driver **driver);
/* The end of the socket that the command is to inherit; closed here by coz_driver_begin(). */
int coz_driver_fd(const struct coz_driver *driver);
/* DEF, whose strings are copied, is traced. What cannot become a point is told by a warning. 0 or -ENOMEM. */
int coz_driver_define(struct coz_driver *driver, const struct model_def *def);
/* The command has started as PID; KERNEL counts. 0 or -errno. */
int coz_driver_begin(struct coz_driver *driver, const struct kernel *kernel, pid_t pid);
/* Writes the last counts, if the target still is there, and stops. KERNEL may go then. */
void coz_driver_end(struct coz_driver *driver);

struct coz_driver_facts {
	bool hello;  /* the shim was loaded … */
	bool libcoz; /* … beside libcoz */
	bool gone;   /* the program has ended, or became another one, before coz_driver_end() */
	u64 counted; /* points that coz knew */
	u64 writes;  /* rounds */
	u64 late_ns; /* the longest time between two */
	u64 hits;    /* of all points */
};

void coz_driver_facts(const struct coz_driver *driver, struct coz_driver_facts *out);
/* After coz_driver_end(): a warning for each point that could not help. */
void coz_driver_say(const struct coz_driver *driver);

#endif
