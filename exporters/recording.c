/* SPDX-License-Identifier: MIT */
/* Recordings: every single span and event in a compact file, from which any other format can be made later
 * (../include/recording.h).
 *
 * Streaming (the default): begin() writes the header and INFO; blocks follow as they fill, or when the oldest span in
 * them is a second old, and each is flushed, so that the file can be read while it is written and after a kill; finish()
 * writes what waits and END. Each begin() after a finish() is the start of another file: put that into e->out first.
 * Every name is told anew there, so each part can be read alone.
 *
 * Flight recorder (options.last_ns): nothing is written before finish(), which writes a whole file of what happened in
 * the last seconds. The blocks stay in memory: finish() may be called again, for another file in e->out, with or
 * without a begin() in between.
 *
 * A write that fails ends it: half a block may stand at the end of the file, and nothing is written behind that.
 */
#include "formats.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "recording_encode.h"
#include "recording_flight.h"
#include "recording_totals.h"
#include "text.h"

#define SECOND 1000000000ull

struct recording {
	FILE *out;
	struct recording_encoder *encoder;
	struct recording_flight *flight; /* NULL: streaming */
	struct recording_totals *totals;
	struct text_buf info; /* INFO's block but for its start */
	u64 start_ns, start_realtime_ns;
	u32 sequence;
	u64 lost;     /* told by the last STATE */
	u64 state_ns; /* when that was */
	int failed;   /* of the first write that did not work */
};

/* --- blocks --------------------------------------------------------------------------------------- */

/* Writes the block whose payload stands behind its header. */
static int recording_write(void *context, struct recording_block_header *header)
{
	struct recording *r = context;
	const u8 *bytes = (const u8 *)header;
	const size_t from = offsetof(struct recording_block_header, crc);

	if (r->failed)
		return r->failed;
	header->magic = RECORDING_BLOCK_MAGIC;
	header->sequence = r->sequence++;
	header->crc = (u32)crc32(0, bytes + sizeof(*header), header->length);
	header->header_crc = (u32)crc32(0, bytes + from, sizeof(*header) - from);
	errno = 0;
	if (fwrite(bytes, sizeof(*header) + header->length, 1, r->out) != 1 || fflush(r->out))
		r->failed = errno ? -errno : -EIO;
	return r->failed;
}

static int recording_write_file_header(struct recording *r)
{
	struct recording_file_header header = {
		.magic = RECORDING_MAGIC,
		.major = RECORDING_MAJOR,
		.minor = RECORDING_MINOR,
	};

	r->sequence = 0;
	errno = 0;
	if (fwrite(&header, sizeof(header), 1, r->out) != 1)
		r->failed = errno ? -errno : -EIO;
	return r->failed;
}

static int recording_block(void *context, struct recording_block_header *header)
{
	struct recording *r = context;

	return r->flight ? recording_flight_add(r->flight, header) : recording_write(r, header);
}

/* Blocks that are not the encoder's are built in text. */
static void block_begin(struct text_buf *b)
{
	static const struct recording_block_header empty;

	text_cut(b, 0);
	text_add(b, (const char *)&empty, sizeof(empty));
}

static int block_end(struct recording *r, struct text_buf *b, enum recording_block kind)
{
	struct recording_block_header *header = (struct recording_block_header *)b->data;

	if (b->failed)
		return -ENOMEM;
	header->kind = (u8)kind;
	header->length = (u32)(b->len - sizeof(*header));
	return recording_write(r, header);
}

/* A STATE block that is full is ended, and another one begun. */
static int state_spill(struct recording *r, struct text_buf *b)
{
	int err;

	if (b->len < RECORDING_BLOCK_FULL)
		return 0;
	err = block_end(r, b, RECORDING_STATE);
	block_begin(b);
	return err;
}

/* --- what they say -------------------------------------------------------------------------------- */

static void info_text(struct text_buf *b, enum recording_info tag, const char *text)
{
	if (!text)
		return;
	recording_put(b, tag);
	recording_put_text(b, text);
}

