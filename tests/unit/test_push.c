/* SPDX-License-Identifier: MIT */
/* What is enqueued arrives once, in order, whatever the server does in between; what does not is counted. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/wait.h>
#include <time.h>

#include <cmocka.h>

#include "../../user/push/push.h"
#include "../../user/util/cleanup.h"
#include "captured.h"
#include "httpserved.h"
#include "pprofread.h"

#define SECOND 1000000000ull
#define MS     1000000ull

static char folder[64];

static int make_folder(void **state)
{
	(void)state;
	snprintf(folder, sizeof(folder), "/tmp/spantrace-push-XXXXXX");
	return mkdtemp(folder) ? 0 : -1;
}

static int drop_folder(void **state)
{
	char command[100];

	(void)state;
	snprintf(command, sizeof(command), "rm -r %s", folder);
	return system(command);
}

static struct push *begin(const char *url, const struct push_access *access, u64 queue_bytes)
{
	const struct push_options options = {
		.name = "test",
		.url = url,
		.access = access,
		.queue_bytes = queue_bytes,
		.retry_min_ns = MS,
		.retry_max_ns = 20 * MS,
	};
	struct push *push = NULL;

	assert_int_equal(push_new(&options, &push), 0);
	return push;
}

static void add(struct push *push, const char *text)
{
	struct text_buf body = {0};

	text_add_str(&body, text);
	assert_int_equal(push_enqueue(push, "/a/path", "text/plain", &body), 0);
	assert_null(body.data);
}

static struct push_counts end(struct push **push, u64 wait_ns)
{
	struct push_counts counts;

	push_close(*push, wait_ns);
	push_count(*push, &counts);
	push_free(push);
	assert_null(*push);
	return counts;
}

static void check_body(const struct served *s, size_t i, const char *text)
{
	assert_true(i < s->n);
	assert_int_equal(s->lengths[i], strlen(text));
	assert_memory_equal(s->bodies[i], text, s->lengths[i]);
}

/* "number 0" and so on. */
static void add_numbers(struct push *push, int n)
{
	char text[32];

	for (int i = 0; i < n; i++) {
		snprintf(text, sizeof(text), "number %d", i);
		add(push, text);
	}
}

static void check_numbers(const struct served *s, size_t at, int from, int n)
{
	char text[32];

	for (int i = 0; i < n; i++) {
		snprintf(text, sizeof(text), "number %d", from + i);
		check_body(s, at + (size_t)i, text);
	}
}

static u64 now(void)
{
	struct timespec at;

	clock_gettime(CLOCK_MONOTONIC, &at);
	return (u64)at.tv_sec * SECOND + (u64)at.tv_nsec;
}

/* A port at which nobody listens. */
static void no_server(char url[64])
{
	static const char *const script[] = {SERVED_200, NULL};
	struct served server;

	served_begin(&server, script, 0);
	memcpy(url, server.url, 64);
	served_end(&server);
}

static void test_order(void **state)
{
	static const char *const script[] = {SERVED_200, NULL};
	const char *const headers[] = {"X-Own: one", "X-Two:2"};
	const struct push_access access = {.tenant = "blue", .headers = headers, .nheaders = 2};
	struct push_counts counts;
	struct served server;
	struct push *push;

	(void)state;
	served_begin(&server, script, 0);
	push = begin(server.url, &access, 0);
	add_numbers(push, 20);
	counts = end(&push, 60 * SECOND);
	assert_int_equal(counts.sent, 20);
	assert_int_equal(counts.queued + counts.spooled + counts.refused + counts.dropped, 0);
	assert_int_equal(counts.status, 200);
	assert_int_equal(server.n, 20);
	check_numbers(&server, 0, 0, 20);
	assert_memory_equal(server.heads[0], "POST /a/path HTTP/1.1\r\n", 23);
	assert_non_null(strstr(server.heads[0], "\r\nContent-Type: text/plain\r\n"));
	assert_non_null(strstr(server.heads[0], "\r\nX-Scope-OrgID: blue\r\n"));
	assert_non_null(strstr(server.heads[0], "\r\nX-Own: one\r\n"));
	assert_non_null(strstr(server.heads[0], "\r\nX-Two: 2\r\n"));
	assert_non_null(strstr(server.heads[0], "\r\nUser-Agent: spantrace/"));
	assert_null(strcasestr(server.heads[0], "\r\nAuthorization:"));
	served_end(&server);
}

