/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* Every map and every knob, in one place, each with its sizing rule. */
#ifndef SPANTRACE_MAPS_BPF_H
#define SPANTRACE_MAPS_BPF_H

#include "spantrace.bpf.h"

/* Knobs: fixed at load, so that what is off is compiled away. */
const volatile bool knob_all_processes; /* -a: every process is traced, no table of them */
const volatile bool knob_faults;        /* programs that read strings may wait for a page */
const volatile u32 knob_rows;           /* room for totals in rows; 0: none are kept */
const volatile bool knob_totals;        /* spans are added up in rows, no record is sent of them */
const volatile bool knob_alloc;         /* allocations are counted */
const volatile bool knob_heap;          /* live blocks are followed */
const volatile bool knob_returns_kill;  /* who is under seccomp dies of a probed return */
const volatile bool knob_never;         /* set by nobody: see guard.bpf.h */
const volatile bool knob_ids;           /* ids of a trace go down to the spans inside */
const volatile bool knob_counts; /* spans and events are counted, no record is sent of them */
const volatile u32 knob_sample;  /* --alloc-sample, in bytes; 0: every allocation counts */
const volatile u32 sample_log[SAMPLE_LOG_SIZE];
const volatile u32 sample_weight[SAMPLE_WEIGHT_SIZE];
const volatile bool knob_eager_forks;  /* the loader is woken for forks */
const volatile bool knob_usage = true; /* cpu, run delay, switches, faults */
const volatile bool knob_cpu_exact;    /* system time by kernel entries and exits, not by ticks */
const volatile u32 knob_tick_ns = 4000000; /* of the kernel's clock */
const volatile u32 knob_cpus = 1; /* rings; a power of two, so that it masks a CPU number */
const volatile u64
	knob_cgroup; /* -a: only what runs in the cgroup with this id or below it; 0: all */
const volatile u32 knob_chance; /* --sample, of a root span in 2^-32; 0: none is left out */
const volatile bool knob_meter; /* --max-overhead: hits are counted, definitions can be shed */
const volatile u32 knob_self;   /* -a: the process that is not traced, spantrace */
const volatile u32 knob_pid_ns; /* whose numbers of processes are told; 0: the machine's own */

/* Sites below this number count, hits of others return at once. The loader raises it when all probes of a
 * file stand, and sets it to 0 to stop: each file's trace begins at one instant, and all end at one. */
u32 sites_open;
u64 session_closed; /* the instant it ended; 0 before */

u32 thread_serials;  /* last one given */
u32 process_serials; /* the loader gives the first ones */
u32 paths_used = PATHS_RESERVED;
u32 rows_used = 1;
u32 octaves_used = 1;
u32 processes_shy; /* images in which a return was left alone for seccomp */
u32 shed_epoch;    /* rises each time that the probes of a definition have been taken out */

u64 async_far; /* how many are in async_spans, where async_slots had no room */

/* How many async spans were made and ended, for the loader to know when there is nothing to look for. A cell a CPU:
 * one for all would go from cache to cache. */
u64 async_made[ASYNC_CELLS * ASYNC_CELL_STRIDE];
u64 async_ended[ASYNC_CELLS * ASYNC_CELL_STRIDE];

/* One ring a CPU, so that a hit takes a lock that nobody else wants. Size: --ring-size. */
struct span_ring {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096);
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, 1);
	__type(key, u32);
	__array(values, struct span_ring);
} rings SEC(".maps");

/* Life records have a ring of their own: a flood of spans does not lose them. */
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, CONTROL_RING_BYTES);
} control SEC(".maps");

/* By enum wire_loss. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, LOSS_KINDS);
	__type(key, u32);
	__type(value, u64);
} losses SEC(".maps");

/* The state of each thread that has hit a probe; the kernel frees it with the thread. */
struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct thread_state);
} threads SEC(".maps");

