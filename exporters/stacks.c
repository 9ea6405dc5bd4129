/* SPDX-License-Identifier: MIT */
/* Builds the tree of frames; see stacks.h. Rows can be many and paths deep, so each path is walked
 * only as far up as the first frame that another row already made, and nothing recurses. */
#include "stacks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../user/util/grow.h"
#include "chain.h"
#include "pairmap.h"
#include "preorder.h"
#include "strtab.h"
#include "text.h"

struct node {
	u32 parent;
	u32 label;
	u64 self;
	u64 total;
};

struct builder {
	const struct profile *profile;
	const struct export_options *options;
	enum stacks_text text;
	struct strtab *labels;
	struct node *nodes; /* the root is 0; a parent stands before its children */
	u32 nnodes;
	struct chain climb;
	struct text_buf scratch;
	struct pairmap label_of; /* (def, name) → label */
	struct pairmap children; /* (node, label) → node */
	struct pairmap paths;    /* (thread's node, path) → node */
};

static void builder_free(struct builder *b)
{
	strtab_free(&b->labels);
	free(b->nodes);
	chain_free(&b->climb);
	text_buf_free(&b->scratch);
	pairmap_free(&b->label_of);
	pairmap_free(&b->children);
	pairmap_free(&b->paths);
}

static u64 add(u64 a, u64 b)
{
	u64 sum;

	return __builtin_add_overflow(a, b, &sum) ? UINT64_MAX : sum;
}

/* "query 5 12" would be read as weight 12 after weight 5, in a differential profile. */
static void hide_number(struct text_buf *b)
{
	const char *digits = "0123456789.";
	size_t at = b->len;

	while (at && strchr(digits, b->data[at - 1]))
		at--;
	if (at && at < b->len && b->data[at - 1] == ' ')
		b->data[at - 1] = '_';
}

static int intern(struct builder *b, u32 *label)
{
	if (b->text == STACKS_FOLDED && !b->scratch.failed) {
		for (size_t i = 0; i < b->scratch.len; i++) {
			if (b->scratch.data[i] == ';')
				b->scratch.data[i] = ':';
		}
		hide_number(&b->scratch);
	}
	if (b->scratch.failed)
		return -ENOMEM;
	return strtab_add(b->labels, b->scratch.data, b->scratch.len, label);
}

void stacks_add_label(struct text_buf *b, const struct model_path *path,
		      const struct export_options *o)
{
	const struct model_def *def = path->def;
	size_t before = b->len;

	if (o->module_path) {
		text_add_safe(b, def->provider);
		text_add_str(b, "::");
	}
	text_add_safe(b, path->name ? path->name : def->name);
	if (o->file_and_line && def->source_file) {
		text_add_str(b, ":");
		text_add_safe(b, def->source_file);
		text_add_str(b, ":");
		text_add_u64(b, def->source_line);
	}
	if (b->len == before)
		text_add_str(b, "?");
}

static int frame_label(struct builder *b, const struct model_path *path, u32 *label)
{
	const struct model_def *def = path->def;
	const char *name = path->name ? path->name : def->name;
	u64 key_def = pairmap_key(def), key_name = pairmap_key(name);
	int err;

	if (pairmap_get(&b->label_of, key_def, key_name, label))
		return 0;
	text_cut(&b->scratch, 0);
	stacks_add_label(&b->scratch, path, b->options);
	err = intern(b, label);
	return err ? err : pairmap_put(&b->label_of, key_def, key_name, *label);
}

static int child_of(struct builder *b, u32 parent, u32 label, u32 *node)
{
	int err;

	if (pairmap_get(&b->children, parent, label, node))
		return 0;
	/* Ids must stay below the value that pairmap cannot hold. */
	if (b->nnodes >= UINT32_MAX - 1)
		return -ENOMEM;
	err = GROW(b->nodes, b->nnodes);
	if (err)
		return err;
	err = pairmap_put(&b->children, parent, label, b->nnodes);
	if (err)
		return err;
	*node = b->nnodes++;
	b->nodes[*node] = (struct node){.parent = parent, .label = label};
	return 0;
}

