/* SPDX-License-Identifier: MIT */
/* See pprof_encode.h. The message is google/pprof's proto/profile.proto. Samples are written as rows come; the functions,
 * mappings and strings that they name by number follow them (pprof_names.c). */
#include "pprof_encode.h"

#include <errno.h>
#include <string.h>

#include "exporter.h"
#include "figures.h"
#include "pprof_names.h"
#include "protobuf.h"

/* Fields of the messages. */
enum {
	PROFILE_SAMPLE_TYPE = 1,
	PROFILE_SAMPLE,
	PROFILE_TIME = 9,
	PROFILE_DURATION,
	PROFILE_PERIOD_TYPE,
	PROFILE_PERIOD,
	PROFILE_COMMENT,
	PROFILE_DEFAULT_TYPE
};
enum { VALUE_TYPE = 1, VALUE_UNIT };
enum { SAMPLE_LOCATION = 1, SAMPLE_VALUE, SAMPLE_LABEL };
enum { LABEL_KEY = 1, LABEL_STRING, LABEL_NUMBER, LABEL_UNIT };

/* Every sample has its whole stack, so what is deeper than any trace makes, in a file from elsewhere, is cut. */
#define STACK_MAX 512

enum sample_value {
	TYPE_WALL,
	TYPE_WALL_BUSY,
	TYPE_WALL_IDLE,
	TYPE_CPU,
	TYPE_CPU_USER,
	TYPE_CPU_SYSTEM,
	TYPE_ALLOC_OBJECTS,
	TYPE_ALLOC_SPACE,
	TYPE_INUSE_OBJECTS,
	TYPE_INUSE_SPACE,
	TYPE_COUNT,
	TYPES,
};

static const struct sample_type {
	const char *name;
	const char *unit;
	enum pprof_family family;
	u32 metrics;
} types[TYPES] = {
	[TYPE_WALL] = {"wall", "nanoseconds", PPROF_WALL, METRIC_WALL},
	[TYPE_WALL_BUSY] = {"wall_busy", "nanoseconds", PPROF_WALL, METRIC_WALL},
	[TYPE_WALL_IDLE] = {"wall_idle", "nanoseconds", PPROF_WALL, METRIC_WALL},
	[TYPE_CPU] = {"cpu", "nanoseconds", PPROF_CPU, METRIC_CPU},
	[TYPE_CPU_USER] = {"cpu_user", "nanoseconds", PPROF_CPU, METRIC_CPU_SPLIT},
	[TYPE_CPU_SYSTEM] = {"cpu_system", "nanoseconds", PPROF_CPU, METRIC_CPU_SPLIT},
	[TYPE_ALLOC_OBJECTS] = {"alloc_objects", "count", PPROF_ALLOC, METRIC_ALLOC},
	[TYPE_ALLOC_SPACE] = {"alloc_space", "bytes", PPROF_ALLOC, METRIC_ALLOC},
	[TYPE_INUSE_OBJECTS] = {"inuse_objects", "count", PPROF_HEAP, METRIC_HEAP},
	[TYPE_INUSE_SPACE] = {"inuse_space", "bytes", PPROF_HEAP, METRIC_HEAP},
	[TYPE_COUNT] = {"count", "count", PPROF_WALL, 0},
};

/* What each is shown by first, and what its period is of. */
static const struct family {
	const char *name;
	enum sample_value shown;
	const char *period;
	const char *period_unit;
	u32 metrics;
} families[] = {
	[PPROF_WALL] = {"wall", TYPE_WALL, "wall", "nanoseconds", METRIC_WALL},
	[PPROF_CPU] = {"cpu", TYPE_CPU, "cpu", "nanoseconds", METRIC_CPU},
	[PPROF_ALLOC] = {"alloc", TYPE_ALLOC_SPACE, "space", "bytes", METRIC_ALLOC},
	[PPROF_HEAP] = {"heap", TYPE_INUSE_SPACE, "space", "bytes", METRIC_HEAP},
	[PPROF_ALL] = {"all", TYPE_WALL, "wall", "nanoseconds", 0},
};

