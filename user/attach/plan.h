/* SPDX-License-Identifier: MIT */
/* The attach plan: which files, which of their markers, which program at which site.
 *
 *   file ▸ elfnote_read: sites ▸ pair_plan over all files: definitions and roles
 *        ▸ a row of the site table and a cookie for each role ▸ attach_file
 *
 * Files can be added at any time; what stands already is left as it is. A file is the same where its inode
 * and its build id are, whatever device shows it (an overlay's merged and lower file are one to uprobes).
 */
#ifndef SPANTRACE_PLAN_H
#define SPANTRACE_PLAN_H

#include "../pair/pair.h"
#include "../trace/trace.h"
#include "attach.h"

struct plan;

/* OPTIONS is borrowed. 0 or -ENOMEM. */
int plan_new(const struct pair_options *options, struct plan **out);
void plan_free(struct plan **plan);

/* Which labels to read: those of these keys (borrowed), or ALL. None unless this is called: what no output shows costs
 * nothing. */
void plan_want_labels(struct plan *plan, const char *const *keys, size_t n, bool all);

/* Adds the file open at FD, which is not closed; SHOWN is its name for people. A file without markers, one that is
 * no ELF file, and one that is there already are no errors. Returns 1 when it brings new sites, 0 when not, or -errno. */
int plan_add_file(struct plan *plan, int fd, const char *shown);
/* Adds every file that process PID has mapped as code. Returns as above; -ESRCH when there is no such process. */
int plan_add_process(struct plan *plan, pid_t pid);
/* Whether one of its files has markers of the batched lane. */
bool plan_has_batched(const struct plan *plan);
/* Sites seen so far, at all roles: what the site table must hold. */
u32 plan_sites(const struct plan *plan);
/* From now on files that would make more than ROOM sites in all are refused. */
void plan_limit_sites(struct plan *plan, u32 room);

/* Gives the definitions to TRACE and attaches what does not stand yet. 0 or -errno; a site that could not be attached is
 * among the refused. */
int plan_attach(struct plan *plan, struct trace *trace, struct kernel *kernel,
		struct attach_set *set);

/* Says of each file, once, how many probes stand in it. */
void plan_report(struct plan *plan);

struct plan_counts {
	size_t files;         /* looked at */
	size_t marked_files;  /* of those, with markers */
	size_t markers;       /* sites in them */
	size_t attached;      /* probes that stand */
	size_t spans, events; /* definitions */
};

void plan_count(const struct plan *plan, struct plan_counts *out);
/* Number of the site after the last that was attached, for kernel_open(). */
u32 plan_sites_end(const struct plan *plan);
/* What must not or could not be attached, each once. */
const struct model_refused *plan_refused(const struct plan *plan, size_t *n);
/* Adds one: all of a definition, NAME. 0 or -ENOMEM. */
int plan_refuse_def(struct plan *plan, const char *name, const char *why);
/* Names of the files that were looked at, for the message when none has markers. */
const char *plan_file_name(const struct plan *plan, size_t i);
bool plan_file_has_markers(const struct plan *plan, size_t i);
/* Says what to do about markers of known programs that never fired, by PROFILE. */
void plan_say_hints(const struct plan *plan, const struct profile *profile);
/* Sentences for --span options that did not fit the markers found. */
const char *const *plan_problems(const struct plan *plan, size_t *n);

#endif
