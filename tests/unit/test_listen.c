/* SPDX-License-Identifier: MIT */
/* The HTTP server: it gives what it was told last, and says no to what it should. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <arpa/inet.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>

#include "../../user/service/listen.h"
#include "captured.h"

static const struct options_listen anywhere = {
	.on = true,
	.text = "here",
	.address.v4 = {.sin_family = AF_INET, .sin_addr.s_addr = 0x0100007f},
};

static u64 now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (u64)time.tv_sec * 1000000000ull + (u64)time.tv_nsec;
}

static u16 port_of(const struct listen *listen)
{
	return (u16)atoi(strrchr(listen_url(listen), ':') + 1);
}

static int call(const struct listen *listen)
{
	struct sockaddr_in to = anywhere.address.v4;
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	to.sin_port = htons(port_of(listen));
	assert_int_equal(connect(fd, (struct sockaddr *)&to, sizeof(to)), 0);
	return fd;
}

/* What is answered to the request line LINE, head and all. */
static const char *ask(const struct listen *listen, const char *line)
{
	static char answer[65536];
	int fd = call(listen);
	size_t at = 0;
	ssize_t n;

	dprintf(fd, "%s HTTP/1.1\r\nHost: x\r\n\r\n", line);
	while ((n = read(fd, answer + at, sizeof(answer) - 1 - at)) > 0)
		at += (size_t)n;
	assert_int_equal(n, 0); /* one answer, and it hangs up */
	answer[at] = '\0';
	close(fd);
	return answer;
}

static void says(const struct listen *listen, const char *line, int status, const char *body)
{
	const char *answer = ask(listen, line);

	assert_int_equal(atoi(answer + strlen("HTTP/1.1 ")), status);
	assert_string_equal(strstr(answer, "\r\n\r\n") + 4, body);
}

static void publish(struct listen *listen, const char *text)
{
	char *copy = strdup(text);

	/* A reader has the lock at most for a moment. */
	while (copy)
		listen_publish(listen, &copy, strlen(text), now());
}

static void test_answers(void **state)
{
	struct listen *listen;

	(void)state;
	assert_int_equal(listen_new(&anywhere, &listen), 0);
	says(listen, "GET /healthz", 503, "the trace has not begun\n");
	publish(listen, "a 1\n");
	listen_health(listen, NULL, now());
	says(listen, "GET /metrics", 200, "a 1\n");
	assert_non_null(strstr(ask(listen, "GET /metrics"), "text/plain; version=0.0.4"));
	says(listen, "GET /healthz", 200, "ok\n");
	publish(listen, "a 2\n");
	says(listen, "GET /metrics?x=y", 200, "a 2\n");
	says(listen, "HEAD /metrics", 200, "");
	says(listen, "POST /metrics", 405, "only GET\n");
	says(listen, "GET /../etc/passwd", 404, "spantrace: /metrics /healthz\n");
	says(listen, "GET /", 200, "spantrace: /metrics /healthz\n");
	listen_health(listen, "the disk is full", now());
	says(listen, "GET /healthz", 503, "the disk is full\n");
	/* A tracer that is stuck tells nothing. */
	listen_health(listen, NULL, now() - 100000000000ull);
	assert_non_null(strstr(ask(listen, "GET /healthz"), "has not moved for 100 s"));
	listen_free(&listen);
	assert_null(listen);
}

/* Who says nothing is hung up on after his time; who asks meanwhile is answered. */
static void test_slow_clients(void **state)
{
	struct listen *listen;
	int slow[8];
	char byte;

	(void)state;
	assert_int_equal(listen_new(&anywhere, &listen), 0);
	for (int i = 0; i < 8; i++) {
		slow[i] = call(listen);
		assert_int_equal(write(slow[i], "GET", 3), 3);
	}
	publish(listen, "a 1\n");
	says(listen, "GET /metrics", 200, "a 1\n"); /* by then those before it are known */
	listen_tick(listen, now());
	says(listen, "GET /metrics", 200, "a 1\n");
	for (int i = 0; i < 8; i++)
		assert_true(recv(slow[i], &byte, 1, MSG_DONTWAIT) < 0 && errno == EAGAIN);
	listen_tick(listen, now() + 60000000000ull);
	for (int i = 0; i < 8; i++) {
		assert_true(read(slow[i], &byte, 1) <= 0);
		close(slow[i]);
	}
	says(listen, "GET /metrics", 200, "a 1\n");
	listen_free(&listen);
}

static void test_taken(void **state)
{
	struct options_listen same = anywhere;
	struct listen *listen, *other = NULL;
	struct captured said;
	int err;

	(void)state;
	assert_int_equal(listen_new(&anywhere, &listen), 0);
	same.address.v4.sin_port = htons(port_of(listen));
	captured_begin(&said, STDERR_FILENO);
	err = listen_new(&same, &other);
	captured_end(&said);
	assert_int_equal(err, -EADDRINUSE);
	assert_null(other);
	assert_string_equal(said.text, "spantrace: --listen here: Address already in use\n");
	listen_free(&listen);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_answers),
		cmocka_unit_test(test_slow_clients),
		cmocka_unit_test(test_taken),
	};

	return cmocka_run_group_tests_name("listen", tests, NULL, NULL);
}
