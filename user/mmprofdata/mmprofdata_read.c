/* SPDX-License-Identifier: MIT */
/* measureme's event files, read into a trace: the format is in include/mmprofdata.h, the interface in replay_impl.h.
 *
 *   pages ▸ streams (mmprofdata_file) ▸ metadata (mmprofdata_meta)
 *   last event to first: names (mmprofdata_name) ▸ path and self time (mmprofdata_nest)
 *   first event to last (mmprofdata_forward): spans and events, in the order of their ends
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "../recording/replay_impl.h"
#include "../util/cleanup.h"
#include "../util/log.h"
#include "mmprofdata_forward.h"
#include "mmprofdata_meta.h"

struct mmp_reader {
	struct mmp_file *file;
	struct mmp_meta meta;
	struct mmp_names *names;
	struct mmp_nest *nest;
	u64 base_ns;            /* the file's 0 on the trace's clock */
	bool told;              /* the metadata is there and whole */
	struct model_span span; /* the one under way; what no event tells stays zero */
};

static bool mmp_is(const u8 *first, size_t n)
{
	return n >= MMP_HEADER_SIZE && mmp_get32(first) == MMP_MAGIC;
}

static void mmp_close(struct replay *replay)
{
	struct mmp_reader *reader = replay->state;

	mmp_nest_free(&reader->nest);
	mmp_names_free(&reader->names);
	mmp_file_free(&reader->file);
	mmp_meta_free(&reader->meta);
	free(reader);
	replay->state = NULL;
}

/* --- what stands before the first event ------------------------------------------------------------- */

static int read_meta(struct replay *replay, struct mmp_reader *reader)
{
	AUTO_TEXT text = {0};
	u64 unknown = reader->file->unknown;
	int err = mmp_file_text(reader->file, MMP_METADATA, &text);

	if (err)
		return err;
	if (reader->file->unknown != unknown) {
		log_warn(
			"%s has no metadata: its start, its process and its command line are not known",
			replay->info.path);
		reader->file->unknown = unknown;
		return 0;
	}
	err = mmp_meta_read(text.data, text.len, replay->info.losses, &reader->meta);
	reader->told = !err;
	if (err == -EINVAL)
		log_warn(
			"%s: its metadata is damaged: its start, process or command line may be missing",
			replay->info.path);
	return err == -EINVAL ? 0 : err;
}

/* For times that are not those of a clock: what they count. */
static const char *counter_of(const struct mmp_meta *meta)
{
	return meta->counter && strcmp(meta->counter, "wall-time") != 0 ? meta->counter : NULL;
}

static int set_text(char **to, const char *text)
{
	*to = text ? strdup(text) : NULL;
	return text && !*to ? -ENOMEM : 0;
}

/* A file of measureme's own counts from its start, which it gives in the time of day: that is the trace's clock then. */
static int set_info(struct replay *replay, struct mmp_reader *reader)
{
	const struct mmp_meta *meta = &reader->meta;
	struct replay_info *info = &replay->info;
	int err = set_text(&info->version, meta->version);

	reader->file->own = meta->version != NULL;
	if (!err)
		err = set_text(&info->kernel, meta->kernel);
	if (!err)
		err = set_text(&info->clock, meta->clock);
	if (!err)
		err = set_text(&info->target, meta->cmd);
	if (!err)
		err = set_text(&info->counter, counter_of(meta));
	info->metrics = METRIC_WALL;
	info->sample_ppb = meta->sample_ppb < PPB ? (u32)meta->sample_ppb : 0;
	reader->base_ns = reader->file->own ? meta->start_ns : meta->start_time;
	/* 0 is no time: a thread that ends then would run for ever. */
	if ((!reader->file->own && !reader->base_ns) || reader->base_ns > INT64_MAX)
		reader->base_ns = 1;
	info->start_ns = reader->base_ns;
	info->start_realtime_ns = meta->start_time;
	return err;
}

static int mmp_open(struct replay *replay)
{
	u32 version = mmp_get32(replay->first + 4);
	struct mmp_reader *reader;
	int err;

	if (version != MMP_VERSION && version != MMP_VERSION_OLD) {
		log_error("%s is an event file of version %u; spantrace reads versions %u and %u",
			  replay->info.path, version, MMP_VERSION_OLD, MMP_VERSION);
		return -EINVAL;
	}
	reader = calloc(1, sizeof(*reader));
	if (!reader)
		return -ENOMEM;
	replay->state = reader;
	err = mmp_file_new(replay->fd, version, &reader->file);
	if (err) {
		log_error("cannot read %s: %s%s", replay->info.path, strerror(-err),
			  err == -ESPIPE ? ": event files are read from a regular file only" : "");
		return err;
	}
	err = read_meta(replay, reader);
	if (!err)
		err = set_info(replay, reader);
	if (!err)
		err = replay_set_trace(replay);
	if (!err)
		err = mmp_names_new(reader->file, replay->trace, &reader->names);
	if (!err)
		err = mmp_nest_new(reader->file, reader->names, replay->trace, &reader->nest);
	return err;
}