struct encoder {
	const struct profile *profile;
	struct text_buf *out;
	u32 labels;
	const struct sample_type *types[TYPES]; /* those of the message */
	size_t ntypes;
	struct pprof_names *names;
};

const char *pprof_family_name(enum pprof_family family)
{
	return families[family].name;
}

bool pprof_family_measured(u32 metrics, enum pprof_family family)
{
	return (metrics & families[family].metrics) == families[family].metrics;
}

static u64 value_of(const struct model_row *row, enum sample_value type)
{
	switch (type) {
	case TYPE_WALL:
		return export_value_of(row, EXPORT_WALL);
	case TYPE_WALL_BUSY:
		return export_value_of(row, EXPORT_BUSY);
	case TYPE_WALL_IDLE:
		return row->work.idle_ns;
	case TYPE_CPU:
		return export_value_of(row, EXPORT_CPU);
	case TYPE_CPU_USER:
		return export_value_of(row, EXPORT_CPU_USER);
	case TYPE_CPU_SYSTEM:
		return export_value_of(row, EXPORT_CPU_SYSTEM);
	case TYPE_ALLOC_OBJECTS:
		return export_value_of(row, EXPORT_ALLOC_OBJECTS);
	case TYPE_ALLOC_SPACE:
		return export_value_of(row, EXPORT_ALLOC_SPACE);
	case TYPE_INUSE_OBJECTS:
		return export_value_of(row, EXPORT_INUSE_OBJECTS);
	case TYPE_INUSE_SPACE:
		return export_value_of(row, EXPORT_INUSE_SPACE);
	case TYPE_COUNT:
		return row->count;
	case TYPES:
		break;
	}
	return 0;
}

/* --- samples ---------------------------------------------------------------------------------------- */

static int put_stack(struct encoder *e, const struct model_path *path)
{
	static const struct model_path cut = {.name = "(outer spans)"};
	size_t at = protobuf_open(e->out, SAMPLE_LOCATION);
	u32 n = 0;
	int err = 0;

	/* The leaf first. The root is a frame only where it is the leaf. */
	do {
		u32 number;

		if (++n == STACK_MAX)
			path = &cut;
		err = pprof_names_frame(e->names, path, &number);
		if (!err)
			protobuf_varint(e->out, number);
		path = path->parent;
	} while (!err && path && path->def);
	protobuf_close(e->out, at);
	return err;
}

static void put_text_label(struct encoder *e, u32 key, u32 text)
{
	size_t at = protobuf_open(e->out, SAMPLE_LABEL);

	protobuf_u64(e->out, LABEL_KEY, key);
	protobuf_u64(e->out, LABEL_STRING, text);
	protobuf_close(e->out, at);
}

static int put_number_label(struct encoder *e, u32 key, s64 number)
{
	size_t at;
	u32 unit;
	int err = pprof_names_string(e->names, "count", &unit);

	if (err)
		return err;
	at = protobuf_open(e->out, SAMPLE_LABEL);
	protobuf_u64(e->out, LABEL_KEY, key);
	protobuf_u64(e->out, LABEL_NUMBER, (u64)number);
	if (!number) /* readers take a 0 without a unit for no label */
		protobuf_u64(e->out, LABEL_UNIT, unit);
	protobuf_close(e->out, at);
	return 0;
}

static int put_number(struct encoder *e, const char *name, s64 number)
{
	u32 key;
	int err = pprof_names_string(e->names, name, &key);

	return err ? err : put_number_label(e, key, number);
}

