/* SPDX-License-Identifier: MIT */
/* Up to the open gate: targets checked, outputs opened, files planned, programs loaded, probes attached. What
 * goes wrong here ends the run with nothing traced and nothing written. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "../coz/coz_driver.h"
#include "../target/target.h"
#include "../util/grow.h"
#include "../util/log.h"
#include "session_impl.h"

/* Room for the markers of programs that are started later. */
#define SPARE_SITES     16384u
#define SPARE_SITES_ALL 65536u
#define SLEEP_MIN_NS    1000000u /* less is what lies between the readings of two clocks */

static int session_targets(struct session *s)
{
	char why[256];
	size_t i;
	int err;

	if (s->options->cgroup) {
		err = cgroup_new(s->options->cgroup, &s->cgroup, why, sizeof(why));
		if (err) {
			log_error("--cgroup %s: %s", s->options->cgroup, why);
			return err;
		}
	}
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

	if (err == -ENOENT) {
		log_error("%s: not found", argv[0]);
		s->failed_status = 127;
	} else if (err) {
		log_error("cannot run %s: %s", argv[0], strerror(-err));
		s->failed_status = 126;
	} else if (s->child.ended) {
		log_error("%s ended before it could be traced", argv[0]);
	}
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

	if (!err)
		plan_want_labels(s->plan, s->options->by, s->options->nby,
				 outputs_want_spans(s->outputs));
	if (err)
		return err;
	if (s->options->mode == MODE_CMD)
		return session_plan_process(s, s->child.pid);
	if (s->options->mode == MODE_ALL)
		return session_scan(s);
	for (i = 0; i < s->npids && !err; i++)
		err = session_plan_process(s, s->pids[i]);
	return err;
}