/* --- threads ----------------------------------------------------------------------------------------- */

/* A thread without intervals has a start and an end all the same, both at the file's start: it adds nothing to the sum
 * of threads' times. */
static int set_thread(struct replay *replay, const struct mmp_reader *reader,
		      struct mmp_thread *thread)
{
	struct model_thread model = {
		.serial = thread->serial,
		.pid = thread->named ? thread->pid : (u32)reader->meta.process_id,
		.tid = thread->tid,
		.start_ns = reader->base_ns,
		.end_ns = reader->base_ns,
	};
	int err;

	memcpy(model.comm, thread->comm, sizeof(model.comm));
	if (thread->told) {
		/* An end of 0: it runs. */
		if (thread->start_ns > model.start_ns)
			model.start_ns = thread->start_ns;
		model.end_ns = thread->end_ns;
		if (model.end_ns && model.end_ns < model.start_ns)
			model.end_ns = model.start_ns;
	} else if (thread->spans) {
		model.start_ns += thread->start_ns;
		model.end_ns += thread->end_ns;
	}
	err = replay_set_thread(replay, &model, &thread->model);
	if (!err && thread->model)
		err = replay_set_inside(replay, thread->serial, thread->inside_ns);
	return err;
}

static int set_threads(struct replay *replay, const struct mmp_reader *reader)
{
	size_t n, i;
	struct mmp_thread *threads = mmp_nest_threads(reader->nest, &n);
	int err = 0;

	for (i = 0; !err && i < n; i++)
		err = set_thread(replay, reader, &threads[i]);
	return err;
}

/* --- spans and events -------------------------------------------------------------------------------- */

static void take_span(struct replay *replay, struct mmp_reader *reader,
		      const struct mmp_nested *nested, const struct mmp_thread *thread,
		      const struct mmp_name *name)
{
	static const u32 flags[] = {[MMP_ASYNC] = MODEL_ASYNC, [MMP_SEGMENT] = MODEL_SEGMENT};
	u64 busy = nested->event.value2 - nested->event.value1;
	struct model_span *span = &reader->span;

	span->thread = thread->model;
	span->path = nested->path;
	span->id = name->span_id;
	span->start_ns = reader->base_ns + nested->event.value1;
	span->end_ns = reader->base_ns + nested->event.value2;
	span->busy_ns = name->has & MMP_HAS_BUSY ? name->busy_ns : busy;
	span->self_ns = nested->self_ns;
	span->flags = name->flags | (name->type <= MMP_SEGMENT ? flags[name->type] : 0);
	span->nlabels = name->nlabels;
	if (name->nlabels)
		memcpy(span->labels, name->labels, name->nlabels * sizeof(span->labels[0]));
	replay_take_span(replay, span);
}

/* In our own files the value of an event stands behind it, or among its arguments. In others an integer event has no
 * time: it stands where it was met on its thread. */
static void take_event(struct replay *replay, const struct mmp_reader *reader,
		       const struct mmp_nested *nested, const struct mmp_thread *thread,
		       const struct mmp_name *name)
{
	bool integer = nested->event.value2 == MMP_INTEGER;
	struct model_event event = {
		.thread = thread->model,
		.path = nested->path,
		.time_ns = reader->base_ns + (integer ? thread->latest_ns : nested->event.value1),
		.value = integer ? (s64)nested->event.value1 : name->value,
		.has_value = integer || name->has & MMP_HAS_VALUE,
		.nlabels = name->nlabels,
	};

	if (nested->has_value && !event.has_value) {
		event.has_value = true;
		event.value = (s64)nested->value;
	}
	memcpy(event.labels, name->labels, name->nlabels * sizeof(event.labels[0]));
	replay_take_event(replay, &event);
}

static int take_one(struct replay *replay, struct mmp_reader *reader,
		    const struct mmp_nested *nested)
{
	bool interval = mmp_is_interval(&nested->event);
	const struct mmp_name *name;
	struct mmp_thread *thread;
	u64 time = interval ? nested->event.value2 : nested->event.value1;
	int err = mmp_names_of(reader->names, &nested->event, &name);

	if (err)
		return err;
	thread = mmp_nest_thread(reader->nest,
				 name->has & MMP_HAS_THREAD ? name->thread : nested->event.thread);
	if (!thread || !thread->model)
		return 0;
	if (nested->event.value2 != MMP_INTEGER && time > thread->latest_ns)
		thread->latest_ns = time;
	if (interval)
		take_span(replay, reader, nested, thread, name);
	else
		take_event(replay, reader, nested, thread, name);
	return 0;
}

