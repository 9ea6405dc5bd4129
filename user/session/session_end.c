/* SPDX-License-Identifier: MIT */
/* From the last hit to the written outputs: nothing that was recorded may be lost here. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "../../include/version.h"
#include "../target/target.h"
#include "../util/log.h"
#include "session_impl.h"

struct async_closing {
	struct trace *trace;
	u64 when;
};

static void async_closed(void *context, struct wire_async *span)
{
	struct async_closing *closing = context;

	trace_open_async(closing->trace, span, closing->when);
}

int session_take_async(struct session *s, u32 image, u64 when)
{
	struct async_closing closing = {.trace = s->trace, .when = when};

	return kernel_take_async(s->kernel, image, async_closed, &closing);
}

u64 session_lost(struct session *s)
{
	u64 kernel[LOSS_KINDS];
	int i;

	if (kernel_losses(s->kernel, kernel) == 0)
		for (i = 0; i < LOSS_KINDS; i++)
			s->losses[i].count = kernel[i];
	s->losses[LOSS_MISSED].count = kernel_missed(s->kernel);
	s->losses[LOSS_DAMAGED].count = trace_damaged(s->trace);
	s->losses[LOSS_NO_MEMORY].count = trace_no_memory(s->trace);
	s->losses[LOSS_THREADS].count = trace_folded_threads(s->trace);
	s->losses[LOSS_ROWS].count = trace_folded_rows(s->trace);
	return losses_sum(s->losses);
}

/* Stretches of async spans that were open on threads at the end belong to spans that are still in the
 * kernel's table: they are added there, before the spans are taken out. */
static void session_collected(void *context, const void *record, size_t size)
{
	const struct wire_span *span = record;
	struct session *s = context;

	if (size == sizeof(*span) && span->head.kind == WIRE_SPAN &&
	    span->head.flags & WIRE_SEGMENT)
		kernel_add_segment(s->kernel, trace_process_of(s->trace, span->head.thread),
				   trace_def_of(s->trace, span->path), span);
	trace_record(s->trace, record, size);
}

void session_close(struct session *s)
{
	int err;

	s->end_ns = session_clock(CLOCK_MONOTONIC);
	overhead_end(s->overhead, s->plan, s->begin_ns, s->end_ns);
	kernel_close(s->kernel, s->end_ns);
	kernel_fetch_batches(s->kernel);
	attach_free(&s->probes);
	session_close_memory(s);
	session_drain(s);
	session_take_rows(s);
	err = kernel_collect(s->kernel, session_collected, s);
	if (!err)
		err = session_take_async(s, 0, s->end_ns);
	if (s->heap && heap_finish(s->heap, s->end_ns))
		log_warn("the live blocks cannot be read: suspects are missing");
	if (err)
		log_warn("spans still open at the end are not shown: %s", strerror(-err));
}

void session_name_target(struct session *s)
{
	const size_t len = sizeof(s->target);
	size_t i, used = 0;
	char comm[16];

	s->target[0] = '\0';
	if (s->options->mode == MODE_CMD) {
		for (i = 0; s->options->argv[i] && used < len; i++)
			used += (size_t)snprintf(s->target + used, len - used, "%s%s", i ? " " : "",
						 s->options->argv[i]);
		return;
	}
	if (s->options->mode == MODE_ALL)
		snprintf(s->target, len, "%s%s",
			 s->options->cgroup ? "every process in cgroup " : "every process",
			 s->options->cgroup ? s->options->cgroup : "");
	for (i = 0; i < s->options->npids && used < len; i++) {
		target_comm(s->options->pids[i], comm);
		used += (size_t)snprintf(s->target + used, len - used, "%spid %d (%s)",
					 i ? ", " : "", s->options->pids[i], comm);
	}
}

void session_describe(struct session *s, struct profile *out)
{
	*out = (struct profile){
		.version = SPANTRACE_VERSION,
		.kernel = s->release,
		.clock = "CLOCK_MONOTONIC",
		.target = s->target,
		.start_ns = s->begin_ns,
		.start_realtime_ns = s->begin_realtime_ns,
		.suspended_ns = s->suspended_ns,
		.end_ns = s->end_ns ? s->end_ns : session_clock(CLOCK_MONOTONIC),
		.metrics = s->options->metrics,
		.memory = {.sample = s->options->alloc_sample, .leaks_ns = s->options->leaks_ns},
		.sample_ppb = s->options->sample_ppb,
		.losses = s->losses,
		.nlosses = LOSS_CAUSES,
	};
	if (s->memory)
		memory_count(s->memory, &s->memory_counts);
	out->memory.processes = s->memory_counts.processes;
	out->memory.functions = s->memory_counts.functions;
	out->memory.markers = s->memory_counts.markers;
	out->memory.late = s->memory_counts.late;
	out->memory.entries =
		s->memory_options.no_returns ? s->memory_counts.processes : kernel_shy(s->kernel);
}

int session_interval(struct session *s, u64 end_ns)
{
	struct profile gained;
	int err;

	session_lost(s);
	session_describe(s, &gained);
	err = trace_profile_gained(s->trace, end_ns, &gained);
	if (err)
		log_error("cannot add up the interval: %s", strerror(-err));
	if (!err)
		outputs_interval(s->outputs, &gained);
	if (!err && s->profiles)
		profiles_interval(s->profiles, s->trace, &gained);
	if (outputs_on_screen(s->outputs))
		trace_begin_interval(s->trace);
	return err;
}

/* Profiles on their way to a server have no place for losses. */
static void say_losses(const struct session *s)
{
	for (u32 i = 0; i < LOSS_CAUSES; i++)
		if (s->losses[i].count)
			log_warn("lost: %s %llu: %s", s->losses[i].name,
				 (unsigned long long)s->losses[i].count, s->losses[i].text);
}

int session_write(struct session *s)
{
	struct profile profile;
	int err;

	if (s->options->interval_ns)
		session_interval(s, s->end_ns);
	session_lost(s);
	session_describe(s, &profile);
	profile.refused = plan_refused(s->plan, &profile.nrefused);
	err = trace_profile(s->trace, s->end_ns, &profile);
	if (err) {
		log_error("cannot add up the trace: %s", strerror(-err));
		return err;
	}
	plan_say_hints(s->plan, &profile);
	if (s->heap)
		outputs_heap(s->outputs, &profile);
	err = outputs_finish(s->outputs, &profile);
	if (s->profiles && !s->options->noutputs)
		say_losses(s);
	if (s->profiles)
		profiles_close(s->profiles);
	return err;
}
