/* SPDX-License-Identifier: MIT */
/* See otlp_scope.h. Scopes that are one trace point to one of them, which holds the spans of all. */
#include "otlp_scope.h"

#include <errno.h>
#include <stdlib.h>

#include "../user/util/grow.h"

struct otlp_scope {
	u32 refs;
	u64 root; /* 0: not known */
	u64 own_root;
	struct otlp_scope *into; /* the one it has become part of; NULL: none */
	struct otlp_process *process;
	struct text_buf bytes; /* of the spans that wait */
	struct otlp_record *spans;
	size_t nspans;
	struct otlp_scope *older, *newer; /* among those not known; they count for nobody */
	bool listed;
};

static void list(struct otlp_scopes *scopes, struct otlp_scope *scope)
{
	scope->older = scopes->newest;
	if (scopes->newest)
		scopes->newest->newer = scope;
	else
		scopes->oldest = scope;
	scopes->newest = scope;
	scope->listed = true;
}

static void unlist(struct otlp_scopes *scopes, struct otlp_scope *scope)
{
	if (!scope->listed)
		return;
	*(scope->older ? &scope->older->newer : &scopes->oldest) = scope->newer;
	*(scope->newer ? &scope->newer->older : &scopes->newest) = scope->older;
	scope->older = scope->newer = NULL;
	scope->listed = false;
}

struct otlp_scope *otlp_scope_new(struct otlp_scopes *scopes, struct otlp_process *process,
				  u64 root)
{
	struct otlp_scope *scope = calloc(1, sizeof(*scope));

	if (!scope)
		return NULL;
	scope->refs = 1;
	scope->own_root = root;
	scope->process = process;
	list(scopes, scope);
	return scope;
}

struct otlp_scope *otlp_scope_ref(struct otlp_scope *scope)
{
	scope->refs++;
	return scope;
}

static void drop_held(struct otlp_scopes *scopes, struct otlp_scope *scope)
{
	scopes->held -= scope->bytes.len;
	text_buf_free(&scope->bytes);
	free(scope->spans);
	scope->spans = NULL;
	scope->nspans = 0;
}

/* One that nobody asks for any more, and whose spans wait, is resolved: nothing could tell any more. */
void otlp_scope_unref(struct otlp_scopes *scopes, struct otlp_scope **out)
{
	struct otlp_scope *scope = *out;

	*out = NULL;
	while (scope && !--scope->refs) {
		struct otlp_scope *into = scope->into;

		if (scope->nspans) {
			scope->refs++;
			otlp_scope_resolve(scopes, scope, scope->own_root);
			scope->refs--;
		}
		unlist(scopes, scope);
		drop_held(scopes, scope);
		free(scope);
		scope = into;
	}
}

static struct otlp_scope *last_of(struct otlp_scope *scope)
{
	while (scope->into)
		scope = scope->into;
	return scope;
}

u64 otlp_scope_root(struct otlp_scope *scope)
{
	return last_of(scope)->root;
}

static void pass(struct otlp_scopes *scopes, const struct otlp_scope *scope, char *bytes,
		 const struct otlp_record *span)
{
	for (u32 i = 0; i < span->ntraces; i++)
		otlp_set_trace(scopes->encoding, bytes + span->traces[i], scope->root);
	scopes->pass(scopes->context, scope->process, bytes, span->len);
}

void otlp_scope_resolve(struct otlp_scopes *scopes, struct otlp_scope *scope, u64 root)
{
	size_t at = 0;

	scope = last_of(scope);
	if (scope->root)
		return;
	scope->root = root;
	unlist(scopes, scope);
	for (size_t i = 0; i < scope->nspans; i++) {
		pass(scopes, scope, scope->bytes.data + at, &scope->spans[i]);
		at += scope->spans[i].len;
	}
	drop_held(scopes, scope);
}

static void force(struct otlp_scopes *scopes)
{
	scopes->forced++;
	otlp_scope_resolve(scopes, scopes->oldest, scopes->oldest->own_root);
}

void otlp_scope_resolve_all(struct otlp_scopes *scopes)
{
	while (scopes->oldest)
		force(scopes);
}

static int add_held(struct otlp_scopes *scopes, struct otlp_scope *scope, const char *bytes,
		    const struct otlp_record *span)
{
	size_t before = scope->bytes.len;

	if (GROW(scope->spans, scope->nspans))
		return -ENOMEM;
	text_add(&scope->bytes, bytes, span->len);
	if (scope->bytes.failed)
		return -ENOMEM;
	scope->spans[scope->nspans++] = *span;
	scopes->held += scope->bytes.len - before;
	return 0;
}

int otlp_scope_hold(struct otlp_scopes *scopes, struct otlp_scope *scope, char *bytes,
		    const struct otlp_record *record)
{
	int err;

	scope = last_of(scope);
	if (scope->root) {
		pass(scopes, scope, bytes, record);
		return 0;
	}
	err = add_held(scopes, scope, bytes, record);
	if (err || scopes->held <= scopes->limit)
		return err;
	while (scopes->oldest && scopes->held > scopes->limit / 2)
		force(scopes);
	return 0;
}

/* Their order does not matter: the longer list stays where it is. */
static void swap_held(struct otlp_scope *a, struct otlp_scope *b)
{
	struct text_buf bytes = a->bytes;
	struct otlp_record *spans = a->spans;
	size_t nspans = a->nspans;

	a->bytes = b->bytes;
	a->spans = b->spans;
	a->nspans = b->nspans;
	b->bytes = bytes;
	b->spans = spans;
	b->nspans = nspans;
}

int otlp_scope_merge(struct otlp_scopes *scopes, struct otlp_scope *scope, struct otlp_scope *into)
{
	size_t at = 0;
	int err = 0;

	scope = last_of(scope);
	into = last_of(into);
	if (scope == into || scope->root)
		return 0;
	if (into->root) {
		otlp_scope_resolve(scopes, scope, into->root);
		return 0;
	}
	if (scope->nspans > into->nspans)
		swap_held(scope, into);
	for (size_t i = 0; i < scope->nspans && !err; i++) {
		err = add_held(scopes, into, scope->bytes.data + at, &scope->spans[i]);
		at += scope->spans[i].len;
	}
	unlist(scopes, scope);
	drop_held(scopes, scope);
	scope->into = otlp_scope_ref(into);
	return err;
}
