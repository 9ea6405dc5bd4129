/* SPDX-License-Identifier: MIT */
/* A profile as google/pprof's message `Profile`: for files (pprof.c), and for whoever sends profiles elsewhere.
 *
 * A row becomes a sample: its path is the stack, its work exclusive of deeper frames the values. So what a reader adds up
 * over a subtree is what ran in it, counted once.
 */
#ifndef SPANTRACE_PPROF_ENCODE_H
#define SPANTRACE_PPROF_ENCODE_H

#include "../include/model.h"
#include "text.h"

/* Sample types that belong together; tracing-prof makes a file for each. */
enum pprof_family {
	PPROF_WALL,  /* wall, wall_busy, wall_idle, count */
	PPROF_CPU,   /* cpu, cpu_user, cpu_system */
	PPROF_ALLOC, /* alloc_objects, alloc_space */
	PPROF_HEAP,  /* inuse_objects, inuse_space: not of a time but at its end */
	PPROF_FAMILIES,
	PPROF_ALL = PPROF_FAMILIES,
};

/* Labels of samples besides those of their spans. Texts are what servers tell series apart by; numbers they leave out. */
#define PPROF_LABEL_THREAD 0x1u /* thread="COMM-TID" */
#define PPROF_LABEL_TID    0x2u /* tid=TID, a number */
#define PPROF_LABEL_PID    0x4u /* pid=PID, a number */
#define PPROF_LABEL_COMM   0x8u /* comm="COMM" */
#define PPROF_LABELS       0xfu

/* "wall", "cpu", "alloc", "heap"; "all". */
const char *pprof_family_name(enum pprof_family family);
/* Whether a trace that measured METRICS (METRIC_*) has anything of FAMILY. */
bool pprof_family_measured(u32 metrics, enum pprof_family family);

/* Adds the message to OUT, and says how many samples are in it: rows with nothing but zeroes are none. The same bytes for
 * the same profile. 0 or -ENOMEM. */
int pprof_encode(const struct profile *profile, enum pprof_family family, u32 labels,
		 struct text_buf *out, size_t *nsamples);

#endif