/* Keeps what RUN says: its strings are borrowed. */
static int recording_set_info(struct recording *r, const struct profile *run)
{
	block_begin(&r->info);
	info_text(&r->info, RECORDING_VERSION, run->version);
	info_text(&r->info, RECORDING_KERNEL, run->kernel);
	info_text(&r->info, RECORDING_CLOCK, run->clock);
	info_text(&r->info, RECORDING_TARGET, run->target);
	recording_put(&r->info, RECORDING_METRICS);
	/* How much was mapped in the last seconds nobody has told. */
	recording_put(&r->info, r->flight ? run->metrics & ~METRIC_MMAP : run->metrics);
	recording_put(&r->info, RECORDING_SUSPENDED);
	recording_put(&r->info, run->suspended_ns);
	if (run->sample_ppb) {
		recording_put(&r->info, RECORDING_SAMPLE);
		recording_put(&r->info, run->sample_ppb);
	}
	if (run->is_part)
		recording_put(&r->info, RECORDING_PART);
	r->start_ns = run->start_ns;
	r->start_realtime_ns = run->start_realtime_ns;
	return r->info.failed ? -ENOMEM : 0;
}

static int recording_write_info(struct recording *r, u64 start_ns)
{
	size_t length = r->info.len;
	int err;

	recording_put(&r->info, RECORDING_START);
	recording_put(&r->info, start_ns);
	recording_put(&r->info, r->start_realtime_ns + (start_ns - r->start_ns));
	err = block_end(r, &r->info, RECORDING_INFO);
	text_cut(&r->info, length);
	return err;
}

static void state_losses(struct recording *r, struct text_buf *b, const struct profile *profile)
{
	u64 squeezed = r->flight ? recording_flight_squeezed(r->flight) : 0;
	size_t i;

	recording_put(b, RECORDING_ENDED);
	recording_put(b, profile->end_ns);
	for (i = 0; i < profile->nlosses; i++) {
		if (!profile->losses[i].count)
			continue;
		recording_put(b, RECORDING_LOSS);
		recording_put_text(b, profile->losses[i].name);
		recording_put(b, profile->losses[i].count);
	}
	if (squeezed) {
		recording_put(b, RECORDING_LOSS);
		recording_put_text(b, RECORDING_LOSS_SQUEEZED);
		recording_put(b, squeezed);
	}
}

/* A stretch of the trace that is written: all of it, or what a flight recorder has kept. */
struct stretch {
	u64 start_ns;
	bool is_part; /* the time its threads were inside spans is what its spans add up to */
	enum recording_extent extent;
};

static bool stretch_has(const struct stretch *stretch, const struct model_thread *thread)
{
	return !stretch->is_part || !thread->end_ns || thread->end_ns >= stretch->start_ns;
}

/* Names every thread, also those without spans. */
static int recording_name_threads(struct recording *r, const struct profile *profile,
				  const struct stretch *stretch)
{
	size_t i;
	u32 number;
	int err = 0;

	for (i = 0; i < profile->nthreads && !err; i++)
		if (stretch_has(stretch, profile->threads[i].thread))
			err = recording_encode_thread(r->encoder, profile->threads[i].thread,
						      &number);
	if (!err)
		err = recording_totals_names(r->encoder, profile);
	return err ? err : recording_encoder_close(r->encoder);
}

static int state_threads(struct recording *r, struct text_buf *b, const struct profile *profile,
			 const struct stretch *stretch)
{
	size_t i;
	u32 number;
	int err = 0;

	for (i = 0; i < profile->nthreads && !err; i++) {
		const struct model_thread_row *row = &profile->threads[i];

		if (!stretch_has(stretch, row->thread))
			continue;
		err = recording_encode_thread(r->encoder, row->thread, &number);
		recording_put(b, RECORDING_THREAD_END);
		recording_put(b, number);
		recording_put(b, row->thread->end_ns);
		recording_put(b, stretch->is_part ? 0 : row->inside_ns + 1);
		if (!err)
			err = state_spill(r, b);
	}
	return err;
}

static int state_refused(struct recording *r, struct text_buf *b, const struct profile *profile)
{
	size_t i;
	int err = 0;

	for (i = 0; i < profile->nrefused && !err; i++) {
		recording_put(b, RECORDING_REFUSED);
		recording_put_text(b, profile->refused[i].marker);
		recording_put_text(b, profile->refused[i].why);
		err = state_spill(r, b);
	}
	return err;
}

