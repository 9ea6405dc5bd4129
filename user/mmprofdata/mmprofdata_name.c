/* SPDX-License-Identifier: MIT */
/* See mmprofdata_name.h. */
#include "mmprofdata_name.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "../util/cleanup.h"

/* Names used last. An id with arguments of its own is used once; those without come again at once. */
#define NAMES_KEPT 1024u

struct mmp_names {
	struct mmp_file *file;
	struct trace *trace;
	bool labels;
	u64 texts_lost;
	u64 labels_left_out;
	u32 other_span, other_event; /* for names beyond DEFS_MAX */
	struct text_buf kind, id;
	struct mmp_name *kept[NAMES_KEPT];
};

static int add_def(struct mmp_names *names, enum model_kind kind, const char *provider,
		   const char *name, u32 *id)
{
	const struct model_def def = {.kind = kind, .provider = provider, .name = name};
	int err = trace_add_def(names->trace, &def, id);

	if (err != -ENOSPC)
		return err;
	*id = kind == MODEL_EVENT ? names->other_event : names->other_span;
	return 0;
}

int mmp_names_new(struct mmp_file *file, struct trace *trace, struct mmp_names **out)
{
	CLEANUP(mmp_names_free) struct mmp_names *names = calloc(1, sizeof(*names));
	int err;

	if (!names)
		return -ENOMEM;
	names->file = file;
	names->trace = trace;
	err = add_def(names, MODEL_THREAD_SPAN, "spantrace", "(other names)", &names->other_span);
	if (!err)
		err = add_def(names, MODEL_EVENT, "spantrace", "(other names)",
			      &names->other_event);
	if (!err)
		*out = TAKE_PTR(names);
	return err;
}

void mmp_names_free(struct mmp_names **out)
{
	struct mmp_names *names = *out;
	size_t i;

	if (!names)
		return;
	*out = NULL;
	for (i = 0; i < NAMES_KEPT; i++)
		if (names->kept[i])
			free(names->kept[i]);
	text_buf_free(&names->kind);
	text_buf_free(&names->id);
	free(names);
}

void mmp_names_want_labels(struct mmp_names *names)
{
	size_t i;

	names->labels = true;
	for (i = 0; i < NAMES_KEPT; i++)
		if (names->kept[i])
			names->kept[i]->whole = false;
}

u64 mmp_names_texts_lost(const struct mmp_names *names)
{
	return names->texts_lost;
}

u64 mmp_names_labels_left_out(const struct mmp_names *names)
{
	return names->labels_left_out;
}

/* --- the label -------------------------------------------------------------------------------------- */

/* Takes the piece before the next separator off *REST and ends it with a NUL. NULL: there is none, or it is empty or
 * holds control characters, which makes the rest worthless for measureme's tools as well. */
static char *next_piece(char **rest, const char *end)
{
	char *piece = *rest, *at;

	for (at = piece; at < end && *at != MMP_SEPARATOR; at++)
		if (((unsigned char)*at < 0x20 && !strchr("\t\n\f\r", *at)) || *at == 0x7f || !*at)
			return NULL;
	if (at == piece)
		return NULL;
	*at = '\0';
	*rest = at < end ? at + 1 : at;
	return piece;
}

/* The definition of a frame "provider:name". */
static int def_of_frame(struct mmp_names *names, enum model_kind kind, char *frame, u32 *id)
{
	char *colon = strchr(frame, ':');
	const char *provider = "", *name = frame;

	if (colon && colon[1]) {
		*colon = '\0';
		provider = frame;
		name = colon + 1;
	}
	return add_def(names, kind, provider, name, id);
}

/* LABEL without the kind in front. */
static const char *strip_kind(const char *label, const char *kind)
{
	size_t length = strlen(kind);

	if (length && strncmp(label, kind, length) == 0 && label[length] == ':' &&
	    label[length + 1])
		return label + length + 1;
	return label;
}

/* --- arguments of our own files ---------------------------------------------------------------------- */

/* The whole of TEXT is a number. */
static bool is_number(const char *text, s64 *value)
{
	char *end;

	if (*text != '-' && (*text < '0' || *text > '9'))
		return false;
	errno = 0;
	*value = strtoll(text, &end, 10);
	return !errno && end != text && !*end && (text[0] != '0' || !text[1]);
}

static bool is_count(const char *text, u64 *value)
{
	char *end;

	if (*text < '0' || *text > '9')
		return false;
	errno = 0;
	*value = strtoull(text, &end, 10);
	return !errno && !*end;
}

