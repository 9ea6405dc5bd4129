/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* What every file of the kernel side needs: types, helpers, and the state that a thread carries. */
#ifndef SPANTRACE_BPF_H
#define SPANTRACE_BPF_H

#include "../vmlinux/vmlinux.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "../include/wire.h"

#define likely(x)   __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)

/* What the scheduler and the memory manager have counted for a task so far. off is the time it was not
 * on a CPU, up to a constant: exec_start and sum_exec_runtime are brought up to date together, so their
 * difference grows by exactly the time between the updates that the task did not run. exec_start is of
 * the CPU's own task clock, which stands still in interrupts and while a hypervisor runs others; the
 * CPU's skew puts it on the clock that all CPUs share, also when the task moves between them. */
struct usage {
	u64 off;
	u64 run_delay;
	u64 system; /* charged to the thread so far; see cpu.bpf.h */
	u32 vol_switches;
	u32 invol_switches;
	u32 minor_faults;
	u32 major_faults;
};

#define FRAME_ASYNC 0x1u
#define FRAME_DEAD \
	0x2u /* closed, but something above it is not: dropped when it comes to the top */
#define FRAME_LABELS 0x4u
#define FRAME_SHED \
	0x8u /* its definition is shed: no record is sent, its path is that of what is below it */
/* Bits of the kinds of its ids, and where those are. */
#define FRAME_IDS_SHIFT 4
#define FRAME_IDS       (WIRE_ID_KINDS << FRAME_IDS_SHIFT)
#define FRAME_RECURSIVE SITE_RECURSIVE << 8

struct frame {
	u64 start;
	union {
		u64 sp;
		u64 slot; /* FRAME_ASYNC: number of the span's slot; 0: it is in the table */
	};
	u64 id;        /* FRAME_ASYNC */
	u64 open_mask; /* the thread's, before this frame */
	struct usage base;
	u64 self_ns;
	u64 self_off;
	u64 self_run_delay;
	u64 self_system;
	u32 path;
	u32 site;
	u16 def;
	u16 flags;
	u32 row;                             /* aggregated mode; 0: none */
	u64 labels[LABELS_MAX];              /* FRAME_LABELS */
	struct wire_alloc_counts alloc_base; /* the thread's when it began */
	struct wire_alloc_counts self_alloc;
	u64 ids[IDS]; /* FRAME_IDS */
};

_Static_assert(!(FRAME_IDS & (FRAME_SHED | (FRAME_RECURSIVE))), "flags of their own");

/* Why a thread is in the kernel, knob_cpu_exact. */
enum stay {
	STAY_NONE = 0,
	STAY_CALL = 1,
	STAY_FAULT = 2, /* from the program itself; one inside a system call is a part of that */
};

#define PATH_MEMO_BITS 4
#define PATH_MEMO      (1u << PATH_MEMO_BITS)

struct path_memo {
	struct wire_path node;
	u32 path; /* 0: empty */
	u32 row;  /* aggregated mode; 0: none */
};

/* A function of the allocator that has been called and has not returned. */
struct alloc_call {
	u64 sp; /* at its first instruction */
	u64 bytes;
	u64 out; /* ALLOC_POSIX: where the block's address will be */
	u64 old; /* ALLOC_REALLOC: the block, and what was known of it if had_old */
	struct wire_object old_object;
	u64 weight;  /* bytes that it stands for, --alloc-sample */
	u32 objects; /* … and objects */
	u32 kind;    /* enum wire_alloc; 0: none */
	u32 had_old;
	u32 reserved;
};

/* The same for mmap and its like, which an allocator may call. */
struct map_call {
	u64 sp;
	u64 bytes; /* ALLOC_BRK: the break before it */
	u64 old;   /* ALLOC_MREMAP: bytes before it */
	u32 kind;
	u32 reserved;
};

enum announced {
	ANNOUNCED_NOT = 0,
	ANNOUNCED = 1,
	ANNOUNCED_BATCHED =
		2, /* and the thread uses the batched lane: before anything else its ops are fetched */
};

