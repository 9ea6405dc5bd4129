/* SPDX-License-Identifier: MIT */
/* The wire: what bpf/ and user/ say to each other. Host byte order, one machine, one version: the two
 * sides are built together. Numbers are explicit and only ever added to.
 *
 *   user ▸ bpf   the site table, the process table, the cookie of each probe
 *   bpf ▸ user   span records on one ring a CPU, or their totals in rows (aggregated mode); life records on
 *                the control ring; the path table; losses
 *
 * Times are CLOCK_MONOTONIC nanoseconds.
 */
#ifndef SPANTRACE_WIRE_H
#define SPANTRACE_WIRE_H

#include "batch.h"
#include "limits.h"
#include "operand.h"
#include "types.h"

/* The cookie of a probe: all that the hot path must know of its site. */
#define COOKIE_SITE(c)           ((u32)(c))
#define COOKIE_DEF(c)            ((u32)((c) >> 32) & 0xffff)
#define COOKIE_FLAGS(c)          ((u32)((c) >> 48))
#define COOKIE(site, def, flags) ((u64)(u32)(site) | (u64)(u16)(def) << 32 | (u64)(flags) << 48)

#define SITE_RECURSIVE  0x1u  /* frames do not live on the C stack: equal stack pointers nest */
#define SITE_HAS_NEW    0x2u  /* async: a marker says when it begins, so an enter never makes one */
#define SITE_HAS_VALUE  0x4u  /* event: its first argument is its value */
#define SITE_HAS_LABELS 0x8u  /* arguments to keep with the span or event */
#define SITE_HAS_NAME   0x10u /* arguments that the span or event is called by */
/* Of a batched marker, what an op of it is: */
#define SITE_OP_ENTER 0x100u
#define SITE_OP_EXIT  0x200u
#define SITE_OP_EVENT 0x400u

/* One row of the site table; the cookie's low half is its index. */
struct wire_site {
	struct operand id;                 /* async: the id; event: the value */
	struct operand parent;             /* __new: the id of the parent */
	struct operand labels[LABELS_MAX]; /* form OPERAND_NONE: no more of them */
	struct operand lengths
		[LABELS_MAX]; /* of the texts among them; OPERAND_NONE: they end with a NUL */
	struct operand name[NAME_TEXTS]; /* SITE_HAS_NAME: as labels */
	struct operand name_lengths[NAME_TEXTS];
	u32 strings; /* bit I: label I is the address of a text */
	u8 ids[IDS]; /* label that is inherited as number I, counted from 1; 0: none */
	u8 reserved[2];
	u8 max[LABELS_MAX];    /* bytes of that text that are kept */
	char joint[JOINT_MAX]; /* between two texts of a name */
	u32 joint_length;
};

/* A binary with batched markers, by the number that stands in the definition's place of the cookie of NOTE_FETCH. */
struct wire_batch_file {
	u64 since_ns; /* what was before is not traced; 0: nothing is yet */
	u32 first; /* of its markers in their table, which holds the cookie of each; 0: not traced */
	u32 count;
	u32 clock; /* BATCH_CLOCK_* */
	u32 reserved;
};

/* One node of the path table: PARENT's span definition stack, and DEF on top, under a name of its own where an
 * argument names it (that of a string, 0: none). */
struct wire_path {
	u32 parent;
	u32 def;
	u64 name;
};

/* How often, where spans are counted in place of recorded: of a definition, on one CPU. */
struct wire_count {
	u64 begun;
	u64 ended;
	u64 events;
	u64 reserved;
};

/* A traced process image: exec makes a new one. Key of the process table: its pid as spantrace sees it. */
struct wire_process {
	u32 serial; /* unique in a trace */
	u32 shy;    /* a return was left alone for seccomp */
};

/* An async span that lives: key and value of the table. */
struct wire_async_key {
	u64 id;
	u32 process; /* serial */
	u32 def;
};

