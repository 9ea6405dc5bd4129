/* SPDX-License-Identifier: MIT */
/* See listen.h. */
#include "listen.h"

#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <microhttpd.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#include "../util/cleanup.h"
#include "../util/log.h"

#define CLIENTS       32
#define REQUEST_BYTES 4096
#define IDLE_S        10
#define CLIENT_NS     30000000000ULL
#define STILL_NS      15000000000ULL /* a tracer that has told nothing for that long is stuck */
#define WHY_SIZE      512

struct client {
	int fd; /* of one that is there: 1 + its number; 0: a free place */
	u64 since_ns;
};

struct listen {
	struct MHD_Daemon *daemon;
	char url[80];
	pthread_mutex_t lock; /* of what follows; the tracer's thread never waits for it long */
	char *text;
	size_t len;
	char why[WHY_SIZE]; /* empty: all is well */
	u64 told_ns;
	struct client clients[CLIENTS];
};

static u64 clock_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (u64)now.tv_sec * 1000000000ULL + (u64)now.tv_nsec;
}

static struct MHD_Response *text_response(const char *text, size_t len)
{
	/* MHD copies it and changes nothing. */
	return MHD_create_response_from_buffer(len, (char *)text, MHD_RESPMEM_MUST_COPY);
}

static struct MHD_Response *metrics_response(struct listen *listen)
{
	struct MHD_Response *response;

	pthread_mutex_lock(&listen->lock);
	response = text_response(listen->text ? listen->text : "", listen->len);
	pthread_mutex_unlock(&listen->lock);
	if (response)
		MHD_add_response_header(response, "Content-Type",
					"text/plain; version=0.0.4; charset=utf-8");
	return response;
}

static struct MHD_Response *health_response(struct listen *listen, unsigned *status)
{
	char text[WHY_SIZE + 64] = "ok\n";
	u64 now = clock_now();

	pthread_mutex_lock(&listen->lock);
	if (now > listen->told_ns + STILL_NS)
		snprintf(text, sizeof(text), "the tracer has not moved for %" PRIu64 " s\n",
			 (now - listen->told_ns) / 1000000000);
	else if (*listen->why)
		snprintf(text, sizeof(text), "%s\n", listen->why);
	pthread_mutex_unlock(&listen->lock);
	*status = strcmp(text, "ok\n") ? MHD_HTTP_SERVICE_UNAVAILABLE : MHD_HTTP_OK;
	return text_response(text, strlen(text));
}

static struct MHD_Response *answer(struct listen *listen, const char *url, const char *method,
				   unsigned *status)
{
	static const char only_get[] = "only GET\n";
	static const char index[] = "spantrace: /metrics /healthz\n";

	if (strcmp(method, "GET") != 0 && strcmp(method, "HEAD") != 0) {
		*status = MHD_HTTP_METHOD_NOT_ALLOWED;
		return text_response(only_get, strlen(only_get));
	}
	*status = MHD_HTTP_OK;
	if (!strcmp(url, "/metrics"))
		return metrics_response(listen);
	if (!strcmp(url, "/healthz"))
		return health_response(listen, status);
	if (strcmp(url, "/") != 0)
		*status = MHD_HTTP_NOT_FOUND;
	return text_response(index, strlen(index));
}

static enum MHD_Result handle(void *context, struct MHD_Connection *connection, const char *url,
			      const char *method, const char *version, const char *upload,
			      size_t *upload_size, void **state)
{
	struct MHD_Response *response;
	enum MHD_Result queued;
	unsigned status;

	(void)version;
	(void)upload;
	/* Called for the head, for each piece of a body, which nobody reads, and at the end. */
	if (!*state) {
		*state = context;
		return MHD_YES;
	}
	if (*upload_size) {
		*upload_size = 0;
		return MHD_YES;
	}
	response = answer(context, url, method, &status);
	if (!response)
		return MHD_NO;
	MHD_add_response_header(response, "Connection", "close");
	queued = MHD_queue_response(connection, status, response);
	MHD_destroy_response(response);
	return queued;
}

/* Its number is closed after the call that it is over. */
static void note_client(void *context, struct MHD_Connection *connection, void **state,
			enum MHD_ConnectionNotificationCode code)
{
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
	bool begins = code == MHD_CONNECTION_NOTIFY_STARTED;
	struct listen *listen = context;

	(void)state;
	if (!info)
		return;
	pthread_mutex_lock(&listen->lock);
	for (int i = 0; i < CLIENTS; i++) {
		struct client *client = &listen->clients[i];

		if (client->fd != (begins ? 0 : info->connect_fd + 1))
			continue;
		*client = (struct client){0};
		if (begins)
			*client = (struct client){info->connect_fd + 1, clock_now()};
		break;
	}
	pthread_mutex_unlock(&listen->lock);
}

