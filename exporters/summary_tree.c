/* SPDX-License-Identifier: MIT */
/* Adds rows up over threads; see summary_tree.h. */
#include "summary_tree.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../user/util/grow.h"
#include "../user/util/histogram.h"
#include "chain.h"
#include "figures.h"
#include "pairmap.h"
#include "preorder.h"
#include "strtab.h"
#include "summary_print.h"
#include "text.h"

struct builder {
	const struct profile *profile;
	struct summary_tree *tree;
	struct text_buf scratch;
	struct chain climb;
	bool crowded;
	struct pairmap processes; /* (pid, 0) → node */
	struct pairmap groups;    /* (name, 0) → node */
	struct pairmap paths;     /* (process's node, path) → node */
	struct pairmap labels;    /* (path's node, text) → node */
};

static void builder_free(struct builder *b)
{
	text_buf_free(&b->scratch);
	chain_free(&b->climb);
	pairmap_free(&b->processes);
	pairmap_free(&b->groups);
	pairmap_free(&b->paths);
	pairmap_free(&b->labels);
}

void summary_tree_free(struct summary_tree **tree)
{
	if (!*tree)
		return;
	for (u32 i = 0; i < (*tree)->nnodes; i++)
		histogram_free(&(*tree)->nodes[i].durations);
	free((*tree)->nodes);
	strtab_free(&(*tree)->names);
	free(*tree);
	*tree = NULL;
}

/* A new node named by what stands in the scratch buffer. */
static int node_new(struct builder *b, u32 parent, u32 *node)
{
	struct summary_tree *t = b->tree;
	u32 name;
	int err;

	if (b->scratch.failed || t->nnodes >= UINT32_MAX - 1)
		return -ENOMEM;
	err = strtab_add(t->names, b->scratch.data, b->scratch.len, &name);
	if (!err)
		err = GROW(t->nodes, t->nnodes);
	if (err)
		return err;
	*node = t->nnodes++;
	t->nodes[*node] = (struct summary_node){
		.parent = parent,
		.name = strtab_get(t->names, name),
	};
	return 0;
}

/* As many processes as get a line each. */
#define PROCESSES_MAX_LINES 16

bool summary_is_crowded(const struct profile *profile)
{
	size_t rows = 0, events = 0;

	/* Both are in the order of their pids. */
	for (size_t i = 0; i < profile->nrows; i++)
		rows += !i || profile->rows[i].thread->pid != profile->rows[i - 1].thread->pid;
	for (size_t i = 0; i < profile->nevents; i++)
		events +=
			!i || profile->events[i].thread->pid != profile->events[i - 1].thread->pid;
	return rows > PROCESSES_MAX_LINES || events > PROCESSES_MAX_LINES;
}

const char *summary_comm(const struct profile *profile, const struct model_thread *thread)
{
	size_t low = 0, high = profile->nthreads;

	if (thread->process_comm[0])
		return thread->process_comm;
	/* Threads are in the order of their pids, then tids. */
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const struct model_thread *t = profile->threads[middle].thread;

		if (t->pid < thread->pid || (t->pid == thread->pid && t->tid < thread->pid))
			low = middle + 1;
		else
			high = middle;
	}
	if (low < profile->nthreads && profile->threads[low].thread->pid == thread->pid &&
	    profile->threads[low].thread->tid == thread->pid)
		return profile->threads[low].thread->comm;
	return thread->comm;
}

/* Puts the name of THREAD's process into the scratch buffer. */
static void put_comm(struct builder *b, const struct model_thread *thread)
{
	char comm[MODEL_COMM_LEN + 1] = {0};

	memcpy(comm, summary_comm(b->profile, thread), MODEL_COMM_LEN);
	text_cut(&b->scratch, 0);
	text_add_safe(&b->scratch, comm);
}

/* The node that the processes of one name share. */
static int group_node(struct builder *b, u32 *node)
{
	u32 name;
	int err = b->scratch.failed
			  ? -ENOMEM
			  : strtab_add(b->tree->names, b->scratch.data, b->scratch.len, &name);

	if (err || pairmap_get(&b->groups, name, 0, node))
		return err;
	err = node_new(b, 0, node);
	if (err)
		return err;
	return pairmap_put(&b->groups, name, 0, *node);
}

static int process_node(struct builder *b, const struct model_thread *thread, u32 *node)
{
	int err;

	if (pairmap_get(&b->processes, thread->pid, 0, node))
		return 0;
	put_comm(b, thread);
	if (b->crowded) {
		err = group_node(b, node);
	} else {
		text_add_str(&b->scratch, " (");
		text_add_u64(&b->scratch, thread->pid);
		if (thread->nspid && thread->nspid != thread->pid) {
			text_add_str(&b->scratch, ", inside ");
			text_add_u64(&b->scratch, thread->nspid);
		}
		text_add_str(&b->scratch, ")");
		err = node_new(b, 0, node);
	}
	if (err)
		return err;
	b->tree->nprocesses++;
	b->tree->nodes[*node].processes++;
	return pairmap_put(&b->processes, thread->pid, 0, *node);
}

