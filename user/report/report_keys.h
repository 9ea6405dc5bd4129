/* SPDX-License-Identifier: MIT */
/* What the items of a report are: names, paths, threads or processes, as numbers that hold for every input.
 *
 *   a profile's paths ─▶ report_index: each path ─▶ its key, and whether it runs inside one of the same key
 *
 * A path of definitions can be as deep as a file says, so nothing here goes up a path more than once.
 */
#ifndef SPANTRACE_REPORT_KEYS_H
#define SPANTRACE_REPORT_KEYS_H

#include "../../exporters/pairmap.h"
#include "../../exporters/strtab.h"
#include "../../include/model.h"

enum report_by {
	REPORT_BY_NAME,
	REPORT_BY_PATH,
	REPORT_BY_THREAD,
	REPORT_BY_PROCESS,
};

struct report_key {
	const char *name; /* by path: of its last frame */
	u32 parent;       /* by path; 0: none */
};

struct report_keys {
	enum report_by by;
	bool across; /* inputs are runs to compare: threads and processes have names, and no numbers that differ each time */
	struct report_key *keys; /* [0] stands for no key */
	u32 nkeys;
	struct strtab *names;
	struct pairmap ids; /* (parent, name) → key */
	struct strtab *events;
};

int report_keys_new(enum report_by by, bool across, struct report_keys **out);
void report_keys_free(struct report_keys **keys);
/* The key called NAME below PARENT, made if it is new. 0 or -ENOMEM. */
int report_key(struct report_keys *keys, u32 parent, const char *name, u32 *id);
/* Writes the key for people: a path as "a;b". Any bytes that a name has may be in it. */
struct text_buf;
void report_key_text(const struct report_keys *keys, u32 id, struct text_buf *out);

/* Whether spans go by their name alone, without the provider: measureme's label, whatever its kind. */
enum report_naming {
	REPORT_PROVIDER_AND_NAME,
	REPORT_NAME_ALONE,
};

/* The keys of one profile's rows. */
struct report_index {
	struct report_node *nodes; /* [0]: outside every span */
	u32 nnodes;
	struct pairmap by_path;   /* (path, 0) → node */
	struct pairmap processes; /* (pid, 0) → key, by process */
};

struct report_place {
	u32 key;
	bool inner; /* it runs inside another of its key, whose total holds it already */
};

/* 0 or -ENOMEM. KEYS by thread or process: the keys are those of the rows' threads. */
int report_index_new(struct report_keys *keys, const struct profile *profile,
		     enum report_naming naming, struct report_index **out);
void report_index_free(struct report_index **index);
/* Where the spans of ROW count. 0 or -ENOMEM. */
int report_place(struct report_keys *keys, struct report_index *index, const struct model_row *row,
		 struct report_place *out);
/* The key of a thread, by thread or process. 0 or -ENOMEM. */
int report_thread_key(struct report_keys *keys, struct report_index *index,
		      const struct model_thread *thread, u32 *id);

#endif
