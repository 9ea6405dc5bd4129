/* SPDX-License-Identifier: MIT */
/* One run of the main job.
 *
 *   check targets and outputs ▸ plan their files ▸ load ▸ attach ▸ open
 *   ▸ every 10 ms: drain the rings into the trace; new programs are planned and attached as they exec
 *   ▸ a signal, the time or the last target's end: close ▸ detach ▸ drain ▸ collect what is open ▸ outputs
 *
 * What goes wrong before "open" ends the run with nothing traced; after it, what was recorded is written.
 */
#include "session.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "attach.h"
#include "command.h"
#include "features.h"
#include "kernel.h"
#include "losses.h"
#include "outputs.h"
#include "plan.h"
#include "status.h"
#include "target.h"
#include "trace.h"
#include "util/cleanup.h"
#include "util/grow.h"
#include "util/log.h"

#define TICK_MS     10
#define RING_BYTES  (8u << 20)
#define SPARE_SITES 16384u /* for programs that are started later */

struct session {
	const struct options *options;
	struct features features;
	struct outputs *outputs;
	struct plan *plan;
	struct kernel *kernel;
	struct trace *trace;
	struct attach_set *probes;
	pid_t *pids; /* of -p, with their descendants */
	size_t npids;
	struct command_child child;
	int signals;
	u64 begin_ns, end_ns;
	bool ended;  /* the last target has gone */
	bool ending; /* a target has gone: look whether it was the last */
	bool interrupted;
	u32 *dead_images; /* process images whose async spans are to be closed, and when they ended */
	u64 *dead_times;
	size_t ndead;
	struct model_loss losses[LOSS_CAUSES];
};

static u64 clock_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (u64)now.tv_sec * 1000000000ULL + (u64)now.tv_nsec;
}

/* --- before the trace -------------------------------------------------------------------------- */

static int session_targets(struct session *s)
{
	char why[256];
	size_t i;
	int err;

	for (i = 0; i < s->options->npids; i++) {
		err = target_check(s->options->pids[i], why, sizeof(why));
		if (err) {
			log_error("%s", why);
			return err;
		}
		if (GROW(s->pids, s->npids))
			return -ENOMEM;
		s->pids[s->npids++] = s->options->pids[i];
	}
	return 0;
}

static int session_start_command(struct session *s)
{
	char **argv = s->options->argv;
	int err = command_start(argv, &s->child);

	if (err == -ENOENT)
		log_error("%s: not found", argv[0]);
	else if (err)
		log_error("cannot run %s: %s", argv[0], strerror(-err));
	else if (s->child.ended)
		log_error("%s ended before it could be traced", argv[0]);
	return s->child.ended ? -ECHILD : err;
}

/* Looks at the files of one process that is there now. */
static int session_plan_process(struct session *s, pid_t pid)
{
	int err = plan_add_process(s->plan, pid);

	if (err == -ESRCH)
		log_error("process %d ended before it could be traced", pid);
	else if (err == -EACCES || err == -EPERM)
		log_error("process %d: no permission to see its files; run spantrace with sudo",
			  pid);
	else if (err < 0)
		log_error("process %d: cannot see its files: %s", pid, strerror(-err));
	return err < 0 ? err : 0;
}

static int session_plan(struct session *s, const struct pair_options *pairing)
{
	size_t i;
	int err = plan_new(pairing, &s->plan);

	if (!err && s->options->mode == MODE_CMD)
		return session_plan_process(s, s->child.pid);
	for (i = 0; i < s->npids && !err; i++)
		err = session_plan_process(s, s->pids[i]);
	return err;
}

static void session_say_no_markers(const struct session *s)
{
	struct plan_counts counts;
	const char *more = "";
	char list[1024] = "";
	size_t i, used = 0;

	plan_count(s->plan, &counts);
	for (i = 0; i < counts.files; i++) {
		int n = snprintf(list + used, sizeof(list) - used, "%s%s", i ? ", " : "",
				 plan_file_name(s->plan, i));

		if (n < 0 || (size_t)n >= sizeof(list) - used) {
			list[used] = '\0';
			more = ", …";
			break;
		}
		used += (size_t)n;
	}
	if (counts.markers)
		log_error("no marker left to trace in %s%s: see `spantrace list`, -P and -x", list,
			  more);
	else
		log_error(
			"no markers in %s%s; add some with #include <spantrace.h>, or build the program with its own switched on (--enable-dtrace and the like)",
			list[0] ? list : "any file", more);
}

