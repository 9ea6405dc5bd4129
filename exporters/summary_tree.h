/* SPDX-License-Identifier: MIT */
/* The rows of a profile added up over threads, as the tree that the summary prints:
 *
 *   root ─▶ process ─▶ path ─▶ its label sets (--by), then the paths below it
 *
 * Where there are more than a screen's worth of processes, those of one name share a line.
 */
#ifndef SPANTRACE_SUMMARY_TREE_H
#define SPANTRACE_SUMMARY_TREE_H

#include "../include/model.h"

struct summary_node {
	u32 parent; /* index; the root's own is 0 */
	u32 depth;  /* root: 0, processes: 1 */
	bool is_label;
	bool is_outside; /* what a process allocated outside every span */
	bool has_spans;  /* else it is here for those below it only */
	u32 processes;   /* at depth 1: how many it stands for */
	const char *
		name; /* safe text: "shop (4242)", "shop (30 processes)", "app:outer", "url=/cart" */
	struct model_row sum; /* only totals, extremes, mean and durations */
	struct histogram *durations;
	unsigned __int128 finished_ns; /* of which sum.mean_ns is the mean */
};

/* Nodes depth first; siblings by busy time, the busiest first, label sets before paths. */
struct summary_tree {
	struct summary_node *nodes;
	u32 nnodes;
	u32 nprocesses;
	struct strtab *names;
};

/* Whether processes of one name share a line. */
bool summary_is_crowded(const struct profile *profile);
/* The name of THREAD's process: its first thread's; another's where that is not known. */
const char *summary_comm(const struct profile *profile, const struct model_thread *thread);

/* 0 or -ENOMEM. */
int summary_tree_new(const struct profile *profile, struct summary_tree **out);
void summary_tree_free(struct summary_tree **tree);

#endif
