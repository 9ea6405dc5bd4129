/* SPDX-License-Identifier: MIT */
/* Files that come while the trace runs: other programs by exec, libraries by dlopen, with -a all new processes.
 *
 *   a mapping is reported ▸ its file was looked at within a second: done
 *                         ▸ its process is not traced: done
 *                         ▸ the file is opened as the process sees it ▸ planned ▸ attached, all new ones together
 *
 * Where reports were lost, every process is looked at again; where the kernel gives none, that is done once a second.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../target/target.h"
#include "../util/cleanup.h"
#include "../util/log.h"
#include "session_impl.h"

#define SECOND 1000000000ULL
#define TENTH  100000000ULL

void session_watch(struct session *s)
{
	int err = mapwatch_new(&s->watch);
	/* Above 2, some distributions (Debian, Ubuntu) open perf events only for CAP_SYS_ADMIN. */
	bool closed = err == -EACCES && s->features.perf_event_paranoid > 2;

	if (err)
		log_warn(
			"the kernel does not report new mappings (%s): programs and libraries that come later are looked for once a second%s",
			strerror(-err),
			closed ? "; set the sysctl kernel.perf_event_paranoid to 2, or give it CAP_SYS_ADMIN"
			       : "");
}

static bool session_wants(const struct session *s, pid_t pid)
{
	size_t i;

	if (s->cgroup)
		return cgroup_has(s->cgroup, pid);
	if (s->options->mode == MODE_ALL || kernel_has_process(s->kernel, pid))
		return true;
	for (i = 0; i < s->ngone; i++)
		if (s->gone[i] == pid)
			return true;
	return false;
}

/* -ENOMEM alone is an error: processes end, and some files cannot be read. */
static int session_plan_files(struct session *s, pid_t pid)
{
	int added = plan_add_process(s->plan, pid);

	session_probe_memory(s, pid, false);
	if (added > 0)
		s->new_sites = true;
	else if (added < 0)
		log_debug("process %d: %s", pid, strerror(-added));
	return added == -ENOMEM ? added : 0;
}

int session_scan(struct session *s)
{
	AUTO_FREE pid_t *pids = NULL;
	size_t i, n = 0;
	int err;

	if (s->options->mode == MODE_ALL)
		err = target_all(&pids, &n);
	else
		err = kernel_processes(s->kernel, &pids, &n);
	for (i = 0; i < n && !err; i++)
		if (!s->cgroup || cgroup_has(s->cgroup, pids[i]))
			err = session_plan_files(s, pids[i]);
	s->blind = false;
	s->scanned_ns = session_clock(CLOCK_MONOTONIC);
	return err;
}

/* Attaches what is new. A message is printed where that fails; what stands is traced on. */
static void session_attach_new(struct session *s)
{
	if (s->new_sites)
		session_attach(s);
	s->new_sites = false;
}

void session_look(struct session *s, pid_t pid)
{
	session_plan_files(s, pid);
	session_attach_new(s);
}

/* Whether the file was looked at within a second. If not, PLACE is where to note that it has been. */
static bool session_has_seen(struct session *s, const struct procmap *map, u64 generation,
			     struct session_seen *now, struct session_seen **place)
{
	u64 key = map->inode * 0x9e3779b97f4a7c15ULL;

	key = (key ^ (u64)map->dev << 32 ^ generation) * 0xff51afd7ed558ccdULL;
	*place = &s->seen[(key >> 32) % SESSION_SEEN];
	*now = (struct session_seen){.key = key, .until_ns = s->now_ns + SECOND};
	return (*place)->key == key && (*place)->until_ns > s->now_ns;
}

static void session_mapped(void *context, const struct procmap *map, u64 generation)
{
	struct session *s = context;
	struct session_seen now, *place;
	AUTO_CLOSE int fd = -1;
	int added;

	if (session_has_seen(s, map, generation, &now, &place)) {
		/* Probes on an allocator stand in each process by itself. */
		if (s->memory && s->memory_options.confined && session_wants(s, map->task))
			session_probe_memory(s, map->task, false);
		return;
	}
	if (!session_wants(s, map->task))
		return;
	session_probe_memory(s, map->task, false);
	fd = procmaps_open(map);
	if (fd == -ESRCH) /* the process has ended, or has mapped over a part of it */
		fd = procmaps_open_here(map);
	if (fd < 0) {
		log_debug("%s of process %d: %s", map->path, map->task, strerror(-fd));
		session_plan_files(s, map->task);
		if (fd != -ESRCH) /* it cannot be opened the next time either */
			*place = now;
		return;
	}
	added = plan_add_file(s->plan, fd, map->path);
	if (added >= 0)
		*place = now;
	if (added > 0)
		s->new_sites = true;
}

/* Reports were lost: all processes are to be looked at again. What ran for so short that this comes too late is missing;
 * with -p that can only be where a program of the targets has begun and one has ended. Before the trace begins nothing
 * is missed. */
static void session_lost_mappings(struct session *s, u64 lost)
{
	s->blind |= lost > 0;
	if (s->begin_ns && (s->options->mode == MODE_ALL || (s->ngone && s->execs)))
		s->losses[LOSS_MAPPINGS].count += lost;
}

/* How long after the last look at all processes the next one may come. */
static u64 session_pause(const struct session *s)
{
	if (!s->watch)
		return SECOND;
	/* A storm of mappings is not answered by one of scans. */
	return s->options->mode == MODE_ALL ? TENTH : 0;
}

void session_discover(struct session *s, u64 now_ns)
{
	u64 lost = 0;

	s->now_ns = now_ns;
	if (s->watch)
		mapwatch_drain(s->watch, session_mapped, s, &lost);
	session_lost_mappings(s, lost);
	if ((s->blind || !s->watch) && now_ns - s->scanned_ns > session_pause(s) && session_scan(s))
		log_warn("out of memory: not every process was looked at");
	session_attach_new(s);
	s->ngone = 0;
	s->execs = false;
	free(s->gone);
	s->gone = NULL;
}
