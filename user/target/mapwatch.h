/* SPDX-License-Identifier: MIT */
/* New mappings of code, in any process, as the kernel reports them: exec, the libraries of a program, dlopen.
 *
 * One software dummy event of perf on each CPU writes a record for each mapping; nobody is woken for it, and a
 * process that maps nothing pays nothing. CPUs that come online later are not watched.
 */
#ifndef SPANTRACE_MAPWATCH_H
#define SPANTRACE_MAPWATCH_H

#include "procmaps.h"

struct mapwatch;

/* A file that has been mapped to execute. MAP and its path live until the call returns; GENERATION tells files apart
 * that had one inode number after another. */
typedef void (*mapwatch_fn)(void *context, const struct procmap *map, u64 generation);

/* Watches from now on. 0, or -errno where perf does not let us: -EACCES or -EPERM most often. */
int mapwatch_new(struct mapwatch **out);
void mapwatch_free(struct mapwatch **watch);

/* Hands what came since the last call to FN. *LOST is how many the kernel had no room for. */
void mapwatch_drain(struct mapwatch *watch, mapwatch_fn fn, void *context, u64 *lost);

/* Takes apart one record of SIZE bytes, as perf wrote it: fills MAP, whose path points into RECORD, which is changed.
 * False for a record that is no mapping of a file. For tests, too. */
bool mapwatch_parse(void *record, size_t size, struct procmap *map, u64 *generation);

#endif
