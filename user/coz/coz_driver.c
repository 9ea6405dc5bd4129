/* SPDX-License-Identifier: MIT */
/* See coz_driver.h. */
#include "coz_driver.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#include "../util/cleanup.h"
#include "../util/log.h"

#define PERIOD_NS 1000000ull
#define SECOND    1000000000ull
#define STILL_NS  (2 * SECOND) /* a point that has not moved for that long spoils experiments */

struct coz_driver {
	struct coz_points *points;
	pthread_mutex_t mutex; /* of points */
	int socket;
	int target_socket; /* until the command has it */
	int memory;        /* /proc/PID/mem; -1: not yet, or no more */
	pid_t pid;
	const struct kernel *kernel;
	pthread_t thread;
	bool running;
	bool stop;
	bool undefinable; /* said already */
	u64 ended_ns;
	struct coz_driver_facts facts;
};

static u64 driver_clock(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (u64)now.tv_sec * SECOND + (u64)now.tv_nsec;
}

int coz_driver_new(const struct coz_choice *choice, struct coz_driver **out)
{
	CLEANUP(coz_driver_free) struct coz_driver *driver = calloc(1, sizeof(*driver));
	int pair[2], err;

	if (!driver)
		return -ENOMEM;
	driver->socket = driver->target_socket = driver->memory = -1;
	pthread_mutex_init(&driver->mutex, NULL);
	err = coz_points_new(choice, &driver->points);
	if (err)
		return err;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
		return -errno;
	driver->socket = pair[0];
	driver->target_socket = pair[1];
	if (fcntl(driver->target_socket, F_SETFD, 0))
		return -errno;
	*out = TAKE_PTR(driver);
	return 0;
}

void coz_driver_free(struct coz_driver **out)
{
	struct coz_driver *driver = *out;

	if (!driver)
		return;
	*out = NULL;
	coz_driver_end(driver);
	coz_points_free(&driver->points);
	cleanup_close(&driver->socket);
	cleanup_close(&driver->target_socket);
	cleanup_close(&driver->memory);
	pthread_mutex_destroy(&driver->mutex);
	free(driver);
}

int coz_driver_fd(const struct coz_driver *driver)
{
	return driver->target_socket;
}

int coz_driver_define(struct coz_driver *driver, const struct model_def *def)
{
	int err;

	pthread_mutex_lock(&driver->mutex);
	err = coz_points_define(driver->points, def);
	pthread_mutex_unlock(&driver->mutex);
	if (err == -ENAMETOOLONG) {
		log_warn("%s:%.32s…: the name is too long for a point of coz's", def->provider,
			 def->name);
		return 0;
	}
	if (err == -ENOSPC) {
		if (!driver->undefinable)
			log_warn(
				"more than %u spans and events: coz gets the first of them; choose with -P and -x",
				COUNTS_MAX);
		driver->undefinable = true;
		return 0;
	}
	return err;
}

static int driver_ask(void *context, const struct coz_packet *question)
{
	struct coz_driver *driver = context;

	if (send(driver->socket, question, sizeof(*question), MSG_NOSIGNAL | MSG_DONTWAIT) !=
	    sizeof(*question))
		return errno ? -errno : -EPIPE;
	return 0;
}

static int driver_write(void *context, u64 address, u64 value)
{
	struct coz_driver *driver = context;

	if (pwrite(driver->memory, &value, sizeof(value), (off_t)address) == sizeof(value))
		return 0;
	return errno ? -errno : -ESRCH;
}

static void driver_hello(struct coz_driver *driver, const struct coz_packet *packet)
{
	char path[64];

	driver->facts.hello = true;
	driver->facts.libcoz = packet->value != 0;
	if (!packet->value || driver->memory >= 0)
		return;
	/* By the shim's thread: a process whose main thread has ended shows no memory. */
	snprintf(path, sizeof(path), "/proc/%d/task/%d/mem", driver->pid, (int)packet->point);
	driver->memory = open(path, O_WRONLY | O_CLOEXEC);
	if (driver->memory < 0)
		log_error("cannot write to the memory of process %d: %s", driver->pid,
			  strerror(errno));
}

/* What the shim has said. False: it is gone. */
static bool driver_listen(struct coz_driver *driver)
{
	struct coz_packet packet;
	ssize_t size;

	while ((size = recv(driver->socket, &packet, sizeof(packet), MSG_DONTWAIT)) > 0) {
		if (size != sizeof(packet))
			continue;
		if (packet.kind == COZ_HELLO)
			driver_hello(driver, &packet);
		else
			coz_points_answer(driver->points, &packet);
	}
	return size < 0 && (errno == EAGAIN || errno == EINTR);
}

/* Whether the shim's thread is all that is left of the process: its main thread has ended by pthread_exit(), and the rest
 * after it. It would wait for the loader for ever. */
