/* SPDX-License-Identifier: MIT */
/* Reads a recording (../include/recording.h) into a trace. See replay_impl.h for who calls, recording_read.h for the
 * parts. Memory: a few batches of spans, and the names. */
#include "recording_read.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "../util/cleanup.h"
#include "../util/grow.h"
#include "../util/log.h"

/* More refused markers than that are of no use to anyone. */
#define REFUSED_MAX 4096

static bool recording_is(const u8 *first, size_t n)
{
	return n >= 8 && memcmp(first, RECORDING_MAGIC, 8) == 0;
}

static int reader_out_of_memory(const struct recording_reader *r)
{
	log_error("cannot read %s: %s", r->replay->info.path, strerror(ENOMEM));
	return -ENOMEM;
}

/* --- INFO ----------------------------------------------------------------------------------------- */

static int info_text(struct recording_bytes *b, char **out)
{
	const char *text;
	size_t length;

	if (!bytes_get_text(b, &text, &length))
		return -EBADMSG;
	free(*out);
	*out = strndup(text, length);
	return *out ? 0 : -ENOMEM;
}

/* 0, 1 where it is a part, or -errno. */
static int info_item(struct replay_info *info, struct recording_bytes *b, u8 tag)
{
	u64 metrics, sample;

	switch (tag) {
	case RECORDING_VERSION:
		return info_text(b, &info->version);
	case RECORDING_KERNEL:
		return info_text(b, &info->kernel);
	case RECORDING_CLOCK:
		return info_text(b, &info->clock);
	case RECORDING_TARGET:
		return info_text(b, &info->target);
	case RECORDING_COUNTER:
		return info_text(b, &info->counter);
	case RECORDING_PART:
		return 1;
	case RECORDING_SUSPENDED:
		return bytes_get(b, &info->suspended_ns) ? 0 : -EBADMSG;
	case RECORDING_SAMPLE:
		if (!bytes_get(b, &sample))
			return -EBADMSG;
		info->sample_ppb = sample < PPB ? (u32)sample : 0;
		return 0;
	case RECORDING_START:
		return bytes_get(b, &info->start_ns) && bytes_get(b, &info->start_realtime_ns)
			       ? 0
			       : -EBADMSG;
	case RECORDING_METRICS:
		if (!bytes_get(b, &metrics))
			return -EBADMSG;
		/* Others are in no counter of this version. */
		info->metrics =
			metrics & (METRIC_WALL | METRIC_CPU | METRIC_CPU_SPLIT | METRIC_CPU_EXACT |
				   METRIC_ALLOC | METRIC_HEAP | METRIC_MMAP);
		return 0;
	}
	return -EBADMSG;
}

/* Spans were open when the part began: it is of the time since the first of them did. */
static void reader_see_part(struct recording_reader *r)
{
	struct replay_info *info = &r->replay->info;
	u64 earliest = recording_input_earliest(&r->input), before;

	if (earliest >= info->start_ns)
		return;
	before = info->start_ns - earliest;
	info->start_ns = earliest;
	info->start_realtime_ns =
		info->start_realtime_ns > before ? info->start_realtime_ns - before : 0;
}

static int reader_info(struct recording_reader *r, struct recording_bytes b)
{
	bool is_part = false;
	int err = 0;

	while (err >= 0 && b.at < b.end) {
		err = info_item(&r->replay->info, &b, *b.at++);
		is_part |= err == 1;
	}
	r->has_info = r->begun = true;
	if (is_part)
		reader_see_part(r);
	return err < 0 ? err : 0;
}

/* --- STATE and END -------------------------------------------------------------------------------- */

static int state_loss(struct recording_reader *r, struct recording_bytes *b)
{
	const struct model_loss *losses = r->replay->info.losses;
	const char *name;
	size_t length;
	u64 count;
	int i;

	if (!bytes_get_text(b, &name, &length) || !bytes_get(b, &count))
		return -EBADMSG;
	for (i = 0; i < REPLAY_LOSSES; i++)
		if (strlen(losses[i].name) == length && memcmp(losses[i].name, name, length) == 0) {
			r->replay->told[i] = count;
			return 0;
		}
	log_warn("%s tells of %" PRIu64 " losses of a cause that this version does not know: %.*s",
		 r->replay->info.path, count, (int)length, name);
	return 0;
}