/* What a probed function does with memory; in the cookie's place of the definition. Arguments as in C. */
enum wire_alloc {
	ALLOC_MALLOC = 1,       /* (size) */
	ALLOC_CALLOC = 2,       /* (n, size) */
	ALLOC_REALLOC = 3,      /* (block, size) */
	ALLOC_REALLOCARRAY = 4, /* (block, n, size) */
	ALLOC_ALIGNED = 5,      /* (alignment, size) */
	ALLOC_POSIX = 6,        /* (&block, alignment, size) */
	ALLOC_FREE = 7,         /* (block) */
	ALLOC_MMAP = 8,         /* (address, bytes) */
	ALLOC_MUNMAP = 9,       /* (address, bytes) */
	ALLOC_MREMAP = 10,      /* (address, old bytes, bytes) */
	ALLOC_BRK = 11,         /* (address) */
};

/* A block that is live, and where it is found. */
struct wire_object_key {
	u64 address;
	u32 process; /* serial */
	u32 reserved;
};

struct wire_object {
	u64 bytes; /* with --alloc-sample of all the blocks that it stands for */
	u64 time_ns;
	u32 row;     /* of the thread and path that allocated it */
	u32 objects; /* that it stands for; 1 without --alloc-sample */
};

/* What a site of otel_memory:alloc and :free reads. */
struct wire_alloc_site {
	struct operand block;
	struct operand bytes;  /* alloc alone */
	struct operand weight; /* bytes of all the blocks that this sample stands for */
};

#define ALLOC_SITES_MAX 1024u /* in the cookie's place of the definition */

/* Flags of the cookie of an allocator's function. */
#define ALLOC_ENTRY_TELLS \
	0x1u /* the entry says what is allocated; but for large blocks, which may fail */
#define ALLOC_RETURN_SEEN 0x2u /* a probe stands at its return, or can be asked for */
#define ALLOC_INNER       0x4u /* another of the functions gives it its blocks */

/* A block that may well not be had: its return is looked at, where that can be asked for. */
#define ALLOC_LARGE (1u << 20)

/* --alloc-sample: tables for the kernel side, which has no floating point. */
#define SAMPLE_LOG_BITS    10 /* ln(1 + I / 1024), I from 0, at the middle of each step; in 2^-24 */
#define SAMPLE_LOG_SIZE    (1u << SAMPLE_LOG_BITS)
#define SAMPLE_WEIGHT_STEP 64 /* x / (1 - exp(-x)) for x = I / 64, up to 16; in 2^-20 */
#define SAMPLE_WEIGHT_SIZE (16u * SAMPLE_WEIGHT_STEP + 2)

/* --max-overhead: whose hits are counted, and what becomes of a definition. */
struct wire_meter_key {
	u32 process; /* serial */
	u32 def;
};

struct wire_def_state {
	u32 shed; /* 1: its spans are left out */
	u32 gone; /* the shed_epoch at which its probes were taken out last; 0: never */
};

enum wire_kind {
	/* on the span rings */
	WIRE_SPAN = 1,
	WIRE_ASYNC = 2,
	WIRE_EVENT = 3,
	WIRE_LEAVES = 4,
	/* on the control ring */
	WIRE_THREAD = 16,
	WIRE_THREAD_END = 17,
	WIRE_FORK = 18,
	WIRE_EXEC = 19,
	WIRE_EXIT = 20,
	WIRE_STRING = 21,
};

#define WIRE_ABANDONED 0x01u /* closed without an exit of its own */
#define WIRE_OPEN      0x02u /* closed by the end of its thread, process or the trace */
#define WIRE_SEGMENT   0x04u /* WIRE_SPAN: a stretch of the async span with this id */
#define WIRE_LABELS    0x10u /* labels are set, as those of the site */
#define WIRE_VALUE     0x08u /* WIRE_EVENT: value is set */
#define WIRE_LEFT_OUT  0x20u /* in the table of async spans: no record is to be sent of it */

struct wire_head {
	u16 size; /* of the whole record; parts that the size leaves out are zero */
	u8 kind;
	u8 flags;
	u32 thread; /* serial; 0 where there is none */
};

/* Time off the CPU and what else the scheduler and the memory manager counted. cpu = busy - off. */
struct wire_usage {
	u64 system_ns; /* user time is the rest of cpu */
	u64 self_system_ns;
	u64 off_ns;
	u64 run_delay_ns;
	u64 self_off_ns;
	u64 self_run_delay_ns;
	u32 vol_switches;
	u32 invol_switches;
	u32 minor_faults;
	u32 major_faults;
};

