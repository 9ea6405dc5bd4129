/* SPDX-License-Identifier: MIT */
/* Whole reads and writes, through pipes that take and give less at once. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "../../user/util/io.h"

#define SIZE 300000 /* several times what a pipe holds */

static int pipe_fds[2];
static char sent[SIZE], received[SIZE + 10];

static void on_signal(int number)
{
	(void)number;
}

static void *send_all(void *context)
{
	intptr_t err = io_write(pipe_fds[1], sent, SIZE);

	(void)context;
	close(pipe_fds[1]);
	return (void *)err;
}

/* Signals come while the reader and the writer wait; more is asked for than comes. */
static void test_pipe(void **state)
{
	struct sigaction action = {.sa_handler = on_signal};
	pthread_t sender;
	void *err;
	int i;

	(void)state;
	for (i = 0; i < SIZE; i++)
		sent[i] = (char)(i * 7 % 251);
	assert_int_equal(sigaction(SIGUSR1, &action, NULL), 0);
	assert_int_equal(pipe(pipe_fds), 0);
	assert_int_equal(pthread_create(&sender, NULL, send_all, NULL), 0);
	for (i = 0; i < 20; i++) {
		usleep(1000);
		pthread_kill(sender, SIGUSR1);
	}
	assert_int_equal(io_read(pipe_fds[0], received, sizeof(received)), SIZE);
	assert_int_equal(pthread_join(sender, &err), 0);
	assert_null(err);
	assert_memory_equal(sent, received, SIZE);
	assert_int_equal(io_read(pipe_fds[0], received, 1), 0);
	close(pipe_fds[0]);
}

static void test_places(void **state)
{
	char path[] = "/tmp/test_io.XXXXXX", bytes[8];
	int fd = mkstemp(path);

	(void)state;
	assert_true(fd >= 0);
	unlink(path);
	assert_int_equal(io_write_at(fd, "cdef", 4, 2), 0);
	assert_int_equal(io_write_at(fd, "ab", 2, 0), 0);
	assert_int_equal(io_read_at(fd, bytes, sizeof(bytes), 1), 5);
	assert_memory_equal(bytes, "bcdef", 5);
	assert_int_equal(io_read_at(fd, bytes, sizeof(bytes), 6), 0);
	/* Neither has moved on. */
	assert_int_equal(io_read(fd, bytes, 3), 3);
	assert_memory_equal(bytes, "abc", 3);
	assert_int_equal(io_read_at(fd, bytes, 1, -1), -EINVAL);
	assert_int_equal(io_write_at(fd, bytes, 1, -1), -EINVAL);
	close(fd);
}

static void test_errors(void **state)
{
	int fd = open("/dev/full", O_WRONLY);
	char byte = 0;

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(io_write(fd, &byte, 1), -ENOSPC);
	assert_int_equal(io_read(fd, &byte, 1), -EBADF);
	close(fd);
	assert_int_equal(io_write(-1, &byte, 1), -EBADF);
	assert_int_equal(io_write(-1, &byte, 0), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pipe),
		cmocka_unit_test(test_places),
		cmocka_unit_test(test_errors),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
