/* SPDX-License-Identifier: MIT */
/* The tables of a trace that is read from a file: paths, threads and texts that the file names. See trace.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "trace.h"
#include "trace_impl.h"

static u64 hash_bytes(u64 hash, const char *text, size_t length)
{
	size_t i;

	for (i = 0; i < length; i++)
		hash = (hash ^ (u8)text[i]) * 0x100000001b3ULL;
	return hash;
}

/* The copy of TEXT, or NULL and in *KEY the place where it would be. */
static const char *find_text(const struct trace *trace, const char *text, size_t length, u64 *key)
{
	void **found;

	*key = hash_bytes(0xcbf29ce484222325ULL, text, length);
	for (; (found = intmap_find(&trace->kept, *key)); (*key)++)
		if (strlen(*found) == length && memcmp(*found, text, length) == 0)
			return *found;
	return NULL;
}

const char *trace_find_text(const struct trace *trace, const char *text, size_t length)
{
	u64 key;

	return find_text(trace, text, length, &key);
}

const char *trace_keep_text(struct trace *trace, const char *text, size_t length)
{
	u64 key;
	const char *found = find_text(trace, text, length, &key);
	char *copy;

	if (found)
		return found;
	copy = strpool_add(trace->strings, text, length);
	if (!copy || intmap_set(&trace->kept, key, copy))
		return NULL;
	return copy;
}

size_t trace_kept_texts(const struct trace *trace)
{
	return trace->kept.used;
}

static bool same_name(const char *a, const char *b)
{
	return a && b ? strcmp(a, b) == 0 : a == b;
}

const struct model_path *trace_add_path(struct trace *trace, const struct model_path *parent,
					u32 def, const char *name, bool *full)
{
	const char *kept = NULL;
	struct model_path *path;
	void **found;
	u64 key;

	if (def >= trace->ndefs)
		return NULL;
	if (!parent)
		parent = &trace->root.model;
	key = trace_row_key(parent->id, def) * 0x9e3779b97f4a7c15ULL;
	if (name)
		key = hash_bytes(key, name, strlen(name));
	for (; (found = intmap_find(&trace->paths_by_key, key)); key++) {
		path = *found;
		if (path->parent == parent && path->def->id == def && same_name(path->name, name))
			return path;
	}
	if (trace->npaths + PATHS_RESERVED >= PATHS_MAX) {
		*full = true;
		found = intmap_find(&trace->paths, PATH_OVERFLOW);
		return found ? *found
			     : trace_new_path(trace, PATH_OVERFLOW, &trace->root.model,
					      &trace_other_paths);
	}
	if (name) {
		kept = trace_keep_text(trace, name, strlen(name));
		if (!kept)
			return NULL;
	}
	path = trace_new_path(trace, PATHS_RESERVED + trace->npaths, parent, trace->defs[def]);
	if (!path)
		return NULL;
	trace->npaths++; /* from here on PATHS owns it, whatever becomes of the other map */
	path->name = kept;
	return intmap_set(&trace->paths_by_key, key, path) ? NULL : path;
}

const struct model_thread *trace_set_thread(struct trace *trace, const struct model_thread *values)
{
	struct trace_thread *thread = trace_thread(trace, values->serial);

	if (!thread)
		return NULL;
	if (thread->model.serial == values->serial)
		thread->model = *values;
	else
		trace->folded_threads++;
	return &thread->model;
}

const struct model_thread *trace_fold_thread(struct trace *trace)
{
	struct trace_thread *others = trace_thread(trace, TRACE_OTHERS);

	trace->folded_threads++;
	return others ? &others->model : NULL;
}

int trace_set_inside(struct trace *trace, u32 serial, u64 inside_ns)
{
	struct trace_thread *thread = trace_thread(trace, serial);

	if (!thread)
		return -ENOMEM;
	if (thread->model.serial != serial)
		return 0;
	thread->inside_ns = inside_ns;
	thread->ended = true;
	return 0;
}

const struct model_path *trace_root(const struct trace *trace)
{
	return &trace->root.model;
}
