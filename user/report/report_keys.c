/* SPDX-License-Identifier: MIT */
/* Keys are found once for each path of a profile, in an order in which parents come first. See report_keys.h. */
#include "report_keys.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../../exporters/chain.h"
#include "../../exporters/preorder.h"
#include "../../exporters/text.h"
#include "../util/grow.h"

struct report_node {
	u32 parent;
	u32 key;
	bool inner;
};

int report_keys_new(enum report_by by, bool across, struct report_keys **out)
{
	CLEANUP(report_keys_free) struct report_keys *k = calloc(1, sizeof(*k));

	if (!k)
		return -ENOMEM;
	k->by = by;
	k->across = across;
	if (strtab_new(&k->names) || strtab_new(&k->events) || GROW(k->keys, k->nkeys))
		return -ENOMEM;
	k->keys[k->nkeys++] = (struct report_key){.name = ""};
	*out = TAKE_PTR(k);
	return 0;
}

void report_keys_free(struct report_keys **keys)
{
	struct report_keys *k = *keys;

	if (!k)
		return;
	free(k->keys);
	strtab_free(&k->names);
	strtab_free(&k->events);
	pairmap_free(&k->ids);
	free(k);
	*keys = NULL;
}

int report_key(struct report_keys *keys, u32 parent, const char *name, u32 *id)
{
	u32 text;

	if (strtab_add(keys->names, name, strlen(name), &text))
		return -ENOMEM;
	if (pairmap_get(&keys->ids, parent, text, id))
		return 0;
	if (keys->nkeys == UINT32_MAX || GROW(keys->keys, keys->nkeys) ||
	    pairmap_put(&keys->ids, parent, text, keys->nkeys))
		return -ENOMEM;
	*id = keys->nkeys;
	keys->keys[keys->nkeys++] =
		(struct report_key){.name = strtab_get(keys->names, text), .parent = parent};
	return 0;
}

void report_key_text(const struct report_keys *keys, u32 id, struct text_buf *out)
{
	size_t depth = 0, start = out->len, end;

	/* From the innermost frame up, each to its place from the end. */
	for (u32 at = id; at; at = keys->keys[at].parent)
		depth += strlen(keys->keys[at].name) + (keys->keys[at].parent != 0);
	for (size_t i = 0; i < depth && !out->failed; i++)
		text_add(out, " ", 1);
	text_add(out, "", 0);
	if (out->failed)
		return;
	end = start + depth;
	for (u32 at = id; at; at = keys->keys[at].parent) {
		size_t len = strlen(keys->keys[at].name);

		end -= len;
		memcpy(out->data + end, keys->keys[at].name, len);
		if (keys->keys[at].parent)
			out->data[--end] = ';';
	}
}

/* The name of PATH's last frame. */
static int frame_name(struct text_buf *out, const struct model_path *path,
		      enum report_naming naming)
{
	text_cut(out, 0);
	if (naming == REPORT_PROVIDER_AND_NAME) {
		text_add_str(out, path->def->provider);
		text_add_str(out, ":");
	}
	text_add_str(out, path->name ? path->name : path->def->name);
	return out->failed ? -ENOMEM : 0;
}

struct indexing {
	struct report_keys *keys;
	struct report_index *index;
	enum report_naming naming;
	struct chain climb;
	struct text_buf name;
};

static void indexing_free(struct indexing *i)
{
	chain_free(&i->climb);
	text_buf_free(&i->name);
}

static int add_node(struct indexing *i, const struct model_path *path, u32 *at)
{
	struct report_index *index = i->index;
	enum report_by by = i->keys->by;
	struct report_node node = {.parent = *at};
	u32 above = by == REPORT_BY_PATH ? index->nodes[*at].key : 0;
	int err = 0;

	if (by == REPORT_BY_NAME || by == REPORT_BY_PATH) {
		err = frame_name(&i->name, path, i->naming);
		if (!err)
			err = report_key(i->keys, above, i->name.data, &node.key);
	}
	if (err || GROW(index->nodes, index->nnodes) ||
	    pairmap_put(&index->by_path, pairmap_key(path), 0, index->nnodes))
		return -ENOMEM;
	*at = index->nnodes;
	index->nodes[index->nnodes++] = node;
	return 0;
}

static int add_path(struct indexing *i, const struct model_path *path)
{
	u32 at = 0;
	int err;

	for (i->climb.n = 0; path && path->def; path = path->parent) {
		if (pairmap_get(&i->index->by_path, pairmap_key(path), 0, &at))
			break;
		err = chain_push(&i->climb, path);
		if (err)
			return err;
	}
	while ((path = chain_pop(&i->climb))) {
		err = add_node(i, path, &at);
		if (err)
			return err;
	}
	return 0;
}

