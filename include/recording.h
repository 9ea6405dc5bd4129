/* SPDX-License-Identifier: MIT */
/* The format of a recording (".spans"): what exporters/recording writes and user/recording_read reads.
 *
 *   file   = file header, block, block, …              append-only: nothing is ever written twice
 *   block  = block header, payload of LENGTH bytes
 *
 * All integers of the headers are little-endian. A payload is made of items; each item is a tag byte and then fields:
 *   varint   unsigned LEB128, 1 to 10 bytes
 *   zigzag   a signed number n as varint of (n << 1) ^ (n >> 63)
 *   text     varint length, then that many bytes; UTF-8 by custom, without a NUL
 *   ref      varint number of a name given by an item of a NAMES block before; 0: none, outside every span, NULL
 *
 * A block is whole or it is not there: a reader checks MAGIC, LENGTH and both CRCs, and where they do not fit looks for
 * the next block that is whole, says what it left out, and goes on. SEQUENCE shows blocks that are missing altogether; it
 * only rises. A SPANS block can be read without the SPANS blocks before it (a flight recorder drops the oldest); the
 * names that it uses stand in NAMES blocks before it, and are never dropped.
 *
 * INFO comes first. An END block is the last one of a file that was finished; a file without it was cut, or is being
 * written. STATE blocks hold the same kind of items in between: losses, so that a cut file can still say what was lost
 * until then, and what would make END too long. TOTALS blocks hold what no single span tells: memory by thread and path.
 *
 * Versions: a reader takes every file of its major version; it skips blocks of a kind, and counters of a number, that it
 * does not know. Anything else that changes makes a new major version. Numbers are only added to.
 */
#ifndef SPANTRACE_RECORDING_H
#define SPANTRACE_RECORDING_H

#include "types.h"

#define RECORDING_MAGIC       "SPANTRC\n"
#define RECORDING_MAJOR       1
#define RECORDING_MINOR       1           /* 1: TOTALS, and counters of allocations */
#define RECORDING_BLOCK_MAGIC 0x4b425053u /* "SPBK" */
/* Longer ones are damaged. A writer ends a block at RECORDING_BLOCK_FULL, or when its oldest span is a second old. */
#define RECORDING_BLOCK_MAX  (1u << 20)
#define RECORDING_BLOCK_FULL (64u << 10)
/* Longer texts are cut by the writer. */
#define RECORDING_TEXT_MAX 65535u
/* Of names of one sort, and of all texts in a file together: what a reader has to keep. Texts beyond are told as 0; a
 * writer that has as many threads or paths has to begin another file. */
#define RECORDING_NUMBER_MAX  (1u << 22)
#define RECORDING_TEXTS_BYTES (64u << 20)

struct recording_file_header {
	u8 magic[8];
	u16 major;
	u16 minor;
	u32 reserved;
};

struct recording_block_header {
	u32 magic;
	u32 header_crc; /* CRC-32 (zlib's) of this header from the next field on */
	u32 crc;        /* CRC-32 of the payload */
	u32 length;     /* of the payload */
	u32 sequence;   /* 0, 1, 2, … in a file */
	u8 kind;        /* enum recording_block */
	u8 reserved[3];
	u32 spans;    /* SPANS: spans and segments in it */
	u32 events;   /* SPANS: events in it */
	u64 first_ns; /* SPANS: the earliest start in it */
	u64 last_ns;  /* SPANS: the latest end in it; 0 when it is empty */
};

enum recording_block {
	RECORDING_INFO = 1,
	RECORDING_NAMES = 2,
	RECORDING_SPANS = 3,
	RECORDING_STATE = 4,
	RECORDING_END = 5,
	RECORDING_TOTALS = 6,
};

/* Tags of items in INFO: each at most once. */
enum recording_info {
	RECORDING_VERSION = 1, /* text: of spantrace */
	RECORDING_KERNEL = 2,  /* text: uname -r */
	RECORDING_CLOCK = 3,   /* text */
	RECORDING_TARGET = 4,  /* text: what was traced, for people */
	RECORDING_START = 5,   /* varint start_ns, varint start_realtime_ns */
	RECORDING_METRICS = 6, /* varint METRIC_* */
	RECORDING_COUNTER = 7, /* text: what times are of, where not of the clock (measureme) */
	/* nothing: one of several files; its spans may have begun before RECORDING_START */
	RECORDING_PART = 8,
	RECORDING_SUSPENDED = 9, /* varint: what CLOCK_BOOTTIME is later than CLOCK_MONOTONIC */
	RECORDING_SAMPLE = 10,   /* varint: root spans that were kept, of 1e9 */
};

/* Tags of items in NAMES. Every item gives its number first, a varint from 1; one that was given before is replaced. */
enum recording_names {
	/* text */
	RECORDING_TEXT = 1,
	/* varint enum model_kind, ref texts: provider, name, binary, build_id, source_file; varint source_line */
	RECORDING_DEF = 2,
	/* ref parent path, ref def, ref text: its own name */
	RECORDING_PATH = 3,
	/* varint pid, varint tid, varint start_ns, ref text: comm */
	RECORDING_THREAD = 4,
	/* varint n, then n times: ref text: key, varint 1 if the values are texts, else 0 */
	RECORDING_LABELS = 5,
};

/* Tags of items in SPANS: the kind in the low bits, and flags. The item's end is told relative to that of the item
 * before it in the block, the first one's to 0. A span's start is its end less its busy time, an async span's its end
 * less its wall time. */