static int session_load(struct session *s)
{
	const struct options *options = s->options;
	struct kernel_options kernel = {
		.follow = options->follow,
		.usage = options->metrics & METRIC_CPU,
		.uprobe_multi = s->features.uprobe_multi,
		.nsites = plan_sites(s->plan) * 2 + SPARE_SITES,
		.ring_bytes = RING_BYTES,
	};
	const struct wire_path *paths;
	char why[1024];
	u32 npaths;
	int err;

	err = kernel_new(&kernel, &s->kernel, why, sizeof(why));
	if (err) {
		log_error("%s; `spantrace doctor` shows what is missing", why);
		return err;
	}
	paths = kernel_paths(s->kernel, &npaths);
	err = trace_new(paths, npaths, options->metrics, &s->trace);
	if (!err)
		err = outputs_listen(s->outputs, s->trace);
	if (!err)
		err = attach_new(s->kernel, s->features.uprobe_multi, s->pids,
				 options->follow ? 0 : s->npids, &s->probes);
	if (err)
		log_error("cannot start: %s", strerror(-err));
	return err;
}

static int session_attach(struct session *s)
{
	int err = plan_attach(s->plan, s->trace, s->kernel, s->probes);

	if (err)
		log_error("cannot attach: %s", strerror(-err));
	return err;
}

/* The targets are traced before their descendants are looked for, so that none slips through between. */
static int session_add_processes(struct session *s)
{
	size_t i, done;
	int err = 0;

	if (s->options->mode == MODE_CMD)
		return kernel_add_process(s->kernel, s->child.pid);
	for (i = 0; i < s->npids && !err; i++)
		err = kernel_add_process(s->kernel, s->pids[i]);
	done = s->npids;
	if (!err && s->options->follow)
		err = target_add_descendants(&s->pids, &s->npids);
	for (i = done; i < s->npids && !err; i++) {
		err = kernel_add_process(s->kernel, s->pids[i]);
		/* One that has ended in between is no loss. */
		if (!err && plan_add_process(s->plan, s->pids[i]) < 0)
			log_debug("process %d ended before it could be traced", s->pids[i]);
	}
	if (err)
		log_error("cannot follow the targets: %s", strerror(-err));
	return err;
}

/* Lets the command's loader map its libraries, each of them attached before it runs. */
static int session_step_command(struct session *s)
{
	int err = 0, mapped;

	while (!err && (mapped = command_next(&s->child)) == 1) {
		err = plan_add_process(s->plan, s->child.pid);
		if (err > 0)
			err = session_attach(s);
	}
	return err;
}

static int session_prepare(struct session *s, const struct pair_options *pairing)
{
	struct plan_counts counts;
	const char *const *problems;
	size_t i, n;
	int err;

	err = session_plan(s, pairing);
	if (!err)
		err = session_load(s);
	if (!err)
		err = session_add_processes(s);
	if (!err)
		err = session_attach(s);
	if (err)
		return err;
	plan_count(s->plan, &counts);
	if (s->options->mode != MODE_CMD && !counts.attached) {
		session_say_no_markers(s);
		return -ENOENT;
	}
	problems = plan_problems(s->plan, &n);
	for (i = 0; i < n; i++)
		log_warn("%s", problems[i]);
	return 0;
}

/* --- while it runs ----------------------------------------------------------------------------- */

/* A process has become another program: its files may bring markers of their own. */
static void session_exec(struct session *s, pid_t pid)
{
	if (plan_add_process(s->plan, pid) > 0)
		session_attach(s);
}

static void session_image_ended(struct session *s, u32 image, u64 when)
{
	if (GROW(s->dead_images, s->ndead) || GROW(s->dead_times, s->ndead))
		return;
	s->dead_images[s->ndead] = image;
	s->dead_times[s->ndead++] = when;
}

static void session_record(void *context, const void *record, size_t size)
{
	const struct wire_head *head = record;
	const struct wire_life *life = record;
	struct session *s = context;

	trace_record(s->trace, record, size);
	if (size < sizeof(*life) || head->kind < WIRE_FORK)
		return;
	if (head->kind == WIRE_EXEC) {
		session_image_ended(s, life->old_process, life->time_ns);
		session_exec(s, (pid_t)life->pid);
	} else if (head->kind == WIRE_EXIT) {
		session_image_ended(s, life->process, life->time_ns);
		s->ending = true;
	}
}

