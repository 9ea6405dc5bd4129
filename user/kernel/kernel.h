/* SPDX-License-Identifier: MIT */
/* The kernel side from the loader's view: loaded, fed with sites and processes, opened, drained, closed.
 *
 *   kernel_new ▸ kernel_set_site, kernel_add_process ▸ (attach.c) ▸ kernel_open
 *   ▸ kernel_drain … ▸ kernel_close ▸ (detach) ▸ kernel_drain, kernel_collect ▸ kernel_free
 */
#ifndef SPANTRACE_KERNEL_H
#define SPANTRACE_KERNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "../../include/wire.h"

struct kernel;

struct kernel_options {
	bool all_processes; /* but this one */
	bool follow;
	u64 cgroup;  /* id: of all processes only those in it or below; 0: all */
	u32 pid_ns;  /* inode of the PID namespace that pids are of; 0: the machine's first one */
	u32 rows;    /* room for totals in rows; 0: none are kept */
	bool totals; /* spans are added up in rows, no record is sent of them */
	bool ids;    /* ids of a trace go down to the spans inside */
	bool counts; /* spans and events are counted by definition, no record is sent of them */
	bool alloc;  /* allocations are counted, in rows */
	bool heap;   /* live blocks are followed too */
	bool eager_forks; /* a fork wakes the loader, as an exec does: the child waits for probes too */
	bool map;         /* mappings are counted, in rows */
	bool session;     /* entry and return are one program, where uprobe_multi is set */
	bool returns_kill; /* who is under seccomp dies of a probed return, which sessions leave alone */
	u32 heap_objects;  /* how many blocks at one time */
	u32 alloc_sample;  /* bytes between samples, on average; 0: every allocation counts */
	bool usage;        /* cpu, run delay, switches, faults */
	bool cpu_exact;    /* system time by kernel entries and exits … */
	bool cpu_faults;   /* … page faults among them */
	bool prepare_exec; /* there is a tracepoint before an exec */
	bool task_hooks;   /* programs may stand where tasks exit and exec */
	bool batched; /* markers of the batched lane are among them, or will be; no text is waited for then */
	bool uprobe_multi; /* programs are loaded for uprobe_multi links, else for perf events */
	u32 chance;        /* of a root span to be kept, in 2^-32; 0: every one is */
	u32 metered; /* definitions whose hits are counted and that can be shed: those numbered below; 0: none */
	u32 nsites;        /* room in the site table */
	size_t ring_bytes; /* of each CPU's ring; a power of two, at least a page */
};

/* The programs that a marker can be given to. */
enum kernel_program {
	KERNEL_SPAN_ENTER,
	KERNEL_SPAN_EXIT,
	KERNEL_ASYNC_NEW,
	KERNEL_ASYNC_ENTER,
	KERNEL_ASYNC_EXIT,
	KERNEL_ASYNC_CLOSE,
	KERNEL_EVENT,
	/* The same for sites with strings to read: these may wait for a page. */
	KERNEL_SPAN_ENTER_TEXT,
	KERNEL_ASYNC_NEW_TEXT,
	KERNEL_EVENT_TEXT,
	KERNEL_ALLOC_ENTER,
	KERNEL_ALLOC_RETURN, /* runs when the function returns */
	KERNEL_FREE_ENTER,
	KERNEL_ALLOC_MARKER,
	KERNEL_FREE_MARKER,
	KERNEL_ALLOC_SESSION, /* runs at the entry and, where that asks for it, at the return */
	KERNEL_MAP_ENTER,
	KERNEL_MAP_RETURN,
	KERNEL_MAP_SESSION,
	KERNEL_BATCH_FETCH,
	KERNEL_PROGRAMS,
};

static inline bool kernel_program_at_return(enum kernel_program program)
{
	return program == KERNEL_ALLOC_RETURN || program == KERNEL_MAP_RETURN;
}

static inline bool kernel_program_is_session(enum kernel_program program)
{
	return program == KERNEL_ALLOC_SESSION || program == KERNEL_MAP_SESSION;
}

typedef void (*kernel_record_fn)(void *context, const void *record, size_t size);

/* Loads and verifies everything, attaches what follows forks, execs and exits; markers are not yet attached.
 * 0 or -errno; WHY (of LEN bytes) says what was refused. */
int kernel_new(const struct kernel_options *options, struct kernel **out, char *why, size_t len);
/* Detaches what is attached here and frees. Links of attach.c must be gone. */
void kernel_free(struct kernel **kernel);

struct bpf_program *kernel_program(struct kernel *kernel, enum kernel_program program);
/* The path table, for trace_new(). */
const struct wire_path *kernel_paths(const struct kernel *kernel, u32 *n);

/* 0, -ENOSPC when SITE is beyond the table, or -errno. */
int kernel_set_site(struct kernel *kernel, u32 site, const struct wire_site *value);
/* The async definitions, where named parents are looked for; at most ASYNC_DEFS_MAX, later ones are not
 * looked for. */
int kernel_set_async_defs(struct kernel *kernel, const u32 *defs, u32 n);
/* What a site of otel_memory's markers reads. 0, -ENOSPC or -errno. */
int kernel_set_alloc_site(struct kernel *kernel, u32 index, const struct wire_alloc_site *value);
/* Traces process PID from now on. 0 or -errno. */
int kernel_add_process(struct kernel *kernel, pid_t pid);
/* The number of its image; 0: it is not traced. */
u32 kernel_image_of(struct kernel *kernel, pid_t pid);

