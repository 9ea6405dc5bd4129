/* SPDX-License-Identifier: MIT */
/* What an event's kind and id say: the definition, the labels and, in files that spantrace wrote, what kind and arguments
 * stand for. See include/mmprofdata.h. */
#ifndef SPANTRACE_MMPROFDATA_NAME_H
#define SPANTRACE_MMPROFDATA_NAME_H

#include "../trace/trace.h"
#include "mmprofdata_file.h"

enum mmp_type {
	MMP_PLAIN, /* a thread span, or an event */
	MMP_ASYNC,
	MMP_SEGMENT,
	MMP_THREAD,
};

#define MMP_HAS_THREAD 0x1u
#define MMP_HAS_BUSY   0x2u
#define MMP_HAS_SELF   0x4u
#define MMP_HAS_VALUE  0x8u
#define MMP_HAS_TIMES  0x10u /* THREAD: start, end and inside */

struct mmp_name {
	bool whole;   /* else only a place for one */
	bool bare;    /* a thread span, of which it says no more than the definition */
	u64 kind, id; /* that it was made from */
	bool interval;
	enum mmp_type type;
	u32 def;
	u32 has;    /* MMP_HAS_* */
	u32 thread; /* where it ran, in the ids of the file */
	u32 flags;  /* MODEL_ABANDONED, MODEL_OPEN */
	u64 span_id;
	u64 busy_ns, self_ns;
	s64 value;
	const struct model_path *under; /* NULL: outside every span, or as the nesting says */
	bool has_under;
	u32 nlabels;
	struct model_label labels[MODEL_MAX_LABELS];
	/* THREAD */
	u32 pid, tid;
	char comm[MODEL_COMM_LEN];
	u64 start_ns, end_ns, inside_ns;
};

struct mmp_names;

/* FILE and TRACE are borrowed. */
int mmp_names_new(struct mmp_file *file, struct trace *trace, struct mmp_names **out);
void mmp_names_free(struct mmp_names **names);
/* Labels are only wanted from here on. */
void mmp_names_want_labels(struct mmp_names *names);
/* In *OUT what EVENT says, good until the next call. 0, or -errno. */
int mmp_names_of(struct mmp_names *names, const struct mmp_event *event,
		 const struct mmp_name **out);
/* Texts of labels that found no room, and labels beyond MODEL_MAX_LABELS. */
u64 mmp_names_texts_lost(const struct mmp_names *names);
u64 mmp_names_labels_left_out(const struct mmp_names *names);

#endif
