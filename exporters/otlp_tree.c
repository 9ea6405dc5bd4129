/* SPDX-License-Identifier: MIT */
/* See otlp_tree.h. */
#include "otlp_tree.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../user/util/cleanup.h"
#include "../user/util/grow.h"
#include "hash.h"

/* Spans of a path on a thread that are remembered, for async spans that they made: two until one was seen, as most traces
 * have none; then so many, fewer where there are many paths and threads; and more once one has asked for an older one. */
#define LAST_TWO  2u
#define LAST_FEW  8u
#define LAST_MANY 256u
#define LAST_MAX  4096u
#define NODES_FEW 2048u
/* Async spans that are remembered once they are over, for those that they made. */
#define OVER_MAX 65536u

/* A span that has ended, and may have made async spans. */
struct otlp_instance {
	u64 start_ns, end_ns;
	u64 root;
	struct otlp_scope *scope; /* where the root is not known; owned */
};

struct otlp_async {
	u64 number; /* of its span */
	u64 id;
	const struct model_def *def;
	u32 pid;
	u64 last_stretch;
	u64 start_ns, end_ns; /* once it is over */
	bool over;
	struct otlp_scope *scope;
	struct otlp_async *older, *newer; /* in one of the tree's lists */
};

/* --- numbers -------------------------------------------------------------------------------------------- */

/* The number of span N of NODE. */
static u64 number_of(const struct otlp_node *node, u64 n)
{
	u64 number = hash_mix(node->key + n * 0x9e3779b97f4a7c15u);

	return number ? number : 1;
}

/* … of the one that ends next. */
static u64 next_of(const struct otlp_node *node)
{
	return number_of(node, node->ended);
}

static u64 hash_text(u64 hash, const char *text)
{
	return text ? hash_mix(hash + hash_bytes(text, strlen(text))) : hash_mix(hash);
}

static u64 hash_def(u64 hash, const struct model_def *def)
{
	return hash_text(hash_text(hash, def->provider), def->name);
}

/* --- nodes ---------------------------------------------------------------------------------------------- */

static void node_free(struct otlp_tree *tree, struct otlp_node *node)
{
	for (u32 i = 0; i < node->nlast; i++)
		otlp_scope_unref(&tree->scopes, &node->last[i].scope);
	otlp_scope_unref(&tree->scopes, &node->pending);
	free(node->last);
	text_buf_free(&node->events);
	free(node);
}

static int add_node(struct otlp_tree *tree, struct otlp_node *node)
{
	u64 thread = pairmap_key(node->thread), path = pairmap_key(node->path);

	if (GROW(tree->nodes, tree->nnodes) ||
	    pairmap_put(&tree->nodes_of, thread, path, (u32)tree->nnodes))
		return -ENOMEM;
	tree->nodes[tree->nnodes++] = node;
	return 0;
}

static struct otlp_node *make_node(struct otlp_tree *tree, struct otlp_thread *thread,
				   const struct model_path *path, struct otlp_node *parent)
{
	AUTO_FREE struct otlp_node *node = calloc(1, sizeof(*node));

	if (!node)
		return NULL;
	node->path = path;
	node->thread = thread;
	node->parent = parent;
	node->root = parent ? parent->root : node;
	node->stretch = path->def->kind == MODEL_ASYNC_SPAN ? node
			: parent                            ? parent->stretch
							    : NULL;
	tree->has_async |= path->def->kind == MODEL_ASYNC_SPAN;
	node->key = hash_text(hash_def(parent ? parent->key : thread->key, path->def), path->name);
	return add_node(tree, node) ? NULL : TAKE_PTR(node);
}

static struct otlp_node *find_node(const struct otlp_tree *tree, const struct otlp_thread *thread,
				   const struct model_path *path)
{
	u32 number;

	if (!pairmap_get(&tree->nodes_of, pairmap_key(thread), pairmap_key(path), &number))
		return NULL;
	return tree->nodes[number];
}

