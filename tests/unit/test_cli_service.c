/* SPDX-License-Identifier: MIT */
/* Where a service listens, and what it says. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <arpa/inet.h>

#include "../../user/cli/cli_impl.h"
#include "captured.h"

static void listens(const char *text, int family, const char *address, u16 port)
{
	struct options o = {0};
	char host[INET6_ADDRSTRLEN];

	assert_int_equal(cli_value_listen(&o, text), 0);
	assert_int_equal(o.listen.address.any.sa_family, family);
	assert_int_equal(ntohs(o.listen.address.v4.sin_port), port);
	assert_non_null(inet_ntop(family,
				  family == AF_INET6 ? (void *)&o.listen.address.v6.sin6_addr
						     : (void *)&o.listen.address.v4.sin_addr,
				  host, sizeof(host)));
	assert_string_equal(host, address);
}

static void refused(const char *text, const char *words)
{
	struct options o = {0};
	struct captured said;
	int err;

	captured_begin(&said, STDERR_FILENO);
	err = cli_value_listen(&o, text);
	captured_end(&said);
	assert_int_equal(err, -EINVAL);
	assert_false(o.listen.on);
	assert_non_null(strstr(said.text, words));
}

static void test_listen(void **state)
{
	(void)state;
	listens("9437", AF_INET, "127.0.0.1", 9437);
	listens(":9437", AF_INET, "127.0.0.1", 9437);
	listens("localhost:0", AF_INET, "127.0.0.1", 0);
	listens("127.9.9.9:65535", AF_INET, "127.9.9.9", 65535);
	listens("[::1]:80", AF_INET6, "::1", 80);
	listens("0.0.0.0:80,public", AF_INET, "0.0.0.0", 80);
	listens("[::]:80,public", AF_INET6, "::", 80);
}

static void test_refused(void **state)
{
	(void)state;
	refused("0.0.0.0:80", "--listen 0.0.0.0:80,public");
	refused("[::]:80", "--listen [::]:80,public");
	refused("10.0.0.1:80,privat", "is not an address and a port");
	refused("", "is not an address and a port");
	refused("127.0.0.1", "is not an address and a port");
	refused("127.0.0.1:", "is not an address and a port");
	refused("127.0.0.1:65536", "is not an address and a port");
	refused("127.0.0.1:-1", "is not an address and a port");
	refused("example.org:80", "is not an address and a port");
	refused("::1:80", "is not an address and a port");
	refused("[::1:80", "is not an address and a port");
	refused("[:80", "is not an address and a port");
	refused("[1111:2222:3333:4444:5555:6666:7777:8888:9999:0000:1111]:80",
		"is not an address and a port");
}

static void test_log_level(void **state)
{
	static const char *const levels[] = {"error", "warn", "info", "debug"};
	struct options o = {0};
	struct captured said;
	int err;

	(void)state;
	for (unsigned i = 0; i < 4; i++) {
		assert_int_equal(cli_value_log_level(&o, levels[i]), 0);
		assert_int_equal(o.quiet, i == 0);
		assert_int_equal(o.verbose, i ? i - 1 : 0);
	}
	captured_begin(&said, STDERR_FILENO);
	err = cli_value_log_level(&o, "loud");
	captured_end(&said);
	assert_int_equal(err, -EINVAL);
	assert_non_null(strstr(said.text, "write error, warn, info or debug"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_listen),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_log_level),
	};

	return cmocka_run_group_tests_name("cli_service", tests, NULL, NULL);
}
