/* SPDX-License-Identifier: MIT */
/* Bounds that the kernel side and the loader share. */
#ifndef SPANTRACE_LIMITS_H
#define SPANTRACE_LIMITS_H

/* Open spans on one thread: the first FRAMES_NEAR stand in the thread's state, the rest in chunks that
 * only threads which go that deep have; both below a page, the most that every kernel gives from any
 * context. Deeper spans are counted too_deep. */
#define FRAMES_NEAR   16
#define FRAMES_CHUNK  16
#define FRAMES_CHUNKS 15
#define FRAMES_MAX    (FRAMES_NEAR + FRAMES_CHUNKS * FRAMES_CHUNK)
#define CHUNKS_MAX    (1u << 16) /* in the whole trace */

/* Distinct paths in a trace, the two reserved ones included. */
#define PATHS_MAX      (1u << 17)
#define PATH_ROOT      0 /* outside every span */
#define PATH_OVERFLOW  1 /* stands for every path beyond PATHS_MAX */
#define PATHS_RESERVED 2
/* In place of a path, where a span is left out, and so is all that runs inside it. Not in the table. */
#define PATH_UNSAMPLED 0xfffffffeu

/* Aggregated mode: rows (a path on a thread) at one time, and half as many more pieces of their histograms. What finds
 * none goes to the ring. Row and piece 0 stand for none. */
#define ROWS_DEFAULT     (1u << 15)
#define ROWS_MIN         16u
#define ROWS_MAX         (1u << 20)
#define OCTAVES_OF(rows) ((rows) + (rows) / 2)

/* Live heap: blocks that are followed at one time; --heap-objects. */
#define HEAP_OBJECTS_DEFAULT (1u << 20)
#define HEAP_OBJECTS_MIN     16u
#define HEAP_OBJECTS_MAX     (1u << 26)

/* Async spans alive at one time, in the whole trace; and slots for the first of them. */
#define ASYNC_MAX         (1u << 20)
#define ASYNC_SLOT_BITS   13
#define ASYNC_SLOTS       (1u << ASYNC_SLOT_BITS)
#define ASYNC_CELLS       64 /* that count them, shared by CPUs; a power of two */
#define ASYNC_CELL_STRIDE 8  /* a cache line, in u64 */

/* Definitions that are counted, where spans are counted in place of recorded. */
#define COUNTS_MAX 1024u

/* Processes traced at one time. */
#define PROCESSES_MAX (1u << 16)

/* --max-overhead: pairs of a process and a definition whose hits are counted at one time. */
#define METERS_MAX (1u << 14)

#define DEFS_MAX       (1u << 16)
#define ASYNC_DEFS_MAX 1024
#define SITES_MAX      (1u << 18)

/* The batched lane: binaries with such markers in a trace, and of those that one thread uses. */
#define BATCH_FILES_MAX   4096
#define BATCH_SOURCES_MAX 4

#define LABELS_MAX  4
#define IDS         2          /* labels that spans inherit */
#define STRING_MAX  256        /* of a label's text, NUL included; the rest is cut */
#define STRINGS_MAX (1u << 17) /* distinct ones in a trace */
#define NAMES_MAX   (1u << 14) /* of those, the ones that spans are called by */
#define NAME_TEXTS  2          /* arguments that such a name is made of */
#define JOINT_MAX   4          /* between them: bytes, NUL included */
#define COMM_LEN    16

#define CONTROL_RING_BYTES (4u << 20)

#endif