/* From the outside to the inside, as a path may be deep. */
struct otlp_node *otlp_tree_node(struct otlp_tree *tree, struct otlp_thread *thread,
				 const struct model_path *path)
{
	struct otlp_node *node = find_node(tree, thread, path), *parent = NULL;
	const struct model_path *at;

	while (!node) {
		for (at = path; at->parent->def; at = at->parent) {
			parent = find_node(tree, thread, at->parent);
			if (parent)
				break;
		}
		if (!at->parent->def)
			parent = NULL;
		parent = make_node(tree, thread, at, parent);
		if (!parent)
			return NULL;
		if (at == path)
			node = parent;
	}
	return node;
}

/* --- traces --------------------------------------------------------------------------------------------- */

/* The scope of what runs in the stretch of NODE, an async span's path, that ends next. NULL: no memory. */
static struct otlp_scope *pending_of(struct otlp_tree *tree, struct otlp_node *node)
{
	if (!node->pending)
		node->pending = otlp_scope_new(&tree->scopes, node->thread->process, next_of(node));
	return node->pending;
}

/* The trace of the span of NODE that ends next. 0 or -ENOMEM. */
static int next_trace(struct otlp_tree *tree, struct otlp_node *node, u64 *root,
		      struct otlp_scope **scope)
{
	*root = 0;
	*scope = NULL;
	if (!node->stretch) {
		*root = next_of(node->root);
		return 0;
	}
	*scope = pending_of(tree, node->stretch);
	return *scope ? 0 : -ENOMEM;
}

/* --- what has ended ------------------------------------------------------------------------------------- */

static int widen(struct otlp_node *node, u32 room)
{
	struct otlp_instance *wide = calloc(room, sizeof(*wide));
	u64 n = node->ended < node->nlast ? node->ended : node->nlast;

	if (!wide)
		return -ENOMEM;
	for (u64 i = node->ended - n; i < node->ended; i++)
		wide[i & (room - 1)] = node->last[i & (node->nlast - 1)];
	free(node->last);
	node->last = wide;
	node->nlast = room;
	return 0;
}

static int remember(struct otlp_tree *tree, struct otlp_node *node, const struct model_span *span,
		    const struct otlp_where *where)
{
	u32 most = !tree->has_async ? LAST_TWO : tree->nnodes < NODES_FEW ? LAST_MANY : LAST_FEW;
	struct otlp_instance *at;
	int err = 0;

	if (!node->nlast)
		err = widen(node, LAST_TWO);
	else if (!(node->ended & (node->nlast - 1)) && node->nlast < most) /* it is full again */
		err = widen(node, node->nlast * 2);
	if (err)
		return err;
	at = &node->last[node->ended & (node->nlast - 1)];
	otlp_scope_unref(&tree->scopes, &at->scope);
	*at = (struct otlp_instance){
		.start_ns = span->start_ns,
		.end_ns = span->end_ns,
		.root = where->root,
		.scope = where->scope ? otlp_scope_ref(where->scope) : NULL,
	};
	return 0;
}

/* Which span of NODE was open at TIME_NS: its number, the trace. All zeroes: it is not known. 0 or -ENOMEM. */
static int find_instance(struct otlp_tree *tree, struct otlp_node *node, u64 time_ns,
			 struct otlp_where *found)
{
	u64 low = node->ended > node->nlast ? node->ended - node->nlast : 0, first = low;
	u64 high = node->ended;
	const struct otlp_instance *at;

	*found = (struct otlp_where){0};
	while (low < high) { /* the first that began later */
		u64 middle = low + (high - low) / 2;

		if (node->last[middle & (node->nlast - 1)].start_ns <= time_ns)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == first && first)
		return node->nlast < LAST_MAX ? widen(node, node->nlast * 4) : 0;
	at = low > first ? &node->last[(low - 1) & (node->nlast - 1)] : NULL;
	if (at && at->end_ns >= time_ns) {
		found->place.id = number_of(node, low - 1);
		found->root = at->root;
		found->scope = at->scope;
	} else if (low == node->ended) {
		found->place.id = next_of(node);
		return next_trace(tree, node, &found->root, &found->scope);
	}
	return 0;
}

