/* SPDX-License-Identifier: MIT */
/* Outputs to a server: where requests go, what its answers mean for the run's end. How they are delivered is
 * test_push.c's business. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "../../user/session/outputs_impl.h"
#include "captured.h"
#include "httpserved.h"

#define SECOND 1000000000ull
#define ANSWER(status, type, body) \
	"HTTP/1.1 " status "\r\nContent-Type: " type "\r\nConnection: close\r\n\r\n" body

static const struct push_access nothing;

static void open_output(struct output *output, const char *url, enum export_encoding encoding,
			u64 wait_ns, bool patient)
{
	*output = (struct output){.path = url, .exporter = {.options = EXPORT_OPTIONS_DEFAULT}};
	output->exporter.ops = exporter_by_name("otlp");
	output->exporter.options.encoding = encoding;
	assert_int_equal(output_push_open(output, &nothing, wait_ns, patient), 0);
}

static void send_text(const struct output *output, const char *text)
{
	struct text_buf request = {0};

	text_add_str(&request, text);
	assert_int_equal(output->exporter.send(output->exporter.send_to, &request), 0);
	text_buf_free(&request);
}

/* The end, with what it said. */
static int finish(struct output *output, struct captured *said)
{
	int err;

	captured_begin(said, STDERR_FILENO);
	err = output_push_finish(output);
	captured_end(said);
	push_free(&output->to.push);
	return err;
}

/* The path is added where the URL does not have it. */
static void test_where(void **state)
{
	static const char *const script[] = {SERVED_200, NULL};
	const struct {
		const char *path, *first_line;
		enum export_encoding encoding;
		const char *type;
	} cases[] = {
		{"", "POST /v1/traces HTTP/1.1\r\n", EXPORT_ENCODING_JSON,
		 "Content-Type: application/json\r\n"},
		{"/prefix", "POST /prefix/v1/traces HTTP/1.1\r\n", EXPORT_ENCODING_PROTOBUF,
		 "Content-Type: application/x-protobuf\r\n"},
		{"/a/v1/traces", "POST /a/v1/traces HTTP/1.1\r\n", EXPORT_ENCODING_PROTOBUF,
		 "Content-Type: application/x-protobuf\r\n"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct captured said;
		struct output output;
		struct served s;
		char url[128];
		int err;

		served_begin(&s, script, 0);
		snprintf(url, sizeof(url), "%s%s", s.url, cases[i].path);
		open_output(&output, url, cases[i].encoding, 30 * SECOND, i == 0);
		send_text(&output, "a request");
		err = finish(&output, &said);
		assert_int_equal(err, 0);
		assert_string_equal(said.text, "");
		assert_int_equal(s.n, 1);
		if (strncmp(s.heads[0], cases[i].first_line, strlen(cases[i].first_line)) != 0 ||
		    !strstr(s.heads[0], cases[i].type) ||
		    !strstr(s.heads[0], "Content-Encoding: gzip\r\n"))
			fail_msg("%s", s.heads[0]);
		served_end(&s);
	}
}

/* What the server has not is an error, and said in numbers. */
static void test_not_all_of_it(void **state)
{
	const struct {
		const char *script[3];
		const char *said;
	} cases[] = {
		{{SERVED_200, ANSWER("400 Bad Request", "text/plain", "no such field"), NULL},
		 "of 2 requests to %s 1 were sent, 1 refused, 0 dropped, 0 kept; the server left out 0 spans"},
		{{SERVED_200,
		  ANSWER("200 OK", "application/json",
			 "{\"partialSuccess\":{\"rejectedSpans\":\"3\",\"errorMessage\":\"too old\"}}"),
		  NULL},
		 "of 2 requests to %s 2 were sent, 0 refused, 0 dropped, 0 kept; the server left out 3 spans"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		char wanted[256];
		struct captured said;
		struct output output;
		struct served s;
		int err;

		served_begin(&s, cases[i].script, 0);
		open_output(&output, s.url, EXPORT_ENCODING_PROTOBUF, 30 * SECOND, true);
		send_text(&output, "one");
		send_text(&output, "two");
		err = finish(&output, &said);
		snprintf(wanted, sizeof(wanted), cases[i].said, s.url);
		if (err != -EIO || !strstr(said.text, wanted))
			fail_msg("%d: %s, not %s", err, said.text, wanted);
		served_end(&s);
	}
}

/* Nobody listens: an export that would wait for the server goes on, and says what it lost. */
static void test_nobody_there(void **state)
{
	static const char *const script[] = {SERVED_200, NULL};
	struct captured said;
	struct output output;
	struct served s;
	int err;

	(void)state;
	served_begin(&s, script, 0);
	served_end(&s);
	open_output(&output, s.url, EXPORT_ENCODING_PROTOBUF, SECOND / 10, true);
	send_text(&output, "one");
	err = finish(&output, &said);
	assert_int_equal(err, -EIO);
	assert_non_null(strstr(said.text, "0 were sent, 0 refused, 1 dropped, 0 kept"));
}

static void check_left_out(const char *body, size_t len, u64 wanted, const char *wanted_why)
{
	char why[16];
	u64 got = output_push_left_out(body, len, why, sizeof(why));

	if (got != wanted || strcmp(why, wanted_why) != 0)
		fail_msg("%s: %llu \"%s\"", body, (unsigned long long)got, why);
}

/* Answers in both encodings; nonsense means nothing, and what is cut is not read beyond its end. */
static void test_left_out(void **state)
{
	static const char whole[] = "\x0a\x07\x08\xac\x02\x12\x02no";

	(void)state;
	check_left_out("", 0, 0, "");
	check_left_out(whole, sizeof(whole) - 1, 300, "no");
	for (size_t len = 1; len < sizeof(whole) - 1; len++)
		check_left_out(whole, len, 0, "");
	check_left_out("\x0a\x02\x08\xff", 4, 0, "");
	check_left_out("\x0a\x12\x12\x10"
		       "0123456789abcdef",
		       20, 0, "0123456789abcde");
	check_left_out("<html>", 6, 0, "");
#define JSON(text) text, sizeof(text) - 1
	check_left_out(JSON("{}"), 0, "");
	check_left_out(JSON("{\"partialSuccess\": {}}"), 0, "");
	check_left_out(JSON("{\"partialSuccess\":{\"rejectedSpans\":\"12\"}}"), 12, "");
	check_left_out(JSON("{\"partialSuccess\":{\"errorMessage\":\"a b\",\"rejectedSpans\": 7}}"),
		       7, "a b");
	check_left_out(JSON("{\"errorMessage\":\"0123456789abcdef"), 0, "0123456789abcde");
	check_left_out(JSON("{\"rejectedSpans\""), 0, "");
#undef JSON
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_where),
		cmocka_unit_test(test_not_all_of_it),
		cmocka_unit_test(test_nobody_there),
		cmocka_unit_test(test_left_out),
	};

	return cmocka_run_group_tests_name("outputs_push", tests, NULL, NULL);
}
