/* SPDX-License-Identifier: MIT */
/* What the two halves of the encoder share: recording_encode.c (spans) and recording_names.c (what they use by number). */
#ifndef SPANTRACE_RECORDING_ENCODE_IMPL_H
#define SPANTRACE_RECORDING_ENCODE_IMPL_H

#include <stdbool.h>
#include <stddef.h>

#include "../user/util/intmap.h"
#include "../user/util/varint.h"
#include "pairmap.h"
#include "recording_encode.h"
#include "strtab.h"

/* The longest item of a SPANS block, with the ON before it, and that of a NAMES block without its text. */
#define SPAN_ITEM_MAX  512
#define NAMES_ITEM_MAX 128

struct payload {
	u8 *block; /* a header, then the bytes */
	u8 *at;    /* behind the last byte */
};

/* A thread as it was told last. */
struct told_thread {
	struct model_thread told;
	const struct model_thread *thread;
	u32 number;
	bool is_told;
	bool in_block; /* the open block has spans of it */
};

struct recording_encoder {
	struct recording_sink sink;
	struct payload names, spans;

	u64 last_end_ns; /* of the item before */
	u64 first_ns, last_ns, oldest_ns;
	u32 nspans, nevents;
	struct told_thread *on; /* whose the next item is; NULL: it must be said */
	/* Those of the open block. They are told when it ends: a thread's name may come after its first span. */
	struct told_thread **threads;
	size_t nthreads;

	struct intmap told_threads; /* serial ▸ struct told_thread */
	struct intmap paths;        /* id ▸ number */
	struct intmap defs;         /* id ▸ number */
	struct pairmap label_sets;  /* two keys, two keys ▸ number */
	struct strtab *texts;       /* id = number - 1 */
	size_t text_bytes;
	u32 npaths, ndefs, nsets;
};

static inline size_t payload_length(const struct payload *payload)
{
	return (size_t)(payload->at - payload->block) - sizeof(struct recording_block_header);
}

static inline void payload_put(struct payload *payload, u64 value)
{
	payload->at = varint_put(payload->at, value);
}

/* The number of each, told first where it is new. 0 or an error as in recording_encode.h. */
int encoder_text(struct recording_encoder *encoder, const char *text, u32 *number);
int encoder_path(struct recording_encoder *encoder, const struct model_path *path, u32 *number);
/* The set of LABELS' keys; REFS are those of the keys. */
int encoder_label_set(struct recording_encoder *encoder, const struct model_label *labels, u32 n,
		      const u32 refs[MODEL_MAX_LABELS], u32 *number);
/* The thread with its number, not told yet where it is new. */
int encoder_told_thread(struct recording_encoder *encoder, const struct model_thread *thread,
			struct told_thread **out);
/* Tells of it where it has changed. */
int encoder_tell_thread(struct recording_encoder *encoder, struct told_thread *told);
/* Hands on the names that wait. */
int encoder_names_block(struct recording_encoder *encoder);

#endif