static int recording_write_end(struct recording *r, const struct profile *profile,
			       const struct stretch *stretch)
{
	AUTO_TEXT b = {0};
	int err;

	block_begin(&b);
	err = state_threads(r, &b, profile, stretch);
	if (!err)
		err = state_refused(r, &b, profile);
	state_losses(r, &b, profile);
	return err ? err : block_end(r, &b, RECORDING_END);
}

/* --- totals --------------------------------------------------------------------------------------- */

static int recording_write_rows(struct recording *r, const struct profile *profile,
				enum recording_extent extent)
{
	AUTO_TEXT b = {0};
	size_t row = 0;
	int err = 0;

	while (row < profile->nrows && !err) {
		block_begin(&b);
		err = recording_totals_rows(r->totals, r->encoder, profile, extent, &row, &b,
					    RECORDING_BLOCK_FULL);
		if (!err && b.len > sizeof(struct recording_block_header))
			err = block_end(r, &b, RECORDING_TOTALS);
	}
	return err;
}

/* How memory was counted, and who the threads are. */
static int recording_write_facts(struct recording *r, const struct profile *profile)
{
	AUTO_TEXT b = {0};
	size_t row = 0;
	int err = 0;

	block_begin(&b);
	if (profile->metrics & (METRIC_ALLOC | METRIC_HEAP | METRIC_MMAP))
		recording_totals_counting(&profile->memory, &b);
	do {
		err = recording_totals_processes(r->encoder, profile, &row, &b,
						 RECORDING_BLOCK_FULL);
		if (!err && b.len > sizeof(struct recording_block_header))
			err = block_end(r, &b, RECORDING_TOTALS);
		block_begin(&b);
	} while (!err && row < profile->nthreads);
	return err;
}

static int recording_write_totals(struct recording *r, const struct profile *profile,
				  const struct stretch *stretch)
{
	int err = recording_write_rows(r, profile, stretch->extent);

	return err ? err : recording_write_facts(r, profile);
}

/* Every --heap-interval: what is in use by now, where that has changed. */
static int recording_heap(struct exporter *e, const struct profile *so_far)
{
	struct recording *r = e->state;
	AUTO_TEXT b = {0};
	int err = r->failed;

	if (err || r->flight)
		return err;
	err = recording_totals_names(r->encoder, so_far);
	if (!err)
		err = recording_encoder_close(r->encoder);
	if (!err)
		err = recording_write_rows(r, so_far, RECORDING_SO_FAR);
	if (err)
		return err;
	block_begin(&b);
	recording_put(&b, RECORDING_SNAPSHOT);
	recording_put(&b, so_far->end_ns);
	return block_end(r, &b, RECORDING_TOTALS);
}

/* --- the exporter --------------------------------------------------------------------------------- */

static void recording_free(struct exporter *e)
{
	struct recording *r = e->state;

	if (!r)
		return;
	e->state = NULL;
	recording_encoder_free(&r->encoder);
	recording_flight_free(&r->flight);
	recording_totals_free(&r->totals);
	text_buf_free(&r->info);
	free(r);
}

static int recording_new(struct exporter *e)
{
	struct recording *r = calloc(1, sizeof(*r));
	const struct recording_sink sink = {.context = r, .block = recording_block};
	int err;

	if (!r)
		return -ENOMEM;
	e->state = r;
	err = recording_encoder_new(&sink, &r->encoder);
	if (!err)
		err = recording_totals_new(&r->totals);
	if (!err && e->options.last_ns)
		err = recording_flight_new(e->options.last_ns, e->options.last_bytes, &r->flight);
	if (err)
		recording_free(e);
	return err;
}

static int recording_begin(struct exporter *e, const struct profile *run)
{
	struct recording *r;
	int err = e->state ? 0 : recording_new(e);

	if (err)
		return err;
	r = e->state;
	r->out = e->out;
	r->failed = 0;
	r->lost = 0;
	r->state_ns = run->start_ns;
	err = recording_set_info(r, run);
	if (err || r->flight)
		return err;
	recording_totals_restart(r->totals);
	err = recording_encoder_restart(r->encoder);
	if (!err)
		err = recording_write_file_header(r);
	return err ? err : recording_write_info(r, r->start_ns);
}