/* Says in the names of groups how many processes they are of. */
static int name_groups(struct builder *b)
{
	for (u32 i = 1; b->crowded && i < b->tree->nnodes; i++) {
		struct summary_node *node = &b->tree->nodes[i];
		char count[FIGURES_SIZE];
		u32 name;

		if (!node->processes)
			continue;
		text_cut(&b->scratch, 0);
		text_add_str(&b->scratch, node->name);
		text_add_str(&b->scratch, " (");
		text_add_str(&b->scratch, figures_count(count, node->processes));
		text_add_str(&b->scratch, node->processes == 1 ? " process)" : " processes)");
		if (b->scratch.failed ||
		    strtab_add(b->tree->names, b->scratch.data, b->scratch.len, &name))
			return -ENOMEM;
		node->name = strtab_get(b->tree->names, name);
	}
	return 0;
}

static int path_node_new(struct builder *b, u32 parent, const struct model_path *path, u32 *node)
{
	text_cut(&b->scratch, 0);
	text_add_safe(&b->scratch, path->def->provider);
	text_add_str(&b->scratch, ":");
	text_add_safe(&b->scratch, path->name ? path->name : path->def->name);
	return node_new(b, parent, node);
}

/* The node of PATH in PROCESS: climbs to the nearest path with a node, then makes the rest. */
static int path_node(struct builder *b, u32 process, const struct model_path *path, u32 *node)
{
	u32 at = process;
	int err;

	for (b->climb.n = 0; path && path->def; path = path->parent) {
		if (pairmap_get(&b->paths, process, pairmap_key(path), &at))
			break;
		err = chain_push(&b->climb, path);
		if (err)
			return err;
	}
	while ((path = chain_pop(&b->climb))) {
		err = path_node_new(b, at, path, &at);
		if (!err)
			err = pairmap_put(&b->paths, process, pairmap_key(path), at);
		if (err)
			return err;
	}
	*node = at;
	return 0;
}

static int outside_node(struct builder *b, u32 process, const struct model_path *root, u32 *node)
{
	int err;

	if (pairmap_get(&b->paths, process, pairmap_key(root), node))
		return 0;
	text_cut(&b->scratch, 0);
	text_add_str(&b->scratch, SUMMARY_OUTSIDE);
	err = node_new(b, process, node);
	if (err)
		return err;
	b->tree->nodes[*node].is_outside = true;
	return pairmap_put(&b->paths, process, pairmap_key(root), *node);
}

static int label_node(struct builder *b, u32 path, const struct model_row *row, u32 *node)
{
	u32 text;
	int err;

	text_cut(&b->scratch, 0);
	for (u32 i = 0; i < row->nlabels; i++) {
		const struct model_label *label = &row->labels[i];

		if (i)
			text_add_str(&b->scratch, ", ");
		text_add_safe(&b->scratch, label->key);
		text_add_str(&b->scratch, "=");
		if (label->text) {
			text_add_safe(&b->scratch, label->text);
		} else {
			if (label->number < 0)
				text_add_str(&b->scratch, "-");
			text_add_u64(&b->scratch,
				     label->number < 0 ? -(u64)label->number : (u64)label->number);
		}
	}
	if (b->scratch.failed)
		return -ENOMEM;
	err = strtab_add(b->tree->names, b->scratch.data, b->scratch.len, &text);
	if (err)
		return err;
	if (pairmap_get(&b->labels, path, text, node))
		return 0;
	err = node_new(b, path, node);
	if (err)
		return err;
	b->tree->nodes[*node].is_label = true;
	return pairmap_put(&b->labels, path, text, *node);
}

static int add_row(struct summary_node *node, const struct model_row *row)
{
	struct model_row *sum = &node->sum;

	node->has_spans = true;
	if (row->count) {
		if (!sum->count || row->min_ns < sum->min_ns)
			sum->min_ns = row->min_ns;
		if (row->max_ns > sum->max_ns)
			sum->max_ns = row->max_ns;
	}
	sum->count += row->count;
	sum->abandoned += row->abandoned;
	sum->open += row->open;
	sum->wall_ns += row->wall_ns;
	sum->busy_ns += row->busy_ns;
	sum->self_ns += row->self_ns;
	sum->self_cpu_ns += row->self_cpu_ns;
	sum->total.cpu_ns += row->total.cpu_ns;
	sum->total.cpu_system_ns += row->total.cpu_system_ns;
	sum->total.run_delay_ns += row->total.run_delay_ns;
	sum->total.vol_switches += row->total.vol_switches;
	sum->total.invol_switches += row->total.invol_switches;
	sum->alloc_objects += row->alloc_objects;
	sum->alloc_bytes += row->alloc_bytes;
	sum->inuse_bytes += row->inuse_bytes;
	node->finished_ns += (unsigned __int128)row->mean_ns * row->count;
	if (sum->count)
		sum->mean_ns = (u64)(node->finished_ns / sum->count);
	if (!row->durations)
		return 0;
	if (!node->durations) {
		int err = histogram_new(&node->durations);

		if (err)
			return err;
		sum->durations = node->durations;
	}
	return histogram_merge(node->durations, row->durations);
}