#define RECORDING_KIND      0x07u
#define RECORDING_ABANDONED 0x08u
#define RECORDING_OPEN      0x10u
#define RECORDING_LEAF      0x20u /* spans: self = busy, and is left out */
#define RECORDING_COUNTED   0x40u /* spans: counters follow */
#define RECORDING_VALUE     0x40u /* events: a value follows */
#define RECORDING_LABELLED  0x80u /* labels follow */

enum recording_span {
	/* ref thread: the items from here to the next ON, or the block's end, are its */
	RECORDING_ON = 0,
	/* ref path, zigzag end, varint busy, [varint self], [counters], [labels] */
	RECORDING_SPAN = 1,
	/* ref path, zigzag end, varint busy, [varint self], varint id, [counters], [labels] */
	RECORDING_SEGMENT = 2,
	/* ref path, zigzag end, varint wall, varint busy, [varint self], varint id, [counters], [labels] */
	RECORDING_ASYNC = 3,
	/* ref path, zigzag time, [zigzag value], [labels] */
	RECORDING_EVENT = 4,
};

/* counters = varint mask, then a varint for each bit set, lowest first. A metric that is not measured is in no mask,
 * one that is measured and not in the mask is 0. */
enum recording_counter {
	RECORDING_OFF_NS = 0, /* busy without cpu */
	RECORDING_RUN_DELAY_NS = 1,
	RECORDING_SELF_OFF_NS = 2, /* self without self_cpu */
	RECORDING_SELF_RUN_DELAY_NS = 3,
	RECORDING_VOL_SWITCHES = 4,
	RECORDING_INVOL_SWITCHES = 5,
	RECORDING_MINOR_FAULTS = 6,
	RECORDING_MAJOR_FAULTS = 7,
	RECORDING_SYSTEM_NS = 8, /* of cpu */
	RECORDING_SELF_SYSTEM_NS = 9,
	RECORDING_ALLOC_OBJECTS = 10,
	RECORDING_ALLOC_BYTES = 11,
	RECORDING_INNER_ALLOC_OBJECTS = 12, /* of those, while another span was on top */
	RECORDING_INNER_ALLOC_BYTES = 13,
	RECORDING_PARENT_ID = 14, /* ASYNC under an async span: the id of that one */
	RECORDING_COUNTERS = 15,
};

/* labels = varint (ref LABELS << 3 | how many), then for each of its keys a ref text or a zigzag number. */

/* Tags of items in STATE and END. */
enum recording_state {
	/* varint end_ns: of the trace, or of what it is so far */
	RECORDING_ENDED = 1,
	/* ref thread, varint end_ns (0: it runs), varint 1 + inside_ns (0: what the file's spans add up to) */
	RECORDING_THREAD_END = 2,
	/* text name, varint count: since RECORDING_START; of a flight recorder, since the trace began */
	RECORDING_LOSS = 3,
	/* text marker, text why */
	RECORDING_REFUSED = 4,
};

/* Tags of items in TOTALS. Numbers = varint mask, then a varint for each bit set, lowest first, as counters; those of
 * bits that a reader does not know are skipped. An item takes the place of an earlier one of the same thread and path. */
enum recording_total {
	/* ref thread, ref path (0: outside every span), numbers: enum recording_memory */
	RECORDING_MEMORY = 1,
	/* numbers: enum recording_counting */
	RECORDING_COUNTING = 2,
	/* varint time: the rows so far tell what was in use then */
	RECORDING_SNAPSHOT = 3,
	/* ref thread, varint nspid, ref text: comm of the process */
	RECORDING_PROCESS = 4,
};

/* A row's memory, as in struct model_row, while its path was on top of its thread. What was in use and suspects are as
 * of the time of writing, the rest since RECORDING_START. A file that is one of several has allocations outside every
 * span only: those of its spans are in these. */
enum recording_memory {
	RECORDING_ROW_ALLOC_OBJECTS = 0,
	RECORDING_ROW_ALLOC_BYTES = 1,
	RECORDING_ROW_MAP_CALLS = 2,
	RECORDING_ROW_MAP_BYTES = 3,
	RECORDING_ROW_UNMAP_CALLS = 4,
	RECORDING_ROW_UNMAP_BYTES = 5,
	RECORDING_ROW_INUSE_OBJECTS = 6,
	RECORDING_ROW_INUSE_BYTES = 7,
	RECORDING_ROW_LEAK_OBJECTS = 8,
	RECORDING_ROW_LEAK_BYTES = 9,
	RECORDING_ROW_LEAK_OLDEST_NS = 10,
	RECORDING_ROW_NUMBERS = 11,
};

/* How allocations were counted, as in struct model_memory. */
enum recording_counting {
	RECORDING_COUNTED_PROCESSES = 0,
	RECORDING_COUNTED_FUNCTIONS = 1,
	RECORDING_COUNTED_LATE = 2,
	RECORDING_COUNTED_ENTRIES = 3,
	RECORDING_COUNTED_SAMPLE = 4,
	RECORDING_COUNTED_LEAKS_NS = 5,
	RECORDING_COUNTED_MARKERS = 6,
	RECORDING_COUNTED_NUMBERS = 7,
};

/* The loss that only a flight recorder knows: spans of the last seconds for which its memory was too small. */
#define RECORDING_LOSS_SQUEEZED "flight_full"

_Static_assert(sizeof(struct recording_file_header) == 16, "recording layout");
_Static_assert(sizeof(struct recording_block_header) == 48, "recording layout");

#endif