/* Most events are such. */
static void take_bare(struct replay *replay, struct mmp_reader *reader,
		      const struct mmp_nested *nested)
{
	static const struct mmp_name none;
	struct mmp_thread *thread = nested->thread;

	if (!thread || !thread->model)
		return;
	if (nested->event.value2 > thread->latest_ns)
		thread->latest_ns = nested->event.value2;
	take_span(replay, reader, nested, thread, &none);
}

/* Rows are more than the caches near the processor hold: that of an event is asked for some events before it is taken. */
#define EXPECT 8

static int take_items(struct replay *replay, struct mmp_reader *reader,
		      const struct mmp_nested *items, u32 n)
{
	int err = 0;
	u32 i;

	for (i = 0; !err && i < n && !trace_error(replay->trace); i++) {
		const struct mmp_nested *next = &items[i + EXPECT < n ? i + EXPECT : i];

		if (next->path && next->thread && next->thread->model)
			trace_expect_span(next->thread->model, next->path);
		if (items[i].bare && items[i].path)
			take_bare(replay, reader, &items[i]);
		else if (items[i].path)
			err = take_one(replay, reader, &items[i]);
	}
	return err;
}

static int take_all(struct replay *replay, struct mmp_reader *reader)
{
	CLEANUP(mmp_forward_free) struct mmp_forward *forward = NULL;
	const struct mmp_nested *items = NULL;
	int err = mmp_forward_new(reader->file, reader->nest, &forward);
	u32 n = 0;

	if (err)
		return err;
	do {
		err = mmp_forward_next(forward, &items, &n);
		if (err <= 0)
			return err;
		err = take_items(replay, reader, items, n);
	} while (!err && !trace_error(replay->trace));
	return err;
}

/* --- the end ----------------------------------------------------------------------------------------- */

static void count_losses(struct replay *replay, const struct mmp_reader *reader)
{
	struct mmp_nest_counts counts;
	size_t i;

	mmp_nest_counts(reader->nest, &counts);
	for (i = 0; i < REPLAY_LOSSES; i++)
		replay->told[i] += reader->meta.losses[i];
	replay->own[REPLAY_DAMAGED_BLOCKS] += reader->file->damaged;
	replay->own[REPLAY_UNKNOWN_NAMES] += counts.no_thread;
	replay->own[REPLAY_OUT_OF_ORDER] += counts.out_of_order;
	replay->own[LOSS_DAMAGED] += counts.backwards;
	replay->own[LOSS_TOO_DEEP] += counts.too_deep;
	replay->own[LOSS_PATHS_FULL] += counts.paths_full;
	replay->own[LOSS_STRINGS_FULL] += mmp_names_texts_lost(reader->names);
	replay->info.end_ns = reader->base_ns + counts.latest_ns;
	if (reader->file->own && reader->meta.end_ns > replay->info.end_ns)
		replay->info.end_ns = reader->meta.end_ns;
	replay->info.finished = !reader->file->damaged && reader->told &&
				(!reader->file->own || reader->meta.finished);
}

static void say_what_is_missing(const struct replay *replay, const struct mmp_reader *reader)
{
	const char *path = replay->info.path;
	u64 labels = mmp_names_labels_left_out(reader->names);

	if (!reader->file->nevents)
		log_warn("%s holds no events: its program ended before it could write them", path);
	else if (reader->file->cut_bytes)
		log_warn("%s is not whole: its last %" PRIu64
			 " bytes are no complete page; what stands before them is used",
			 path, reader->file->cut_bytes);
	else if (!replay->info.finished)
		log_warn("%s is not whole or damaged: what can be read of it is used", path);
	if (labels)
		log_warn("%s: %" PRIu64
			 " arguments beyond the first %d of their events are left out",
			 path, labels, MODEL_MAX_LABELS);
	if (replay->own[REPLAY_UNKNOWN_NAMES])
		log_warn("%s: %" PRIu64 " events of too many threads are left out", path,
			 replay->own[REPLAY_UNKNOWN_NAMES]);
}

static int mmp_run(struct replay *replay)
{
	struct mmp_reader *reader = replay->state;
	int err = mmp_nest_walk(reader->nest);

	if (!err)
		err = set_threads(replay, reader);
	mmp_names_want_labels(reader->names);
	if (!err)
		err = take_all(replay, reader);
	if (err) {
		log_error("cannot read %s: %s", replay->info.path, strerror(-err));
		return err;
	}
	count_losses(replay, reader);
	say_what_is_missing(replay, reader);
	return 0;
}

const struct replay_format replay_mmprofdata = {
	.name = "mm_profdata",
	.is = mmp_is,
	.open = mmp_open,
	.run = mmp_run,
	.free = mmp_close,
};
