/* SPDX-License-Identifier: MIT */
/* The tables of a trace: definitions, threads, paths. See trace.h. */
#include "trace.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../util/cleanup.h"
#include "../util/grow.h"
#include "trace_impl.h"

/* Its id is no definition's, so that what is counted under it never joins the first one's. */
const struct model_def trace_other_paths = {
	.id = DEFS_MAX,
	.kind = MODEL_THREAD_SPAN,
	.provider = "spantrace",
	.name = "(other paths)",
};

int trace_new(const struct wire_path *paths, u32 npaths, u32 metrics, struct trace **out)
{
	struct trace *trace = calloc(1, sizeof(*trace));
	int err;

	if (!trace)
		return -ENOMEM;
	err = strpool_new(&trace->strings);
	if (err) {
		free(trace);
		return err;
	}
	trace->table = paths;
	trace->ntable = npaths;
	trace->metrics = metrics;
	trace->rows_max = TRACE_ROWS_MAX;
	trace->pieces_max = TRACE_PIECES_MAX;
	*out = trace;
	return 0;
}

static void trace_free_values(struct intmap *map)
{
	size_t i;

	for (i = 0; i < map->capacity; i++)
		free(map->slots[i].value);
	intmap_free(map);
}

void trace_free(struct trace **out)
{
	struct trace *trace = *out;
	size_t i;

	if (!trace)
		return;
	*out = NULL;
	for (i = 0; i < trace->rows.capacity; i++) {
		struct trace_row *row = trace->rows.slots[i].value;

		if (!row)
			continue;
		trace_free_row(row);
	}
	intmap_free(&trace->rows);
	trace_free_values(&trace->events);
	trace_free_values(&trace->paths);
	trace_free_values(&trace->threads);
	trace_free_values(&trace->sites);
	intmap_free(&trace->texts);
	intmap_free(&trace->kept);
	intmap_free(&trace->dead);
	intmap_free(&trace->prefixes);
	intmap_free(&trace->paths_by_key);
	for (i = 0; i < trace->ndefs; i++)
		free(trace->defs[i]);
	free(trace->defs);
	intmap_free(&trace->defs_by_name);
	free(trace->sinks);
	trace_free_profile(trace);
	strpool_free(&trace->strings);
	free(trace);
}

/* A copy of TEXT in the trace; NULL for NULL. */
static int trace_string(struct trace *trace, const char *text, const char **out)
{
	*out = NULL;
	if (!text)
		return 0;
	*out = strpool_add(trace->strings, text, strlen(text));
	return *out ? 0 : -ENOMEM;
}

static u64 trace_hash_text(u64 hash, const char *text)
{
	do
		hash = (hash ^ (u8)*text) * 0x100000001b3ULL;
	while (*text++);
	return hash;
}

static u64 trace_hash_def(const struct model_def *def)
{
	u64 hash = 0xcbf29ce484222325ULL + def->kind;

	return trace_hash_text(trace_hash_text(hash, def->provider), def->name);
}

/* Every file that is attached brings its definitions again, thousands of them in large programs. */
int trace_add_def(struct trace *trace, const struct model_def *def, u32 *id)
{
	AUTO_FREE struct model_def *copy = NULL;
	u64 key = trace_hash_def(def);
	void **found;

	for (; (found = intmap_find(&trace->defs_by_name, key)); key++) {
		const struct model_def *old = *found;

		if (old->kind != def->kind || strcmp(old->name, def->name) != 0 ||
		    strcmp(old->provider, def->provider) != 0)
			continue;
		*id = old->id;
		return 0;
	}
	if (trace->ndefs == DEFS_MAX)
		return -ENOSPC;
	copy = calloc(1, sizeof(*copy));
	if (!copy || GROW(trace->defs, trace->ndefs))
		return -ENOMEM;
	*copy = *def;
	copy->id = (u32)trace->ndefs;
	if (trace_string(trace, def->provider, &copy->provider) ||
	    trace_string(trace, def->name, &copy->name) ||
	    trace_string(trace, def->binary, &copy->binary) ||
	    trace_string(trace, def->build_id, &copy->build_id) ||
	    trace_string(trace, def->source_file, &copy->source_file) ||
	    intmap_set(&trace->defs_by_name, key, copy))
		return -ENOMEM;
	*id = copy->id;
	trace->defs[trace->ndefs++] = TAKE_PTR(copy);
	return 0;
}

const struct model_def *trace_def(const struct trace *trace, u32 id)
{
	return id < trace->ndefs ? trace->defs[id] : NULL;
}