static bool driver_is_alone(const struct coz_driver *driver)
{
	char path[64], line[128];
	struct dirent *entry;
	unsigned others = 0;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/task", driver->pid);
	dir = opendir(path);
	if (!dir)
		return false;
	while ((entry = readdir(dir)) && !others) {
		AUTO_FCLOSE FILE *file = NULL;
		const char *name, *state;

		if (entry->d_name[0] == '.')
			continue;
		snprintf(path, sizeof(path), "/proc/%d/task/%.10s/stat", driver->pid,
			 entry->d_name);
		file = fopen(path, "re");
		if (!file || !fgets(line, sizeof(line), file))
			continue;
		name = strchr(line, '(');
		state = strrchr(line, ')');
		if (!name || !state || strlen(state) < 3)
			continue;
		others += state[2] != 'Z' && state[2] != 'X' &&
			  strncmp(name + 1, COZ_SHIM_THREAD ")", sizeof(COZ_SHIM_THREAD)) != 0;
	}
	closedir(dir);
	return !others;
}

/* One round. False: there is no target any more. */
static bool driver_round(struct coz_driver *driver, struct wire_count *counts)
{
	const struct coz_target target = {
		.context = driver,
		.ask = driver_ask,
		.write = driver_write,
	};
	bool there;
	int err = 0;

	pthread_mutex_lock(&driver->mutex);
	there = driver_listen(driver);
	kernel_take_counts(driver->kernel, counts, coz_points_defs(driver->points));
	if (there && driver->memory >= 0)
		err = coz_points_step(driver->points, driver_clock(), counts, &target);
	pthread_mutex_unlock(&driver->mutex);
	driver->facts.writes++;
	return there && !err;
}

static void *driver_run(void *context)
{
	struct coz_driver *driver = context;
	const struct sched_param ahead = {.sched_priority = 1};
	AUTO_FREE struct wire_count *counts = calloc(COUNTS_MAX, sizeof(*counts));
	u64 now = driver_clock(), due = now, last = now, looked = now;

	/* Not granted everywhere; then a busy machine makes it late. */
	sched_setscheduler(0, SCHED_FIFO | SCHED_RESET_ON_FORK, &ahead);
	while (counts && !__atomic_load_n(&driver->stop, __ATOMIC_ACQUIRE)) {
		struct timespec until;

		if (!driver_round(driver, counts)) {
			driver->facts.gone = true;
			break;
		}
		now = driver_clock();
		if (now - last > driver->facts.late_ns)
			driver->facts.late_ns = now - last;
		last = now;
		if (now - looked > SECOND) {
			looked = now;
			if (driver->facts.hello && driver_is_alone(driver))
				break;
		}
		due = due + PERIOD_NS > now ? due + PERIOD_NS : now;
		until = (struct timespec){.tv_sec = (time_t)(due / SECOND),
					  .tv_nsec = (long)(due % SECOND)};
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
	}
	if (counts && !driver->facts.gone)
		driver_round(driver, counts);
	driver->ended_ns = driver_clock();
	/* The shim's thread ends. */
	shutdown(driver->socket, SHUT_RDWR);
	return NULL;
}

int coz_driver_begin(struct coz_driver *driver, const struct kernel *kernel, pid_t pid)
{
	int err;

	cleanup_close(&driver->target_socket);
	driver->target_socket = -1;
	driver->kernel = kernel;
	driver->pid = pid;
	err = pthread_create(&driver->thread, NULL, driver_run, driver);
	driver->running = !err;
	return -err;
}

void coz_driver_end(struct coz_driver *driver)
{
	if (!driver->running)
		return;
	__atomic_store_n(&driver->stop, true, __ATOMIC_RELEASE);
	pthread_join(driver->thread, NULL);
	driver->running = false;
}

void coz_driver_facts(const struct coz_driver *driver, struct coz_driver_facts *out)
{
	struct coz_point_view point;
	size_t i;

	*out = driver->facts;
	for (i = 0; i < coz_points_count(driver->points); i++) {
		coz_points_view(driver->points, i, &point);
		out->counted += point.state == COZ_POINT_COUNTED;
		out->hits += point.hits;
	}
}

static void driver_say_point(const struct coz_driver *driver, const struct coz_point_view *point,
			     bool named)
{
	const char *kind = point->kind == COZ_POINT_LATENCY ? "latency" : "throughput";

	if (point->state == COZ_POINT_REFUSED)
		log_warn(
			"%s: coz has a %s point of that name already, from the program's own macros; it is left to them",
			point->name, kind);
	else if (point->state == COZ_POINT_WAITING && named)
		log_warn(
			"%s never moved: it was not made a %s point, for coz keeps no experiment while one stands still",
			point->name, kind);
	else if (point->state == COZ_POINT_COUNTED && driver->ended_ns > point->moved_ns + STILL_NS)
		log_warn(
			"%s stood still for the last %.1f s: coz keeps no experiment while a point does; leave it out",
			point->name, (double)(driver->ended_ns - point->moved_ns) / SECOND);
	else
		log_info("%s point %s: %llu hits, %llu of them before coz knew it", kind,
			 point->name, (unsigned long long)point->hits,
			 (unsigned long long)point->before);
}

void coz_driver_say(const struct coz_driver *driver)
{
	struct coz_point_view point;
	const char *glob;
	bool event, named;
	size_t i;

	glob = coz_points_unmatched(driver->points, &event);
	if (glob)
		log_warn("%s %s", glob,
			 event ? "is an event: it has no latency; give it with --progress"
			       : "is no span or event of the program; see `spantrace list`");
	named = coz_points_named(driver->points);
	for (i = 0; i < coz_points_count(driver->points); i++) {
		coz_points_view(driver->points, i, &point);
		driver_say_point(driver, &point, named);
	}
}
