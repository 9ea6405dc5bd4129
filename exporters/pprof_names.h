/* SPDX-License-Identifier: MIT */
/* What samples of a pprof message name by number: strings, frames (a location and its function), mappings. */
#ifndef SPANTRACE_PPROF_NAMES_H
#define SPANTRACE_PPROF_NAMES_H

#include "../include/model.h"
#include "pairmap.h"
#include "strtab.h"
#include "text.h"

struct pprof_names {
	struct text_buf scratch; /* for a string in the making */
	/* The rest is pprof_names.c's own. */
	struct strtab *strings;     /* 0 is "" */
	struct pprof_frame *frames; /* number I stands at I - 1, as mappings do */
	u32 nframes;
	struct pprof_mapping *mappings;
	u32 nmappings;
	struct pairmap frame_of;   /* (def, name) → frame */
	struct pairmap mapping_of; /* (file, build id) → mapping */
};

int pprof_names_new(struct pprof_names **out);
void pprof_names_free(struct pprof_names **names);
/* The number of the string TEXT, made fit for terminals and valid UTF-8. 0 or -ENOMEM. */
int pprof_names_string(struct pprof_names *n, const char *text, u32 *id);
/* The number of what stands in the scratch buffer, as it is. 0 or -ENOMEM. */
int pprof_names_scratch(struct pprof_names *n, u32 *id);
/* The number of PATH's own frame; the root's is "(outside spans)" unless it has a name. 0 or -ENOMEM. */
int pprof_names_frame(struct pprof_names *n, const struct model_path *path, u32 *number);
/* Adds all that has a number to the message. */
void pprof_names_put(const struct pprof_names *n, struct text_buf *out);

#endif