static int recording_span(struct exporter *e, const struct model_span *span)
{
	struct recording *r = e->state;

	return r->failed ? r->failed : recording_encode_span(r->encoder, span);
}

static int recording_event(struct exporter *e, const struct model_event *event)
{
	struct recording *r = e->state;

	return r->failed ? r->failed : recording_encode_event(r->encoder, event);
}

static u64 losses_sum(const struct profile *profile)
{
	u64 sum = 0;
	size_t i;

	for (i = 0; i < profile->nlosses; i++)
		sum += profile->losses[i].count;
	return sum;
}

/* At most once a second, and only when there is something new to tell. */
static int recording_tell_losses(struct recording *r, const struct profile *so_far)
{
	u64 lost = losses_sum(so_far);
	AUTO_TEXT b = {0};

	if (r->flight || lost == r->lost || so_far->end_ns - r->state_ns < SECOND)
		return 0;
	r->lost = lost;
	r->state_ns = so_far->end_ns;
	block_begin(&b);
	state_losses(r, &b, so_far);
	return block_end(r, &b, RECORDING_STATE);
}

static int recording_tick(struct exporter *e, const struct profile *so_far)
{
	struct recording *r = e->state;
	u64 oldest = recording_encoder_oldest(r->encoder);
	int err = r->failed;

	if (!err && oldest < so_far->end_ns && so_far->end_ns - oldest >= SECOND)
		err = recording_encoder_close(r->encoder);
	if (!err)
		err = recording_tell_losses(r, so_far);
	if (r->flight)
		recording_flight_pass(r->flight, so_far->end_ns);
	return err;
}

/* What a flight recorder's file is of: the seconds that were asked for and what spans reach into them. */
static void recording_cut(struct recording *r, const struct exporter *e, u64 end_ns,
			  struct stretch *stretch)
{
	u64 last_ns = e->options.last_ns, first_ns;

	recording_flight_pass(r->flight, end_ns);
	stretch->is_part = recording_flight_start(r->flight, &first_ns);
	stretch->extent = RECORDING_LAST;
	if (!stretch->is_part || end_ns < last_ns)
		return;
	if (first_ns > end_ns - last_ns)
		first_ns = end_ns - last_ns;
	if (first_ns > stretch->start_ns)
		stretch->start_ns = first_ns;
}

static int recording_write_rest(struct recording *r, const struct exporter *e,
				const struct profile *profile)
{
	struct stretch stretch = {
		.start_ns = profile->start_ns,
		.is_part = profile->is_part,
		.extent = profile->is_part ? RECORDING_STRETCH : RECORDING_WHOLE,
	};
	int err = recording_encoder_close(r->encoder);

	if (err)
		return err;
	if (r->flight)
		recording_cut(r, e, profile->end_ns, &stretch);
	err = recording_name_threads(r, profile, &stretch);
	if (!err && r->flight) {
		err = recording_write_file_header(r);
		if (!err)
			err = recording_write_info(r, stretch.start_ns);
		if (!err)
			err = recording_flight_each(r->flight, recording_write, r);
	}
	if (!err)
		err = recording_write_totals(r, profile, &stretch);
	return err ? err : recording_write_end(r, profile, &stretch);
}

static int recording_finish(struct exporter *e, const struct profile *profile)
{
	struct recording *r;
	int err = e->state ? 0 : recording_begin(e, profile);

	if (err)
		return err;
	r = e->state;
	r->out = e->out;
	err = r->failed ? r->failed : recording_write_rest(r, e, profile);
	/* The next file of a flight recorder is another one. */
	if (r->flight)
		r->failed = 0;
	return err;
}

const struct exporter_ops exporter_recording = {
	.name = "recording",
	.extension = ".spans",
	.binary = true,
	.spans_only = true,
	.parts = true,
	.flight = true,
	.begin = recording_begin,
	.span = recording_span,
	.event = recording_event,
	.tick = recording_tick,
	.heap = recording_heap,
	.finish = recording_finish,
	.free = recording_free,
};