/* "COMM", or "COMM-TID". */
static int put_comm(struct encoder *e, const char *name, const struct model_thread *thread,
		    bool with_tid)
{
	char comm[MODEL_COMM_LEN + 1] = {0};
	u32 key, text;
	int err = pprof_names_string(e->names, name, &key);

	memcpy(comm, thread->comm, MODEL_COMM_LEN);
	text_cut(&e->names->scratch, 0);
	text_add_safe(&e->names->scratch, comm[0] ? comm : "?");
	if (with_tid) {
		text_add_str(&e->names->scratch, "-");
		text_add_u64(&e->names->scratch, thread->tid);
	}
	if (!err)
		err = pprof_names_scratch(e->names, &text);
	if (!err)
		put_text_label(e, key, text);
	return err;
}

/* A label of a span that is called like one of ours is told apart from it. */
static int label_key(struct encoder *e, const char *name, u32 *key)
{
	static const char *const ours[] = {"thread", "tid", "pid", "comm"};

	text_cut(&e->names->scratch, 0);
	for (size_t i = 0; i < sizeof(ours) / sizeof(*ours); i++)
		if (strcmp(name, ours[i]) == 0)
			text_add_str(&e->names->scratch, "span_");
	text_add_safe(&e->names->scratch, name);
	return pprof_names_scratch(e->names, key);
}

static int put_span_labels(struct encoder *e, const struct model_row *row)
{
	int err = 0;

	for (u32 i = 0; i < row->nlabels && !err; i++) {
		const struct model_label *label = &row->labels[i];
		u32 key, text;

		/* The format cannot tell an empty text from the number 0. */
		if (label->text && !*label->text)
			continue;
		err = label_key(e, label->key, &key);
		if (!err && !label->text)
			err = put_number_label(e, key, label->number);
		if (!err && label->text)
			err = pprof_names_string(e->names, label->text, &text);
		if (!err && label->text)
			put_text_label(e, key, text);
	}
	return err;
}

static int put_labels(struct encoder *e, const struct model_row *row)
{
	const struct model_thread *thread = row->thread;
	int err = 0;

	if (e->labels & PPROF_LABEL_THREAD)
		err = put_comm(e, "thread", thread, true);
	if (!err && e->labels & PPROF_LABEL_TID)
		err = put_number(e, "tid", thread->tid);
	if (!err && e->labels & PPROF_LABEL_PID)
		err = put_number(e, "pid", thread->pid);
	if (!err && e->labels & PPROF_LABEL_COMM)
		err = put_comm(e, "comm", thread, false);
	return err ? err : put_span_labels(e, row);
}

static int put_samples(struct encoder *e, size_t *nsamples)
{
	const struct profile *profile = e->profile;
	int err = 0;

	*nsamples = 0;
	for (size_t i = 0; i < profile->nrows && !err; i++) {
		const struct model_row *row = &profile->rows[i];
		u64 values[TYPES] = {0}, any = 0;
		size_t sample, at;

		for (size_t t = 0; t < e->ntypes; t++) {
			values[t] = value_of(row, (enum sample_value)(e->types[t] - types));
			if (values[t] > INT64_MAX)
				values[t] = INT64_MAX;
			any |= values[t];
		}
		if (!any)
			continue;
		sample = protobuf_open(e->out, PROFILE_SAMPLE);
		err = put_stack(e, row->path);
		at = protobuf_open(e->out, SAMPLE_VALUE);
		for (size_t t = 0; t < e->ntypes; t++)
			protobuf_varint(e->out, values[t]);
		protobuf_close(e->out, at);
		if (!err)
			err = put_labels(e, row);
		protobuf_close(e->out, sample);
		++*nsamples;
	}
	return err;
}

/* --- the rest of the message ------------------------------------------------------------------------ */

static int put_type(struct encoder *e, u32 field, const char *name, const char *unit)
{
	u32 type, of;
	int err = pprof_names_string(e->names, name, &type);
	size_t at;

	if (!err)
		err = pprof_names_string(e->names, unit, &of);
	if (err)
		return err;
	at = protobuf_open(e->out, field);
	protobuf_u64(e->out, VALUE_TYPE, type);
	protobuf_u64(e->out, VALUE_UNIT, of);
	protobuf_close(e->out, at);
	return 0;
}