void session_say_no_markers(const struct session *s)
{
	struct plan_counts counts;
	const char *more = "";
	char list[1024] = "";
	size_t i, used = 0;

	plan_count(s->plan, &counts);
	for (i = 0; i < counts.files; i++) {
		/* Where there are some, the files that have none are of no interest. */
		if (counts.markers && !plan_file_has_markers(s->plan, i))
			continue;
		int n = snprintf(list + used, sizeof(list) - used, "%s%s", used ? ", " : "",
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

/* Whether the kernel can keep the probes within the targets. Where its filter is one of threads it would
 * lose the others' hits: then the BPF programs filter alone. */
static bool session_confined(const struct session *s)
{
	return !s->options->follow && s->features.uprobe_multi &&
	       s->features.uprobe_multi_pid_exact;
}

/* How many sites the table holds. A marker can be part of two spans. */
static u32 session_room(const struct session *s)
{
	u32 spare = s->options->mode == MODE_ALL ? SPARE_SITES_ALL : SPARE_SITES;
	u32 sites = plan_sites(s->plan);

	return sites > (SITES_MAX - spare) / 2 ? SITES_MAX : sites * 2 + spare;
}

/* In 2^-32, at least one; 0: every root span is kept. */
static u32 sample_chance(u32 ppb)
{
	u64 chance = ((u64)ppb << 32) / PPB;

	return ppb && !chance ? 1 : (u32)chance;
}

/* Whether --by names labels that spans inherit. */
static bool asks_for_ids(const struct options *options)
{
	for (size_t i = 0; i < options->nby; i++)
		if (trace_id_number(options->by[i]))
			return true;
	return false;
}

static int session_load(struct session *s)
{
	const struct options *options = s->options;
	struct kernel_options kernel = {
		.all_processes = options->mode == MODE_ALL,
		.cgroup = s->cgroup ? cgroup_id(s->cgroup) : 0,
		.pid_ns = s->features.pid_ns_initial ? 0 : s->features.pid_ns,
		.follow = options->follow,
		.usage = options->metrics & METRIC_CPU,
		.cpu_exact = options->metrics & METRIC_CPU_EXACT,
		.cpu_faults = s->features.fault_hooks,
		.prepare_exec = s->features.prepare_exec,
		.task_hooks = s->features.task_hooks,
		.uprobe_multi = s->features.uprobe_multi,
		.nsites = session_room(s),
		.batched = options->batched || plan_has_batched(s->plan),
		.ring_bytes = options->ring_bytes,
	};
	const struct wire_path *paths;
	char why[1024];
	u32 npaths;
	int err;

	kernel.totals = !options->stream && !options->nby && !outputs_want_spans(s->outputs);
	kernel.ids = options->pyroscope && asks_for_ids(options);
	kernel.counts = options->coz != NULL;
	kernel.alloc = options->metrics & METRIC_ALLOC;
	kernel.heap = options->metrics & METRIC_HEAP;
	kernel.map = options->metrics & METRIC_MMAP;
	s->returns_kill = (kernel.alloc || kernel.map) && !features_returns_pass_seccomp();
	kernel.returns_kill = s->returns_kill;
	kernel.session = s->features.uprobe_session;
	kernel.heap_objects = options->heap_objects;
	kernel.alloc_sample = options->alloc_sample;
	kernel.metered = options->limit_ppb || options->stats ? DEFS_MAX : 0;
	kernel.chance = sample_chance(options->sample_ppb);
	kernel.eager_forks = kernel.alloc || kernel.map;
	s->rows = kernel.totals || kernel.alloc || kernel.map;
	kernel.rows = s->rows ? options->rows : 0;
	plan_limit_sites(s->plan, kernel.nsites);
	err = kernel_new(&kernel, &s->kernel, why, sizeof(why));
	if (err) {
		log_error("%s; `spantrace doctor` shows what is missing", why);
		return err;
	}
	if (kernel.cpu_exact && !kernel.cpu_faults)
		log_warn(
			"-m cpu=exact: this kernel lets no BPF program stand at its functions, so page faults count as user time");
	paths = kernel_paths(s->kernel, &npaths);
	err = trace_new(paths, npaths, options->metrics, &s->trace);
	if (!err) {
		trace_ask_more(s->trace, kernel_drain_life, s->kernel);
		trace_split_by(s->trace, options->by, options->nby);
		err = outputs_listen(s->outputs, s->trace);
		if (outputs_on_screen(s->outputs))
			trace_begin_interval(s->trace);
	}
	if (!err)
		err = service_listen(s->service, s->trace);
	if (!err && outputs_may_forget(s->outputs)) {
		s->forgets = true;
		trace_may_forget(s->trace);
	}
	if (!err && outputs_want_spans(s->outputs))
		err = reorder_new(&s->reorder);
	if (!err)
		err = attach_new(s->kernel, s->features.uprobe_multi, s->pids,
				 session_confined(s) ? s->npids : 0, &s->probes);
	if (!err)
		err = overhead_new(s->kernel, s->trace, s->probes,
				   &(struct overhead_options){
					   .limit_ppb = options->limit_ppb,
					   .metered = kernel.metered > 0,
					   .uprobe_multi = s->features.uprobe_multi,
				   },
				   &s->overhead);
	if (!err)
		err = session_new_memory(s);
	if (err)
		log_error("cannot start: %s", strerror(-err));
	return err;
}

static void session_open(struct session *s)
{
	u32 end = plan_sites_end(s->plan);

	/* An allocator's functions need no row of the site table, but to the kernel side they are of the first one. */
	kernel_open(s->kernel, !end && s->memory ? 1 : end);
	plan_report(s->plan);
}

/* Tells coz's driver of the definitions that are new. */
static int session_define(struct session *s)
{
	const struct model_def *def;
	int err = 0;

	for (; !err && (def = trace_def(s->trace, s->ndefs)); s->ndefs++)
		err = coz_driver_define(s->options->coz, def);
	return err;
}

int session_attach(struct session *s)
{
	int err = plan_attach(s->plan, s->trace, s->kernel, s->probes);

	if (!err && s->options->coz)
		err = session_define(s);
	if (err)
		log_error("cannot attach: %s", strerror(-err));
	else if (s->begin_ns) /* the trace runs: what is new counts from here on */
		session_open(s);
	return err;
}

/* The targets are traced before their descendants are looked for, so that none slips through between. */
static int session_add_processes(struct session *s)
{
	size_t i, done;
	int err = 0;

	if (s->options->mode == MODE_ALL)
		return s->memory ? session_scan(s) : 0;
	if (s->options->mode == MODE_CMD) {
		err = kernel_add_process(s->kernel, s->child.pid);
		return err ? err : session_probe_memory(s, s->child.pid, false);
	}
	for (i = 0; i < s->npids && !err; i++)
		err = kernel_add_process(s->kernel, s->pids[i]);
	for (i = 0; i < s->npids && !err; i++)
		err = session_probe_memory(s, s->pids[i], false);
	done = s->npids;
	if (!err && s->options->follow)
		err = target_add_descendants(&s->pids, &s->npids);
	for (i = done; i < s->npids && !err; i++) {
		err = kernel_add_process(s->kernel, s->pids[i]);
		if (!err)
			err = session_probe_memory(s, s->pids[i], false);
		/* One that has ended in between is no loss. */
		if (!err && plan_add_process(s->plan, s->pids[i]) < 0)
			log_debug("process %d ended before it could be traced", s->pids[i]);
	}
	if (err)
		log_error("cannot follow the targets: %s", strerror(-err));
	return err;
}

int session_run_command(struct session *s)
{
	struct plan_counts counts;
	int err = 0;

	while (!err && command_next(&s->child) == 1) {
		err = plan_add_process(s->plan, s->child.pid);
		if (err > 0)
			err = session_attach(s);
		if (!err)
			err = session_probe_memory(s, s->child.pid, false);
	}
	plan_count(s->plan, &counts);
	if (!err && !counts.attached)
		return command_watch(&s->child);
	command_release(&s->child);
	return err;
}

static int session_prepare(struct session *s, const struct pair_options *pairing)
{
	const char *const *problems;
	size_t i, n;
	int err;

	session_watch(s);
	err = session_plan(s, pairing);
	if (!err)
		err = session_load(s);
	if (!err)
		err = session_add_processes(s);
	if (!err)
		err = session_attach(s);
	if (err)
		return err;
	if (s->options->mode == MODE_PIDS && !session_has_probes(s)) {
		session_say_no_markers(s);
		if (!s->options->duration_ns)
			return -ENOENT;
		log_warn(
			"waiting for what the targets load or start; that is looked for until the time given by -d is over");
	}
	problems = plan_problems(s->plan, &n);
	for (i = 0; i < n; i++)
		log_warn("%s", problems[i]);
	return 0;
}

static int session_block_signals(struct session *s)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGCHLD);
	if (s->options->parts.on)
		sigaddset(&set, SIGUSR1);
	/* A lost terminal ends a trace as Ctrl-C does, unless `nohup` said otherwise. */
	if (s->options->config || signal(SIGHUP, SIG_DFL) != SIG_IGN)
		sigaddset(&set, SIGHUP);
	else
		signal(SIGHUP, SIG_IGN);
	if (sigprocmask(SIG_BLOCK, &set, NULL))
		return -errno;
	signal(SIGPIPE, SIG_IGN);
	s->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return s->signals < 0 ? -errno : 0;
}

/* How long the machine slept, as of NOW_NS, which was read just before. */
static u64 suspended_since_boot(u64 now_ns)
{
	u64 since_boot = session_clock(CLOCK_BOOTTIME);

	return since_boot > now_ns + SLEEP_MIN_NS ? since_boot - now_ns : 0;
}

/* Servers get their names for the targets, which may end soon after the first hit. */
static int session_start_profiles(struct session *s)
{
	if (s->options->mode == MODE_CMD)
		profiles_process(s->profiles, kernel_image_of(s->kernel, s->child.pid),
				 s->child.pid);
	for (size_t i = 0; i < s->npids; i++)
		profiles_process(s->profiles, kernel_image_of(s->kernel, s->pids[i]), s->pids[i]);
	return profiles_start(s->profiles);
}

int session_begin(struct session *s, const struct pair_options *pairing)
{
	struct utsname uts = {.release = ""};
	struct profile run;
	char why[512];
	int err;

	losses_init(s->losses);
	uname(&uts);
	memcpy(s->release, uts.release, sizeof(s->release));
	s->failed_status = s->options->mode == MODE_CMD ? 125 : CLI_FAILED;
	err = session_targets(s);
	if (err)
		return err;
	err = features_probe(&s->features);
	if (!err && features_require(&s->features, why, sizeof(why))) {
		log_error("%s", why);
		return -EPERM;
	}
	if (!err)
		err = outputs_new_parts(
			s->options->outputs, s->options->noutputs, s->options->metrics,
			s->options->parts.on ? &s->options->parts : NULL, &s->outputs);
	if (!err && s->options->pyroscope)
		err = profiles_new(s->options, &s->profiles);
	if (!err)
		err = outputs_deliver(s->outputs, &s->options->push, s->options->push_wait_ns,
				      false);
	if (!err)
		err = session_block_signals(s);
	if (!err && s->options->mode == MODE_CMD)
		err = session_start_command(s);
	if (!err)
		err = session_prepare(s, pairing);
	if (!err && s->profiles)
		err = session_start_profiles(s);
	if (err)
		return err;
	/* What came since the files were planned. */
	session_discover(s, session_clock(CLOCK_MONOTONIC));
	s->begin_ns = session_clock(CLOCK_MONOTONIC);
	s->begin_realtime_ns = session_clock(CLOCK_REALTIME);
	s->suspended_ns = suspended_since_boot(s->begin_ns);
	trace_begin(s->trace, s->begin_ns, s->begin_realtime_ns);
	session_describe(s, &run);
	outputs_begin(s->outputs, &run);
	if (s->options->stats)
		stats_begin(&s->stats, s->begin_ns);
	session_open(s);
	if (s->options->coz) {
		err = coz_driver_begin(s->options->coz, s->kernel, s->child.pid);
		if (err) {
			log_error("cannot start: %s", strerror(-err));
			return err;
		}
	}
	return s->options->mode == MODE_CMD ? session_run_command(s) : 0;
}
