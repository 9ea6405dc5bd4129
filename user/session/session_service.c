/* SPDX-License-Identifier: MIT */
/* A run as a service: what it tells of itself while it traces, what it forgets, and SIGHUP.
 *
 * A reload ends the trace, with its outputs written, and begins another with the options as they are by now: so everything
 * may have changed, all tables are empty again, and between the two no probe stands for about a second. What must outlive
 * it is the struct service's.
 */
#include <errno.h>
#include <signal.h>
#include <string.h>

#include "../service/notify.h"
#include "../util/log.h"
#include "session_impl.h"

#define SECOND 1000000000ULL

/* A server may be away for a moment. */
#define FAILING_NS (60 * SECOND)

static void describe_push(struct metrics_trace *out, enum metrics_server server, const char *name,
			  struct push *push)
{
	struct metrics_push *told = &out->pushes[out->npushes++];

	told->server = server;
	told->name = name;
	push_count(push, &told->counts);
}

static void describe(struct session *s, struct metrics_trace *out)
{
	struct trace_counts counts;
	struct plan_counts plan;

	session_lost(s);
	trace_counts(s->trace, &counts);
	plan_count(s->plan, &plan);
	*out = (struct metrics_trace){
		.losses = s->losses,
		.nlosses = LOSS_CAUSES,
		.metrics = s->options->metrics,
		.threads = counts.threads,
		.probes = plan.attached,
		.ring_fill = s->ring_fill,
		.ring_size = s->options->ring_bytes,
		.outputs = s->options->noutputs,
		.outputs_failed = outputs_failed(s->outputs, NULL),
	};
	s->ring_fill = 0;
	if (s->profiles)
		describe_push(out, METRICS_PYROSCOPE, "pyroscope", profiles_push(s->profiles));
	if (outputs_push(s->outputs))
		describe_push(out, METRICS_OTLP, "otlp", outputs_push(s->outputs));
}

/* Why the trace is not well, in TEXT; NULL: it is. */
static const char *why_unwell(struct session *s, const struct metrics_trace *trace, u64 now_ns,
			      char *text, size_t size)
{
	const char *path;
	size_t i;

	if (outputs_failed(s->outputs, &path)) {
		snprintf(text, size, "%s can not be written any more", path);
		return text;
	}
	for (i = 0; i < trace->npushes; i++) {
		const struct push_counts *counts = &trace->pushes[i].counts;

		if (!counts->failing_since_ns || now_ns < counts->failing_since_ns + FAILING_NS)
			continue;
		snprintf(text, size, "%s has taken nothing for %llu s: %s", trace->pushes[i].name,
			 (now_ns - counts->failing_since_ns) / SECOND, counts->words);
		return text;
	}
	return NULL;
}

static void tell(struct session *s, u64 now_ns)
{
	struct metrics_trace trace;
	char why[512];

	describe(s, &trace);
	service_tell(s->service, &trace, why_unwell(s, &trace, now_ns, why, sizeof(why)), now_ns);
}

void session_tick_service(struct session *s, u64 now_ns, bool told)
{
	u64 fill = kernel_ring_fill(s->kernel);

	if (fill > s->ring_fill)
		s->ring_fill = fill;
	if (service_due(s->service, now_ns))
		tell(s, now_ns);
	if (!s->forgets || now_ns - s->forgot_ns < SECOND || (s->options->interval_ns && !told))
		return;
	s->forgot_ns = now_ns;
	trace_forget_ended(s->trace, now_ns, s->options->interval_ns);
}

void session_end_service(struct session *s)
{
	struct metrics_trace trace;

	describe(s, &trace);
	service_trace_ended(s->service, &trace);
}

/* Why a trace cannot end here and be followed by another; NULL: it can. */
static const char *why_not(const struct session *s)
{
	if (!s->options->config)
		return "there is no --config FILE to read again";
	if (s->options->mode == MODE_CMD)
		return "a command is traced from its beginning, which was before";
	if (outputs_whole_file(s->outputs))
		return "an output is one file of the whole trace, which the next would write over; restart, or use --interval, or `record --max-time`";
	return NULL;
}

/* Of -p those that are still there. */
static void leave_ended(struct options *o)
{
	size_t kept = 0;

	for (size_t i = 0; i < o->npids; i++)
		if (kill(o->pids[i], 0) == 0 || errno != ESRCH)
			o->pids[kept++] = o->pids[i];
	if (o->npids && !kept)
		log_warn("SIGHUP: all of -p have ended");
	o->npids = kept ? kept : o->npids;
}

void session_reload(struct session *s)
{
	const char *why = why_not(s);
	struct options fresh = {0};
	int err;

	s->reload = false;
	if (!why) {
		err = cli_parse_again(s->options, &fresh);
		if (err)
			why = "the options are wrong, see above";
	}
	if (!why && fresh.mode == MODE_CMD)
		why = "a command is traced from its beginning, which was before";
	if (why) {
		log_error("SIGHUP: %s: the trace goes on as it was", why);
		options_free(&fresh);
		service_reloaded(s->service, false);
		return;
	}
	if (s->options->listen.on != fresh.listen.on ||
	    (fresh.listen.on && strcmp(s->options->listen.text, fresh.listen.text) != 0))
		log_warn("SIGHUP: --listen stays as it was; that takes a restart");
	leave_ended(&fresh);
	notify_reloading(session_clock(CLOCK_MONOTONIC));
	log_info("SIGHUP: the options are read again: another trace begins");
	*s->next = fresh;
	s->ended = true;
}