/* What was allocated. Of what --alloc-sample takes it is all that the samples stand for. */
struct wire_alloc_counts {
	u64 objects;
	u64 bytes;
};

/* Of kinds, for the inherited label I: it is there, and it is the name of a string. */
#define WIRE_ID(i)      (1u << (i))
#define WIRE_ID_TEXT(i) (1u << (IDS + (i)))
#define WIRE_ID_KINDS   (WIRE_ID_TEXT(IDS) - 1)

/* Labels that a span has from what it stands in, unless it has its own: the ids of a trace. */
struct wire_ids {
	u64 values[IDS]; /* as labels */
	u32 kinds;
	u32 reserved;
};

/* A thread span at its exit, or a segment of an async span. Most spans were never off the CPU and never
 * faulted: those end after their system time or, without any, before it. A segment is always whole. What
 * has no labels ends before them, what allocated nothing behind them, what has no ids before those. */
struct wire_span {
	struct wire_head head;
	u32 path;
	u32 site; /* of its enter */
	u64 start_ns;
	u64 busy_ns;
	u64 self_ns;
	struct wire_usage usage;
	u64 id;
	u64 labels[LABELS_MAX]; /* numbers, or names of strings */
	struct wire_alloc_counts alloc;
	struct wire_alloc_counts self_alloc;
	struct wire_ids ids;
};

#define WIRE_SPAN_SHORT    40u
#define WIRE_SPAN_SPLIT    56u  /* and the system time */
#define WIRE_SPAN_WHOLE    112u /* all but labels and allocations */
#define WIRE_SPAN_LABELLED 144u /* all but allocations and ids */
#define WIRE_SPAN_ALLOC    176u /* all but ids */

/* Spans without children of one thread and path, one behind the other, as the batched lane has them. What else a span has
 * is 0 for each, its self time the whole. */
struct wire_leaf {
	u32 busy_ns;
	u32 gap_ns; /* from the end of the one before */
	u64 system_ns;
};

struct wire_leaves {
	struct wire_head head;
	u32 path;
	u32 site;
	u64 start_ns; /* where the first one's gap begins */
	u64 reserved;
	struct wire_leaf leaves[]; /* as many as head.size has room for */
};

#define LEAVES_MAX (BATCH_OPS / 2)

/* An async span at its close. The table's value while it lives. */
struct wire_async {
	struct wire_head head; /* thread: where it was made */
	u32 path;
	u32 process;
	u64 id;
	u64 start_ns;
	u64 end_ns; /* 0 while it lives */
	u64 busy_ns;
	u64 self_ns;
	u64 off_ns;
	u64 run_delay_ns;
	u64 self_off_ns;
	u64 self_run_delay_ns;
	u64 system_ns;
	u64 self_system_ns;
	u64 vol_switches;
	u64 invol_switches;
	u64 minor_faults;
	u64 major_faults;
	u64 parent; /* id of the async span that its path stands under, where that is one */
	u32 site;   /* of its new */
	u32 row;    /* aggregated mode; 0: none */
	u64 labels[LABELS_MAX];
	struct wire_alloc_counts alloc;
	struct wire_alloc_counts self_alloc;
	struct wire_ids ids;
};

/* A place for one that lives, which the loader maps. Many can want a free slot at once: who swaps FREE for TAKEN
 * has it. */
enum wire_async_state {
	ASYNC_SLOT_FREE = 0,
	ASYNC_SLOT_TAKEN = 1, /* being filled */
	ASYNC_SLOT_LIVE = 2,
};

struct wire_async_slot {
	struct wire_async_key key;
	u32 state;  /* enum wire_async_state */
	u32 number; /* the slot's own, plus 1 */
	struct wire_async span;
};

/* The slot that KEY is in, or that number ^ 1. */
static inline u32 async_slot_of(const struct wire_async_key *key)
{
	u64 mixed = key->id + (((u64)key->process << 32) + key->def) * 0xc2b2ae3d27d4eb4fULL;

	return (u32)(mixed * 0x9e3779b97f4a7c15ULL >> (64 - ASYNC_SLOT_BITS));
}

struct wire_event {
	struct wire_head head;
	u32 path; /* of the event under the span it happened in */
	u32 site;
	u64 time_ns;
	u64 value;
	u64 labels[LABELS_MAX];
};

