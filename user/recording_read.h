/* SPDX-License-Identifier: MIT */
/* What the parts of the recordings' reader share:
 *
 *   recording_input.c   bytes ▸ blocks that are whole, damage counted
 *   recording_names.c   NAMES ▸ tables: number ▸ text, definition, path, thread, keys of labels
 *   recording_spans.c   SPANS ▸ single spans and events
 *   recording_read.c    the rest: INFO, STATE, END; opening, running, what is said of damage
 */
#ifndef SPANTRACE_RECORDING_READ_H
#define SPANTRACE_RECORDING_READ_H

#include "../include/recording.h"
#include "replay_impl.h"
#include "util/intmap.h"
#include "util/varint.h"

/* --- blocks ------------------------------------------------------------------------------------- */

struct recording_input {
	int fd;
	u8 *bytes;
	size_t start, end, room; /* what was read and not used yet */
	u64 offset;              /* of START in the file */
	bool ended;              /* the file */

	bool begun;
	u32 sequence; /* of the last block */

	u64 blocks_lost;
	bool has_bad; /* the bytes from BAD on are no whole block */
	u64 bad;
	u64 first_bad; /* where the first damage was; UINT64_MAX: none */
	u64 tail;      /* at the end of the file: bytes that are no whole block */
	u64 wasted;    /* bytes whose checksum was made for nothing */
};

/* FIRST are bytes that were read already. 0 or -ENOMEM. */
int recording_input_init(struct recording_input *in, int fd, const u8 *first, size_t n);
void recording_input_free(struct recording_input *in);
/* The next block whose checksums and sequence are right; *PAYLOAD is valid until the next call. 1, 0 at the end of the
 * file, or -errno. */
int recording_input_next(struct recording_input *in, struct recording_block_header *header,
			 const u8 **payload);
/* The earliest start of a span in the blocks that are still to be read, up to the first that is damaged; UINT64_MAX:
 * there is none. */
u64 recording_input_earliest(const struct recording_input *in);
/* Whether any bytes come behind that. */
bool recording_input_more(struct recording_input *in);

/* --- payloads ----------------------------------------------------------------------------------- */

/* What is left of a payload. */
struct recording_bytes {
	const u8 *at, *end;
};

static inline bool bytes_get(struct recording_bytes *b, u64 *value)
{
	return varint_get(&b->at, b->end, value);
}

static inline bool bytes_get_u32(struct recording_bytes *b, u32 *value)
{
	u64 wide;

	if (!bytes_get(b, &wide) || wide > UINT32_MAX)
		return false;
	*value = (u32)wide;
	return true;
}

/* A text as it stands in the payload, without a NUL in or behind it. */
bool bytes_get_text(struct recording_bytes *b, const char **text, size_t *length);

/* --- names -------------------------------------------------------------------------------------- */

struct recording_thread {
	struct model_thread values;
	const struct model_thread *model; /* in the trace; NULL: not yet, or left out */
	bool asked;                       /* the trace was asked for it */
};

struct recording_label_set {
	u32 n;
	u32 texts; /* bit I: the value is one */
	const char *keys[MODEL_MAX_LABELS];
};

/* By number. Texts, definitions and paths belong to the trace. */
struct recording_tables {
	struct intmap texts;   /* const char */
	struct intmap defs;    /* number in the trace + 1 */
	struct intmap paths;   /* const struct model_path */
	struct intmap threads; /* struct recording_thread */
	struct intmap labels;  /* struct recording_label_set */
	u64 text_bytes;
};

struct recording_reader {
	struct replay *replay;
	struct recording_input input;
	struct recording_tables names;
	/* The first block, read by open(), where it is not INFO. */
	struct recording_block_header pending;
	const u8 *pending_payload; /* NULL: none */
	bool has_info;
	bool begun;   /* when the trace began is settled */
	bool ended;   /* END was read */
	bool goes_on; /* … and there is something behind it */
	u64 seen_ns;  /* the latest time told by any block */
	u64 told_end_ns;
	u64 garbled; /* blocks whose content makes no sense */
};

void recording_tables_free(struct recording_tables *names);
/* What stands under NUMBER; NULL when there is nothing. */
static inline void *recording_name(const struct intmap *map, u64 number)
{
	void **found = intmap_find(map, number);

	return found ? *found : NULL;
}

/* Each takes a whole payload. 0, -EBADMSG where it makes no sense from some item on, or -ENOMEM. */
int recording_read_names(struct recording_reader *r, struct recording_bytes bytes);
int recording_read_spans(struct recording_reader *r, struct recording_bytes bytes);
/* The thread in the trace; NULL when the filter leaves it out. 0 or -ENOMEM. */
int recording_use_thread(struct recording_reader *r, struct recording_thread *thread,
			 const struct model_thread **out);

#endif
