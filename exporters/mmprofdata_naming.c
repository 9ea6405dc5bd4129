/* SPDX-License-Identifier: MIT */
/* See mmprofdata_naming.h. */
#include "mmprofdata_naming.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "../user/util/cleanup.h"
#include "../user/util/intmap.h"
#include "chain.h"

/* The strings of a path's own frame. */
struct frame {
	u64 kind;
	u64 label;
};

struct mmp_naming {
	struct mmp_pages_out *pages;
	struct intmap frames;        /* id of a path ▸ struct frame */
	struct chain chain;          /* for one walk */
	struct text_buf text, piece; /* for one string */
	u64 async, segment, thread;  /* kinds */
};

static void set_text(struct text_buf *text, const char *value)
{
	text_cut(text, 0);
	mmp_add_text(text, value);
}

static int intern(struct mmp_naming *naming, const char *value, u64 *id)
{
	set_text(&naming->piece, value);
	return mmp_pages_intern(naming->pages, &naming->piece, id);
}

int mmp_naming_new(struct mmp_pages_out *pages, struct mmp_naming **out)
{
	CLEANUP(mmp_naming_free) struct mmp_naming *naming = calloc(1, sizeof(*naming));
	int err;

	if (!naming)
		return -ENOMEM;
	naming->pages = pages;
	err = intern(naming, MMP_KIND_ASYNC, &naming->async);
	if (!err)
		err = intern(naming, MMP_KIND_SEGMENT, &naming->segment);
	if (!err)
		err = intern(naming, MMP_KIND_THREAD, &naming->thread);
	if (!err)
		*out = TAKE_PTR(naming);
	return err;
}

void mmp_naming_free(struct mmp_naming **out)
{
	struct mmp_naming *naming = *out;
	size_t i;

	if (!naming)
		return;
	*out = NULL;
	for (i = 0; i < naming->frames.capacity; i++)
		free(naming->frames.slots[i].value);
	intmap_free(&naming->frames);
	chain_free(&naming->chain);
	text_buf_free(&naming->text);
	text_buf_free(&naming->piece);
	free(naming);
}

/* --- frames ------------------------------------------------------------------------------------------ */

static const char *name_of(const struct model_path *path)
{
	return path->name ? path->name : path->def->name;
}

