/* SPDX-License-Identifier: MIT */
/* What commands that read files take: files, filters, their own options, and the sentence for each mistake. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "../../user/cli/cli.h"
#include "../../user/recording/reading.h"
#include "../../user/util/log.h"
#include "captured.h"

/* What the command's own options set. */
static struct {
	const char *sort;
	int lines;
} own;

static int take(void *context, int letter, const char *arg)
{
	assert_ptr_equal(context, &own);
	if (letter == 's')
		own.sort = arg;
	else if (letter == READING_OWN_OPTIONS)
		own.lines++;
	else
		fail_msg("option %d is not the command's own", letter);
	return own.sort && !*own.sort ? -EINVAL : 0;
}

static const struct cli_option options[] = {
	{'s', "sort", "COLUMN", "order", 0},
	{READING_OWN_OPTIONS, "lines", NULL, "one a line", 0},
};

static struct reading_command command = {
	.name = "show",
	.usage = "FILE…",
	.about = "Shows.\n",
	.status = "0 done",
	.min_files = 1,
	.options = options,
	.noptions = 2,
	.take = take,
};

/* Parses LINE, split at spaces; `''` is an empty word. What is printed goes to C. */
static int parse(const char *line, struct reading *r, int fd, struct captured *c)
{
	static char words[512];
	static char *argv[32];
	char *rest = words, *word;
	int argc = 0, err;

	snprintf(words, sizeof(words), "show %s", line);
	while ((word = strsep(&rest, " ")))
		argv[argc++] = strcmp(word, "''") ? word : word + 2;
	argv[argc] = NULL;
	memset(&own, 0, sizeof(own));
	*r = (struct reading){0};
	captured_begin(c, fd);
	err = reading_parse(argc, argv, &command, &own, r);
	captured_end(c);
	return err;
}

static void test_nothing_but_a_file(void **state)
{
	const struct replay_filter none = {0};
	struct captured c;
	struct reading r;

	(void)state;
	assert_int_equal(parse("a.spans", &r, STDERR_FILENO, &c), 0);
	assert_string_equal(c.text, "");
	assert_int_equal(r.nfiles, 1);
	assert_string_equal(r.files[0], "a.spans");
	assert_null(r.files[1]);
	assert_memory_equal(&r.filter, &none, sizeof(none));
	assert_false(reading_is_filtered(&r));
	assert_false(r.json || r.quiet || r.verbose || r.helped);
	assert_int_equal(log_threshold, LOG_WARN);
	reading_free(&r);
}

static void test_every_filter(void **state)
{
	struct captured c;
	struct reading r;

	(void)state;
	assert_int_equal(parse("--pid 1,22 a -p 1,3 --tid 4294967295 -t 0 --provider app* -P db b "
			       "--span app:q* --span x --min-duration 1.5ms --from 200ms --to 1.5s",
			       &r, STDERR_FILENO, &c),
			 0);
	assert_int_equal(r.nfiles, 2);
	assert_string_equal(r.files[0], "a");
	assert_string_equal(r.files[1], "b");
	assert_int_equal(r.filter.npids, 3);
	assert_int_equal(r.filter.pids[0], 1);
	assert_int_equal(r.filter.pids[1], 22);
	assert_int_equal(r.filter.pids[2], 3);
	assert_int_equal(r.filter.ntids, 2);
	assert_true((u32)r.filter.tids[0] == UINT32_MAX);
	assert_int_equal(r.filter.tids[1], 0);
	assert_int_equal(r.filter.nproviders, 2);
	assert_string_equal(r.filter.providers[0], "app*");
	assert_string_equal(r.filter.providers[1], "db");
	assert_int_equal(r.filter.nspans, 2);
	assert_string_equal(r.filter.spans[0], "app:q*");
	assert_string_equal(r.filter.spans[1], "x");
	assert_true(r.filter.min_ns == 1500000);
	assert_true(r.filter.from_ns == 200000000);
	assert_true(r.filter.to_ns == 1500000000);
	assert_true(reading_is_filtered(&r));
	reading_free(&r);
}