struct thread_state {
	u32 serial;
	u32 process;
	u32 depth;
	u32 dead;        /* frames marked FRAME_DEAD */
	u32 too_deep;    /* entered beyond FRAMES_MAX and not yet left */
	u32 announced;   /* enum announced */
	u64 too_deep_sp; /* where the first of those was entered */
	u64 open_mask;   /* bit DEF mod 64: a frame of that definition may be open */
	u64 last_run;    /* sum_exec_runtime then */
	u64 last;        /* the last change of the stack; time since then is the top frame's own */
	struct usage usage; /* charged by then */
	u64 stime;          /* when it was last looked at */
	s64 system_due; /* system time that is still to be charged; below 0: charged too early */
	u64 stay_since; /* the thread's run clock when it entered the kernel */
	u64 inside;     /* time in spans, all told */
	struct alloc_call call;
	struct map_call map;
	struct wire_alloc_counts alloc; /* all that it has allocated */
	u64 sample_left;                /* bytes until the next sample; 0: not drawn yet */
	u32 first_row;
	u32 stay;        /* enum stay: why it is in the kernel */
	u32 system_path; /* where the last system tick fell */
	u32 shy; /* image in which a return was left alone for seccomp, see alloc.bpf.c; 0: none */
	u32 batched;    /* uses the batched lane */
	u32 shed_epoch; /* open spans of definitions shed by then have been forgotten */
	u32 reserved;
	struct path_memo memo[PATH_MEMO];
	struct frame frames[FRAMES_NEAR];
};

/* A string on its way to becoming a name. Two parts are read one behind the other, each with room for a whole one. */
struct text {
	char bytes[2 * STRING_MAX];
};

/* One of the thread's buffers. */
struct batch_source {
	u64 address; /* 0: none */
	u32 file;
	u32 lap;  /* what was fetched: how often the buffer was full by then … */
	u32 used; /* … and ops of it since */
	u32 dropped;
	u32 born;
	u32 reserved;
	u64 value; /* of the event that comes next */
};

/* What is new in it, while that is being taken. */
struct batch_news {
	u32 at, end; /* ops */
	u32 first, count, clock;
	u32 reserved;
	u64 since;
	u64 tsc, tsc_ns;
};

/* A span without children that was met: its two ops, and what it is under PARENT. */
struct batch_leaf {
	u64 enter, exit; /* enter 0: none */
	u32 row;
	u32 path;
	u32 parent; /* path */
	u32 site;
	u16 def;
	u16 source;
	u32 octave; /* the piece of the row's histogram that was used last; 0: none */
};

#define BATCH_LEAVES 4

/* What a run of them has come to so far. Here and not on the stack, where the verifier would follow each sum. */
struct leaf_sums {
	u64 last; /* end of the last one */
	u64 busy;
	u64 system, gap_system;
	u64 least, most; /* as in struct wire_row */
};

/* The batched lane of one thread. */
struct batch {
	struct batch_source sources[BATCH_SOURCES_MAX];
	struct batch_news news[BATCH_SOURCES_MAX];
	struct batch_op next[BATCH_SOURCES_MAX]; /* of each, where several have news */
	struct usage raw;                        /* now */
	u64 now;
	u32 nnews; /* sources that have any */
	u32 from;  /* the last of those */
	u32 busy;
	u32 at; /* the next op */
	struct batch_leaf leaves[BATCH_LEAVES];
	struct leaf_sums sums;
	u64 not_leaf;           /* markers that began none in this fetch, by their number mod 64 */
	struct batch_head head; /* as just read */
	struct batch_op ops[BATCH_OPS]; /* as fetched */
};

struct chunk_key {
	u32 thread; /* serial */
	u32 chunk;
};

struct chunk {
	struct frame frames[FRAMES_CHUNK];
};

_Static_assert(sizeof(struct thread_state) < 4000, "one small kernel allocation a thread");
_Static_assert(sizeof(struct batch) < 4000, "one small kernel allocation a thread");
_Static_assert(sizeof(struct chunk) < 4000, "one small kernel allocation a chunk");

#endif