static bool is_known_kind(const char *provider)
{
	static const char *const kinds[] = {MMP_KINDS};
	size_t i;

	for (i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		if (strcmp(provider, kinds[i]) == 0)
			return true;
	return false;
}

/* Kind and label of PATH's own frame, written once. NULL: no memory. */
static const struct frame *frame_of(struct mmp_naming *naming, const struct model_path *path)
{
	void **found = intmap_find(&naming->frames, path->id);
	const struct model_def *def = path->def;
	AUTO_FREE struct frame *frame = NULL;

	if (found)
		return *found;
	frame = calloc(1, sizeof(*frame));
	if (!frame || intern(naming, def->provider, &frame->kind))
		return NULL;
	/* As measureme's own programs would have it, so that its tools' columns for these kinds are right. */
	if (is_known_kind(def->provider) && *name_of(path)) {
		set_text(&naming->piece, name_of(path));
	} else {
		set_text(&naming->piece, def->provider);
		text_add_str(&naming->piece, ":");
		mmp_add_text(&naming->piece, name_of(path));
	}
	if (mmp_pages_intern(naming->pages, &naming->piece, &frame->label) ||
	    intmap_set(&naming->frames, path->id, frame))
		return NULL;
	return TAKE_PTR(frame);
}

/* --- arguments --------------------------------------------------------------------------------------- */

static void begin_arg(struct text_buf *text)
{
	static const char separator = MMP_SEPARATOR;

	text_add(text, &separator, 1);
}

static void add_u64(struct text_buf *text, const char *key, u64 value)
{
	begin_arg(text);
	text_add_str(text, key);
	text_add_u64(text, value);
}

static void add_s64(struct text_buf *text, s64 value)
{
	if (value < 0)
		text_add_str(text, "-");
	text_add_u64(text, value < 0 ? -(u64)value : (u64)value);
}

/* A reader would take it for a number, or for text in quotes. */
static bool needs_quotes(const char *text)
{
	return *text == '"' || *text == '-' || (*text >= '0' && *text <= '9');
}

/* An argument of a program that uses measureme itself, which has no key: NUMBER is its place. */
static bool is_bare(const struct model_label *label, u32 number)
{
	char key[16];

	snprintf(key, sizeof(key), "arg%u", number);
	return label->text && *label->text && !strcmp(label->key, key) &&
	       !needs_quotes(label->text) && *label->text != '#' && !strchr(label->text, '=') &&
	       strcmp(label->text, "abandoned") != 0 && strcmp(label->text, "open") != 0;
}

static void add_labels(struct text_buf *text, const struct model_label *labels, u32 n)
{
	u32 i;

	for (i = 0; i < n; i++) {
		const struct model_label *label = &labels[i];
		bool quotes = label->text && needs_quotes(label->text);

		begin_arg(text);
		if (!is_bare(label, i)) {
			mmp_add_text(text, label->key);
			text_add_str(text, "=");
		}
		if (!label->text)
			add_s64(text, label->number);
		text_add_str(text, quotes ? "\"" : "");
		if (label->text)
			mmp_add_text(text, label->text);
		text_add_str(text, quotes ? "\"" : "");
	}
}

static void add_escaped(struct text_buf *text, const char *frame)
{
	for (; *frame; frame++) {
		if (strchr(";@\\", *frame))
			text_add_str(text, "\\");
		text_add(text, frame, 1);
	}
}

/* The frames above PATH; nothing for one that stands outside every span. */
static int add_under(struct mmp_naming *naming, const struct model_path *path)
{
	struct text_buf *text = &naming->text;

	naming->chain.n = 0;
	for (path = path->parent; path && path->def; path = path->parent)
		if (chain_push(&naming->chain, path))
			return -ENOMEM;
	begin_arg(text);
	text_add_str(text, "#under=");
	while ((path = chain_pop(&naming->chain))) {
		if (path->def->kind == MODEL_ASYNC_SPAN)
			text_add_str(text, "@");
		set_text(&naming->piece, path->def->provider);
		text_add_str(&naming->piece, ":");
		mmp_add_text(&naming->piece, name_of(path));
		if (naming->piece.failed)
			return -ENOMEM;
		add_escaped(text, naming->piece.data);
		if (naming->chain.n)
			text_add_str(text, ";");
	}
	return 0;
}

static void add_span(struct text_buf *text, const struct mmp_say *say)
{
	const struct model_span *span = say->span;

	add_labels(text, span->labels, span->nlabels);
	if (span->flags & (MODEL_ABANDONED | MODEL_OPEN)) {
		begin_arg(text);
		text_add_str(text, span->flags & MODEL_OPEN ? "open" : "abandoned");
	}
	if (say->on_thread)
		add_u64(text, "#thread=", say->thread);
	if (say->busy)
		add_u64(text, "#busy=", span->busy_ns);
	if (say->self)
		add_u64(text, "#self=", span->self_ns);
}

static void add_event(struct text_buf *text, const struct mmp_say *say)
{
	add_labels(text, say->event->labels, say->event->nlabels);
	if (!say->value)
		return;
	begin_arg(text);
	text_add_str(text, "#value=");
	add_s64(text, say->event->value);
}

/* --- all of it --------------------------------------------------------------------------------------- */

int mmp_name_it(struct mmp_naming *naming, const struct mmp_say *say, struct mmp_event *event)
{
	const struct model_span *span = say->span;
	const struct model_path *path = span ? span->path : say->event->path;
	const struct frame *frame = frame_of(naming, path);
	bool async = span && span->flags & (MODEL_ASYNC | MODEL_SEGMENT);
	struct text_buf *text = &naming->text;

	if (!frame)
		return -ENOMEM;
	event->kind = frame->kind;
	event->id = frame->label;
	if (async)
		event->kind = span->flags & MODEL_ASYNC ? naming->async : naming->segment;
	else if (span && !span->nlabels && !span->flags && !say->under && !say->on_thread &&
		 !say->self)
		return 0;
	text_cut(text, 0);
	if (async && is_known_kind(path->def->provider)) {
		/* The kind does not tell its provider. */
		mmp_add_text(text, path->def->provider);
		text_add_str(text, ":");
	}
	mmp_add_reference(text, frame->label);
	if (async)
		add_u64(text, "id=", span->id);
	if (span)
		add_span(text, say);
	else
		add_event(text, say);
	if (say->under && add_under(naming, path))
		return -ENOMEM;
	if (text->failed)
		return -ENOMEM;
	/* What is said of one span alone does not come again. */
	if (!async && !say->on_thread && !say->self && !say->value)
		return mmp_pages_intern(naming->pages, text, &event->id);
	event->id = mmp_pages_string(naming->pages, text);
	return 0;
}

int mmp_name_thread(struct mmp_naming *naming, const struct model_thread *thread, bool at_end,
		    u64 inside_ns, struct mmp_event *event)
{
	char comm[MODEL_COMM_LEN + 1] = {0};
	struct text_buf *text = &naming->text;

	memcpy(comm, thread->comm, MODEL_COMM_LEN);
	set_text(text, *comm ? comm : MMP_NO_COMM);
	add_u64(text, "pid=", thread->pid);
	add_u64(text, "tid=", thread->tid);
	if (at_end) {
		add_u64(text, "start=", thread->start_ns);
		add_u64(text, "end=", thread->end_ns);
		add_u64(text, "inside=", inside_ns);
	}
	if (text->failed)
		return -ENOMEM;
	event->kind = naming->thread;
	event->id = mmp_pages_string(naming->pages, text);
	return 0;
}
