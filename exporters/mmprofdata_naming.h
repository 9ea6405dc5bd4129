/* SPDX-License-Identifier: MIT */
/* What a span or an event is called in an event file: its kind, its label and its arguments as strings of the file. The
 * customs are in include/mmprofdata.h. */
#ifndef SPANTRACE_MMPROFDATA_NAMING_H
#define SPANTRACE_MMPROFDATA_NAMING_H

#include "../include/model.h"
#include "mmprofdata_pages.h"

struct mmp_naming;

/* PAGES is borrowed. 0 or -ENOMEM. */
int mmp_naming_new(struct mmp_pages_out *pages, struct mmp_naming **out);
void mmp_naming_free(struct mmp_naming **naming);

/* What to say of a span besides its path and labels. */
struct mmp_say {
	const struct model_span *span; /* or, of an event, NULL */
	const struct model_event *event;
	bool under;     /* its path cannot be told from the nesting */
	bool on_thread; /* it stands on a lane, and ran on THREAD */
	u32 thread;
	bool busy, self; /* the span's are to be told */
	bool value;      /* the event's value is to be told */
};

/* Sets kind and id of EVENT. 0 or -ENOMEM. */
int mmp_name_it(struct mmp_naming *naming, const struct mmp_say *say, struct mmp_event *event);
/* Of the event that names a thread; INSIDE_NS counts only with AT_END. */
int mmp_name_thread(struct mmp_naming *naming, const struct model_thread *thread, bool at_end,
		    u64 inside_ns, struct mmp_event *event);

#endif