static int thread_node(struct builder *b, const struct model_thread *thread, u32 *node)
{
	char comm[MODEL_COMM_LEN + 1] = {0};
	u32 label;
	int err;

	text_cut(&b->scratch, 0);
	if (b->options->threads_collapsed) {
		text_add_str(&b->scratch, "all-threads");
	} else {
		memcpy(comm, thread->comm, MODEL_COMM_LEN);
		text_add_safe(&b->scratch, comm[0] ? comm : "?");
		text_add_str(&b->scratch, "-");
		text_add_u64(&b->scratch, thread->tid);
	}
	err = intern(b, &label);
	return err ? err : child_of(b, 0, label, node);
}

/* The node of PATH below the thread's: climbs to the nearest path with a node, then makes the
 * rest. */
static int path_node(struct builder *b, u32 thread, const struct model_path *path, u32 *node)
{
	u32 at = thread;
	int err;

	b->climb.n = 0;
	for (; path && path->def; path = path->parent) {
		if (pairmap_get(&b->paths, thread, pairmap_key(path), &at))
			break;
		err = chain_push(&b->climb, path);
		if (err)
			return err;
	}
	while ((path = chain_pop(&b->climb))) {
		u32 label;

		err = frame_label(b, path, &label);
		if (!err)
			err = child_of(b, at, label, &at);
		if (!err)
			err = pairmap_put(&b->paths, thread, pairmap_key(path), at);
		if (err)
			return err;
	}
	*node = at;
	return 0;
}

/* How long the thread was seen, less the time inside spans. */
static u64 time_outside(const struct profile *profile, const struct model_thread_row *row)
{
	u64 start = row->thread->start_ns, end = row->end_ns, life;

	if (start < profile->start_ns)
		start = profile->start_ns;
	if (profile->end_ns && end > profile->end_ns)
		end = profile->end_ns;
	life = end > start ? end - start : 0;
	return life > row->inside_ns ? life - row->inside_ns : 0;
}

static int add_threads(struct builder *b)
{
	bool time = b->options->value == EXPORT_BUSY || b->options->value == EXPORT_WALL;

	for (size_t i = 0; i < b->profile->nthreads; i++) {
		const struct model_thread_row *row = &b->profile->threads[i];
		u32 node;
		int err = thread_node(b, row->thread, &node);

		if (err)
			return err;
		if (time && b->options->empty_samples)
			b->nodes[node].self =
				add(b->nodes[node].self, time_outside(b->profile, row));
	}
	return 0;
}

static int add_rows(struct builder *b)
{
	const struct model_thread *of = NULL;
	u32 thread = 0, node;
	int err;

	for (size_t i = 0; i < b->profile->nrows; i++) {
		const struct model_row *row = &b->profile->rows[i];
		u64 weight = export_value_of(row, b->options->value);

		if (!weight)
			continue;
		if (row->thread != of) {
			err = thread_node(b, row->thread, &thread);
			if (err)
				return err;
			of = row->thread;
		}
		err = path_node(b, thread, row->path, &node);
		if (err)
			return err;
		b->nodes[node].self = add(b->nodes[node].self, weight);
	}
	return 0;
}

struct ranked {
	const char *label; /* NULL for threads: they stay in order of appearance */
	u32 node;
};

static int compare_ranked(const void *a, const void *b)
{
	const struct ranked *x = a, *y = b;
	int by_label = 0;

	if (x->label && y->label)
		by_label = strcmp(x->label, y->label);
	else if (x->label || y->label)
		return x->label ? 1 : -1;
	return by_label ? by_label : (x->node > y->node) - (x->node < y->node);
}