/* --- async spans ---------------------------------------------------------------------------------------- */

static void list(struct otlp_asyncs *to, struct otlp_async *async)
{
	async->newer = NULL;
	async->older = to->newest;
	*(to->newest ? &to->newest->newer : &to->oldest) = async;
	to->newest = async;
	to->n++;
}

static void unlist(struct otlp_asyncs *from, struct otlp_async *async)
{
	*(async->older ? &async->older->newer : &from->oldest) = async->newer;
	*(async->newer ? &async->newer->older : &from->newest) = async->older;
	from->n--;
}

static void forget(struct otlp_tree *tree, struct otlp_async *async)
{
	const struct model_path path = {.def = async->def};
	const struct model_thread thread = {.pid = async->pid};

	flows_drop(&tree->flows, &(struct model_span){
					 .id = async->id,
					 .path = &path,
					 .thread = &thread,
				 });
	unlist(async->over ? &tree->over : &tree->alive, async);
	otlp_scope_unref(&tree->scopes, &async->scope);
	free(async);
}

static int make_async(struct otlp_tree *tree, struct otlp_node *node, const struct model_span *span,
		      struct otlp_async **out)
{
	AUTO_FREE struct otlp_async *async = calloc(1, sizeof(*async));
	struct flow *flow;

	if (tree->flows.count >= FLOWS_MAX)
		forget(tree, tree->over.n ? tree->over.oldest : tree->alive.oldest);
	flow = async ? flows_take(&tree->flows, span) : NULL;
	if (!flow)
		return -ENOMEM;
	async->id = span->id;
	async->def = span->path->def;
	async->pid = span->thread->pid;
	async->number = hash_mix(hash_def(tree->seed + async->pid, async->def) + span->id);
	async->number = hash_mix(async->number + flow->number) | 1;
	async->scope = otlp_scope_new(&tree->scopes, node->thread->process, async->number);
	if (!async->scope) {
		flows_drop(&tree->flows, span);
		return -ENOMEM;
	}
	flow->own = async;
	list(&tree->alive, async);
	*out = TAKE_PTR(async);
	return 0;
}

/* The async span that SPAN is, or is a stretch of. */
static int take_async(struct otlp_tree *tree, struct otlp_node *node, const struct model_span *span,
		      struct otlp_async **out)
{
	struct flow *flow = flows_find(&tree->flows, span);

	if (flow) {
		*out = flow->own;
		/* Its last stretches may come after its close; later ones are another's with its id. */
		if (!(*out)->over ||
		    (span->flags & MODEL_SEGMENT && span->start_ns < (*out)->end_ns))
			return 0;
		forget(tree, *out);
	}
	return make_async(tree, node, span, out);
}

static int stretch(struct otlp_tree *tree, struct otlp_node *node, const struct model_span *span,
		   struct otlp_where *where)
{
	struct otlp_scope *within = TAKE_PTR(node->pending);
	struct otlp_async *async;
	int err = take_async(tree, node, span, &async);
	u64 root = within ? otlp_scope_root(within) : 0;

	if (!err && within && !root)
		err = otlp_scope_merge(&tree->scopes, within, async->scope);
	otlp_scope_unref(&tree->scopes, &within);
	if (err)
		return err;
	where->place.id = next_of(node);
	node->ended++;
	if (root && root != otlp_scope_root(async->scope)) {
		/* What ran in it could not wait: it stays with that. */
		where->root = root;
		where->place.link_root = otlp_scope_root(async->scope);
		where->place.link = where->place.link_root ? async->number : 0;
		return 0;
	}
	where->place.parent = async->number;
	where->place.link = async->last_stretch;
	where->scope = async->scope;
	async->last_stretch = where->place.id;
	return 0;
}

