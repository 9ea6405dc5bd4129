/* SPDX-License-Identifier: MIT */
/* `spantrace view`: the single spans and events of a file. */
#ifndef SPANTRACE_VIEW_H
#define SPANTRACE_VIEW_H

#include "../../exporters/chain.h"
#include "../../exporters/text.h"
#include "../recording/replay.h"

enum view_form {
	VIEW_LINES, /* a line each, for eyes */
	VIEW_BLOCK, /* a block each, with everything that is known of it */
	VIEW_JSON,  /* a line each, for programs; described in the README */
};

/* Prints single spans and events as they come; keeps none. Starts as zeroes but for the first five. */
struct view {
	enum view_form form;
	FILE *out;
	u64 start_ns;
	u32 metrics;
	bool counted;         /* times are no times, see replay_info.counter */
	struct text_buf text; /* of one of them, under construction */
	struct chain chain;
};

/* What stands above the first of them. */
void view_head(struct view *view);
/* Both 0 or -errno; CONTEXT is a struct view: they are those of a sink. */
int view_span(void *context, const struct model_span *span);
int view_event(void *context, const struct model_event *event);
void view_free(struct view *view);

/* The command. Returns an exit status. */
int view_run(int argc, char **argv);

#endif
