/* SPDX-License-Identifier: MIT */
/* What the formats for trace viewers (chrome, perfetto) have in common: how spans, async spans and events become processes
 * with threads, slices that nest on them, tracks beside them, arrows and counters. The formats write it down.
 *
 *   span ▸ viewer_span() ▸ ops->process, ops->thread, where they are new ▸ ops->slice | ops->aside | ops->async
 *                                                                        ▸ ops->counter, now and then
 */
#ifndef SPANTRACE_VIEWER_H
#define SPANTRACE_VIEWER_H

#include "../user/util/intmap.h"
#include "exporter.h"
#include "figures.h"
#include "flows.h"
#include "mmprofdata_line.h"
#include "pathmap.h"
#include "text.h"

enum viewer_counter {
	VIEWER_CPU,   /* ns on the CPU of all that has ended by then */
	VIEWER_ALLOC, /* bytes allocated inside spans */
	VIEWER_HEAP,  /* of these, not freed */
	VIEWER_COUNTERS,
};

extern const char *const viewer_counter_names[VIEWER_COUNTERS];

struct viewer_process {
	u32 pid;
	char name[MODEL_COMM_LEN + 1]; /* its main thread's, or another's; empty: not known */
	u64 values[VIEWER_COUNTERS];
	u64 counted_ns;               /* when VIEWER_CPU was last told */
	u64 own[VIEWER_COUNTERS + 1]; /* the format's */
};

struct viewer_thread {
	const struct model_thread *model;
	struct viewer_process *process;
	char name[MODEL_COMM_LEN + 1];
	struct mmp_line line;
	struct text_buf head; /* the format's */
	void *own;            /* the format's */
};

struct viewer;

struct viewer_ops {
	/* Each returns 0 or -errno. The first two: it is new, or has another name. */
	int (*process)(struct viewer *v, struct viewer_process *process);
	int (*thread)(struct viewer *v, struct viewer_thread *thread);
	/* A thread span, or a stretch of an async span with its FLOW: an arrow comes from where that says, if it does. */
	int (*slice)(struct viewer *v, struct viewer_thread *thread, const struct model_span *span,
		     const struct flow *flow);
	/* The same, but it overlaps others on its thread, as no slices can. */
	int (*aside)(struct viewer *v, struct viewer_thread *thread, const struct model_span *span);
	int (*async)(struct viewer *v, struct viewer_thread *thread, const struct model_span *span);
	int (*event)(struct viewer *v, struct viewer_thread *thread,
		     const struct model_event *event);
	int (*counter)(struct viewer *v, struct viewer_process *process, enum viewer_counter which,
		       u64 time_ns);
};

/* The first member of a format's state. */
struct viewer {
	const struct viewer_ops *ops;
	struct export_options options;
	u32 metrics;
	struct viewer_thread *last; /* whose span was the last */
	struct intmap threads;      /* serial ▸ struct viewer_thread */
	struct intmap processes;    /* pid ▸ struct viewer_process */
	struct flows flows;
};

/* A text about the run itself. */
struct viewer_text {
	const char *name;
	const char *value; /* of the profile or RATE; NULL: not known */
};

#define VIEWER_TEXTS 5

void viewer_about(const struct profile *run, struct viewer_text texts[VIEWER_TEXTS],
		  char rate[FIGURES_SIZE]);

/* A number about a span beside its times and labels; its name has a colon, as no label's has. */
struct viewer_fact {
	const char *name;
	u64 value;
};

#define VIEWER_FACTS 13

/* Whether viewer_facts() or its labels have anything to say of a slice: most times they have not. */
static inline bool viewer_has_facts(const struct model_span *span)
{
	const struct model_counters *total = &span->total;

	return span->flags | span->nlabels | total->run_delay_ns | total->vol_switches |
	       total->invol_switches | total->minor_faults | total->major_faults |
	       span->alloc.objects | span->alloc.bytes;
}

/* For the beginning of a file. */
void viewer_init(struct viewer *v, const struct viewer_ops *ops, const struct exporter *e,
		 const struct profile *run);
void viewer_free(struct viewer *v);
int viewer_span(struct viewer *v, const struct model_span *span);
int viewer_event(struct viewer *v, const struct model_event *event);
/* A snapshot of the live heap, as in exporter.h: a point of each process's counter. */
int viewer_heap(struct viewer *v, const struct profile *snapshot);
/* Names threads that are not named yet, and tells every counter. */
int viewer_finish(struct viewer *v, const struct profile *profile);

/* Those of SPAN that are not 0, and its id. Returns how many. */
unsigned viewer_facts(const struct viewer *v, const struct model_span *span,
		      struct viewer_fact facts[VIEWER_FACTS]);
/* B becomes the name of PATH's frame: "app:job", or "job" where the options say so. */
void viewer_name(const struct viewer *v, const struct model_path *path, struct text_buf *b);

static inline bool viewer_has_cpu(const struct viewer *v)
{
	return v->metrics & METRIC_CPU;
}

#endif
