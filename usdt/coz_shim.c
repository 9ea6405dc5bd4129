/* SPDX-License-Identifier: MIT */
/* libspantrace-coz.so: preloaded beside libcoz into the program that `spantrace coz` runs, it asks libcoz for the counters
 * of points and tells the loader where they are. It never touches a counter: the loader writes them from outside.
 *
 * It needs a thread: a point must not be registered before it moves, or coz keeps no experiment, and only code in the
 * program can register one. The thread waits in recv(2), takes no signal, is not one of those that coz samples and delays
 * (it does not come through libcoz's pthread_create), and ends when the loader does.
 *
 * Without the loader's socket, or without libcoz, nothing happens. Children get neither: coz takes LD_PRELOAD out of the
 * environment, the shim its own variable, and the socket is closed on exec.
 *
 * One file, no dependency but the C library; nothing here is exported. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../include/coz.h"

#define SHIM_FD    500 /* programs close and reuse the low ones */
#define SHIM_STACK (256u << 10)
#define SHIM_SIGS  8 /* bytes of the kernel's signal set */

/* As in coz.h. */
struct coz_target_counter {
	size_t count;
	size_t backoff;
};

typedef struct coz_target_counter *(*shim_get_counter)(int type, const char *name);
typedef int (*shim_create)(pthread_t *thread, const pthread_attr_t *attr, void *(*run)(void *),
			   void *arg);

static int shim_fd = -1;
static unsigned long long shim_cookie; /* of the socket: FD might be the program's own by now */
static shim_get_counter shim_counter;

static unsigned long long shim_cookie_of(int fd)
{
	unsigned long long cookie = 0;
	socklen_t len = sizeof(cookie);

	if (getsockopt(fd, SOL_SOCKET, SO_COOKIE, &cookie, &len))
		return 0;
	return cookie;
}

static int shim_say(const struct coz_packet *packet)
{
	return send(shim_fd, packet, sizeof(*packet), MSG_NOSIGNAL) == sizeof(*packet) ? 0 : -1;
}

static int shim_answer(struct coz_packet *packet)
{
	struct coz_target_counter *counter;

	packet->name[COZ_NAME_MAX - 1] = '\0';
	counter = shim_counter((int)packet->counter, packet->name);
	packet->kind = COZ_ANSWER;
	packet->address = (u64)(unsigned long)counter;
	packet->value = counter ? __atomic_load_n(&counter->count, __ATOMIC_RELAXED) : 0;
	return shim_say(packet);
}

static void *shim_run(void *unused)
{
	struct coz_packet packet;
	ssize_t size;

	prctl(PR_SET_NAME, COZ_SHIM_THREAD);
	/* From here, for the loader finds the program's memory by this thread: the main one may end before. */
	packet = (struct coz_packet){
		.kind = COZ_HELLO,
		.point = (u64)syscall(SYS_gettid),
		.value = 1,
	};
	if (shim_say(&packet))
		return unused;
	while (shim_cookie_of(shim_fd) == shim_cookie) {
		size = recv(shim_fd, &packet, sizeof(packet), 0);
		if (size < 0 && errno == EINTR)
			continue;
		if (size != sizeof(packet) || packet.kind != COZ_ASK || shim_answer(&packet))
			break;
	}
	if (shim_cookie_of(shim_fd) == shim_cookie)
		close(shim_fd);
	return unused;
}

/* libcoz has a pthread_create() of its own, whose threads take part in experiments: this is the C library's. */
static shim_create shim_find_create(void)
{
	static const char *const libraries[] = {"libc.so.6", "libpthread.so.0"};
	void *library, *found;
	size_t i;

	for (i = 0; i < sizeof(libraries) / sizeof(*libraries); i++) {
		library = dlopen(libraries[i], RTLD_LAZY | RTLD_NOLOAD);
		found = library ? dlsym(library, "pthread_create") : NULL;
		if (found)
			return (shim_create)found;
	}
	return NULL;
}

static int shim_start(void)
{
	unsigned long long all = ~0ull, old = 0;
	shim_create create = shim_find_create();
	pthread_attr_t attr;
	pthread_t thread;
	int err;

	if (!create || pthread_attr_init(&attr))
		return -1;
	pthread_attr_setstacksize(&attr, SHIM_STACK);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	/* Not by sigprocmask(): libcoz's lets its own signals through. */
	syscall(SYS_rt_sigprocmask, SIG_SETMASK, &all, &old, SHIM_SIGS);
	err = create(&thread, &attr, shim_run, NULL);
	syscall(SYS_rt_sigprocmask, SIG_SETMASK, &old, NULL, SHIM_SIGS);
	pthread_attr_destroy(&attr);
	return err ? -1 : 0;
}

/* The socket of the environment under a number that the program is unlikely to want; -1: there is none. */
static int shim_take_fd(void)
{
	const char *text = getenv(COZ_SHIM_ENV);
	char *end = NULL;
	long fd;
	int high;

	if (!text)
		return -1;
	fd = strtol(text, &end, 10);
	if (end == text || *end || fd < 0 || fd > (1 << 20) || !shim_cookie_of((int)fd))
		return -1;
	high = fcntl((int)fd, F_DUPFD_CLOEXEC, SHIM_FD);
	if (high < 0)
		high = fcntl((int)fd, F_DUPFD_CLOEXEC, 3);
	close((int)fd);
	return high;
}

static void __attribute__((constructor)) shim_begin(void)
{
	struct coz_packet hello = {.kind = COZ_HELLO};

	shim_fd = shim_take_fd();
	unsetenv(COZ_SHIM_ENV);
	if (shim_fd < 0)
		return;
	shim_cookie = shim_cookie_of(shim_fd);
	shim_counter = (shim_get_counter)dlsym(RTLD_DEFAULT, "_coz_get_counter");
	if (!shim_counter)
		shim_say(&hello);
	if (!shim_counter || shim_start())
		close(shim_fd);
}
