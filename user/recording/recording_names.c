/* SPDX-License-Identifier: MIT */
/* NAMES blocks of a recording: tables by number. See recording_read.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../util/cleanup.h"
#include "recording_read.h"

/* A trace has no more sites than that whose labels could differ. */
#define LABEL_SETS_MAX SITES_MAX

/* The number may be any up to RECORDING_NUMBER_MAX: what is not used of so many is never touched, and takes no memory. */
static int numbers_grow(struct recording_numbers *names, u32 number)
{
	u32 room = names->room ? names->room : 64;
	void **values;

	while (room <= number)
		room *= 2;
	values = calloc(room, sizeof(*values));
	if (!values)
		return -ENOMEM;
	if (names->room)
		memcpy(values, names->values, names->room * sizeof(*values));
	free((void *)names->values);
	names->values = values;
	names->room = room;
	return 0;
}

static int numbers_set(struct recording_numbers *names, u32 number, void *value)
{
	int err = number < names->room ? 0 : numbers_grow(names, number);

	if (!err)
		names->values[number] = value;
	return err;
}

static void numbers_free(struct recording_numbers *names)
{
	free((void *)names->values);
	*names = (struct recording_numbers){0};
}

static void free_values(struct recording_numbers *names)
{
	u32 i;

	for (i = 0; i < names->room; i++)
		free(names->values[i]);
	numbers_free(names);
}

static void free_threads(struct recording_tables *names)
{
	u32 i;

	for (i = 0; i < names->threads.room; i++)
		if (recording_is_shared(names, names->threads.values[i]))
			names->threads.values[i] = NULL;
	free_values(&names->threads);
}

void recording_tables_free(struct recording_tables *names)
{
	numbers_free(&names->texts);
	numbers_free(&names->defs);
	numbers_free(&names->paths);
	free_threads(names);
	free_values(&names->labels);
}

bool bytes_get_text(struct recording_bytes *b, const char **text, size_t *length)
{
	u64 n;

	if (!bytes_get(b, &n) || n > (u64)(b->end - b->at) || n > RECORDING_TEXT_MAX)
		return false;
	*text = (const char *)b->at;
	*length = (size_t)n;
	b->at += n;
	return !memchr(*text, '\0', *length);
}

/* Every item begins so. */
static bool get_number(struct recording_bytes *b, u32 *number)
{
	return bytes_get_u32(b, number) && *number && *number <= RECORDING_NUMBER_MAX;
}

static int read_text(struct recording_reader *r, struct recording_bytes *b)
{
	const char *text;
	size_t length;
	u32 number;

	if (!get_number(b, &number) || !bytes_get_text(b, &text, &length))
		return -EBADMSG;
	r->names.text_bytes += length;
	if (r->names.text_bytes > RECORDING_TEXTS_BYTES)
		return -EBADMSG;
	text = trace_keep_text(r->replay->trace, text, length);
	if (!text)
		return -ENOMEM;
	return numbers_set(&r->names.texts, number, (void *)text);
}

static int read_def(struct recording_reader *r, struct recording_bytes *b)
{
	const char *texts[5];
	struct model_def def = {0};
	u32 number, kind, ref, id;
	size_t i;
	int err;

	if (!get_number(b, &number) || !bytes_get_u32(b, &kind) || kind < MODEL_THREAD_SPAN ||
	    kind > MODEL_EVENT)
		return -EBADMSG;
	for (i = 0; i < 5; i++) {
		if (!bytes_get_u32(b, &ref))
			return -EBADMSG;
		texts[i] = recording_name(&r->names.texts, ref);
	}
	if (!bytes_get_u32(b, &def.source_line))
		return -EBADMSG;
	if (!texts[0] || !texts[1]) /* its names were lost: so is what uses it */
		return 0;
	def.kind = (enum model_kind)kind;
	def.provider = texts[0];
	def.name = texts[1];
	def.binary = texts[2];
	def.build_id = texts[3];
	def.source_file = texts[4];
	err = trace_add_def(r->replay->trace, &def, &id);
	if (err == -ENOSPC)
		return 0;
	return err ? err : numbers_set(&r->names.defs, number, (void *)(uintptr_t)(id + 1));
}

static int read_path(struct recording_reader *r, struct recording_bytes *b)
{
	const struct model_path *parent, *path;
	u32 number, parent_ref, def_ref, name_ref;
	bool full = false;
	const char *name;
	uintptr_t def;

	if (!get_number(b, &number) || !bytes_get_u32(b, &parent_ref) ||
	    !bytes_get_u32(b, &def_ref) || !bytes_get_u32(b, &name_ref))
		return -EBADMSG;
	parent = recording_name(&r->names.paths, parent_ref);
	def = (uintptr_t)recording_name(&r->names.defs, def_ref);
	name = recording_name(&r->names.texts, name_ref);
	if (!def || (parent_ref && !parent) || (name_ref && !name))
		return 0;
	path = trace_add_path(r->replay->trace, parent, (u32)def - 1, name, &full);
	if (!path)
		return -ENOMEM;
	r->replay->own[LOSS_PATHS_FULL] += full;
	return numbers_set(&r->names.paths, number, (void *)path);
}

