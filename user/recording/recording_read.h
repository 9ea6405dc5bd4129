/* SPDX-License-Identifier: MIT */
/* What the parts of the recordings' reader share:
 *
 *   recording_input.c   bytes ▸ blocks that are whole, damage counted
 *   recording_decode.c  SPANS ▸ items of plain numbers
 *   recording_ahead.c   both of these ahead of the rest, in a thread of its own
 *   recording_names.c   NAMES ▸ tables: number ▸ text, definition, path, thread, keys of labels
 *   recording_spans.c   items ▸ single spans and events
 *   recording_totals.c  TOTALS ▸ memory of rows, what threads belong to
 *   recording_read.c    the rest: INFO, STATE, END; opening, running, what is said of damage
 */
#ifndef SPANTRACE_RECORDING_READ_H
#define SPANTRACE_RECORDING_READ_H

#include "../../include/recording.h"
#include "../util/varint.h"
#include "replay_impl.h"

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

/* A mask, then the value of each of its bits: NUMBERS are the first N of them, 0 where there is none. */
static inline bool bytes_get_set(struct recording_bytes *b, u64 *numbers, u32 n)
{
	u64 mask, value;
	u32 i;

	for (i = 0; i < n; i++)
		numbers[i] = 0;
	if (!bytes_get(b, &mask))
		return false;
	for (i = 0; mask; i++, mask >>= 1) {
		if (!(mask & 1))
			continue;
		if (!bytes_get(b, &value))
			return false;
		if (i < n)
			numbers[i] = value;
	}
	return true;
}

/* A text as it stands in the payload, without a NUL in or behind it. */
bool bytes_get_text(struct recording_bytes *b, const char **text, size_t *length);

/* One span or event as it stands in the file, its names still numbers. Small, as it goes from one processor to another. */
struct recording_item {
	u64 end_ns;
	u64 busy_ns; /* of an event: its value, zigzag */
	u64 self_ns;
	u32 number; /* of the path; ON: of the thread. 0: none that can be known */
	u8 tag;     /* as in the file */
};

/* A writer's block has room in one batch, a greater one takes several. */
#define RECORDING_ITEMS_MAX  8192u
#define RECORDING_ITEM_WORDS (2 + RECORDING_COUNTERS + 1 + MODEL_MAX_LABELS)
/* Words of ITEMS items: some have none, and what has no room stands in the next batch. */
#define RECORDING_WORDS(items) ((size_t)4 * (items) + RECORDING_ITEM_WORDS)

struct recording_items {
	struct recording_item *items; /* ROOM */
	u32 n, room;
	/* What only some items have, one behind the other: ASYNC: wall; ASYNC, SEGMENT: id; COUNTED: RECORDING_COUNTERS
	 * counters; LABELLED: number of the set of keys << 3 | how many, then their values. */
	u64 *words; /* RECORDING_WORDS(ROOM) */
};

struct recording_decoder {
	struct recording_bytes bytes; /* what is left */
	u64 last_end_ns;              /* of the item before */
};

void recording_decode_begin(struct recording_decoder *d, struct recording_bytes bytes);
/* The next items, as many as have room. 0, or -EBADMSG where the block makes no sense behind them; it is then left. */
int recording_decode(struct recording_decoder *d, struct recording_items *out);

/* --- reading ahead ------------------------------------------------------------------------------ */

/* Blocks whose spans all lie outside of it are not wanted. */
struct recording_range {
	u64 from_ns, to_ns;
};

struct recording_batch {
	int got; /* 1; 0: the end of the file; -errno: it cannot be read on. The last two have nothing else. */
	struct recording_block_header header;
	bool begins;                  /* it is the block's first batch */
	int err;                      /* SPANS: 0 or -EBADMSG, of what stands behind the items */
	bool goes_on;                 /* END: something stands behind it */
	struct recording_items items; /* SPANS */
	u8 *payload;                  /* of other blocks; ROOM bytes */
	size_t room;
};

struct recording_ahead;

/* Borrows both, which nobody else touches until it is freed. 0 or -ENOMEM. */
int recording_ahead_new(struct recording_input *input, const struct recording_range *range,
			struct recording_ahead **out);
void recording_ahead_free(struct recording_ahead **ahead);
/* Before the first batch: a block that was read from INPUT already. */
void recording_ahead_begin(struct recording_ahead *ahead,
			   const struct recording_block_header *pending, const u8 *payload);
/* Valid until the next call. None may be asked for behind one with END or without a block. */
const struct recording_batch *recording_ahead_next(struct recording_ahead *ahead);

/* --- names -------------------------------------------------------------------------------------- */

/* What stands under each number: those of one sort are given in order, from 1. */
struct recording_numbers {
	void **values;
	u32 room;
};

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
	struct recording_numbers texts;   /* const char */
	struct recording_numbers defs;    /* number in the trace + 1 */
	struct recording_numbers paths;   /* const struct model_path */
	struct recording_numbers threads; /* struct recording_thread */
	struct recording_numbers labels;  /* struct recording_label_set */
	u64 text_bytes;
	u32 nthreads, nlabels; /* of their own */
	/* What the numbers of threads lead to that the filter does not want, and of those beyond TRACE_THREADS_MAX. */
	struct recording_thread left_out, others;
};

struct recording_reader {
	struct replay *replay;
	struct recording_input input;
	struct recording_tables names;
	/* The first block, read by open(), where it is not INFO. */
	struct recording_block_header pending;
	const u8 *pending_payload; /* NULL: none */
	bool has_info;
	const struct model_thread *on; /* whose the items at hand are */
	bool on_left_out;              /* the filter does not want that thread */
	bool leave_block;              /* it made no sense from some item on */
	bool begun;                    /* when the trace began is settled */
	bool ended;                    /* END was read */
	bool goes_on;                  /* … and there is something behind it */
	u64 seen_ns;                   /* the latest time told by any block */
	u64 told_end_ns;
	u64 garbled; /* blocks whose content makes no sense */
};

/* Whether THREAD stands for others beside itself. */
static inline bool recording_is_shared(const struct recording_tables *names,
				       const struct recording_thread *thread)
{
	return thread == &names->left_out || thread == &names->others;
}

void recording_tables_free(struct recording_tables *names);
/* What stands under NUMBER; NULL when there is nothing. */
static inline void *recording_name(const struct recording_numbers *names, u64 number)
{
	return number < names->room ? names->values[number] : NULL;
}

/* Each takes a whole payload. 0, -EBADMSG where it makes no sense from some item on, or -ENOMEM. */
int recording_read_names(struct recording_reader *r, struct recording_bytes bytes);
int recording_read_totals(struct recording_reader *r, struct recording_bytes bytes);
/* The same for items; -EBADMSG where one of them contradicts its names. */
int recording_take_items(struct recording_reader *r, const struct recording_items *items);
/* The thread in the trace; NULL when the filter leaves it out. 0 or -ENOMEM. */
int recording_use_thread(struct recording_reader *r, struct recording_thread *thread,
			 const struct model_thread **out);

#endif
