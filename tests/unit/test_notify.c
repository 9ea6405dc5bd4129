/* SPDX-License-Identifier: MIT */
/* Datagrams to whoever runs the service, by a file's name and by one that is none; nobody there is no matter. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "../../user/service/notify.h"

static void told(int fd, const char *want)
{
	char text[128];
	ssize_t n = recv(fd, text, sizeof(text) - 1, MSG_DONTWAIT);

	assert_true(n >= 0);
	text[n] = '\0';
	assert_string_equal(text, want);
}

static void check(const char *name)
{
	struct sockaddr_un here = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	memcpy(here.sun_path, name, strlen(name));
	if (*name == '@')
		here.sun_path[0] = '\0';
	assert_int_equal(bind(fd, (struct sockaddr *)&here,
			      (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(name))),
			 0);
	setenv("NOTIFY_SOCKET", name, 1);
	notify_send("READY=1");
	told(fd, "READY=1");
	notify_reloading(1234567999);
	told(fd, "RELOADING=1\nMONOTONIC_USEC=1234567");
	close(fd);
}

static void test_sent(void **state)
{
	char name[64];

	(void)state;
	snprintf(name, sizeof(name), "@spantrace-test-%d", getpid());
	check(name);
	snprintf(name, sizeof(name), "/tmp/spantrace-test-%d", getpid());
	check(name);
	unlink(name);
}

static void test_nobody(void **state)
{
	char name[200];

	(void)state;
	unsetenv("NOTIFY_SOCKET");
	notify_send("READY=1");
	setenv("NOTIFY_SOCKET", "/nowhere/at/all", 1);
	notify_send("READY=1");
	setenv("NOTIFY_SOCKET", "vsock:2:3", 1);
	notify_send("READY=1");
	memset(name, '/', sizeof(name) - 1); /* longer than an address */
	name[sizeof(name) - 1] = '\0';
	setenv("NOTIFY_SOCKET", name, 1);
	notify_send("READY=1");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sent),
		cmocka_unit_test(test_nobody),
	};

	return cmocka_run_group_tests_name("notify", tests, NULL, NULL);
}