/* Frames above FRAMES_NEAR, for the few threads that go so deep; deleted with the thread. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, CHUNKS_MAX);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct chunk_key);
	__type(value, struct chunk);
} chunks SEC(".maps");

/* What a new chunk is made from. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct chunk);
} empty_chunk SEC(".maps");

/* By the cookie's site. The loader sizes it to the plan. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct wire_site);
} sites SEC(".maps");

/* Which processes are traced, by the pid that spantrace sees; with -a those that have hit a probe. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, PROCESSES_MAX);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, u32);
	__type(value, struct wire_process);
} processes SEC(".maps");

/* The path table, read by the loader without a system call, and the way to find a node in it. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, PATHS_MAX);
	__uint(map_flags, BPF_F_MMAPABLE);
	__type(key, u32);
	__type(value, struct wire_path);
} paths SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, PATHS_MAX);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct wire_path);
	__type(value, u32);
} path_index SEC(".maps");

/* Aggregated mode: the rows and their histograms, which the loader reads as they are; where a thread's row of a path is;
 * and those that the loader has given back. The loader sizes them. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__uint(map_flags, BPF_F_MMAPABLE);
	__type(key, u32);
	__type(value, struct wire_row);
} rows SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__uint(map_flags, BPF_F_MMAPABLE);
	__type(key, u32);
	__type(value, struct wire_octave);
} octaves SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct wire_row_key);
	__type(value, u32);
} row_index SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_STACK);
	__uint(max_entries, 1);
	__type(value, u32);
} free_rows SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_STACK);
	__uint(max_entries, 1);
	__type(value, u32);
} free_octaves SEC(".maps");

/* knob_counts: COUNTS_MAX numbers a CPU, read by the loader as they are. The loader sizes it. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__uint(map_flags, BPF_F_MMAPABLE);
	__type(key, u32);
	__type(value, struct wire_count);
} counts SEC(".maps");

/* Live blocks. The loader sizes it, and takes out those of a process that has ended. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct wire_object_key);
	__type(value, struct wire_object);
} objects SEC(".maps");

/* Sites of otel_memory's markers, by the cookie's definition. The loader fills it. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, ALLOC_SITES_MAX);
	__type(key, u32);
	__type(value, struct wire_alloc_site);
} alloc_sites SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, ASYNC_MAX);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct wire_async_key);
	__type(value, struct wire_async);
} async_spans SEC(".maps");

/* See async_table.bpf.h. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, ASYNC_SLOTS);
	__uint(map_flags, BPF_F_MMAPABLE);
	__type(key, u32);
	__type(value, struct wire_async_slot);
} async_slots SEC(".maps");

/* --max-overhead: hits by process and definition, and the definitions' states. The loader sizes them. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_HASH);
	__uint(max_entries, 1);
	__type(key, struct wire_meter_key);
	__type(value, u64);
} meters SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct wire_def_state);
} def_states SEC(".maps");

/* Where a thread reads strings to, apart from its state, which most threads need alone. */
struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct text);
} texts SEC(".maps");

u32 names_used; /* of the strings, those that spans are called by */

/* Names of the strings that the loader knows, with STRING_* bits. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, STRINGS_MAX);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, u64);
	__type(value, u8);
} strings SEC(".maps");

/* The async definitions of the plan, where a named parent is looked for. The loader fills it. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, ASYNC_DEFS_MAX);
	__type(key, u32);
	__type(value, u32);
} async_defs SEC(".maps");

u32 async_defs_used; /* how many of them there are */

u64 tsc_mult; /* ns per tick of BATCH_CLOCK_TSC, in 2^-32; the loader measures it once there is need */
u64 tsc_far; /* ticks beyond which the product would not fit, a second or two */

/* The batched lane: its binaries, the cookies of their markers (0: not traced), and what a thread that uses it carries.
 * The loader sizes the second. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, BATCH_FILES_MAX);
	__type(key, u32);
	__type(value, struct wire_batch_file);
} batch_files SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, u64);
} batch_markers SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct batch);
} batches SEC(".maps");

#endif