/* The thread NUMBER with VALUES, which is new. The file may have any number of them: those that nobody wants, and those
 * that have no room, are one. NULL: no memory. */
static struct recording_thread *new_thread(struct recording_reader *r, u32 number,
					   const struct model_thread *values)
{
	AUTO_FREE struct recording_thread *made = NULL;
	struct recording_thread *thread;

	if (!replay_wants_thread(r->replay, values)) {
		thread = &r->names.left_out;
		thread->asked = true;
	} else if (r->names.nthreads >= TRACE_THREADS_MAX) {
		thread = &r->names.others;
		thread->asked = true;
		thread->model = trace_fold_thread(r->replay->trace);
		if (!thread->model)
			return NULL;
	} else {
		thread = made = calloc(1, sizeof(*thread));
		r->names.nthreads++;
	}
	if (!thread || numbers_set(&r->names.threads, number, thread))
		return NULL;
	(void)TAKE_PTR(made);
	return thread;
}

static int read_thread(struct recording_reader *r, struct recording_bytes *b)
{
	struct model_thread values = {0};
	struct recording_thread *thread;
	u64 start_ns;
	u32 number, pid, tid, ref;
	const char *comm;

	if (!get_number(b, &number) || !bytes_get_u32(b, &pid) || !bytes_get_u32(b, &tid) ||
	    !bytes_get(b, &start_ns) || !bytes_get_u32(b, &ref))
		return -EBADMSG;
	values.pid = pid;
	values.tid = tid;
	thread = recording_name(&r->names.threads, number);
	/* One that had a span before its name was known is told twice. */
	if (!thread || thread == &r->names.left_out)
		thread = new_thread(r, number, &values);
	if (!thread)
		return -ENOMEM;
	if (recording_is_shared(&r->names, thread))
		return 0;
	comm = recording_name(&r->names.texts, ref);
	/* The end may have been told before the name. */
	thread->values.serial = number;
	thread->values.pid = pid;
	thread->values.tid = tid;
	thread->values.start_ns = start_ns;
	memset(thread->values.comm, 0, MODEL_COMM_LEN);
	memcpy(thread->values.comm, comm ? comm : "?",
	       comm ? strnlen(comm, MODEL_COMM_LEN - 1) : 1);
	if (!thread->asked)
		return 0;
	thread->asked = false;
	return recording_use_thread(r, thread, &thread->model);
}

int recording_use_thread(struct recording_reader *r, struct recording_thread *thread,
			 const struct model_thread **out)
{
	struct model_thread *values = &thread->values;
	int err = 0;

	if (recording_is_shared(&r->names, thread)) {
		*out = thread->model;
		return 0;
	}
	r->begun = true; /* or the thread would be older than its trace */
	if (values->start_ns < r->replay->info.start_ns)
		values->start_ns = r->replay->info.start_ns;
	if (values->end_ns && values->end_ns < values->start_ns)
		values->end_ns = values->start_ns;
	if (!thread->asked)
		err = replay_set_thread(r->replay, &thread->values, &thread->model);
	thread->asked = true;
	*out = thread->model;
	return err;
}

static int read_labels(struct recording_reader *r, struct recording_bytes *b)
{
	AUTO_FREE struct recording_label_set *set = calloc(1, sizeof(*set));
	void *old;
	u32 number, i;

	if (!set)
		return -ENOMEM;
	if (!get_number(b, &number) || !bytes_get_u32(b, &set->n) || set->n > MODEL_MAX_LABELS)
		return -EBADMSG;
	for (i = 0; i < set->n; i++) {
		u32 ref, is_text;

		if (!bytes_get_u32(b, &ref) || !bytes_get_u32(b, &is_text) || is_text > 1)
			return -EBADMSG;
		set->keys[i] = recording_name(&r->names.texts, ref);
		set->texts |= is_text << i;
		if (!set->keys[i])
			set->keys[i] = "?";
	}
	old = recording_name(&r->names.labels, number);
	if (!old && r->names.nlabels++ == LABEL_SETS_MAX)
		return -EBADMSG;
	if (numbers_set(&r->names.labels, number, set))
		return -ENOMEM;
	(void)TAKE_PTR(set);
	free(old);
	return 0;
}

int recording_read_names(struct recording_reader *r, struct recording_bytes bytes)
{
	int err = 0;

	while (!err && bytes.at < bytes.end) {
		switch (*bytes.at++) {
		case RECORDING_TEXT:
			err = read_text(r, &bytes);
			break;
		case RECORDING_DEF:
			err = read_def(r, &bytes);
			break;
		case RECORDING_PATH:
			err = read_path(r, &bytes);
			break;
		case RECORDING_THREAD:
			err = read_thread(r, &bytes);
			break;
		case RECORDING_LABELS:
			err = read_labels(r, &bytes);
			break;
		default:
			err = -EBADMSG;
		}
	}
	return err;
}