/* Each answer that promises nothing is followed by another try, of the same bytes. */
static void test_again(void **state)
{
	static const char *const script[] = {
		"HTTP/1.1 503 Busy\r\nContent-Length: 4\r\nConnection: close\r\n\r\nbusy",
		SERVED_CLOSE,
		"garbage that is no answer\r\n\r\n",
		"HTTP/1.1 429 Slow\r\nRetry-After: 1\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
		"HTTP/1.1 408 Late\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
		SERVED_SILENT,
		SERVED_200,
		NULL,
	};
	const struct push_access access = {.timeout_ns = SECOND};
	struct push_counts counts;
	struct captured captured;
	struct served server;
	struct push *push;
	u64 began = now();

	(void)state;
	served_begin(&server, script, 0);
	captured_begin(&captured, STDERR_FILENO);
	push = begin(server.url, &access, 0);
	add(push, "number 0");
	served_wait(&server, 7);
	add(push, "number 1");
	counts = end(&push, 60 * SECOND);
	captured_end(&captured);
	assert_true(now() - began >= SECOND);
	assert_int_equal(counts.sent, 2);
	assert_int_equal(counts.retries, 6);
	assert_int_equal(counts.dropped + counts.refused + counts.queued, 0);
	assert_int_equal(counts.failing_since_ns, 0);
	assert_int_equal(server.n, 8);
	for (size_t i = 0; i < 7; i++)
		if (i != 1) /* half of it was read */
			check_body(&server, i, "number 0");
	check_body(&server, 7, "number 1");
	served_end(&server);
	/* Said when it begins, and when it is over. */
	assert_non_null(strstr(captured.text, "warning: --test: http://127.0.0.1"));
	assert_non_null(strstr(captured.text, "HTTP 503: busy; it is tried again"));
	assert_non_null(strstr(captured.text, "answers again after"));
	assert_null(strstr(captured.text, "429"));
}

/* What the server cannot digest waits, and keeps nothing from those behind it. */
static void test_stumble(void **state)
{
	static const char *const script[] = {
		"HTTP/1.1 500 No\r\nContent-Length: 0\r\nConnection: close\r\n\r\n", SERVED_200,
		NULL};
	const struct push_access access = {0};
	struct push_counts counts;
	struct captured captured;
	struct served server;
	struct push *push;

	(void)state;
	served_begin(&server, script, 0);
	captured_begin(&captured, STDERR_FILENO);
	push = begin(server.url, &access, 0);
	add_numbers(push, 2);
	served_wait(&server, 3);
	counts = end(&push, 60 * SECOND);
	captured_end(&captured);
	assert_int_equal(counts.sent, 2);
	assert_int_equal(counts.retries, 1);
	check_body(&server, 0, "number 0");
	/* It was added while the first was on its way, or later: then the first went again. */
	assert_int_equal(server.n, 3);
	assert_true(server.bodies[1][7] + server.bodies[2][7] == '0' + '1');
	served_end(&server);
}

/* Said once, with the server's words but for our secrets; not asked again. */
static void test_refused(void **state)
{
	static const char *const script[] = {
		"HTTP/1.1 401 No\r\nContent-Length: 35\r\nConnection: close\r\n\r\nyour token\n\033[31mhush-hush is not it",
		NULL};
	struct push_access access = {0};
	struct push_counts counts;
	struct captured captured;
	struct served server;
	struct push *push;

	(void)state;
	setenv("SPANTRACE_PUSH_TOKEN", "hush-hush", 1);
	served_begin(&server, script, 0);
	captured_begin(&captured, STDERR_FILENO);
	push = begin(server.url, &access, 0);
	add_numbers(push, 3);
	counts = end(&push, 60 * SECOND);
	captured_end(&captured);
	unsetenv("SPANTRACE_PUSH_TOKEN");
	assert_int_equal(server.n, 3);
	assert_non_null(strstr(server.heads[0], "\r\nAuthorization: Bearer hush-hush\r\n"));
	served_end(&server);
	assert_int_equal(counts.refused, 3);
	assert_int_equal(counts.sent + counts.retries + counts.dropped + counts.queued, 0);
	assert_int_equal(counts.status, 401);
	assert_string_equal(counts.words, "HTTP 401: your token [31m********* is not it");
	assert_non_null(strstr(captured.text, counts.words));
	assert_null(strstr(captured.text, "hush"));
	assert_null(strstr(strstr(captured.text, counts.words) + 1, counts.words));
	assert_non_null(strstr(captured.text, "warning: --test: the server refused 3 pushes"));
}