/* What the async span of SPAN, which has ended, stands under. */
static int find_above(struct otlp_tree *tree, struct otlp_node *node, const struct model_span *span,
		      struct otlp_where *above)
{
	const struct model_span parent = {
		.id = span->parent_id,
		.path = span->path->parent,
		.thread = span->thread,
	};
	const struct otlp_async *async;
	struct flow *flow;

	*above = (struct otlp_where){0};
	if (!node->parent)
		return 0;
	if (node->parent->path->def->kind != MODEL_ASYNC_SPAN)
		return find_instance(tree, node->parent, span->start_ns, above);
	flow = flows_find(&tree->flows, &parent);
	async = flow ? flow->own : NULL;
	if (!async ||
	    (async->over && (async->start_ns > span->start_ns || async->end_ns < span->start_ns)))
		return 0;
	above->place.id = async->number;
	above->scope = async->scope;
	return 0;
}

static void end_async(struct otlp_tree *tree, struct otlp_async *async,
		      const struct model_span *span)
{
	unlist(&tree->alive, async);
	async->over = true;
	async->start_ns = span->start_ns;
	async->end_ns = span->end_ns;
	list(&tree->over, async);
	if (tree->over.n > OVER_MAX)
		forget(tree, tree->over.oldest);
}

static int close_async(struct otlp_tree *tree, struct otlp_node *node,
		       const struct model_span *span, struct otlp_where *where)
{
	struct otlp_async *async;
	struct otlp_where above;
	int err = take_async(tree, node, span, &async);
	u64 own, root;

	if (!err)
		err = find_above(tree, node, span, &above);
	if (err)
		return err;
	own = otlp_scope_root(async->scope);
	root = above.scope ? otlp_scope_root(above.scope) : above.root;
	if (!above.place.id)
		otlp_scope_resolve(&tree->scopes, async->scope, async->number);
	else if (root)
		otlp_scope_resolve(&tree->scopes, async->scope, root);
	else if (!own)
		err = otlp_scope_merge(&tree->scopes, async->scope, above.scope);
	if (own && own != root) {
		/* It could not wait, and has become a trace of its own. */
		where->place.link = root ? above.place.id : 0;
		where->place.link_root = root;
	} else {
		where->place.parent = above.place.id;
	}
	where->place.id = async->number;
	where->scope = async->scope;
	end_async(tree, async, span);
	return err;
}

/* --- all of it ------------------------------------------------------------------------------------------ */

int otlp_tree_span(struct otlp_tree *tree, struct otlp_node *node, const struct model_span *span,
		   struct otlp_where *where)
{
	int err;

	*where = (struct otlp_where){0};
	if (span->flags & MODEL_ASYNC)
		return close_async(tree, node, span, where);
	if (span->flags & MODEL_SEGMENT)
		return stretch(tree, node, span, where);
	where->place.id = next_of(node);
	where->place.parent = node->parent ? next_of(node->parent) : 0;
	err = next_trace(tree, node, &where->root, &where->scope);
	if (!err)
		err = remember(tree, node, span, where);
	node->ended++;
	return err;
}

void otlp_tree_prefetch(const struct otlp_node *node)
{
	if (node->nlast)
		__builtin_prefetch(&node->last[node->ended & (node->nlast - 1)], 1);
	if (node->parent)
		__builtin_prefetch(&node->parent->ended);
	__builtin_prefetch(&node->root->ended);
}

void otlp_tree_event(struct otlp_node *node, struct otlp_where *where)
{
	*where = (struct otlp_where){.place.id = next_of(node), .root = next_of(node)};
	node->ended++;
}

void otlp_tree_free(struct otlp_tree *tree)
{
	while (tree->alive.n)
		forget(tree, tree->alive.oldest);
	while (tree->over.n)
		forget(tree, tree->over.oldest);
	for (size_t i = 0; i < tree->nnodes; i++)
		node_free(tree, tree->nodes[i]);
	free(tree->nodes);
	pairmap_free(&tree->nodes_of);
	flows_free(&tree->flows);
}