#define WIRE_EVENT_SHORT 32u

/* Aggregated mode: totals of one path on one thread, where no output wants single spans. Sums only grow while the row is
 * in use. An async span's stand with the thread that made it, its segments' work with the thread it ran on. */
struct wire_row {
	u32 thread; /* serial; 0: the row is not in use */
	u32 path;
	u32 next;   /* another row of the thread; 0: the last */
	u32 octave; /* first piece of its histogram; 0: none */
	u64 count;
	u64 abandoned;
	u64 open;
	u64 wall_ns;      /* finished and open spans; events: the sum of their values */
	u64 open_wall_ns; /* of that, the open ones */
	u64 busy_ns;
	u64 self_ns;
	u64 off_ns;
	u64 run_delay_ns;
	u64 self_off_ns;
	u64 self_run_delay_ns;
	u64 system_ns;
	u64 self_system_ns;
	u64 vol_switches;
	u64 invol_switches;
	u64 minor_faults;
	u64 major_faults;
	u64 least_ns; /* ~(min of wall), so that 0 means none yet */
	u64 most_ns;
	u64 segment_ns; /* self of segments */
	u64 segment_off_ns;
	u64 segment_run_delay_ns;
	u64 segment_system_ns;
	u64 alloc_objects; /* while this path was on top; not in the paths above it */
	u64 alloc_bytes;
	u64 inuse_objects; /* of those: two's complement, added to and taken from by any thread */
	u64 inuse_bytes;
	u64 map_calls; /* mmap, and mremap and brk that grow */
	u64 map_bytes;
	u64 unmap_calls; /* munmap, and mremap and brk that shrink */
	u64 unmap_bytes;
	u32 async;  /* other threads write to it: the row stays as long as its process */
	u32 values; /* an event's marker carries a value */
	u32 heap;   /* blocks name it: other threads write to its inuse_ numbers */
	u32 reserved;
};

#define OCTAVE_BITS 6
#define OCTAVE_SIZE (1u << OCTAVE_BITS)

/* A piece of a row's histogram of wall times. Octave 0: 0 to 63, one value a bucket. Octave K: 64 << (K - 1) and up, to
 * twice that, in 64 buckets of equal width. Counters wrap. */
struct wire_octave {
	u32 octave;
	u32 next; /* another one of the row; 0: the last */
	u32 counts[OCTAVE_SIZE];
};

/* Where a row is found. */
struct wire_row_key {
	u32 thread;
	u32 path;
};

/* A string that labels and paths name from now on: a name is a number that stands for one text in the trace. */
struct wire_string {
	struct wire_head head;
	u64 name;
	u32 length; /* without the NUL */
	u32 cut;    /* 1: it was longer */
	char text[STRING_MAX];
};

#define WIRE_STRING_NULL       0 /* a null pointer */
#define WIRE_STRING_UNREADABLE 1 /* a page that is not there */
#define WIRE_STRING_LOST       2 /* more than STRINGS_MAX, or no room to tell the loader */
#define WIRE_STRING_OTHER      3 /* of a path: more than NAMES_MAX */
#define WIRE_STRING_FIRST      16

/* First sight of a thread. */
struct wire_thread {
	struct wire_head head;
	u32 process;
	u32 pid; /* as spantrace sees it */
	u32 tid;
	u32 nspid;    /* the pid that the process has for itself, in its own PID namespace */
	u64 start_ns; /* of the thread, which may lie before the trace's */
	char comm[COMM_LEN];
	char process_comm[COMM_LEN]; /* of the process's first thread */
};

struct wire_thread_end {
	struct wire_head head;
	u64 time_ns;
	u64 inside_ns; /* time it spent inside spans */
	u32 row;       /* the first of its rows; 0: none */
	u32 reserved;
	char comm[COMM_LEN];
};

/* A process is made (WIRE_FORK), becomes another program (WIRE_EXEC), is gone (WIRE_EXIT). */
struct wire_life {
	struct wire_head head;
	u32 process;
	u32 old_process; /* fork: the parent; exec: the image before */
	u32 pid;
	u32 by_thread; /* exec: by one that was not the leader, which is gone */
	u64 time_ns;
	char comm[COMM_LEN];
};

