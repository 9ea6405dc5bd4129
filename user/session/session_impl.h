/* SPDX-License-Identifier: MIT */
/* What the stages of one run share: session_begin.c (up to the open gate), session.c (while it runs),
 * session_discover.c (files that come later),
 * session_end.c (from the last hit to the written outputs). */
#ifndef SPANTRACE_SESSION_IMPL_H
#define SPANTRACE_SESSION_IMPL_H

#include <time.h>

#include "../attach/attach.h"
#include "../attach/features.h"
#include "../attach/plan.h"
#include "../kernel/kernel.h"
#include "../push/profiles.h"
#include "../service/service.h"
#include "../target/cgroup.h"
#include "../target/command.h"
#include "../target/mapwatch.h"
#include "../trace/heap.h"
#include "../trace/leaves.h"
#include "../trace/reorder.h"
#include "../trace/trace.h"
#include "../util/intmap.h"
#include "losses.h"
#include "memory.h"
#include "outputs.h"
#include "overhead.h"
#include "session.h"
#include "stats.h"

/* Files that were looked at within the last second, each at its place: most mappings are of such. */
#define SESSION_SEEN 4096

struct session_seen {
	u64 key;
	u64 until_ns;
};

struct session {
	const struct options *options;
	struct features features;
	struct outputs *outputs;
	struct profiles *profiles; /* --pyroscope; NULL: nobody gets any */
	struct plan *plan;
	struct kernel *kernel;
	struct trace *trace;
	bool rows;               /* the kernel keeps rows */
	struct reorder *reorder; /* NULL: no output wants single spans, any order will do */
	struct attach_set *probes;
	struct memory_options memory_options;
	struct memory *memory; /* NULL: allocations are not counted */
	struct memory_counts memory_counts;
	bool returns_kill; /* a target under seccomp dies of a probed return */
	u64 snapped_ns;    /* when outputs were last told what is in use */
	struct heap *heap; /* NULL: live blocks are not followed */
	pid_t *pids;       /* of -p, with their descendants */
	size_t npids;
	struct command_child child;
	int failed_status; /* exit status should the run fail before it traces */
	int signals;
	u32 ndefs;          /* that coz's driver knows */
	struct stats stats; /* --stats */
	struct overhead *overhead;
	struct service *service;
	struct options *next; /* where a reload puts the options of the next trace */
	bool reload;          /* is asked for */
	bool forgets;         /* what has ended and was told */
	u64 forgot_ns;
	u64 ring_fill;      /* the most, since it was told last */
	struct intmap dead; /* process images that have ended lately */
	u64 begin_ns, begin_realtime_ns, end_ns;
	u64 suspended_ns;     /* of struct profile */
	u64 interval_ends_ns; /* --interval */
	bool ended;           /* the last target has gone */
	bool ending;          /* a target has gone: look whether it was the last */
	bool interrupted;
	struct mapwatch *watch; /* of new mappings; NULL: the kernel does not let us */
	struct cgroup *cgroup;  /* only processes in it; NULL: no matter */
	struct session_seen seen[SESSION_SEEN];
	u64 now_ns;     /* of this look at new mappings */
	u64 scanned_ns; /* the last look at all processes */
	bool blind;     /* reports were lost since */
	bool new_sites; /* to be attached */
	pid_t *gone;    /* processes that have ended since the last look */
	size_t ngone;
	bool execs;       /* programs that have begun since the last look */
	u32 *dead_images; /* process images whose async spans are to be closed, and when they ended */
	u64 *dead_times;
	size_t ndead;
	struct model_loss losses[LOSS_CAUSES];
	char target[1024]; /* what the outputs call it */
	char release[65];  /* of the kernel */
};

static inline u64 session_clock(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (u64)now.tv_sec * 1000000000ULL + (u64)now.tv_nsec;
}

/* Everything up to the open gate; with -- CMD, CMD runs then. 0 or -errno, with the message printed. */
int session_begin(struct session *s, const struct pair_options *pairing);
/* Lets the command, held at an exec, run: its libraries are attached as its loader maps them. While none of its files
 * has markers it is watched for its next exec. */
int session_run_command(struct session *s);
/* Attaches what is planned and not attached yet. 0 or -errno, with the message printed. */
int session_attach(struct session *s);

/* Watches from now on for files that are mapped; says so where it cannot. */
void session_watch(struct session *s);
/* Plans the files of every process that is traced: -a, and where the watch is blind. 0 or -ENOMEM. */
int session_scan(struct session *s);
/* Plans and attaches the files that have been mapped since the last look. */
void session_discover(struct session *s, u64 now_ns);
/* Plans and attaches the files of one process. */
void session_look(struct session *s, pid_t pid);

/* With allocations or mappings in the metrics: what counts them. 0 or -errno. */
int session_new_memory(struct session *s);
void session_close_memory(struct session *s);
/* Probes the allocators of process PID, where allocations are counted; FORKED while the trace ran. 0 or -errno. */
int session_probe_memory(struct session *s, pid_t pid, bool forked);
void session_say_no_markers(const struct session *s);
/* Whether a marker or an allocator is probed. */
bool session_has_probes(const struct session *s);

/* Takes what the kernel has added up since the last time. */
void session_take_rows(struct session *s);
/* For kernel_take_rows() and its like: CONTEXT is the session. */
void session_row(void *context, const struct wire_row *gained, const struct wire_octave *pieces,
		 size_t n);
/* As often as one likes: tells how the trace is doing, and forgets what has ended; TOLD: an interval has just ended. */
void session_tick_service(struct session *s, u64 now_ns, bool told);
/* The last losses are counted. */
void session_end_service(struct session *s);
/* SIGHUP: reads the options again; where they can be taken, the trace ends and s->next is what follows. */
void session_reload(struct session *s);
/* As often as one likes: live blocks of processes that have ended, and snapshots when they are due. */
void session_tick_memory(struct session *s, u64 now_ns);
/* Takes what waits in the kernel into the trace. 0 or -errno. */
int session_drain(struct session *s);

/* Takes the async spans of a process image (0: of all) that has ended at WHEN, as open ones. 0 or -errno. */
int session_take_async(struct session *s, u32 image, u64 when);
/* Closes the gate, detaches, and takes what is left in the kernel. */
void session_close(struct session *s);
/* Puts into s->target what the outputs call the target. */
void session_name_target(struct session *s);
/* What is known of the trace by now: who and what, when, losses; no rows. */
void session_describe(struct session *s, struct profile *out);
/* An interval ends at END_NS: what was gained in it goes to the outputs that want it. What waits in the kernel has been
 * taken. 0 or -errno, with the message printed. */
int session_interval(struct session *s, u64 end_ns);
/* Adds up and writes the outputs. 0 or -errno, with the message printed. */
int session_write(struct session *s);
/* Brings the loss counters up to date; returns their sum. */
u64 session_lost(struct session *s);

#endif