/* The answer says yes and breaks off: it is not sent twice. */
static void test_yes(void **state)
{
	static const char *const script[] = {"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nabc",
					     NULL};
	const struct push_access access = {0};
	struct push_counts counts;
	struct served server;
	struct push *push;

	(void)state;
	served_begin(&server, script, 0);
	push = begin(server.url, &access, 0);
	add_numbers(push, 2);
	counts = end(&push, 60 * SECOND);
	assert_int_equal(counts.sent, 2);
	assert_int_equal(counts.retries, 0);
	assert_int_equal(server.n, 2);
	served_end(&server);
}

static void test_bound(void **state)
{
	const struct push_access access = {0};
	struct push_counts counts;
	struct captured captured;
	struct text_buf body = {0};
	struct push *push;
	char url[64];

	(void)state;
	no_server(url);
	captured_begin(&captured, STDERR_FILENO);
	push = begin(url, &access, 80);
	add_numbers(push, 10); /* 80 bytes: all have room */
	push_count(push, &counts);
	add_numbers(push, 10);
	for (int i = 0; i < 100; i++)
		text_add_str(&body, "x");
	assert_int_equal(push_enqueue(push, "/", "text/plain", &body), -EMSGSIZE);
	assert_null(body.data);
	captured_end(&captured);
	assert_int_equal(counts.queued, 10);
	assert_int_equal(counts.queued_bytes, 80);
	assert_int_equal(counts.dropped, 0);
	push_count(push, &counts);
	/* One more has room while one is on its way. */
	assert_in_range(counts.dropped, 10, 11);
	assert_int_equal(counts.dropped + counts.queued, 21);
	captured_begin(&captured, STDERR_FILENO);
	counts = end(&push, 0);
	captured_end(&captured);
	assert_int_equal(counts.dropped, 21);
	assert_int_equal(counts.queued + counts.sent, 0);
	assert_non_null(strstr(captured.text, "dropped: "));
}

/* How many files of pushes are in the folder. */
static int count_files(void)
{
	char command[160];

	snprintf(command, sizeof(command), "exit $(ls %s | grep -c 'test-[0-9]*[.]push$')", folder);
	return WEXITSTATUS(system(command));
}

static void test_spool(void **state)
{
	static const char *const script[] = {SERVED_200, NULL};
	const struct push_access access = {.spool = folder};
	const struct push_options second = {
		.name = "test", .url = "http://127.0.0.1:1", .access = &access};
	struct push_counts counts;
	struct captured captured;
	struct served server;
	struct push *push, *other = NULL;
	char url[64];

	(void)state;
	no_server(url);
	captured_begin(&captured, STDERR_FILENO);
	push = begin(url, &access, 0);
	add_numbers(push, 3);
	counts = end(&push, 60 * SECOND);
	captured_end(&captured);
	assert_int_equal(counts.spooled, 3);
	assert_int_equal(counts.queued + counts.dropped + counts.sent, 0);
	assert_int_equal(count_files(), 3);
	assert_non_null(strstr(captured.text, "3 pushes left in /tmp/spantrace-push-"));

	/* Another run that has no luck either. */
	captured_begin(&captured, STDERR_FILENO);
	push = begin(url, &access, 0);
	add(push, "number 3");
	other = NULL;
	assert_int_equal(push_new(&second, &other), -EWOULDBLOCK);
	counts = end(&push, 60 * SECOND);
	captured_end(&captured);
	assert_int_equal(counts.found, 3);
	assert_int_equal(counts.spooled, 4);
	assert_non_null(strstr(captured.text, "another spantrace uses it"));

	served_begin(&server, script, 0);
	captured_begin(&captured, STDERR_FILENO);
	push = begin(server.url, &access, 0);
	add(push, "number 4");
	counts = end(&push, 60 * SECOND);
	captured_end(&captured);
	assert_int_equal(counts.found, 4);
	assert_int_equal(counts.sent, 5);
	assert_int_equal(counts.spooled + counts.queued + counts.dropped, 0);
	assert_int_equal(server.n, 5);
	check_numbers(&server, 0, 0, 5);
	assert_int_equal(count_files(), 0);
	served_end(&server);
}

