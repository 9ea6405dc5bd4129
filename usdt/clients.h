/* SPDX-License-Identifier: MIT */
/* The other side of server.c: what goes over the socket, and the clients that keep the server busy.
 * Nothing here knows of spans.
 *
 *	client to server   a head of HEAD_SIZE bytes, "ROUTE/NUMBER" and zeros; for a report, a
 *	                   little later, REPORT_SIZE bytes of text
 *	server to client   three digits of status, then the page, up to the end
 *
 * The socket is an abstract unix one: no file to clean up and no port to choose.
 */
#ifndef SPANTRACE_CLIENTS_H
#define SPANTRACE_CLIENTS_H

#include <stdatomic.h>
#include <stddef.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "example.h"

#define HEAD_SIZE   64
#define REPORT_SIZE 4000

enum route { ITEM, SEARCH, REPORT, UNKNOWN, ROUTES };

static struct {
	const char *name;
	int status;
	atomic_long served;
} routes[ROUTES] = {{"item", 200, 0}, {"search", 200, 0}, {"report", 202, 0}, {"unknown", 404, 0}};

static struct {
	struct sockaddr_un address;
	socklen_t address_size;
	long requests;      /* to make together; 0: no limit */
	long long deadline; /* on example_now()'s clock; 0: none */
	atomic_int stopping;
	atomic_long asked, failed;
} clients;

/* A socket to accept() from; -1 and errno where there is none. */
static inline int clients_listen(void)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	char *name = clients.address.sun_path + 1; /* a first byte of 0 makes it abstract */
	int size = snprintf(name, sizeof(clients.address.sun_path) - 1, "spantrace-example-%ld",
			    (long)getpid());

	clients.address.sun_family = AF_UNIX;
	clients.address_size =
		(socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)size);
	if (fd < 0 || bind(fd, (struct sockaddr *)&clients.address, clients.address_size) != 0 ||
	    listen(fd, SOMAXCONN) != 0)
		return -1;
	return fd;
}

/* 0, or -1 when the answer is not the one expected. */
static inline int clients_ask(enum route route, long number)
{
	char head[HEAD_SIZE] = {0}, answer[REPORT_SIZE];
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), status = 0;
	ssize_t size;

	if (fd < 0)
		return -1;
	if (connect(fd, (struct sockaddr *)&clients.address, clients.address_size) != 0) {
		close(fd);
		return -1;
	}
	snprintf(head, sizeof(head), "%s/%ld", routes[route].name, number);
	send(fd, head, sizeof(head), MSG_NOSIGNAL);
	if (route == REPORT) {
		example_sleep(2000);
		memset(answer, 'a' + (int)(number % 26), REPORT_SIZE);
		send(fd, answer, REPORT_SIZE, MSG_NOSIGNAL);
	}
	size = recv(fd, answer, 3, MSG_WAITALL);
	if (size == 3) {
		answer[3] = '\0';
		status = atoi(answer);
	}
	while (size > 0)
		size = recv(fd, answer, sizeof(answer), 0);
	close(fd);
	return status == routes[route].status ? 0 : -1;
}

/* One client. The number of a request decides what it asks for, whichever client makes it, so that
 * the same number of requests gives each route the same share in every run. */
static inline void *clients_run(void *unused)
{
	static const enum route mix[10] = {ITEM,   SEARCH, ITEM, REPORT, ITEM,
					   SEARCH, ITEM,   ITEM, SEARCH, UNKNOWN};

	while (!clients.stopping && (!clients.deadline || example_now() < clients.deadline)) {
		long n = clients.asked++;

		if (clients.requests && n >= clients.requests)
			break;
		/* Squares repeat, so that a cache is of use. */
		if (clients_ask(mix[n % 10], (n % 41) * (n % 41) % 41) != 0)
			clients.failed++;
		example_sleep(200);
	}
	return unused;
}

#endif