struct session_async {
	struct session *session;
	u64 when;
};

static void session_async(void *context, struct wire_async *span)
{
	struct session_async *closing = context;

	trace_open_async(closing->session->trace, span, closing->when);
}

/* Closes the async spans of the images that have ended. Their table is walked, so not for each at once. */
static void session_bury(struct session *s)
{
	size_t i;

	for (i = 0; i < s->ndead; i++) {
		struct session_async closing = {.session = s, .when = s->dead_times[i]};

		kernel_take_async(s->kernel, s->dead_images[i], session_async, &closing);
	}
	free(s->dead_images);
	free(s->dead_times);
	s->dead_images = NULL;
	s->dead_times = NULL;
	s->ndead = 0;
}

static void session_signals(struct session *s)
{
	struct signalfd_siginfo info;

	while (read(s->signals, &info, sizeof(info)) == sizeof(info)) {
		if (info.ssi_signo == SIGCHLD) {
			s->ending = true;
			continue;
		}
		/* The command gets the terminal's Ctrl-C itself; its end is then the trace's. A
		 * second signal does not wait for it. */
		if (s->options->mode == MODE_CMD && !s->interrupted && !s->child.ended) {
			if (info.ssi_signo != SIGINT || info.ssi_pid != 0)
				kill(s->child.pid, (int)info.ssi_signo);
			s->interrupted = true;
			continue;
		}
		s->interrupted = true;
		s->ended = true;
	}
}

static u64 session_lost(struct session *s)
{
	u64 kernel[LOSS_KINDS];
	int i;

	if (kernel_losses(s->kernel, kernel) == 0)
		for (i = 0; i < LOSS_KINDS; i++)
			s->losses[i].count = kernel[i];
	s->losses[LOSS_MISSED].count = kernel_missed(s->kernel);
	s->losses[LOSS_DAMAGED].count = trace_damaged(s->trace);
	s->losses[LOSS_NO_MEMORY].count = trace_no_memory(s->trace);
	return losses_sum(s->losses);
}

static void session_loop(struct session *s)
{
	struct pollfd poll_fd = {.fd = s->signals, .events = POLLIN};
	struct status_line status;
	u64 now = s->begin_ns, checked = now;
	u64 limit = s->options->duration_ns;

	status_begin(&status, s->options->quiet, now);
	while (!s->ended && (!limit || now - s->begin_ns < limit)) {
		if (poll(&poll_fd, 1, TICK_MS) > 0)
			session_signals(s);
		if (kernel_drain(s->kernel, session_record, s) < 0)
			break;
		session_bury(s);
		now = clock_ns(CLOCK_MONOTONIC);
		if (s->child.pid)
			command_reap(&s->child, false);
		/* Once a second in any case: the record of an end may have been lost. */
		if (s->ending || now - checked > 1000000000ULL) {
			s->ending = false;
			checked = now;
			s->ended |= !kernel_has_processes(s->kernel);
		}
		if (status_due(&status, now))
			status_show(&status, s->trace, session_lost(s), now);
		if (trace_error(s->trace)) {
			log_error("cannot go on writing: %s", strerror(-trace_error(s->trace)));
			break;
		}
	}
	status_end(&status);
}

/* --- after it ---------------------------------------------------------------------------------- */

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

static void session_close(struct session *s)
{
	struct session_async closing = {.session = s};
	int err;

	s->end_ns = clock_ns(CLOCK_MONOTONIC);
	closing.when = s->end_ns;
	kernel_close(s->kernel, s->end_ns);
	attach_free(&s->probes);
	kernel_drain(s->kernel, session_record, s);
	session_bury(s);
	err = kernel_collect(s->kernel, session_collected, s);
	if (!err)
		err = kernel_take_async(s->kernel, 0, session_async, &closing);
	if (err)
		log_warn("spans still open at the end are not shown: %s", strerror(-err));
}

