/* SPDX-License-Identifier: MIT */
/* A server of HTTP that does what a test says, well or badly: one connection a request, each answered by the next of its
 * script and, behind that, by the last. Comes behind <cmocka.h>. */
#ifndef SPANTRACE_TEST_HTTPSERVED_H
#define SPANTRACE_TEST_HTTPSERVED_H

#include <arpa/inet.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#define SERVED_MAX 256

/* In place of an answer. */
#define SERVED_CLOSE  "close"  /* in the middle of the body */
#define SERVED_SILENT "silent" /* until the client goes */

#define SERVED_200 "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"

struct served {
	const char *const *script; /* the last is NULL */
	int listener;
	char url[64];
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t came;
	size_t n; /* requests */
	char *heads[SERVED_MAX];
	char *bodies[SERVED_MAX];
	size_t lengths[SERVED_MAX];
};

/* Reads a request; returns its head's length, 0 where the client has gone. */
static inline size_t served_read(int fd, char *bytes, size_t size, size_t *body, bool half)
{
	size_t at = 0, head = 0, want = 0;

	while (!head || at < head + want) {
		ssize_t n = read(fd, bytes + at, size - 1 - at);
		char *end, *length;

		if (n <= 0)
			return 0;
		at += (size_t)n;
		bytes[at] = '\0';
		end = head ? NULL : strstr(bytes, "\r\n\r\n");
		if (!end)
			continue;
		head = (size_t)(end - bytes) + 4;
		length = strcasestr(bytes, "content-length:");
		want = length ? strtoul(length + 15, NULL, 10) : 0;
		if (half)
			break;
	}
	*body = want;
	return head;
}

static inline void served_one(struct served *s, int fd, char *bytes, size_t size)
{
	const char *answer;
	size_t head, body, at;

	pthread_mutex_lock(&s->lock);
	for (at = 0; at < s->n && s->script[at + 1];)
		at++;
	answer = s->script[at];
	pthread_mutex_unlock(&s->lock);
	head = served_read(fd, bytes, size, &body, strcmp(answer, SERVED_CLOSE) == 0);
	if (!head)
		return;
	pthread_mutex_lock(&s->lock);
	if (s->n < SERVED_MAX) {
		s->heads[s->n] = strndup(bytes, head);
		s->bodies[s->n] = malloc(body + 1);
		if (!s->heads[s->n] || !s->bodies[s->n])
			abort();
		memcpy(s->bodies[s->n], bytes + head, body);
		s->lengths[s->n++] = body;
	}
	pthread_cond_broadcast(&s->came);
	pthread_mutex_unlock(&s->lock);
	if (strcmp(answer, SERVED_SILENT) == 0) {
		if (read(fd, bytes, 1) > 0)
			return;
	} else if (strcmp(answer, SERVED_CLOSE) != 0 && write(fd, answer, strlen(answer)) < 0) {
		return;
	}
}

static inline void *served_run(void *context)
{
	const size_t size = 1 << 22;
	struct served *s = context;
	char *bytes = malloc(size);
	int fd;

	while (bytes && (fd = accept(s->listener, NULL, NULL)) >= 0) {
		served_one(s, fd, bytes, size);
		close(fd);
	}
	free(bytes);
	return NULL;
}

/* At PORT; 0: any. */
static inline void served_begin(struct served *s, const char *const *script, u16 port)
{
	struct sockaddr_in at = {
		.sin_family = AF_INET,
		.sin_port = htons(port),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	socklen_t len = sizeof(at);
	int on = 1;

	*s = (struct served){.script = script};
	pthread_mutex_init(&s->lock, NULL);
	pthread_cond_init(&s->came, NULL);
	s->listener = socket(AF_INET, SOCK_STREAM, 0);
	setsockopt(s->listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	assert_int_equal(bind(s->listener, (struct sockaddr *)&at, sizeof(at)), 0);
	assert_int_equal(listen(s->listener, 64), 0);
	assert_int_equal(getsockname(s->listener, (struct sockaddr *)&at, &len), 0);
	snprintf(s->url, sizeof(s->url), "http://127.0.0.1:%u", ntohs(at.sin_port));
	assert_int_equal(pthread_create(&s->thread, NULL, served_run, s), 0);
}

/* Waits until N requests have come. */
static inline void served_wait(struct served *s, size_t n)
{
	pthread_mutex_lock(&s->lock);
	while (s->n < n)
		pthread_cond_wait(&s->came, &s->lock);
	pthread_mutex_unlock(&s->lock);
}

static inline void served_end(struct served *s)
{
	shutdown(s->listener, SHUT_RDWR);
	pthread_join(s->thread, NULL);
	close(s->listener);
	for (size_t i = 0; i < s->n; i++) {
		free(s->heads[i]);
		free(s->bodies[i]);
	}
}

#endif