static void test_own_and_common_options(void **state)
{
	struct captured c;
	struct reading r;

	(void)state;
	assert_int_equal(parse("-s self --lines --json -vv a", &r, STDERR_FILENO, &c), 0);
	assert_string_equal(own.sort, "self");
	assert_int_equal(own.lines, 1);
	assert_true(r.json);
	assert_int_equal(r.verbose, 2);
	assert_int_equal(log_threshold, LOG_DEBUG);
	reading_free(&r);
	assert_int_equal(parse("-q -- -s", &r, STDERR_FILENO, &c), 0);
	assert_string_equal(r.files[0], "-s");
	assert_null(own.sort);
	assert_int_equal(log_threshold, LOG_ERROR);
	log_threshold = LOG_WARN;
	reading_free(&r);
	assert_int_equal(parse("a --sort=", &r, STDERR_FILENO, &c), -EINVAL);
	reading_free(&r);
}

static void test_mistakes(void **state)
{
	static const char *const cases[][2] = {
		{"-q", "show: no file to read; write: spantrace show FILE…"},
		{"a --nope", "unknown option --nope; see spantrace help show"},
		{"a -z", "unknown option -z; see spantrace help show"},
		{"a --pid", "--pid needs a value; see spantrace help show"},
		{"a -q -v", "-q and -v exclude each other"},
		{"a --pid 1,x",
		 "--pid: \"x\" is not a process id; write --pid 123 or --pid 123,456"},
		{"a --tid -1",
		 "--tid: \"-1\" is not a thread id; write --tid 123 or --tid 123,456"},
		{"a --tid 4294967296",
		 "--tid: \"4294967296\" is not a thread id; write --tid 123 or --tid 123,456"},
		{"a --provider ''",
		 "--provider: the glob is empty; write a name, with * for any part of it"},
		{"a --span ''",
		 "--span: the glob is empty; write a name, with * for any part of it"},
		{"a --min-duration x",
		 "--min-duration: \"x\" is not a time; write 10s, 1.5s, 200ms"},
		{"a --from 1y", "--from: \"1y\" is not a time; write 10s, 1.5s, 200ms"},
		{"a --to 9999999999h", "--to: \"9999999999h\" is longer than any trace"},
		{"a --to 0", "--to: \"0\" leaves nothing; write a time after the start: 10s"},
		{"a --from 2s --to 1s", "show: --from is after --to; nothing would be left"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char expected[256];
		struct captured c;
		struct reading r;

		snprintf(expected, sizeof(expected), "spantrace: %s\n", cases[i][1]);
		assert_int_equal(parse(cases[i][0], &r, STDERR_FILENO, &c), -EINVAL);
		assert_string_equal(c.text, expected);
		reading_free(&r);
	}
}

static void test_number_of_files(void **state)
{
	struct captured c;
	struct reading r;

	(void)state;
	command.min_files = 2;
	command.max_files = 2;
	assert_int_equal(parse("a", &r, STDERR_FILENO, &c), -EINVAL);
	assert_string_equal(
		c.text, "spantrace: show: one more file is needed; write: spantrace show FILE…\n");
	reading_free(&r);
	assert_int_equal(parse("a b", &r, STDERR_FILENO, &c), 0);
	reading_free(&r);
	assert_int_equal(parse("a b c", &r, STDERR_FILENO, &c), -EINVAL);
	assert_string_equal(
		c.text,
		"spantrace: show: \"c\" is one word too many; write: spantrace show FILE…\n");
	reading_free(&r);
	command.min_files = 1;
	command.max_files = 0;
}

static void more_help(FILE *out)
{
	fputs("\nmore of it\n", out);
}

/* Help needs no file, and what else stands on the line is not looked at. */
static void test_help(void **state)
{
	struct captured c;
	struct reading r;

	(void)state;
	command.more_help = more_help;
	assert_int_equal(parse("--help --nope", &r, STDOUT_FILENO, &c), 0);
	command.more_help = NULL;
	assert_true(r.helped);
	assert_int_equal(
		strncmp(c.text, "usage: spantrace show [OPTION…] FILE…\n\nShows.\n\noptions:\n",
			strlen("usage: spantrace show [OPTION…] FILE…\n\nShows.\n\noptions:\n")),
		0);
	assert_non_null(strstr(c.text, "  -s, --sort COLUMN\n        order\n"));
	assert_non_null(
		strstr(c.text, "      --lines\n        one a line\n  -p, --pid PID[,PID…]\n"));
	assert_non_null(strstr(c.text, "      --min-duration TIME\n"));
	assert_non_null(strstr(c.text, "\nmore of it\n\nexit status: 0 done\n"));
	reading_free(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nothing_but_a_file),     cmocka_unit_test(test_every_filter),
		cmocka_unit_test(test_own_and_common_options), cmocka_unit_test(test_mistakes),
		cmocka_unit_test(test_number_of_files),        cmocka_unit_test(test_help),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