static void session_name_target(const struct session *s, char *out, size_t len)
{
	size_t i, used = 0;
	char comm[16];

	out[0] = '\0';
	if (s->options->mode == MODE_CMD) {
		for (i = 0; s->options->argv[i] && used < len; i++)
			used += (size_t)snprintf(out + used, len - used, "%s%s", i ? " " : "",
						 s->options->argv[i]);
		return;
	}
	for (i = 0; i < s->options->npids && used < len; i++) {
		target_comm(s->options->pids[i], comm);
		used += (size_t)snprintf(out + used, len - used, "%spid %d (%s)", i ? ", " : "",
					 s->options->pids[i], comm);
	}
}

static int session_write(struct session *s, const char *target)
{
	struct utsname uts = {.release = ""};
	struct profile profile = {
		.version = SPANTRACE_VERSION,
		.clock = "CLOCK_MONOTONIC",
		.target = target,
		.losses = s->losses,
		.nlosses = LOSS_CAUSES,
	};
	int err;

	uname(&uts);
	profile.kernel = uts.release;
	session_lost(s);
	profile.refused = plan_refused(s->plan, &profile.nrefused);
	err = trace_profile(s->trace, s->end_ns, &profile);
	if (err) {
		log_error("cannot add up the trace: %s", strerror(-err));
		return err;
	}
	return outputs_finish(s->outputs, &profile);
}

static void session_free(struct session *s)
{
	command_release(&s->child);
	attach_free(&s->probes);
	kernel_free(&s->kernel);
	outputs_free(&s->outputs);
	trace_free(&s->trace);
	plan_free(&s->plan);
	cleanup_close(&s->signals);
	free(s->pids);
	free(s->dead_images);
	free(s->dead_times);
}

static int session_block_signals(struct session *s)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGCHLD);
	if (sigprocmask(SIG_BLOCK, &set, NULL))
		return -errno;
	signal(SIGPIPE, SIG_IGN);
	s->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return s->signals < 0 ? -errno : 0;
}

/* Everything up to the open gate. */
static int session_begin(struct session *s, const struct pair_options *pairing)
{
	char why[512];
	int err;

	losses_init(s->losses);
	err = session_targets(s);
	if (err)
		return err;
	err = features_probe(&s->features);
	if (!err && features_require(&s->features, why, sizeof(why))) {
		log_error("%s", why);
		return -EPERM;
	}
	if (!err)
		err = outputs_new(s->options, &s->outputs);
	if (!err)
		err = session_block_signals(s);
	if (!err && s->options->mode == MODE_CMD)
		err = session_start_command(s);
	if (!err)
		err = session_prepare(s, pairing);
	if (err)
		return err;
	s->begin_ns = clock_ns(CLOCK_MONOTONIC);
	trace_begin(s->trace, s->begin_ns, clock_ns(CLOCK_REALTIME));
	kernel_open(s->kernel);
	if (s->options->mode == MODE_CMD) {
		err = session_step_command(s);
		command_release(&s->child);
	}
	return err;
}

/* Exit status for a run that did not get as far as tracing. */
static int session_failed_status(const struct session *s, int err)
{
	if (s->options->mode != MODE_CMD)
		return CLI_FAILED;
	if (!s->child.pid && err == -ENOENT)
		return 127;
	if (!s->child.pid && (err == -EACCES || err == -ENOEXEC || err == -EISDIR))
		return 126;
	return 125;
}

int session_run(const struct options *options)
{
	CLEANUP(session_free) struct session s = {.options = options, .signals = -1};
	struct pair_options pairing = {
		.specs = options->spans,
		.nspecs = options->nspans,
		.providers = options->providers,
		.nproviders = options->nproviders,
		.excludes = options->excludes,
		.nexcludes = options->nexcludes,
	};
	struct plan_counts counts;
	char target[1024];
	int err;

	if (options->mode == MODE_ALL) {
		log_error("-a is not in this version; give processes with -p");
		return CLI_USAGE;
	}
	session_name_target(&s, target, sizeof(target));
	err = session_begin(&s, &pairing);
	if (err)
		return session_failed_status(&s, err);
	session_loop(&s);
	session_close(&s);
	err = session_write(&s, target);
	plan_count(s.plan, &counts);
	if (!counts.attached) {
		session_say_no_markers(&s);
		err = -ENOENT;
	}
	if (options->mode != MODE_CMD)
		return err ? CLI_FAILED : CLI_DONE;
	if (!s.child.ended && !s.interrupted)
		command_reap(&s.child, true);
	if (err || !s.child.ended)
		return err ? 125 : 0;
	return command_exit_status(&s.child);
}
