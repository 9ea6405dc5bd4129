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
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "../coz/coz_driver.h"
#include "../service/notify.h"
#include "../util/cleanup.h"
#include "../util/grow.h"
#include "../util/log.h"
#include "session_impl.h"
#include "status.h"

#define TICK_MS 10
#define SECOND  1000000000ULL
#define TENTH   100000000ULL

/* More than end between two looks at what their rows are. */
#define DEAD_MAX (1u << 16)

static void session_image_ended(struct session *s, u32 image, u64 when)
{
	if (s->heap)
		heap_end_image(s->heap, image, when);
	if (s->dead.used == DEAD_MAX)
		intmap_free(&s->dead);
	if (s->rows) /* without memory, its rows stay */
		(void)intmap_set(&s->dead, image, s);
	if (GROW(s->dead_images, s->ndead) || GROW(s->dead_times, s->ndead))
		return;
	s->dead_images[s->ndead] = image;
	s->dead_times[s->ndead++] = when;
}

void session_row(void *context, const struct wire_row *gained, const struct wire_octave *pieces,
		 size_t n)
{
	struct session *s = context;

	trace_take_row(s->trace, gained, pieces, n);
}

void session_take_rows(struct session *s)
{
	if (s->rows)
		kernel_take_rows(s->kernel, session_row, s);
}

static void session_keep(void *context, const void *record, size_t size)
{
	struct session *s = context;

	if (!s->reorder || reorder_add(s->reorder, record, size))
		trace_record(s->trace, record, size);
}

static void session_record(void *context, const void *record, size_t size)
{
	const struct wire_head *head = record;
	const struct wire_life *life = record;
	const struct wire_thread_end *end = record;
	struct session *s = context;

	if (leaves_each(record, size, session_keep, s) == 0)
		return;
	session_keep(s, record, size);
	if (s->rows && head->kind == WIRE_THREAD_END && size >= sizeof(*end))
		kernel_end_rows(s->kernel, end->row, session_row, s);
	if (s->profiles && head->size == size)
		profiles_record(s->profiles, head);
	if (size < sizeof(*life) || head->kind < WIRE_FORK)
		return;
	if (head->kind == WIRE_FORK) {
		session_probe_memory(s, (pid_t)life->pid, true);
	} else if (head->kind == WIRE_EXEC) {
		session_image_ended(s, life->old_process, life->time_ns);
		s->execs = true;
		/* The kernel kept the probes to the leader that is gone. */
		if (life->by_thread && s->memory) {
			memory_end_process(s->memory, (pid_t)life->pid);
			session_probe_memory(s, (pid_t)life->pid, true);
		}
		if (!s->watch)
			session_look(s, (pid_t)life->pid);
	} else if (head->kind == WIRE_EXIT) {
		session_image_ended(s, life->process, life->time_ns);
		if (GROW(s->gone, s->ngone) == 0)
			s->gone[s->ngone++] = (pid_t)life->pid;
		s->ending |= s->options->mode != MODE_ALL; /* that ends with no process */
		if (s->memory)
			memory_end_process(s->memory, (pid_t)life->pid);
	}
}

/* Whether the process of THREAD is no more. Its async spans have been taken by then. */
static bool session_has_ended(void *context, u32 thread)
{
	const struct session *s = context;

	return intmap_find(&s->dead, trace_process_of(s->trace, thread));
}

/* Closes the async spans of the process images that have ended. */
static void session_bury(struct session *s)
{
	size_t i;

	for (i = 0; i < s->ndead; i++)
		session_take_async(s, s->dead_images[i], s->dead_times[i]);
	free(s->dead_images);
	free(s->dead_times);
	s->dead_images = NULL;
	s->dead_times = NULL;
	s->ndead = 0;
}

static void session_ordered(void *context, const void *record, size_t size)
{
	struct session *s = context;

	trace_record(s->trace, record, size);
}

int session_drain(struct session *s)
{
	u64 began = session_clock(CLOCK_MONOTONIC);
	int err;

	if (s->options->stats)
		stats_drain(&s->stats, s->kernel);
	err = kernel_drain(s->kernel, session_record, s);

	/* After the end nothing more comes. */
	if (s->reorder)
		reorder_pass(s->reorder, s->end_ns ? UINT64_MAX : began, session_ordered, s);
	session_bury(s);
	return err < 0 ? err : 0;
}

