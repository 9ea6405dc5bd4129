/* SPDX-License-Identifier: MIT */
/* Which span of a thread, an async span or a trace a span belongs to, when it ends before what it stands under.
 *
 * The spans of one path on one thread end one after the other. So the span that a thread span stands under is the next
 * one of the path above that ends on that thread, and its number is known before it comes: ids are made of thread, path
 * and number. A trace is what one outermost span holds.
 *
 * An async span is known by definition and id while it lives. Each stretch of work on it is a span of its own under it,
 * linked to the stretch before. It may have been made inside a thread span that is over by its close: of each path the
 * last spans are remembered. Until its close nobody knows the trace: see otlp_scope.h. */
#ifndef SPANTRACE_OTLP_TREE_H
#define SPANTRACE_OTLP_TREE_H

#include "../user/util/intmap.h"
#include "flows.h"
#include "otlp_scope.h"
#include "pairmap.h"

/* A thread, and what the format keeps of it. */
struct otlp_thread {
	const struct model_thread *model;
	u64 key;
	struct otlp_process *process;
	char name[MODEL_COMM_LEN + 1];
	struct otlp_attributes attributes;
};

/* A path on a thread. */
struct otlp_node {
	const struct model_path *path;
	struct otlp_thread *thread;
	struct otlp_node *parent; /* NULL: it is outermost */
	struct otlp_node *root;   /* the outermost; itself where it is that */
	struct otlp_node *
		stretch; /* of an async span, the innermost that it stands under, or is; NULL: none */
	u64 key;
	u64 ended;                  /* spans of it */
	struct otlp_scope *pending; /* of what ran in the stretch that has not ended */
	struct otlp_instance *last; /* the last that ended, by number */
	u32 nlast;                  /* a power of two, or 0 */

	/* The format's: its name, 1 more than the number; events in the span that has not ended. */
	u32 name;
	struct text_buf events;
	u32 nevents, dropped_events;
};

struct otlp_tree {
	struct otlp_scopes scopes;
	u64 seed;
	bool has_async; /* one was seen */
	struct otlp_node **nodes;
	size_t nnodes;
	struct pairmap nodes_of; /* thread, path ▸ number */
	struct flows flows;      /* async spans */
	struct otlp_asyncs {
		struct otlp_async *oldest, *newest;
		size_t n;
	} alive, over;
};

/* Where a span belongs: its place, and its trace's root or, where that is not known yet, a scope. */
struct otlp_where {
	struct otlp_place place;
	u64 root;
	struct otlp_scope *scope;
};

void otlp_tree_free(struct otlp_tree *tree);
/* NULL: no memory. */
struct otlp_node *otlp_tree_node(struct otlp_tree *tree, struct otlp_thread *thread,
				 const struct model_path *path);
/* Asks memory for what otlp_tree_span() will look at: thousands of nodes are in no cache. */
void otlp_tree_prefetch(const struct otlp_node *node);
/* SPAN of NODE has ended. WHERE's scope is borrowed until the next call. 0 or -ENOMEM. */
int otlp_tree_span(struct otlp_tree *tree, struct otlp_node *node, const struct model_span *span,
		   struct otlp_where *where);
/* The same for an event outside of every span, as a span without length. */
void otlp_tree_event(struct otlp_node *node, struct otlp_where *where);

#endif