/* A socket that listens, or -errno. */
static int open_socket(const struct options_listen *where)
{
	bool v6 = where->address.any.sa_family == AF_INET6;
	socklen_t size = v6 ? sizeof(where->address.v6) : sizeof(where->address.v4);
	AUTO_CLOSE int fd =
		socket(where->address.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int on = 1;

	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) ||
	    bind(fd, &where->address.any, size) || listen(fd, CLIENTS))
		return -errno;
	return TAKE_FD(fd);
}

static void name_url(struct listen *listen, int fd)
{
	char host[INET6_ADDRSTRLEN] = "?";
	union {
		struct sockaddr any;
		struct sockaddr_in v4;
		struct sockaddr_in6 v6;
	} bound = {.v6 = {0}};
	socklen_t len = sizeof(bound);

	if (getsockname(fd, &bound.any, &len))
		return;
	if (bound.any.sa_family == AF_INET6)
		inet_ntop(AF_INET6, &bound.v6.sin6_addr, host, sizeof(host));
	else
		inet_ntop(AF_INET, &bound.v4.sin_addr, host, sizeof(host));
	snprintf(listen->url, sizeof(listen->url),
		 bound.any.sa_family == AF_INET6 ? "http://[%s]:%u" : "http://%s:%u", host,
		 ntohs(bound.v4.sin_port)); /* stands at the same place in both */
}

/* Signals are the tracer's to take: the server's thread begins with all of them blocked. Takes over FD. */
static struct MHD_Daemon *start(struct listen *listen, int fd)
{
	struct MHD_Daemon *daemon;
	sigset_t all, before;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	daemon = MHD_start_daemon(
		MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_EPOLL, 0, NULL, NULL, handle, listen,
		MHD_OPTION_LISTEN_SOCKET, fd, MHD_OPTION_CONNECTION_LIMIT, (unsigned)CLIENTS,
		MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)IDLE_S, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
		(size_t)REQUEST_BYTES, MHD_OPTION_NOTIFY_CONNECTION, note_client, listen,
		MHD_OPTION_END);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return daemon;
}

int listen_new(const struct options_listen *where, struct listen **out)
{
	AUTO_FREE struct listen *listen = calloc(1, sizeof(*listen));
	AUTO_CLOSE int fd = -1;

	if (!listen)
		return -ENOMEM;
	fd = open_socket(where);
	if (fd < 0) {
		int err = fd;

		log_error("--listen %s: %s", where->text, strerror(-err));
		return err;
	}
	name_url(listen, fd);
	pthread_mutex_init(&listen->lock, NULL);
	snprintf(listen->why, sizeof(listen->why), "the trace has not begun");
	listen->told_ns = clock_now();
	listen->daemon = start(listen, fd);
	if (!listen->daemon) {
		log_error("--listen %s: the HTTP server does not start", where->text);
		pthread_mutex_destroy(&listen->lock);
		return -EIO;
	}
	(void)TAKE_FD(fd);
	*out = TAKE_PTR(listen);
	return 0;
}

void listen_free(struct listen **out)
{
	struct listen *listen = *out;

	if (!listen)
		return;
	*out = NULL;
	MHD_stop_daemon(listen->daemon);
	pthread_mutex_destroy(&listen->lock);
	free(listen->text);
	free(listen);
}

const char *listen_url(const struct listen *listen)
{
	return listen->url;
}

void listen_publish(struct listen *listen, char **text, size_t len, u64 now_ns)
{
	char *old;

	if (pthread_mutex_trylock(&listen->lock))
		return;
	old = listen->text;
	listen->text = TAKE_PTR(*text);
	listen->len = len;
	listen->told_ns = now_ns;
	pthread_mutex_unlock(&listen->lock);
	free(old);
}

void listen_health(struct listen *listen, const char *why, u64 now_ns)
{
	if (pthread_mutex_trylock(&listen->lock))
		return;
	snprintf(listen->why, sizeof(listen->why), "%s", why ? why : "");
	listen->told_ns = now_ns;
	pthread_mutex_unlock(&listen->lock);
}

void listen_tick(struct listen *listen, u64 now_ns)
{
	if (pthread_mutex_trylock(&listen->lock))
		return;
	for (int i = 0; i < CLIENTS; i++) {
		const struct client *client = &listen->clients[i];

		if (client->fd && now_ns > client->since_ns + CLIENT_NS)
			shutdown(client->fd - 1, SHUT_RDWR);
	}
	pthread_mutex_unlock(&listen->lock);
}
