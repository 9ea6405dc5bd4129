/* SPDX-License-Identifier: MIT */
/* The headers of a request: whence each comes, what cannot be one, and that no message shows a secret. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "../../user/push/push_access.h"
#include "../../user/util/cleanup.h"

static char file[64];

static int make_file(void **state)
{
	int fd;

	(void)state;
	unsetenv(PUSH_TOKEN_VARIABLE);
	unsetenv(PUSH_PASSWORD_VARIABLE);
	snprintf(file, sizeof(file), "/tmp/spantrace-access-XXXXXX");
	fd = mkstemp(file);
	return fd < 0 ? -1 : close(fd);
}

static int drop_file(void **state)
{
	(void)state;
	return unlink(file);
}

static void fill(const char *text, size_t len)
{
	FILE *out = fopen(file, "w");

	assert_non_null(out);
	assert_int_equal(fwrite(text, 1, len, out), len);
	assert_int_equal(fclose(out), 0);
}

static void check(const struct push_access *access, const char *const *expected)
{
	AUTO_HEADERS headers = {0};
	char why[256];
	size_t n = 0;

	assert_int_equal(push_headers_make(access, &headers, why, sizeof(why)), 0);
	for (; expected[n]; n++) {
		assert_true(n < headers.n);
		assert_string_equal(headers.lines[n], expected[n]);
	}
	assert_int_equal(headers.n, n);
}

#define CHECK(access, ...) check(access, (const char *const[]){__VA_ARGS__, NULL})

static void test_sources(void **state)
{
	const char *own[] = {"X-One:1", "X-Two:  2 2", "X-Empty:", "X-File:@", NULL};
	char with_file[100];
	struct push_access access = {0};

	(void)state;
	check(&access, (const char *const[]){NULL});
	fill("from file \r\n", 12);
	setenv(PUSH_TOKEN_VARIABLE, "from-env", 1);
	setenv(PUSH_PASSWORD_VARIABLE, "pass", 1);
	CHECK(&access, "Authorization: Bearer from-env");
	access.token_file = file;
	CHECK(&access, "Authorization: Bearer from file");
	/* What it holds can change. */
	fill("new one", 7);
	CHECK(&access, "Authorization: Bearer new one");
	access.token_file = NULL;
	access.user = "me";
	CHECK(&access, "Authorization: Basic bWU6cGFzcw==");
	access.password_file = file;
	CHECK(&access, "Authorization: Basic bWU6bmV3IG9uZQ==");
	access.user = "you";
	fill("\xc3\xbc", 2);
	CHECK(&access, "Authorization: Basic eW91OsO8");
	unsetenv(PUSH_TOKEN_VARIABLE);
	unsetenv(PUSH_PASSWORD_VARIABLE);
	access = (struct push_access){.tenant = "blue", .headers = own, .nheaders = 4};
	snprintf(with_file, sizeof(with_file), "X-File: @%s", file);
	own[3] = with_file;
	fill("kept", 4);
	CHECK(&access, "X-Scope-OrgID: blue", "X-One: 1", "X-Two: 2 2", "X-Empty;", "X-File: kept");
}

static void refuse(const struct push_access *access, const char *words)
{
	AUTO_HEADERS headers = {0};
	char why[256];

	assert_true(push_headers_make(access, &headers, why, sizeof(why)) < 0);
	assert_non_null(strstr(why, words));
	assert_null(strstr(why, "hush"));
	assert_int_equal(headers.n, 0);
}

static void refuse_header(const char *text, const char *words)
{
	const struct push_access access = {.headers = &text, .nheaders = 1};

	refuse(&access, words);
}

static void test_mistakes(void **state)
{
	(void)state;
	refuse_header("hush", "a header is NAME:VALUE");
	refuse_header(": hush", "a header is NAME:VALUE");
	refuse_header("A B: hush", "a header is NAME:VALUE");
	refuse_header("A: hush\r\nB: x", "a header is NAME:VALUE");
	refuse_header("A:@/none", "cannot read /none: ");
	refuse(&(struct push_access){.tenant = "a\nb"}, "control characters");
	refuse(&(struct push_access){.user = "a:hush"}, "a user's name has no colon");
	refuse(&(struct push_access){.user = "a", .token_file = "b"}, "exclude each other");
	refuse(&(struct push_access){.token_file = "/"}, "cannot read /: ");
	fill("hush\r\nX: y", 10);
	refuse(&(struct push_access){.token_file = file}, "is to hold one line of text");
	fill("hush\0x", 6);
	refuse(&(struct push_access){.token_file = file}, "is to hold one line of text");
	fill("", 0);
	refuse(&(struct push_access){.token_file = file}, "is to hold one line of text");
}

static void test_clean(void **state)
{
	const struct push_access access = {.token_file = file};
	char words[] = " a\thush-hush\r\n\033[2Jhush-hushhush b\x7f ";
	char without[] = "\n\n";
	AUTO_HEADERS headers = {0};
	char why[256];

	(void)state;
	fill("hush-hush", 9);
	assert_int_equal(push_headers_make(&access, &headers, why, sizeof(why)), 0);
	push_headers_clean(&headers, words);
	assert_string_equal(words, "a ********* [2J*********hush b");
	push_headers_clean(&headers, without);
	assert_string_equal(without, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_sources, make_file, drop_file),
		cmocka_unit_test_setup_teardown(test_mistakes, make_file, drop_file),
		cmocka_unit_test_setup_teardown(test_clean, make_file, drop_file),
	};

	return cmocka_run_group_tests_name("push_access", tests, NULL, NULL);
}