/* Fills RANKED with the nodes that weigh something, in the order of siblings. */
static int rank(const struct builder *b, u32 *ranked, u32 *nranked)
{
	AUTO_FREE struct ranked *list = malloc(b->nnodes * sizeof(*list));
	u32 n = 0;

	if (!list)
		return -ENOMEM;
	for (u32 i = 1; i < b->nnodes; i++) {
		const struct node *node = &b->nodes[i];

		if (!node->total)
			continue;
		list[n].label = node->parent ? strtab_get(b->labels, node->label) : NULL;
		list[n++].node = i;
	}
	qsort(list, n, sizeof(*list), compare_ranked);
	for (u32 i = 0; i < n; i++)
		ranked[i] = list[i].node;
	*nranked = n;
	return 0;
}

/* The nodes in ORDER as frames, indices renamed. */
static int lay_out(const struct builder *b, const u32 *order, u32 n, struct stacks *s)
{
	AUTO_FREE u32 *new_id = calloc(b->nnodes, sizeof(*new_id));

	s->frames = calloc(n, sizeof(*s->frames));
	if (!new_id || !s->frames)
		return -ENOMEM;
	s->nframes = n;
	for (u32 i = 0; i < n; i++) {
		const struct node *node = &b->nodes[order[i]];
		struct stacks_frame *frame = &s->frames[i];

		new_id[order[i]] = i;
		frame->parent = new_id[node->parent];
		frame->end = i + 1;
		frame->self = node->self;
		frame->total = node->total;
		if (!i)
			continue;
		frame->label = strtab_get(b->labels, node->label);
		frame->depth = s->frames[frame->parent].depth + 1;
		if (frame->depth > s->max_depth)
			s->max_depth = frame->depth;
	}
	for (u32 i = n; i-- > 1;) {
		struct stacks_frame *parent = &s->frames[s->frames[i].parent];

		if (parent->end < s->frames[i].end)
			parent->end = s->frames[i].end;
	}
	return 0;
}

static int finish(struct builder *b, struct stacks *s)
{
	AUTO_FREE u32 *parents = malloc(b->nnodes * sizeof(*parents));
	AUTO_FREE u32 *ranked = malloc(b->nnodes * sizeof(*ranked));
	AUTO_FREE u32 *order = malloc(b->nnodes * sizeof(*order));
	u32 n = 0;
	int err;

	if (!parents || !ranked || !order)
		return -ENOMEM;
	for (u32 i = b->nnodes; i-- > 0;) {
		struct node *node = &b->nodes[i];

		node->total = add(node->total, node->self);
		parents[i] = node->parent;
		if (i)
			b->nodes[node->parent].total =
				add(b->nodes[node->parent].total, node->total);
	}
	err = rank(b, ranked, &n);
	if (!err)
		err = preorder(b->nnodes, parents, n, ranked, order);
	if (!err)
		err = lay_out(b, order, n + 1, s);
	s->labels = TAKE_PTR(b->labels);
	return err;
}

static int build(struct builder *b, struct stacks *s)
{
	int err = strtab_new(&b->labels);

	if (!err)
		err = GROW(b->nodes, 0);
	if (err)
		return err;
	b->nodes[0] = (struct node){0};
	b->nnodes = 1;
	err = add_threads(b);
	if (!err)
		err = add_rows(b);
	return err ? err : finish(b, s);
}

int stacks_new(const struct profile *profile, const struct export_options *o, enum stacks_text text,
	       struct stacks **out)
{
	CLEANUP(builder_free)
	struct builder b = {.profile = profile, .options = o, .text = text};
	CLEANUP(stacks_free) struct stacks *s = NULL;
	int err;

	if (!export_value_measured(profile->metrics, o->value))
		return -ENODATA;
	s = calloc(1, sizeof(*s));
	if (!s)
		return -ENOMEM;
	err = build(&b, s);
	if (err)
		return err;
	*out = TAKE_PTR(s);
	return 0;
}

void stacks_free(struct stacks **stacks)
{
	if (!*stacks)
		return;
	free((*stacks)->frames);
	strtab_free(&(*stacks)->labels);
	free(*stacks);
	*stacks = NULL;
}