/* A binary with N batched markers, of these cookies (0: not traced), on CLOCK; *FILE is what takes the definition's place in
 * the cookie of its KERNEL_BATCH_FETCH. 0, -ENOSPC, -EOPNOTSUPP where the kernel has no room for the lane's programs,
 * -EBUSY where options did not ask for it, or -errno where their hooks could not be attached. */
int kernel_add_batch(struct kernel *kernel, const u64 *cookies, u32 n, u32 clock, u32 *file);
/* After kernel_close(), before the detach: has what running threads still hold in their buffers fetched. */
void kernel_fetch_batches(struct kernel *kernel);

/* From here on hits of sites below number SITES count. */
void kernel_open(struct kernel *kernel, u32 sites);
/* From here on they do not: the trace ended at NOW_NS. */
void kernel_close(struct kernel *kernel, u64 now_ns);

/* Readable when a process has become another program: its probes are wanted soon. */
int kernel_life_fd(const struct kernel *kernel);
/* Hands the life records that wait, and the texts of labels, to the FN of the kernel_drain() that runs. */
void kernel_drain_life(void *kernel);
/* Hands every record that waits to FN: life records first. Returns how many, or -errno. */
int kernel_drain(struct kernel *kernel, kernel_record_fn fn, void *context);
/* After kernel_close() and the detach: what is still open on each thread, and each thread's end. */
int kernel_collect(struct kernel *kernel, kernel_record_fn fn, void *context);
/* Takes async spans out of the table and hands them to FN: those of the process image PROCESS, or all of
 * them (0). Stretches open on threads are not in their sums yet. */
typedef void (*kernel_async_fn)(void *context, struct wire_async *span);
int kernel_take_async(struct kernel *kernel, u32 process, kernel_async_fn fn, void *context);

/* After kernel_close(): adds a stretch that kernel_collect() found open to its async span. */
void kernel_add_segment(struct kernel *kernel, u32 process, u32 def,
			const struct wire_span *segment);

/* Aggregated mode: what each row has gained since the last call, with the N pieces of its histogram that have. */
typedef void (*kernel_row_fn)(void *context, const struct wire_row *gained,
			      const struct wire_octave *pieces, size_t n);
/* Hands the gains of all rows to FN; at least once an hour, because the histograms' counters wrap. */
void kernel_take_rows(struct kernel *kernel, kernel_row_fn fn, void *context);
/* The same for the rows of a thread that has ended, from the one that its WIRE_THREAD_END names, and gives them back. Those
 * that live blocks or async spans name stay until kernel_release_rows(). */
void kernel_end_rows(struct kernel *kernel, u32 first, kernel_row_fn fn, void *context);
/* Gives those back whose blocks have all been freed, and those of threads of which ENDED says that their process is no more,
 * and that no block in the table names them. */
typedef bool (*kernel_ended_fn)(void *context, u32 thread);
void kernel_release_rows(struct kernel *kernel, kernel_row_fn fn, kernel_ended_fn ended,
			 void *context);

/* Live blocks, each with the process image and the row it belongs to. FN returns whether the block is to be forgotten; that
 * changes no row. 0 or -errno. */
typedef bool (*kernel_object_fn)(void *context, const struct wire_object_key *key,
				 const struct wire_object *object);
int kernel_walk_objects(struct kernel *kernel, kernel_object_fn fn, void *context);
/* What row INDEX is the total of; false where there is no such row. */
bool kernel_row_of(struct kernel *kernel, u32 index, u32 *thread, u32 *path);

/* With options.counts: adds up, over CPUs, how often by now, for the N definitions from the first one. What began is never
 * less than what ended. Safe beside everything else until kernel_free(). */
void kernel_take_counts(const struct kernel *kernel, struct wire_count *out, u32 n);

/* Whether any traced process is left. */
bool kernel_has_processes(const struct kernel *kernel);
bool kernel_has_process(const struct kernel *kernel, pid_t pid);
/* The pids of the traced processes, in a block for free(). 0 or -ENOMEM. */
int kernel_processes(const struct kernel *kernel, pid_t **pids, size_t *n);

/* --max-overhead (kernel_meter.c): hits by process image and definition, summed over CPUs, since the trace began or the
 * image's first one. FN returns whether they are to be forgotten. 0 or -errno. */
typedef bool (*kernel_meter_fn)(void *context, const struct wire_meter_key *key, u64 hits);
int kernel_walk_meters(struct kernel *kernel, kernel_meter_fn fn, void *context);
/* Whether spans of DEF that begin from now on are left out. 0 or -errno. */
int kernel_shed(struct kernel *kernel, u32 def, bool shed);
/* The probes of DEF, which is shed, have been taken out: its open spans are forgotten. 0 or -errno. */
int kernel_forget(struct kernel *kernel, u32 def);
/* Every traced process, with the number of its image. */
typedef void (*kernel_process_fn)(void *context, pid_t pid, u32 serial);
void kernel_walk_processes(const struct kernel *kernel, kernel_process_fn fn, void *context);

/* How often a program has run and for how long, counted while somebody holds BPF_ENABLE_STATS. */
struct kernel_runs {
	char name[16];
	u64 runs;
	u64 ns;
};
int kernel_runs(const struct kernel *kernel, enum kernel_program program, struct kernel_runs *out);
/* Bytes that wait in the fullest ring. */
u64 kernel_ring_fill(const struct kernel *kernel);

/* Sums over CPUs, by enum wire_loss. */
int kernel_losses(const struct kernel *kernel, u64 losses[LOSS_KINDS]);
/* Process images in which returns were left alone, see returns_kill. */
u64 kernel_shy(const struct kernel *kernel);
/* Hits that a program missed because it was running already on that CPU. */
u64 kernel_missed(const struct kernel *kernel);

#endif
