/* SPDX-License-Identifier: MIT */
/* How the events of a file lie within each other. They stand in the order of their ends, children before parents, so they
 * are walked from the last to the first with a stack for each thread. What that tells of each event, its path and its
 * self time, goes into a scratch area of 16 bytes an event, to be read forwards afterwards. */
#ifndef SPANTRACE_MMPROFDATA_NEST_H
#define SPANTRACE_MMPROFDATA_NEST_H

#include "mmprofdata_name.h"

/* A thread of the file. Times are those of the file, but where the file told them itself. */
struct mmp_thread {
	u32 id; /* in the file */
	u32 serial;
	u32 pid, tid;
	char comm[MODEL_COMM_LEN];
	bool named; /* by the file */
	bool told;  /* start, end and inside too, on the trace's clock */
	bool spans; /* it has any: start and end are set */
	u64 start_ns, end_ns, inside_ns;
	u64 latest_ns;                    /* for whoever goes through the events forwards */
	const struct model_thread *model; /* the same */
	struct mmp_stack *stack;
};

/* What is known of an event after the walk. */
struct mmp_nested {
	struct mmp_event event;
	u64 number;
	u64 self_ns;
	const struct model_path *path; /* NULL: it is no span or event */
	bool bare;                     /* an interval whose name says nothing but its definition */
	bool has_value;                /* of mmprofdata_forward.h: an instant that has one */
	u64 value;
	struct mmp_thread
		*thread; /* of an interval, if there is one with the event's id: not a lane's */
};

struct mmp_nest;

int mmp_nest_new(struct mmp_file *file, struct mmp_names *names, struct trace *trace,
		 struct mmp_nest **out);
void mmp_nest_free(struct mmp_nest **nest);
/* The walk. 0 or -errno. */
int mmp_nest_walk(struct mmp_nest *nest);
/* Event AT, from 0 in the order of their ends. 0 or -errno. */
int mmp_nest_get(struct mmp_nest *nest, u64 at, struct mmp_nested *out);
/* The thread that the file calls ID; NULL: there is none, or one too many. */
struct mmp_thread *mmp_nest_thread(const struct mmp_nest *nest, u32 id);
/* All of them, those from 0 to N - 1. */
struct mmp_thread *mmp_nest_threads(const struct mmp_nest *nest, size_t *n);

struct mmp_nest_counts {
	u64 out_of_order;
	u64 backwards; /* intervals that end before they start */
	u64 too_deep;
	u64 paths_full;
	u64 no_thread; /* events of threads beyond the limit */
	u64 latest_ns; /* end of the last event */
};

void mmp_nest_counts(const struct mmp_nest *nest, struct mmp_nest_counts *out);

#endif