static int state_refused(struct recording_reader *r, struct recording_bytes *b)
{
	AUTO_FREE char *marker = NULL;
	struct replay_info *info = &r->replay->info;
	char *why = NULL;
	int err = info_text(b, &marker);

	if (!err)
		err = info_text(b, &why);
	if (err || info->nrefused == REFUSED_MAX) {
		free(why);
		return err;
	}
	if (GROW(info->refused, info->nrefused)) {
		free(why);
		return -ENOMEM;
	}
	info->refused[info->nrefused++] =
		(struct model_refused){.marker = TAKE_PTR(marker), .why = why};
	return 0;
}

static int state_thread_end(struct recording_reader *r, struct recording_bytes *b)
{
	struct recording_thread *thread;
	const struct model_thread *model;
	u64 number, end_ns, inside;
	int err;

	if (!bytes_get(b, &number) || !bytes_get(b, &end_ns) || !bytes_get(b, &inside))
		return -EBADMSG;
	thread = recording_name(&r->names.threads, number);
	if (!thread || recording_is_shared(&r->names, thread))
		return 0;
	thread->values.end_ns = end_ns;
	thread->asked = false;
	err = recording_use_thread(r, thread, &model);
	if (err || !model || !inside)
		return err;
	return replay_set_inside(r->replay, model->serial, inside - 1);
}

static int state_ended(struct recording_reader *r, struct recording_bytes *b)
{
	u64 end_ns;

	if (!bytes_get(b, &end_ns))
		return -EBADMSG;
	r->told_end_ns = end_ns;
	if (end_ns > r->seen_ns)
		r->seen_ns = end_ns;
	return 0;
}

static int reader_state(struct recording_reader *r, struct recording_bytes b)
{
	int err = 0;

	while (!err && b.at < b.end) {
		switch (*b.at++) {
		case RECORDING_ENDED:
			err = state_ended(r, &b);
			break;
		case RECORDING_THREAD_END:
			err = state_thread_end(r, &b);
			break;
		case RECORDING_LOSS:
			err = state_loss(r, &b);
			break;
		case RECORDING_REFUSED:
			err = state_refused(r, &b);
			break;
		default:
			err = -EBADMSG;
		}
	}
	return err;
}

/* --- opening -------------------------------------------------------------------------------------- */

static int reader_check_version(struct recording_reader *r)
{
	const struct recording_input *in = &r->input;
	struct recording_file_header header;

	if (r->replay->nfirst < sizeof(header)) {
		log_error("%s is cut in its first %zu bytes: there is nothing to read",
			  r->replay->info.path, r->replay->nfirst);
		return -EINVAL;
	}
	memcpy(&header, in->bytes, sizeof(header));
	if (header.major == RECORDING_MAJOR)
		return 0;
	log_error(
		"%s is a recording in version %u.%u of the format; this spantrace reads version %u: use the one that wrote it, or a newer one",
		r->replay->info.path, header.major, header.minor, RECORDING_MAJOR);
	return -EINVAL;
}

/* The first block should be INFO. If it is another, what it would have said stays unknown; it is kept for later. */
static int reader_first_block(struct recording_reader *r)
{
	struct replay_info *info = &r->replay->info;
	const u8 *payload;
	int got = recording_input_next(&r->input, &r->pending, &payload);
	int err;

	info->metrics = METRICS_DEFAULT;
	if (got < 0) {
		log_error("cannot read %s: %s", info->path, strerror(-got));
		return got;
	}
	if (!got)
		return 0;
	if (r->pending.kind != RECORDING_INFO) {
		r->pending_payload = payload;
		return 0;
	}
	err = reader_info(r, (struct recording_bytes){payload, payload + r->pending.length});
	r->garbled += err == -EBADMSG;
	return err == -ENOMEM ? reader_out_of_memory(r) : 0;
}

static void recording_free(struct replay *replay)
{
	struct recording_reader *r = replay->state;

	recording_tables_free(&r->names);
	recording_input_free(&r->input);
	free(r);
	replay->state = NULL;
}

static int recording_open(struct replay *replay)
{
	struct recording_reader *r = calloc(1, sizeof(*r));
	int err;

	if (!r)
		return -ENOMEM;
	r->replay = replay;
	replay->state = r;
	if (recording_input_init(&r->input, replay->fd, replay->first, replay->nfirst))
		return reader_out_of_memory(r);
	err = reader_check_version(r);
	if (err)
		return err;
	r->input.start = r->input.offset = sizeof(struct recording_file_header);
	err = reader_first_block(r);
	if (err)
		return err;
	return replay_set_trace(replay) ? reader_out_of_memory(r) : 0;
}

/* --- all of it ------------------------------------------------------------------------------------ */

