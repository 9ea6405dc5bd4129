/* SPDX-License-Identifier: MIT */
/* The rows of a profile as one tree of frames with weights: what folded stacks and flame graphs
 * show.
 *
 *   everything ─▶ COMM-TID (or all-threads) ─▶ provider::name ─▶ provider::name …
 *
 * Frames that read the same under the same parent are one. Time outside every span stands on the
 * thread's own frame when options ask for it (empty_samples) and the weight is wall or busy time.
 * Labels of --by split no frame: a row knows its own labels, not those of its parents.
 */
#ifndef SPANTRACE_STACKS_H
#define SPANTRACE_STACKS_H

#include "exporter.h"
#include "text.h"

enum stacks_text {
	/* Safe text: valid UTF-8, no control characters. */
	STACKS_PLAIN,
	/* Also fit for a line of folded stacks: ';' becomes ':'; the space in a frame that ends in
	 * a space and a number becomes '_', since readers would take that number for a weight. */
	STACKS_FOLDED,
};

struct stacks_frame {
	const char *label; /* NULL: the root */
	u32 parent;        /* index; the root's own is 0 */
	u32 end;           /* index after the last frame below it */
	u32 depth;         /* root: 0, threads: 1 */
	u64 self;
	u64 total; /* self and all below; never 0 except the root's */
};

/* Frames depth first: threads in the profile's order, siblings below them by label. */
struct stacks {
	struct stacks_frame *frames;
	u32 nframes;
	u32 max_depth;
	struct strtab *labels;
};

/* What a frame of PATH, which is not the root, is called. */
void stacks_add_label(struct text_buf *b, const struct model_path *path,
		      const struct export_options *o);
/* 0; -ENODATA if PROFILE lacks what O->value asks for; -ENOMEM. */
int stacks_new(const struct profile *profile, const struct export_options *o, enum stacks_text text,
	       struct stacks **out);
void stacks_free(struct stacks **stacks);

#endif