/* Why something the kernel side saw did not become a span. Index into the loss counters. */
enum wire_loss {
	LOSS_RING_FULL = 0,    /* a record found no room */
	LOSS_CONTROL_FULL = 1, /* a life record found no room */
	LOSS_ORPHAN_EXIT = 2,  /* exit or close without its enter or new */
	LOSS_ORPHAN_ENTER = 3, /* async enter of a span whose new was not seen */
	LOSS_TOO_DEEP = 4,     /* more than FRAMES_MAX open on a thread */
	LOSS_NO_STATE = 5,     /* the kernel gave no memory for a thread's state */
	LOSS_PATHS_FULL = 6,   /* more than PATHS_MAX paths: kept under "(other paths)" */
	LOSS_ASYNC_FULL = 7,   /* more than ASYNC_MAX async spans alive */
	LOSS_ID_REUSED = 8,    /* new with an id that lives: the earlier one is abandoned */
	LOSS_UNKNOWN_PARENT =
		9, /* the parent named does not live: the span stands under its thread's */
	LOSS_UNREADABLE_ARG = 10, /* an id or label was on a page that is not there */
	LOSS_STRINGS_FULL = 11,   /* a label's text could not be kept */
	LOSS_NAMES_FULL = 12,     /* more than NAMES_MAX names of spans: kept under one */
	LOSS_ALLOC_ROWS = 13,     /* an allocation found no row for its path */
	LOSS_HEAP_FULL = 14,      /* a block could not be followed: it is in no inuse_ number */
	LOSS_HEAP_UNSEEN =
		15, /* the same: no probe may stand where the function that gave it returns */
	LOSS_UNSAMPLED = 16,     /* left out by --sample */
	LOSS_SHED = 17,          /* left out by --max-overhead */
	LOSS_BATCH_OPS = 18,     /* ops of the batched lane that could not be fetched */
	LOSS_BATCH_DAMAGED = 19, /* buffers and ops that make no sense */
	LOSS_BATCH_SOURCES = 20, /* fetches from more than BATCH_SOURCES_MAX binaries on a thread */
	LOSS_KINDS = 21,
};

_Static_assert(sizeof(struct wire_head) == 8, "wire layout");
_Static_assert(sizeof(struct wire_usage) == 64, "wire layout");
_Static_assert(sizeof(struct wire_batch_file) == 24, "wire layout");
_Static_assert(sizeof(struct wire_path) == 16, "wire layout");
_Static_assert(sizeof(struct wire_site) == 248, "wire layout");
_Static_assert(sizeof(struct wire_span) == 200, "wire layout");
_Static_assert(__builtin_offsetof(struct wire_span, usage) == WIRE_SPAN_SHORT, "wire layout");
_Static_assert(__builtin_offsetof(struct wire_span, usage.off_ns) == WIRE_SPAN_SPLIT,
	       "wire layout");
_Static_assert(sizeof(struct wire_leaves) == 32, "wire layout");
_Static_assert(sizeof(struct wire_leaf) == sizeof(struct batch_op), "leaves take the place of ops");
_Static_assert(sizeof(struct wire_async) == 240, "wire layout");
_Static_assert(sizeof(struct wire_async_slot) == 264, "wire layout");
_Static_assert(sizeof(struct wire_event) == 64, "wire layout");
_Static_assert(__builtin_offsetof(struct wire_span, labels) == WIRE_SPAN_WHOLE, "wire layout");
_Static_assert(__builtin_offsetof(struct wire_span, alloc) == WIRE_SPAN_LABELLED, "wire layout");
_Static_assert(__builtin_offsetof(struct wire_span, ids) == WIRE_SPAN_ALLOC, "wire layout");
_Static_assert(__builtin_offsetof(struct wire_event, labels) == WIRE_EVENT_SHORT, "wire layout");
_Static_assert(sizeof(struct wire_thread) == 64, "wire layout");
_Static_assert(sizeof(struct wire_thread_end) == 48, "wire layout");
_Static_assert(sizeof(struct wire_life) == 48, "wire layout");
_Static_assert(sizeof(struct wire_row) == 280, "wire layout");
_Static_assert(sizeof(struct wire_octave) == 264, "wire layout");
_Static_assert(sizeof(struct wire_async_key) == 16, "wire layout");

#endif
