/* SPDX-License-Identifier: MIT */
/* Spans and events as blocks of a recording (../include/recording.h): names are numbered the first time that a span
 * needs them, and handed on before the spans that do.
 *
 *   span ▸ its names, where they are new ▸ NAMES payload ─┐
 *        └ the item                      ▸ SPANS payload ─┴▸ the sink, NAMES first
 *
 * Memory: two payloads, and what was numbered: paths, definitions, threads, texts.
 */
#ifndef SPANTRACE_RECORDING_ENCODE_H
#define SPANTRACE_RECORDING_ENCODE_H

#include "../include/model.h"
#include "../include/recording.h"

struct recording_encoder;

/* Takes a block: HEADER with kind, length, spans, events and times filled in, and LENGTH bytes of payload right behind
 * it in memory. Borrowed for the call, which may fill in the rest of the header. */
struct recording_sink {
	void *context;
	int (*block)(void *context, struct recording_block_header *header);
};

/* All return 0, -ENOMEM, -EFBIG when there are more threads or paths than one file can hold, or what the sink
 * returned. */
int recording_encoder_new(const struct recording_sink *sink, struct recording_encoder **out);
void recording_encoder_free(struct recording_encoder **encoder);
/* A new file begins: every name is to be told again. What was not closed is dropped. */
int recording_encoder_restart(struct recording_encoder *encoder);

int recording_encode_span(struct recording_encoder *encoder, const struct model_span *span);
int recording_encode_event(struct recording_encoder *encoder, const struct model_event *event);
/* Tells of THREAD, where that is new or has changed, also without spans. *NUMBER is its number. */
int recording_encode_thread(struct recording_encoder *encoder, const struct model_thread *thread,
			    u32 *number);
/* The same of PATH, 0 where that is outside every span. */
int recording_encode_path(struct recording_encoder *encoder, const struct model_path *path,
			  u32 *number);
/* The same of TEXT, 0 for NULL and for one that has no room. */
int recording_encode_text(struct recording_encoder *encoder, const char *text, u32 *number);
/* The earliest end of what waits in the block of spans; UINT64_MAX when nothing does. */
u64 recording_encoder_oldest(const struct recording_encoder *encoder);
/* Hands on the names and the spans that wait. */
int recording_encoder_close(struct recording_encoder *encoder);

#endif