/* "a:b;@c:d" to a path. A frame that does not fit in the trace's tables ends it there. */
static int set_under(struct mmp_names *names, char *text, struct mmp_name *name)
{
	const struct model_path *path = NULL;
	bool full = false;
	char *at = text;

	while (*at && !full) {
		enum model_kind kind = MODEL_THREAD_SPAN;
		char *frame = at, *to;
		bool more;
		u32 def;
		int err;

		if (*at == '@') {
			kind = MODEL_ASYNC_SPAN;
			frame = ++at;
		}
		for (to = at; *at && *at != ';'; at++) {
			if (*at == '\\' && at[1])
				at++;
			*to++ = *at;
		}
		more = *at == ';';
		*to = '\0';
		at += more;
		err = def_of_frame(names, kind, frame, &def);
		if (err)
			return err;
		path = trace_add_path(names->trace, path, def, NULL, &full);
		if (!path)
			return -ENOMEM;
	}
	name->under = path;
	name->has_under = true;
	return 0;
}

/* "#key=value": what the form could not say. */
static int take_special(struct mmp_names *names, char *arg, struct mmp_name *name)
{
	char *value = strchr(arg, '=');
	u64 count;

	if (!value)
		return 0;
	*value++ = '\0';
	if (strcmp(arg, "#under") == 0)
		return set_under(names, value, name);
	if (strcmp(arg, "#value") == 0 && is_number(value, &name->value))
		name->has |= MMP_HAS_VALUE;
	if (!is_count(value, &count))
		return 0;
	if (strcmp(arg, "#thread") == 0 && count <= UINT32_MAX) {
		name->thread = (u32)count;
		name->has |= MMP_HAS_THREAD;
	} else if (strcmp(arg, "#busy") == 0) {
		name->busy_ns = count;
		name->has |= MMP_HAS_BUSY;
	} else if (strcmp(arg, "#self") == 0) {
		name->self_ns = count;
		name->has |= MMP_HAS_SELF;
	}
	return 0;
}

static void take_thread(const char *arg, struct mmp_name *name)
{
	static const char *const keys[] = {"pid=", "tid=", "start=", "end=", "inside="};
	u64 values[] = {name->pid, name->tid, name->start_ns, name->end_ns, name->inside_ns};
	size_t i;

	for (i = 0; i < sizeof(keys) / sizeof(*keys); i++)
		if (strncmp(arg, keys[i], strlen(keys[i])) == 0 &&
		    is_count(arg + strlen(keys[i]), &values[i]) && i > 1)
			name->has |= MMP_HAS_TIMES;
	name->pid = (u32)values[0];
	name->tid = (u32)values[1];
	name->start_ns = values[2];
	name->end_ns = values[3];
	name->inside_ns = values[4];
}

/* --- labels ------------------------------------------------------------------------------------------ */

/* Keys find room where texts have none left. */
#define KEYS_MORE 4096

/* As many texts as a live trace would have. */
static const char *keep(struct mmp_names *names, const char *text, size_t length, size_t more)
{
	const char *kept;

	if (trace_kept_texts(names->trace) < STRINGS_MAX + more)
		return trace_keep_text(names->trace, text, length);
	kept = trace_find_text(names->trace, text, length);
	names->texts_lost += !kept;
	return kept ? kept : "(too many texts)";
}

static int add_label(struct mmp_names *names, const char *key, size_t key_length, const char *value,
		     struct mmp_name *name)
{
	struct model_label label = {0};
	size_t length = strlen(value);

	if (!names->labels)
		return 0;
	if (name->nlabels == MODEL_MAX_LABELS) {
		names->labels_left_out++;
		return 0;
	}
	label.key = keep(names, key, key_length, KEYS_MORE);
	if (!names->file->own || !is_number(value, &label.number)) {
		if (names->file->own && length > 1 && value[0] == '"' && value[length - 1] == '"') {
			value++;
			length -= 2;
		}
		label.text = keep(names, value, length, 0);
		if (!label.text)
			return -ENOMEM;
	}
	if (!label.key)
		return -ENOMEM;
	name->labels[name->nlabels++] = label;
	return 0;
}

