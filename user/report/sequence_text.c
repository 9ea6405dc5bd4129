/* SPDX-License-Identifier: MIT */
/* The names of stretches that stand out, from a second reading of the first run: to keep the names of all of them would
 * be to keep the run. See sequence.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../../exporters/text.h"
#include "../util/cleanup.h"
#include "../util/log.h"
#include "sequence_impl.h"

/* Each of four lists, with two points and their parents for each stretch. */
#define NAMES_MOST ((size_t)4 * EXTREMES_MOST * 4)

static int compare_names(const void *a, const void *b)
{
	const struct sequence_name *x = a, *y = b;

	if (x->thread != y->thread)
		return x->thread < y->thread ? -1 : 1;
	return (x->record > y->record) - (x->record < y->record);
}

static void want(struct sequence *s, u32 thread, u64 record)
{
	if (record)
		s->names[s->nnames++] = (struct sequence_name){.thread = thread, .record = record};
}

static void want_list(struct sequence *s, const struct extreme *list, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const struct stretch *stretch = &list[i].first;

		if (list[i].count != 1)
			continue;
		want(s, stretch->thread, stretch->from.record);
		want(s, stretch->thread, stretch->from.parent);
		want(s, stretch->thread, stretch->to.record);
		want(s, stretch->thread, stretch->to.parent);
	}
}

/* --- the second reading --------------------------------------------------------------------------- */

struct naming {
	struct sequence *s;
	bool kinds; /* of a file of measureme: kinds stand before names, as its own tools have them */
	struct intmap threads; /* serial → struct sequence_thread; its chain's n counts anew */
	struct text_buf text;
	u64 *counts; /* of each thread's records so far */
};

static void naming_free(struct naming *n)
{
	intmap_free(&n->threads);
	text_buf_free(&n->text);
	free(n->counts);
}

static void add_labels(struct text_buf *text, const struct model_label *labels, u32 n, bool keys)
{
	for (u32 i = 0; i < n; i++) {
		const struct model_label *label = &labels[i];

		if (i)
			text_add_str(text, ", ");
		if (keys) {
			text_add_str(text, label->key);
			text_add_str(text, "=");
		}
		if (label->text) {
			text_add_str(text, label->text);
			continue;
		}
		if (label->number < 0)
			text_add_str(text, "-");
		text_add_u64(text, label->number < 0 ? -(u64)label->number : (u64)label->number);
	}
}

/* "Work `walk(arg)`" for a file of measureme, which leaves out its commonest kinds; else "`app:walk(key=value)`". */
static void write_name(struct naming *n, const struct model_path *path,
		       const struct model_label *labels, u32 nlabels)
{
	struct text_buf *text = &n->text;
	const char *kind = path->def->provider;

	text_cut(text, 0);
	if (n->kinds && strcmp(kind, "Query") != 0 && strcmp(kind, "GenericActivity") != 0) {
		text_add_str(text, kind);
		text_add_str(text, " ");
	}
	text_add_str(text, "`");
	if (!n->kinds) {
		text_add_str(text, kind);
		text_add_str(text, ":");
	}
	text_add_str(text, path->name ? path->name : path->def->name);
	if (n->kinds || nlabels) {
		text_add_str(text, "(");
		add_labels(text, labels, nlabels, !n->kinds);
		text_add_str(text, ")");
	}
	text_add_str(text, "`");
}

static int take(struct naming *n, const struct model_thread *thread, const struct model_path *path,
		const struct model_label *labels, u32 nlabels)
{
	struct sequence *s = n->s;
	void **found = intmap_find(&n->threads, thread->serial);
	struct sequence_name wanted = {0}, *name;

	if (!found)
		return 0;
	wanted.thread = (u32)((const struct sequence_thread *)*found - s->runs[0].threads);
	wanted.record = ++n->counts[wanted.thread];
	name = bsearch(&wanted, s->names, s->nnames, sizeof(*s->names), compare_names);
	if (!name)
		return 0;
	write_name(n, path, labels, nlabels);
	if (n->text.failed)
		return -ENOMEM;
	wanted.text = strpool_add(s->texts, n->text.data, n->text.len);
	if (!wanted.text)
		return -ENOMEM;
	/* The same record may be wanted more than once. */
	while (name > s->names && !compare_names(name - 1, &wanted))
		name--;
	for (; name < s->names + s->nnames && !compare_names(name, &wanted); name++)
		name->text = wanted.text;
	return 0;
}