/* Walks the tree of nodes depth first, with the number of open ones of each key. */
static int find_inner(struct report_index *index, u32 nkeys)
{
	AUTO_FREE u32 *parents = malloc(index->nnodes * sizeof(*parents));
	AUTO_FREE u32 *ids = malloc(index->nnodes * sizeof(*ids));
	AUTO_FREE u32 *order = malloc(index->nnodes * sizeof(*order));
	AUTO_FREE u32 *open = calloc(nkeys, sizeof(*open));
	u32 at = 0;
	int err;

	if (!parents || !ids || !order || !open)
		return -ENOMEM;
	for (u32 i = 0; i < index->nnodes; i++) {
		parents[i] = index->nodes[i].parent;
		if (i)
			ids[i - 1] = i;
	}
	err = preorder(index->nnodes, parents, index->nnodes - 1, ids, order);
	for (u32 i = 1; i < index->nnodes && !err; i++) {
		struct report_node *node = &index->nodes[order[i]];

		for (; at != node->parent; at = index->nodes[at].parent)
			open[index->nodes[at].key]--;
		at = order[i];
		node->inner = open[node->key]++ > 0;
	}
	return err;
}

void report_index_free(struct report_index **index)
{
	if (!*index)
		return;
	free((*index)->nodes);
	pairmap_free(&(*index)->by_path);
	pairmap_free(&(*index)->processes);
	free(*index);
	*index = NULL;
}

/* A thread as it is, a process by the thread it is known by. */
static int add_thread_key(struct report_keys *keys, const struct model_thread *thread, u32 *id)
{
	bool by_thread = keys->by == REPORT_BY_THREAD;
	u32 number = by_thread ? thread->tid : thread->pid;
	char comm[MODEL_COMM_LEN + 1] = {0}, name[MODEL_COMM_LEN + 32];

	/* Threads without a name have a number that the program chose: it is the same in each run. */
	memcpy(comm, thread->comm, MODEL_COMM_LEN);
	if (!comm[0] && (by_thread || !keys->across))
		snprintf(name, sizeof(name), "%s %u", by_thread ? "thread" : "process", number);
	else if (!comm[0])
		snprintf(name, sizeof(name), "process");
	else if (keys->across)
		snprintf(name, sizeof(name), "%s", comm);
	else
		snprintf(name, sizeof(name), by_thread ? "%s-%u" : "%s (%u)", comm, number);
	return report_key(keys, 0, name, id);
}

int report_thread_key(struct report_keys *keys, struct report_index *index,
		      const struct model_thread *thread, u32 *id)
{
	int err;

	if (keys->by == REPORT_BY_THREAD)
		return add_thread_key(keys, thread, id);
	if (pairmap_get(&index->processes, thread->pid, 0, id))
		return 0;
	err = add_thread_key(keys, thread, id);
	return err ? err : pairmap_put(&index->processes, thread->pid, 0, *id);
}

/* A process is known by its first thread, and by another that ran where that one was not seen. */
static int find_processes(struct report_keys *keys, struct report_index *index,
			  const struct profile *profile)
{
	int err = 0;
	u32 id;

	for (size_t i = 0; i < profile->nthreads && !err; i++) {
		const struct model_thread *thread = profile->threads[i].thread;

		if (thread->tid == thread->pid)
			err = report_thread_key(keys, index, thread, &id);
	}
	return err;
}

int report_index_new(struct report_keys *keys, const struct profile *profile,
		     enum report_naming naming, struct report_index **out)
{
	CLEANUP(report_index_free) struct report_index *index = calloc(1, sizeof(*index));
	CLEANUP(indexing_free) struct indexing i = {.keys = keys, .index = index, .naming = naming};
	int err = 0;

	if (!index || GROW(index->nodes, index->nnodes))
		return -ENOMEM;
	index->nodes[index->nnodes++] = (struct report_node){0};
	for (size_t row = 0; row < profile->nrows && !err; row++)
		err = add_path(&i, profile->rows[row].path);
	/* By thread or process all nodes have key 0: what has a parent is inside it. */
	if (!err)
		err = find_inner(index, keys->nkeys);
	if (!err && keys->by == REPORT_BY_PROCESS)
		err = find_processes(keys, index, profile);
	if (err)
		return err;
	*out = TAKE_PTR(index);
	return 0;
}

int report_place(struct report_keys *keys, struct report_index *index, const struct model_row *row,
		 struct report_place *out)
{
	const struct report_node *node;
	u32 at;

	/* Every row's path was added. */
	if (!pairmap_get(&index->by_path, pairmap_key(row->path), 0, &at))
		at = 0;
	node = &index->nodes[at];
	*out = (struct report_place){.key = node->key, .inner = node->inner};
	if (keys->by == REPORT_BY_THREAD || keys->by == REPORT_BY_PROCESS)
		return report_thread_key(keys, index, row->thread, &out->key);
	return 0;
}