/* NUMBER is that of the argument: "arg0" is the key of one that has none. */
static int take_arg(struct mmp_names *names, char *arg, unsigned number, struct mmp_name *name)
{
	char key[] = "arg4294967295";
	const char *equals = strchr(arg, '=');

	if (names->file->own && name->type == MMP_THREAD) {
		take_thread(arg, name);
		return 0;
	}
	if (names->file->own && arg[0] == '#')
		return take_special(names, arg, name);
	if (names->file->own && strcmp(arg, "abandoned") == 0) {
		name->flags |= MODEL_ABANDONED;
		return 0;
	}
	if (names->file->own && strcmp(arg, "open") == 0) {
		name->flags |= MODEL_OPEN;
		return 0;
	}
	if (names->file->own && equals && equals != arg)
		return add_label(names, arg, (size_t)(equals - arg), equals + 1, name);
	snprintf(key, sizeof(key), "arg%u", number);
	return add_label(names, key, strlen(key), arg, name);
}

/* --- all of it ---------------------------------------------------------------------------------------- */

/* The type of a kind in our own files. REST is at the arguments: an async span's first one is its id, and what has none
 * is a provider of that name. */
static enum mmp_type type_of(const char *kind, char **rest, struct mmp_name *name)
{
	bool async = strcmp(kind, MMP_KIND_ASYNC) == 0;
	char *at = *rest;

	if (!name->interval)
		return strcmp(kind, MMP_KIND_THREAD) == 0 && strncmp(at, "pid=", 4) == 0
			       ? MMP_THREAD
			       : MMP_PLAIN;
	if ((!async && strcmp(kind, MMP_KIND_SEGMENT) != 0) || strncmp(at, "id=", 3) != 0)
		return MMP_PLAIN;
	errno = 0;
	name->span_id = strtoull(at + 3, &at, 10);
	if (errno || (*at && *at != MMP_SEPARATOR))
		return MMP_PLAIN;
	*rest = *at ? at + 1 : at;
	return async ? MMP_ASYNC : MMP_SEGMENT;
}

static int name_parse(struct mmp_names *names, struct mmp_name *name)
{
	const char *kind = names->kind.data ? names->kind.data : "";
	char *rest = names->id.data, *end = rest + names->id.len, *label, *arg;
	enum model_kind model = name->interval ? MODEL_THREAD_SPAN : MODEL_EVENT;
	unsigned number;
	int err = 0;

	label = names->id.len ? next_piece(&rest, end) : NULL;
	if (!label)
		return add_def(names, model, kind, "<parse error>", &name->def);
	if (names->file->own)
		name->type = type_of(kind, &rest, name);
	if (name->type == MMP_THREAD && strcmp(label, MMP_NO_COMM) != 0)
		memccpy(name->comm, label, 0, sizeof(name->comm) - 1);
	if (name->type == MMP_PLAIN)
		err = add_def(names, model, kind, strip_kind(label, kind), &name->def);
	else if (name->type != MMP_THREAD)
		err = def_of_frame(names, MODEL_ASYNC_SPAN, label, &name->def);
	name->bare = name->interval && name->type == MMP_PLAIN && rest == end;
	for (number = 0; !err && rest < end && (arg = next_piece(&rest, end)); number++)
		err = take_arg(names, arg, number, name);
	return err;
}

int mmp_names_of(struct mmp_names *names, const struct mmp_event *event,
		 const struct mmp_name **out)
{
	u64 hash = (event->kind * 31 + event->id) * 2 + mmp_is_interval(event);
	struct mmp_name **slot = &names->kept[(hash * 0x9e3779b97f4a7c15ULL) >> 54];
	struct mmp_name *name = *slot;
	int err;

	if (name && name->whole && name->kind == event->kind && name->id == event->id &&
	    name->interval == mmp_is_interval(event)) {
		*out = name;
		return 0;
	}
	if (!name) {
		name = malloc(sizeof(*name));
		if (!name)
			return -ENOMEM;
		*slot = name;
	}
	*name = (struct mmp_name){
		.interval = mmp_is_interval(event),
	};
	text_cut(&names->kind, 0);
	text_cut(&names->id, 0);
	err = mmp_file_text(names->file, event->kind, &names->kind);
	if (!err)
		err = mmp_file_text(names->file, event->id, &names->id);
	if (!err)
		err = name_parse(names, name);
	if (err)
		return err;
	name->kind = event->kind;
	name->id = event->id;
	name->whole = true;
	*out = name;
	return 0;
}

_Static_assert(NAMES_KEPT == 1u << (64 - 54), "the hash's upper bits are the slot");