int trace_add_sink(struct trace *trace, const struct trace_sink *sink)
{
	if (GROW(trace->sinks, trace->nsinks))
		return -ENOMEM;
	trace->sinks[trace->nsinks++] = *sink;
	trace->want_spans |= sink->span != NULL;
	trace->want_events |= sink->event != NULL;
	trace->want_rows |= sink->row != NULL;
	return 0;
}

void trace_leave_rows(struct trace *trace)
{
	trace->rowless = true;
}

void trace_begin(struct trace *trace, u64 now_ns, u64 realtime_ns)
{
	trace->begin_ns = now_ns;
	trace->begin_realtime_ns = realtime_ns;
}

struct trace_thread *trace_thread(struct trace *trace, u32 serial)
{
	void **found = intmap_find(&trace->threads, serial);
	struct trace_thread *thread;

	if (found)
		return *found;
	if (trace->threads.used >= TRACE_THREADS_MAX && serial != TRACE_OTHERS)
		return trace_thread(trace, TRACE_OTHERS);
	thread = calloc(1, sizeof(*thread));
	if (!thread)
		return NULL;
	thread->model.serial = serial;
	thread->model.start_ns = trace->begin_ns;
	snprintf(thread->model.comm, sizeof(thread->model.comm), "%s",
		 serial == TRACE_OTHERS ? "(other threads)" : "?");
	if (intmap_set(&trace->threads, serial, thread)) {
		free(thread);
		return NULL;
	}
	return thread;
}

struct model_path *trace_new_path(struct trace *trace, u32 id, const struct model_path *parent,
				  const struct model_def *def)
{
	struct trace_path *path = calloc(1, sizeof(*path));

	if (!path)
		return NULL;
	path->model.id = id;
	path->model.parent = parent;
	path->model.depth = parent->depth + 1;
	path->model.def = def;
	if (intmap_set(&trace->paths, id, path)) {
		free(path);
		return NULL;
	}
	return &path->model;
}

/* Makes the node of one id of the table under a parent that is there. */
static struct model_path *trace_make_path(struct trace *trace, u32 id,
					  const struct model_path *parent)
{
	const struct wire_path *node = &trace->table[id];
	const char *name = NULL;
	struct model_path *path;

	if (id == PATH_OVERFLOW)
		return trace_new_path(trace, id, parent, &trace_other_paths);
	if (node->def >= trace->ndefs)
		return NULL;
	if (node->name) {
		name = trace_own_name(trace, node->def, node->name);
		if (!name)
			return NULL;
	}
	path = trace_new_path(trace, id, parent, trace->defs[node->def]);
	if (path)
		path->name = name;
	return path;
}

struct model_path *trace_path(struct trace *trace, u32 id)
{
	AUTO_FREE u32 *chain = NULL;
	struct model_path *path;
	void **found;
	size_t n = 0;

	/* Up to the first node that is known, then down again. A parent's id is always lower. */
	for (;;) {
		if (id == PATH_ROOT) {
			path = &trace->root.model;
			break;
		}
		found = intmap_find(&trace->paths, id);
		if (found) {
			path = *found;
			break;
		}
		if (id >= trace->ntable || GROW(chain, n))
			return NULL;
		chain[n++] = id;
		if (id == PATH_OVERFLOW)
			id = PATH_ROOT;
		else if (trace->table[id].parent < id)
			id = trace->table[id].parent;
		else
			return NULL;
	}
	while (n && path)
		path = trace_make_path(trace, chain[--n], path);
	return path;
}

u32 trace_process_of(const struct trace *trace, u32 serial)
{
	void **found = intmap_find(&trace->threads, serial);

	return found ? ((struct trace_thread *)*found)->process : 0;
}

u32 trace_def_of(struct trace *trace, u32 id)
{
	struct model_path *path = trace_path(trace, id);

	return path && path->def ? path->def->id : DEFS_MAX;
}

int trace_error(const struct trace *trace)
{
	return trace->error;
}

u64 trace_damaged(const struct trace *trace)
{
	return trace->damaged;
}

u64 trace_folded_threads(const struct trace *trace)
{
	return trace->folded_threads;
}

u64 trace_folded_rows(const struct trace *trace)
{
	return trace->folded_rows;
}

u64 trace_no_memory(const struct trace *trace)
{
	return trace->no_memory;
}

void trace_counts(const struct trace *trace, struct trace_counts *out)
{
	*out = (struct trace_counts){
		.spans = trace->spans,
		.events = trace->nevents,
		.threads = (u32)trace->threads.used,
		.rows = trace->rows.used,
	};
}