static int take_span(void *context, const struct model_span *span)
{
	if (span->flags & MODEL_ASYNC)
		return 0;
	return take(context, span->thread, span->path, span->labels, span->nlabels);
}

static int take_event(void *context, const struct model_event *event)
{
	if (event->has_value)
		return 0;
	return take(context, event->thread, event->path, event->labels, event->nlabels);
}

static int prepare(struct naming *n)
{
	struct sequence *s = n->s;
	const struct sequence_result *result = &s->result;

	n->counts = calloc((size_t)s->runs[0].nthreads + 1, sizeof(*n->counts));
	s->names = calloc(NAMES_MOST, sizeof(*s->names));
	if (!n->counts || !s->names)
		return -ENOMEM;
	want_list(s, result->durations.smallest, result->durations.nsmallest);
	want_list(s, result->durations.largest, result->durations.nlargest);
	want_list(s, result->variances.smallest, result->variances.nsmallest);
	want_list(s, result->variances.largest, result->variances.nlargest);
	qsort(s->names, s->nnames, sizeof(*s->names), compare_names);
	for (u32 t = 0; t < s->runs[0].nthreads; t++)
		if (intmap_set(&n->threads, s->runs[0].threads[t].serial, &s->runs[0].threads[t]))
			return -ENOMEM;
	return 0;
}

int sequence_describe(struct sequence *sequence, const char *path,
		      const struct replay_filter *filter)
{
	CLEANUP(replay_free) struct replay *replay = NULL;
	CLEANUP(naming_free) struct naming n = {.s = sequence};
	const struct trace_sink sink = {.context = &n, .span = take_span, .event = take_event};
	const struct replay_info *info;
	int err = prepare(&n);

	if (err)
		log_error("out of memory");
	else
		err = replay_open(path, &replay);
	if (err)
		return err;
	info = replay_info(replay);
	n.kinds = !strcmp(info->format, "mm_profdata") && !info->version;
	err = trace_add_sink(replay_trace(replay), &sink);
	return err ? err : replay_run(replay, filter);
}

/* --- what a stretch is ---------------------------------------------------------------------------- */

static const char *name_of(const struct sequence *s, u32 thread, u64 record)
{
	const struct sequence_name wanted = {.thread = thread, .record = record};
	const struct sequence_name *name =
		bsearch(&wanted, s->names, s->nnames, sizeof(*s->names), compare_names);

	return name && name->text ? name->text : "?";
}

static void add_three(struct text_buf *out, const char *before, const char *name, const char *after)
{
	text_add_str(out, before);
	text_add_str(out, name);
	text_add_str(out, after);
}

void sequence_text(const struct sequence *sequence, const struct stretch *stretch,
		   struct text_buf *out)
{
	const struct stretch_point *from = &stretch->from, *to = &stretch->to;
	const char *first = name_of(sequence, stretch->thread, from->record);
	const char *second = name_of(sequence, stretch->thread, to->record);

	if (from->kind == STRETCH_START && to->kind == STRETCH_END) {
		text_add_str(out, first);
	} else if (from->kind == STRETCH_START) {
		add_three(out, "in ", first, ", before ");
		text_add_str(out, second);
	} else if (to->kind == STRETCH_END) {
		add_three(out, "in ", second, ", after ");
		text_add_str(out, first);
	} else {
		if (from->parent)
			add_three(out, "in ", name_of(sequence, stretch->thread, from->parent),
				  ", ");
		add_three(out, "between ", first, " and ");
		text_add_str(out, second);
	}
}