static int put_types(struct encoder *e, enum pprof_family family)
{
	u32 metrics = e->profile->metrics;
	int err = 0;

	for (size_t i = 0; i < TYPES && !err; i++) {
		if ((metrics & types[i].metrics) != types[i].metrics ||
		    (family != PPROF_ALL && family != types[i].family))
			continue;
		e->types[e->ntypes++] = &types[i];
		err = put_type(e, PROFILE_SAMPLE_TYPE, types[i].name, types[i].unit);
	}
	return err;
}

static void add_words(struct encoder *e, const char *between, const char *text)
{
	if (!text || !*text)
		return;
	text_add_str(&e->names->scratch, between);
	text_add_safe(&e->names->scratch, text);
}

static int put_comment(struct encoder *e)
{
	u32 id;
	int err = pprof_names_scratch(e->names, &id);

	if (!err)
		protobuf_u64(e->out, PROFILE_COMMENT, id);
	return err;
}

/* Who made it and of what; and every loss, so that nobody takes the profile for whole. */
static int put_comments(struct encoder *e)
{
	const struct profile *profile = e->profile;
	char rate[FIGURES_SIZE];
	int err;

	text_cut(&e->names->scratch, 0);
	text_add_str(&e->names->scratch, "spantrace");
	add_words(e, " ", profile->version);
	add_words(e, ": ", profile->target);
	add_words(e, ", kernel ", profile->kernel);
	err = put_comment(e);
	if (!err && profile->sample_ppb) {
		text_cut(&e->names->scratch, 0);
		text_add_str(&e->names->scratch, figures_sample(rate, profile->sample_ppb));
		text_add_str(&e->names->scratch, " of root spans were kept; no value is scaled");
		err = put_comment(e);
	}
	for (size_t i = 0; i < profile->nlosses && !err; i++) {
		const struct model_loss *loss = &profile->losses[i];

		if (!loss->count)
			continue;
		text_cut(&e->names->scratch, 0);
		text_add_str(&e->names->scratch, "lost: ");
		text_add_str(&e->names->scratch, loss->name);
		text_add_str(&e->names->scratch, " ");
		text_add_u64(&e->names->scratch, loss->count);
		add_words(e, ": ", loss->text);
		err = put_comment(e);
	}
	return err;
}

static int put_head(struct encoder *e, enum pprof_family family)
{
	const struct profile *profile = e->profile;
	const struct family *of = &families[family];
	u32 shown;
	int err;

	if (profile->start_realtime_ns)
		protobuf_u64(e->out, PROFILE_TIME, profile->start_realtime_ns);
	if (profile->end_ns > profile->start_ns)
		protobuf_u64(e->out, PROFILE_DURATION, profile->end_ns - profile->start_ns);
	err = put_type(e, PROFILE_PERIOD_TYPE, of->period, of->period_unit);
	protobuf_u64(e->out, PROFILE_PERIOD, 1); /* a unit stands for itself: nothing was sampled */
	if (!err)
		err = pprof_names_string(e->names, types[of->shown].name, &shown);
	if (!err)
		protobuf_u64(e->out, PROFILE_DEFAULT_TYPE, shown);
	return err ? err : put_comments(e);
}

int pprof_encode(const struct profile *profile, enum pprof_family family, u32 labels,
		 struct text_buf *out, size_t *nsamples)
{
	CLEANUP(pprof_names_free) struct pprof_names *names = NULL;
	struct encoder e = {.profile = profile, .labels = labels, .out = out};
	int err = pprof_names_new(&names);

	e.names = names;
	if (!err)
		err = put_types(&e, family);
	if (!err)
		err = put_samples(&e, nsamples);
	if (err)
		return err;
	err = put_head(&e, family);
	if (!err)
		pprof_names_put(names, out);
	return err || out->failed ? -ENOMEM : 0;
}
