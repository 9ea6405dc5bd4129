/* SPDX-License-Identifier: MIT */
/* Spans whose trace is not known yet. A scope is what will turn out to be one trace: what ran for an async span, which
 * tells only at its close what it stands under. Its spans are encoded and wait; once it is known they are handed on.
 *
 *   hold ▸ … ▸ merge: into the scope of what it stands under ▸ … ▸ resolve: the id of the trace is put into each
 *
 * What waits is bounded: beyond that the oldest scopes become traces of their own. */
#ifndef SPANTRACE_OTLP_SCOPE_H
#define SPANTRACE_OTLP_SCOPE_H

#include <stddef.h>

#include "otlp_encode.h"

/* Bytes that wait. */
#define OTLP_HELD_MAX (32u << 20)

struct otlp_process;

struct otlp_scopes {
	const struct otlp_encoding *encoding;
	/* Takes a span that waits no more. */
	void (*pass)(void *context, struct otlp_process *process, const char *bytes, size_t len);
	void *context;
	size_t limit; /* OTLP_HELD_MAX */
	size_t held;
	struct otlp_scope *oldest, *newest;
	u64 forced; /* scopes that did not learn what they stand under */
};

/* ROOT is that of the trace which it becomes if it has to. Counted once for the caller. NULL: no memory. */
struct otlp_scope *otlp_scope_new(struct otlp_scopes *scopes, struct otlp_process *process,
				  u64 root);
struct otlp_scope *otlp_scope_ref(struct otlp_scope *scope);
void otlp_scope_unref(struct otlp_scopes *scopes, struct otlp_scope **scope);

/* The root of its trace; 0: not known yet. */
u64 otlp_scope_root(struct otlp_scope *scope);
/* BYTES, of which RECORD tells, are a span of SCOPE. 0 or -ENOMEM. */
int otlp_scope_hold(struct otlp_scopes *scopes, struct otlp_scope *scope, char *bytes,
		    const struct otlp_record *record);
/* SCOPE, if it is not known yet, is the trace of ROOT. */
void otlp_scope_resolve(struct otlp_scopes *scopes, struct otlp_scope *scope, u64 root);
/* … is the same trace as INTO. 0 or -ENOMEM. */
int otlp_scope_merge(struct otlp_scopes *scopes, struct otlp_scope *scope, struct otlp_scope *into);
/* Nothing tells any more. */
void otlp_scope_resolve_all(struct otlp_scopes *scopes);

#endif