static int add_rows(struct builder *b)
{
	for (size_t i = 0; i < b->profile->nrows; i++) {
		const struct model_row *row = &b->profile->rows[i];
		u32 process, path, label;
		int err;

		/* Without spans of its own it tells of an async span's work alone, or of
		 * allocations. */
		if (!row->count && !row->open && !row->alloc_objects)
			continue;
		err = process_node(b, row->thread, &process);
		if (!err && row->path->depth)
			err = path_node(b, process, row->path, &path);
		else if (!err)
			err = outside_node(b, process, row->path, &path);
		if (!err)
			err = add_row(&b->tree->nodes[path], row);
		if (!err && row->nlabels) {
			err = label_node(b, path, row, &label);
			if (!err)
				err = add_row(&b->tree->nodes[label], row);
		}
		if (err)
			return err;
	}
	/* A process is as busy as what it has at the top. */
	for (u32 i = 1; i < b->tree->nnodes; i++) {
		const struct summary_node *node = &b->tree->nodes[i];

		if (node->parent && !b->tree->nodes[node->parent].parent && !node->is_label)
			b->tree->nodes[node->parent].sum.busy_ns += node->sum.busy_ns;
	}
	return 0;
}

struct ranked {
	const struct summary_node *node;
	u32 id;
};

static int compare_ranked(const void *a, const void *b)
{
	const struct ranked *x = a, *y = b;
	int by_name;

	if (x->node->is_label != y->node->is_label)
		return x->node->is_label ? -1 : 1;
	if (x->node->sum.busy_ns != y->node->sum.busy_ns)
		return x->node->sum.busy_ns > y->node->sum.busy_ns ? -1 : 1;
	by_name = strcmp(x->node->name, y->node->name);
	return by_name ? by_name : (x->id > y->id) - (x->id < y->id);
}

static int find_order(const struct summary_tree *t, u32 *order)
{
	AUTO_FREE struct ranked *list = malloc(t->nnodes * sizeof(*list));
	AUTO_FREE u32 *parents = calloc(t->nnodes, sizeof(*parents));
	AUTO_FREE u32 *ranked = malloc(t->nnodes * sizeof(*ranked));

	if (!list || !parents || !ranked)
		return -ENOMEM;
	for (u32 i = 1; i < t->nnodes; i++) {
		list[i - 1] = (struct ranked){.node = &t->nodes[i], .id = i};
		parents[i] = t->nodes[i].parent;
	}
	qsort(list, t->nnodes - 1, sizeof(*list), compare_ranked);
	for (u32 i = 0; i + 1 < t->nnodes; i++)
		ranked[i] = list[i].id;
	return preorder(t->nnodes, parents, t->nnodes - 1, ranked, order);
}

static int sort_nodes(struct summary_tree *t)
{
	AUTO_FREE u32 *order = malloc(t->nnodes * sizeof(*order));
	AUTO_FREE u32 *new_id = malloc(t->nnodes * sizeof(*new_id));
	struct summary_node *sorted;
	int err;

	if (!order || !new_id)
		return -ENOMEM;
	err = find_order(t, order);
	if (err)
		return err;
	sorted = malloc(t->nnodes * sizeof(*sorted));
	if (!sorted)
		return -ENOMEM;
	for (u32 i = 0; i < t->nnodes; i++) {
		sorted[i] = t->nodes[order[i]];
		new_id[order[i]] = i;
		sorted[i].parent = new_id[sorted[i].parent];
		sorted[i].depth = i ? sorted[sorted[i].parent].depth + 1 : 0;
	}
	free(t->nodes);
	t->nodes = sorted;
	return 0;
}

int summary_tree_new(const struct profile *profile, struct summary_tree **out)
{
	CLEANUP(summary_tree_free) struct summary_tree *t = calloc(1, sizeof(*t));
	CLEANUP(builder_free)
	struct builder b = {.profile = profile, .tree = t, .crowded = summary_is_crowded(profile)};
	u32 root;
	int err;

	if (!t)
		return -ENOMEM;
	text_add(&b.scratch, "", 0);
	err = strtab_new(&t->names);
	if (!err)
		err = node_new(&b, 0, &root);
	if (!err)
		err = add_rows(&b);
	if (!err)
		err = name_groups(&b);
	if (!err)
		err = sort_nodes(t);
	if (err)
		return err;
	*out = TAKE_PTR(t);
	return 0;
}
