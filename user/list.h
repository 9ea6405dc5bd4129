/* SPDX-License-Identifier: MIT */
/* `spantrace list`: the markers of files or processes, and the spans and events they make. */
#ifndef SPANTRACE_LIST_H
#define SPANTRACE_LIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/types.h>

#include "elf/elfnote.h"
#include "pair/pair.h"

struct list_file {
	char *path; /* as the user, or the process, names it */
	struct elfnote_file *notes;
	pid_t *pids; /* of the processes that have it mapped; none for `list FILE` */
	size_t npids;
};

/* What there is to print. */
struct list {
	struct list_file *files;
	size_t nfiles;
	struct pair_marker *markers; /* a site each, of those that are not refused */
	size_t nmarkers;
	struct pair_plan *plan;
};

/* Pairs the markers of LIST's files; fills the other fields. 0 or -ENOMEM. */
int list_pair(struct list *list, const struct pair_options *options);
void list_free(struct list *list);

/* For people; VERBOSE adds the kind of nop at each site and the source line. 0 or -ENOMEM. */
int list_print(const struct list *list, FILE *out, bool verbose);

/* For programs. Keys are only ever added; one whose value does not exist is left out. Addresses
 * and offsets are numbers.
 *   { "schema": 1, "version": "…",
 *     "files": [ { "path": "…", "build_id": "…", "machine": "x86-64", "pids": [ … ],
 *                  "damaged": "WHY",
 *                  "sites": [ { "marker": "app:job__enter", "address": …, "offset": …,
 *                               "semaphore": …, (its address)
 *                               "nop": "nop", "file": "…", "line": …, (of the source)
 *                               "args": [ { "text": "-4@8(%rbp)", "key": "…",
 *                                           "unreadable": "WHY" } ],
 *                               "refused": "WHY" } ] } ],
 *     "definitions": [ { "kind": "thread span"|"async span"|"event", "label": "app:job",
 *                        "id_arg": …, (argument that is the id, from 0)
 *                        "recursive": 1,
 *                        "why": "by `__enter/__exit`",
 *                        "rule": { "file": "…", (absent: built in) "line": …,
 *                                  "named": 1, (single spans by their arguments)
 *                                  "labels": [ "…" ] },
 *                        "markers": [ { "role": "enter"|"exit"|"new"|"close"|"event",
 *                                       "marker": "app:job__enter" } ] } ],
 *     "left_out": [ { "what": "hotspot_jni", "why": "…" } ],
 *     "problems": [ "…" ] } (with --span)
 */
void list_print_json(const struct list *list, FILE *out);

/* The command. Returns an exit status. */
int list_run(int argc, char **argv);

#endif
