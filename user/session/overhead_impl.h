/* SPDX-License-Identifier: MIT */
/* What overhead.c (counts against the limit) and overhead_shed.c (definitions that are taken out and come back) share. */
#ifndef SPANTRACE_OVERHEAD_IMPL_H
#define SPANTRACE_OVERHEAD_IMPL_H

#include "overhead.h"

/* Hits of one process image and definition. */
struct overhead_meter {
	struct wire_meter_key key;
	u64 base; /* when its process was judged last */
	u64 hits;
	bool seen; /* at this look */
};

struct overhead_process {
	u32 serial;
	pid_t pid;
	u64 cpu_ns, since_ns; /* when it was judged last */
	bool seen;
};

/* What becomes of a definition that was too hot once. */
enum shed_state {
	SHED_STANDS, /* its probes stand */
	SHED_ENDS,   /* no new spans; open ones may end */
	SHED_OUT,    /* its probes are taken out */
};

struct overhead_shed {
	u32 def;
	enum shed_state state;
	u64 changed_ns; /* when the state began */
	u64 pause_ns;   /* how long they stay out */
	u64 out_ns;     /* were out, all told */
	u32 times;
};

struct overhead {
	struct kernel *kernel;
	struct trace *trace;
	struct attach_set *probes;
	struct overhead_options options;
	u64 hit_ns; /* 0: not measured yet */
	u64 looked_ns;
	struct overhead_meter *meters; /* by process, then definition */
	size_t nmeters;
	struct overhead_process *processes; /* by serial */
	size_t nprocesses;
	struct overhead_shed *shed;
	size_t nshed;
	u64 *hits; /* by definition, of images that have ended */
	size_t nhits;

	/* Without a limit: */
	u64 cpu_ns, records; /* at the last look */
	bool warned;
};

/* "app:hot" of DEF. */
void overhead_name(const struct overhead *o, u32 def, char *out, size_t len);
/* Whether DEF can be shed now, and to shed it: it took COST_NS in WINDOW_NS, of which ALLOWED_NS would do. */
bool overhead_can_shed(const struct overhead *o, u32 def);
void overhead_shed(struct overhead *o, u32 def, u64 cost_ns, u64 allowed_ns, u64 window_ns,
		   u64 now_ns);
/* Takes out and puts back what is due. */
void overhead_move(struct overhead *o, u64 now_ns);

#endif