/* Without INFO the trace begins where its spans do. */
static void reader_see_times(struct recording_reader *r,
			     const struct recording_block_header *header)
{
	struct replay_info *info = &r->replay->info;

	if (header->last_ns > r->seen_ns)
		r->seen_ns = header->last_ns;
	if (r->begun)
		return;
	r->begun = true;
	info->start_ns = header->first_ns;
	trace_begin(r->replay->trace, info->start_ns, 0);
}

/* 0, -EBADMSG or -ENOMEM. */
static int reader_spans(struct recording_reader *r, const struct recording_batch *batch)
{
	int err;

	if (batch->begins) {
		reader_see_times(r, &batch->header);
		r->on = NULL;
		r->on_left_out = r->leave_block = false;
	}
	if (r->leave_block)
		return 0;
	err = recording_take_items(r, &batch->items);
	if (!err)
		err = batch->err;
	r->leave_block = err;
	return err;
}

static int reader_batch(struct recording_reader *r, const struct recording_batch *batch)
{
	struct recording_bytes bytes;

	if (batch->header.kind == RECORDING_SPANS)
		return reader_spans(r, batch);
	bytes = (struct recording_bytes){batch->payload, batch->payload + batch->header.length};
	switch (batch->header.kind) {
	case RECORDING_NAMES:
		return recording_read_names(r, bytes);
	case RECORDING_END:
		r->ended = true;
		r->goes_on = batch->goes_on;
		return reader_state(r, bytes);
	case RECORDING_STATE:
		return reader_state(r, bytes);
	case RECORDING_TOTALS:
		return recording_read_totals(r, bytes);
	}
	return 0; /* of a later version, or a second INFO */
}

static int reader_blocks(struct recording_reader *r)
{
	const struct recording_range range = {
		.from_ns = r->replay->filter ? r->replay->from_ns : 0,
		.to_ns = r->replay->filter ? r->replay->to_ns : UINT64_MAX,
	};
	CLEANUP(recording_ahead_free) struct recording_ahead *ahead = NULL;
	const struct recording_batch *batch;
	int err = recording_ahead_new(&r->input, &range, &ahead);

	if (err)
		return err;
	recording_ahead_begin(ahead, &r->pending, TAKE_PTR(r->pending_payload));
	while (!r->ended) {
		batch = recording_ahead_next(ahead);
		if (batch->got <= 0)
			return batch->got;
		err = reader_batch(r, batch);
		r->garbled += err == -EBADMSG;
		if (err == -ENOMEM)
			return err;
		err = trace_error(r->replay->trace);
		if (err)
			return err;
	}
	return 0;
}

/* What a person should know about a file that is not whole. */
static void reader_say(const struct recording_reader *r)
{
	const struct recording_input *in = &r->input;
	const struct replay_info *info = &r->replay->info;
	/* What stands at the end of a file without END is said there. */
	u64 inner = in->blocks_lost - !!in->tail + r->garbled;
	u64 unknown = r->replay->own[REPLAY_UNKNOWN_NAMES];

	if (inner)
		log_warn("%s: %" PRIu64
			 " of its blocks are damaged or missing, the first at byte %" PRIu64
			 "; what they held is left out",
			 info->path, inner, in->first_bad == UINT64_MAX ? 0 : in->first_bad);
	if (unknown)
		log_warn("%s: %" PRIu64
			 " spans and events are left out: their names stood in those blocks",
			 info->path, unknown);
	if (!r->has_info)
		log_warn(
			"%s: the block that says what was traced, and since when, is damaged or missing",
			info->path);
	if (r->goes_on)
		log_warn("%s goes on behind its end; that is left out", info->path);
	if (!r->ended)
		log_warn(
			"%s has no end: its spantrace was killed, ran out of disk, or writes it still; it is read up to %.3f s after its start, and its last %" PRIu64
			" bytes are no whole block",
			info->path, (double)(info->end_ns - info->start_ns) / 1e9, in->tail);
}

static int recording_run(struct replay *replay)
{
	struct recording_reader *r = replay->state;
	int err = reader_blocks(r);

	replay->info.finished = r->ended;
	replay->info.end_ns = r->ended && r->told_end_ns ? r->told_end_ns : r->seen_ns;
	if (replay->info.end_ns < replay->info.start_ns)
		replay->info.end_ns = replay->info.start_ns;
	replay->own[REPLAY_DAMAGED_BLOCKS] += r->input.blocks_lost + r->garbled;
	reader_say(r);
	if (err && !trace_error(replay->trace))
		log_error("cannot read %s: %s", replay->info.path, strerror(-err));
	return err;
}

const struct replay_format replay_recording = {
	.name = "recording",
	.is = recording_is,
	.open = recording_open,
	.run = recording_run,
	.free = recording_free,
};