static void session_signals(struct session *s)
{
	struct signalfd_siginfo info;

	while (read(s->signals, &info, sizeof(info)) == sizeof(info)) {
		if (info.ssi_signo == SIGCHLD) {
			s->ending = true;
			continue;
		}
		if (info.ssi_signo == SIGHUP && s->options->config) {
			s->reload = true;
			continue;
		}
		if (info.ssi_signo == SIGUSR1) {
			outputs_cut(s->outputs);
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

static void session_tick(struct session *s)
{
	struct profile so_far;

	session_lost(s);
	session_describe(s, &so_far);
	outputs_tick(s->outputs, &so_far);
}

static void session_end_interval(struct session *s, u64 now)
{
	u64 interval = s->options->interval_ns;

	session_take_rows(s);
	session_interval(s, now);
	/* At whole intervals from the begin; those that were missed are in this one. */
	s->interval_ends_ns += interval;
	if (s->interval_ends_ns <= now)
		s->interval_ends_ns = now + interval - (now - s->begin_ns) % interval;
}

static void session_loop(struct session *s)
{
	struct pollfd poll_fds[] = {
		{.fd = s->signals, .events = POLLIN},
		{.fd = kernel_life_fd(s->kernel), .events = POLLIN},
	};
	struct status_line status;
	u64 now = s->begin_ns, checked = now, ticked = now;
	u64 limit = s->options->duration_ns;
	bool interval;

	s->interval_ends_ns = now + s->options->interval_ns;
	/* coz has its own to say, and no spans come by; what is on the screen stays there. */
	status_begin(&status, s->options->quiet || s->options->coz || outputs_on_screen(s->outputs),
		     now);
	while (!s->ended && (!limit || now - s->begin_ns < limit)) {
		if (poll(poll_fds, 2, TICK_MS) > 0)
			session_signals(s);
		if (s->reload)
			session_reload(s);
		if (session_drain(s))
			break;
		now = session_clock(CLOCK_MONOTONIC);
		session_discover(s, now);
		if (s->child.pid && !command_reap(&s->child, false) && s->child.held) {
			session_look(s, s->child.pid);
			session_run_command(s);
		}
		/* Once a second in any case: the record of an end may have been lost. */
		if (s->ending || now - checked > SECOND) {
			s->ending = false;
			checked = now;
			session_take_rows(s);
			overhead_watch(s->overhead, now);
			if (s->rows && !s->heap) /* which does it itself */
				kernel_release_rows(s->kernel, session_row, session_has_ended, s);
			s->ended |=
				s->options->mode != MODE_ALL && !kernel_has_processes(s->kernel);
		}
		if (now - ticked > TENTH) {
			ticked = now;
			overhead_tick(s->overhead, now);
			session_tick(s);
		}
		interval = s->options->interval_ns && now >= s->interval_ends_ns;
		if (interval)
			session_end_interval(s, now);
		session_tick_memory(s, now);
		session_tick_service(s, now, interval);
		if (status_due(&status, now))
			status_show(&status, s->trace, session_lost(s), now);
		if (!outputs_left(s->outputs)) {
			log_error("no output is left to write to: the trace ends here");
			break;
		}
	}
	status_end(&status);
}

/* What outputs would tell, where there are none. */
static void session_warn_losses(struct session *s)
{
	size_t i;

	session_lost(s);
	for (i = 0; i < LOSS_CAUSES; i++)
		if (s->losses[i].count && i != LOSS_MAPPINGS)
			log_warn("%s %llu: %s", s->losses[i].name,
				 (unsigned long long)s->losses[i].count, s->losses[i].text);
}

static void session_free(struct session *s)
{
	if (s->options->coz)
		coz_driver_end(s->options->coz);
	command_release(&s->child);
	stats_end(&s->stats);
	overhead_free(&s->overhead);
	attach_free(&s->probes);
	memory_free(&s->memory);
	heap_free(&s->heap);
	kernel_free(&s->kernel);
	outputs_free(&s->outputs);
	profiles_free(&s->profiles);
	trace_free(&s->trace);
	reorder_free(&s->reorder);
	plan_free(&s->plan);
	cleanup_close(&s->signals);
	mapwatch_free(&s->watch);
	cgroup_free(&s->cgroup);
	free(s->pids);
	free(s->gone);
	free(s->dead_images);
	free(s->dead_times);
	intmap_free(&s->dead);
}

/* One trace, if it *BEGAN. *STATUS is spantrace's exit status. Whether it ended for another, of the options in *NEXT. */
static bool session_trace(const struct options *options, struct service *service,
			  struct options *next, bool *began, int *status)
{
	CLEANUP(session_free)
	struct session s = {.options = options,
			    .service = service,
			    .next = next,
			    .signals = -1,
			    .stats = {.fd = -1}};
	struct pair_options pairing = options_pairing(options);
	struct plan_counts counts;
	int err;

	session_name_target(&s);
	err = session_begin(&s, &pairing);
	if (err) {
		*status = s.failed_status;
		return false;
	}
	*began = true;
	service_ready(service);
	plan_count(s.plan, &counts);
	log_info("tracing %s: %zu probes in %zu files, %zu spans and %zu events", s.target,
		 counts.attached, counts.marked_files, counts.spans, counts.events);
	session_loop(&s);
	session_close(&s);
	if (options->coz)
		session_warn_losses(&s);
	if (options->stats) {
		stats_print(&s.stats, s.kernel, options->ring_bytes, s.end_ns, stderr);
		overhead_print(s.overhead, stderr);
	}
	plan_count(s.plan, &counts);
	if (session_has_probes(&s) || options->mode == MODE_ALL) {
		err = session_write(&s);
	} else {
		session_say_no_markers(&s);
		err = -ENOENT;
	}
	session_end_service(&s);
	if (options->mode != MODE_CMD) {
		*status = err ? CLI_FAILED : CLI_DONE;
		return next->line.argv != NULL;
	}
	while (!s.child.ended && !s.interrupted && !command_reap(&s.child, true))
		command_release(&s.child);
	if (err || !s.child.ended)
		*status = err ? 125 : 0;
	else
		*status = command_exit_status(&s.child);
	return false;
}

int session_run(const struct options *options)
{
	CLEANUP(service_free) struct service *service = NULL;
	CLEANUP(options_free) struct options even = {0};
	CLEANUP(options_free) struct options odd = {0};
	const struct options *now = options, *before = NULL;
	int status = options->mode == MODE_CMD ? 125 : CLI_FAILED;

	if (service_new(options, &service))
		return status;
	for (;;) {
		struct options next = {0}, *place = now == &even ? &odd : &even;
		bool began = false;

		if (session_trace(now, service, &next, &began, &status)) {
			options_free(place);
			*place = next;
			before = now;
			now = place;
			service_reloading(service);
		} else if (!began && before) {
			log_error("SIGHUP: no trace begins so: back to the options before");
			now = before;
			before = NULL;
			service_reloaded(service, false);
		} else {
			break;
		}
		cli_set_log(now->quiet, now->verbose);
	}
	notify_send("STOPPING=1");
	return status;
}