/* The newest stay. */
static void test_spool_bound(void **state)
{
	static const char *const script[] = {SERVED_200, NULL};
	/* A file takes 61 bytes, and before it is written it could be 89. */
	const struct push_access access = {.spool = folder, .spool_bytes = 220};
	struct push_counts counts;
	struct captured captured;
	struct served server;
	struct push *push;
	char url[64];

	(void)state;
	no_server(url);
	captured_begin(&captured, STDERR_FILENO);
	push = begin(url, &access, 0);
	add_numbers(push, 10);
	counts = end(&push, 60 * SECOND);
	captured_end(&captured);
	assert_int_equal(counts.spooled, 3);
	assert_int_equal(counts.dropped, 7);
	assert_int_equal(count_files(), 3);
	assert_non_null(strstr(captured.text, "no more room in the spool: see --spool-size"));

	served_begin(&server, script, 0);
	captured_begin(&captured, STDERR_FILENO);
	push = begin(server.url, &access, 0);
	counts = end(&push, 60 * SECOND);
	captured_end(&captured);
	assert_int_equal(counts.sent, 3);
	check_numbers(&server, 0, 7, 3);
	served_end(&server);
}

/* The end does not wait for a server that never answers. */
static void test_stop(void **state)
{
	static const char *const script[] = {SERVED_SILENT, NULL};
	const struct push_access access = {.timeout_ns = 1000 * SECOND};
	const struct push_access spooling = {.timeout_ns = 1000 * SECOND, .spool = folder};
	struct push_counts counts;
	struct captured captured;
	struct served server;
	struct push *push;

	(void)state;
	served_begin(&server, script, 0);
	captured_begin(&captured, STDERR_FILENO);
	push = begin(server.url, &access, 0);
	add(push, "number 0");
	served_wait(&server, 1);
	counts = end(&push, 100 * MS);
	captured_end(&captured);
	assert_int_equal(counts.dropped, 1);
	captured_begin(&captured, STDERR_FILENO);
	push = begin(server.url, &spooling, 0);
	add(push, "number 0");
	served_wait(&server, 2);
	counts = end(&push, 100 * MS);
	captured_end(&captured);
	assert_int_equal(counts.spooled, 1);
	assert_int_equal(counts.dropped, 0);
	served_end(&server);
}

static u64 three_left_out(const char *body, size_t len, char *why, size_t size)
{
	snprintf(why, size, "said: %.*s", (int)len, body);
	return 3;
}

static void test_packed(void **state)
{
	static const char *const script[] = {
		"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\npart.", NULL};
	const struct push_access access = {0};
	struct push_options options = {
		.name = "test", .access = &access, .gzip = true, .left_out = three_left_out};
	AUTO_FREE char *plain = NULL;
	struct push_counts counts;
	struct captured captured;
	struct served server;
	struct push *push;
	size_t len;

	(void)state;
	served_begin(&server, script, 0);
	options.url = server.url;
	captured_begin(&captured, STDERR_FILENO);
	assert_int_equal(push_new(&options, &push), 0);
	add(push, "text of which nothing is left out");
	add(push, "");
	counts = end(&push, 60 * SECOND);
	captured_end(&captured);
	assert_int_equal(counts.sent, 2);
	assert_int_equal(counts.left_out, 6);
	assert_non_null(strstr(captured.text, "leaves out a part of what it gets: said: part."));
	assert_non_null(strstr(server.heads[0], "\r\nContent-Encoding: gzip\r\n"));
	plain = pprof_unzip(server.bodies[0], server.lengths[0], &len);
	assert_int_equal(len, strlen("text of which nothing is left out"));
	assert_memory_equal(plain, "text of which nothing is left out", len);
	served_end(&server);
}

static void test_url(void **state)
{
	static const char *const bad[] = {"",
					  "host:4040 x",
					  "ftp://host",
					  "file:///etc/passwd",
					  "http://me:secret@host",
					  "http://me@host",
					  "http://host/?token=secret",
					  "http://host/#part"};
	const struct push_access access = {0};
	struct push_options options = {.name = "test", .access = &access};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		struct captured captured;
		struct push *push = NULL;
		int err;

		options.url = bad[i];
		captured_begin(&captured, STDERR_FILENO);
		err = push_new(&options, &push);
		captured_end(&captured);
		assert_int_equal(err, -EINVAL);
		assert_null(push);
		assert_non_null(strstr(captured.text, "--test: the URL "));
		assert_null(strstr(captured.text, "secret"));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_order),
		cmocka_unit_test(test_again),
		cmocka_unit_test(test_stumble),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_yes),
		cmocka_unit_test(test_bound),
		cmocka_unit_test_setup_teardown(test_spool, make_folder, drop_folder),
		cmocka_unit_test_setup_teardown(test_spool_bound, make_folder, drop_folder),
		cmocka_unit_test_setup_teardown(test_stop, make_folder, drop_folder),
		cmocka_unit_test(test_packed),
		cmocka_unit_test(test_url),
	};

	return cmocka_run_group_tests_name("push", tests, NULL, NULL);
}
