/* SPDX-License-Identifier: MIT */
/* The command line of `record`: its own options, what it writes where -o does not say it, and what makes no sense. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../../user/cli/cli.h"
#include "captured.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* LINE's words, split at single spaces. */
static int parse(const char *line, struct options *o)
{
	static char copy[512];
	static char *argv[32];
	char *rest = copy, *word;
	int argc = 0;

	strcpy(copy, line);
	while ((word = strsep(&rest, " ")) && argc < 31)
		argv[argc++] = word;
	argv[argc] = NULL;
	return cli_parse_record(argc, argv, o);
}

static void test_defaults(void **state)
{
	struct options o = {0};

	(void)state;
	assert_int_equal(parse("record -p 42", &o), 0);
	assert_int_equal(o.mode, MODE_PIDS);
	assert_int_equal(o.noutputs, 1);
	assert_string_equal(o.outputs[0].format->name, "recording");
	assert_string_equal(o.outputs[0].path, "spantrace.spans");
	assert_true(o.parts.on);
	assert_int_equal(o.parts.keep, PARTS_KEEP_ALL);
	assert_int_equal(o.parts.max_bytes, 0);
	assert_int_equal(o.parts.max_ns, 0);
	assert_int_equal(o.parts.last_ns, 0);
	options_free(&o);
}

static void test_options(void **state)
{
	struct options o = {0};

	(void)state;
	assert_int_equal(
		parse("record -d 5s --max-size 100M --max-time 1h --keep 24 -o x.spans -- cmd -p 1",
		      &o),
		0);
	assert_int_equal(o.mode, MODE_CMD);
	assert_int_equal(o.argc, 3);
	assert_int_equal(o.duration_ns, 5000000000);
	assert_int_equal(o.parts.max_bytes, 100 << 20);
	assert_int_equal(o.parts.max_ns, 3600000000000);
	assert_int_equal(o.parts.keep, 24);
	assert_string_equal(o.outputs[0].path, "x.spans");
	options_free(&o);

	assert_int_equal(
		parse("record -a --last 30s --trigger app:*>50ms --trigger b>1s --keep 1", &o), 0);
	assert_int_equal(o.parts.last_ns, 30000000000);
	assert_int_equal(o.parts.ntriggers, 2);
	assert_int_equal(o.parts.triggers[0].longer_ns, 50000000);
	assert_string_equal(o.parts.triggers[1].text, "b>1s");
	options_free(&o);

	assert_int_equal(parse("record -a --keep 0 --max-time 1s", &o), 0);
	assert_int_equal(o.parts.keep, 0);
	options_free(&o);
}

/* A recording is made whatever else is written. */
static void test_outputs(void **state)
{
	struct options o = {0};

	(void)state;
	assert_int_equal(parse("record -a -o a.json --json", &o), 0);
	assert_int_equal(o.noutputs, 3);
	assert_string_equal(o.outputs[1].format->name, "recording");
	assert_string_equal(o.outputs[1].path, "spantrace.spans");
	assert_string_equal(o.outputs[2].path, "-");
	options_free(&o);
	assert_int_equal(parse("record -a -o recording:- -o a.json", &o), 0);
	assert_int_equal(o.noutputs, 2);
	options_free(&o);
}

static void test_help(void **state)
{
	struct options o = {0};
	struct captured c;

	(void)state;
	assert_int_equal(parse("record --help", &o), 0);
	assert_int_equal(o.action, ACTION_HELP);
	options_free(&o);
	captured_begin(&c, STDOUT_FILENO);
	cli_print_record_options(stdout);
	captured_end(&c);
	assert_non_null(strstr(c.text, "--trigger NAME>TIME\n"));
	assert_non_null(strstr(c.text, "(default: recording:spantrace.spans)\n"));
	assert_non_null(strstr(c.text, "--duration TIME\n"));
	captured_begin(&c, STDOUT_FILENO);
	cli_print_options(stdout);
	captured_end(&c);
	assert_null(strstr(c.text, "--trigger"));
}

static void test_mistakes(void **state)
{
	static const struct {
		const char *line, *message;
	} cases[] = {
		{"record", "nothing to trace; give -p PID, -a or -- CMD\n"},
		{"record -a --max-size 1K",
		 "--max-size: \"1K\" is not a size of 256K or more; write 100M\n"},
		{"record -a --max-size big",
		 "--max-size: \"big\" is not a size of 256K or more; write 100M\n"},
		{"record -a --max-time soon",
		 "--max-time: \"soon\" is not a duration; write 30s, 10m, 1h\n"},
		{"record -a --max-time 0", "--max-time: \"0\" is too short; write 30s, 10m, 1h\n"},
		{"record -a --last 99999999999d", "--last: \"99999999999d\" is too long\n"},
		{"record -a --last 500ms", "--last: \"500ms\" is too short; write 30s, 10m, 1h\n"},
		{"record -a --keep some",
		 "--keep: \"some\" is not a number of files; write --keep 10\n"},
		{"record -a --keep -1",
		 "--keep: \"-1\" is not a number of files; write --keep 10\n"},
		{"record -a --keep 4294967295",
		 "--keep: \"4294967295\" is not a number of files; write --keep 10\n"},
		{"record -a --trigger job --last 5s",
		 "--trigger: \"job\" is not NAME>DURATION; write 'app:job>50ms', in quotes\n"},
		{"record -a --trigger job>1s",
		 "--trigger needs --last TIME, the time that it writes\n"},
		{"record -a --last 5s --max-size 1M",
		 "--last and --max-size exclude each other: a flight recorder writes only when it is asked to\n"},
		{"record -a --last 5s --max-time 1s",
		 "--last and --max-time exclude each other: a flight recorder writes only when it is asked to\n"},
		{"record -a --last 5s --keep 0",
		 "--keep 0 leaves a flight recorder nothing; give 1 or more\n"},
		{"record -a --last 5s -o recording:-",
		 "--last needs a file; -o recording:- is stdout\n"},
		{"record -a --max-time 5s -o recording:-",
		 "--max-time needs a file; -o recording:- is stdout\n"},
		{"record -a -o json:spantrace.spans",
		 "-o: json and recording would both go to spantrace.spans; give each a path of its own\n"},
		{"record -a --frob", "unknown option --frob; see spantrace help record\n"},
	};
	size_t i;

	(void)state;
	for (i = 0; i < COUNT(cases); i++) {
		struct options o = {.argc = 77};
		struct captured c;
		char expected[256];
		int err;

		captured_begin(&c, STDERR_FILENO);
		err = parse(cases[i].line, &o);
		captured_end(&c);
		snprintf(expected, sizeof(expected), "spantrace: %s", cases[i].message);
		assert_string_equal(c.text, expected);
		assert_int_equal(err, -EINVAL);
		assert_int_equal(o.argc, 77);
	}
}

/* They are options of `record` alone. */
static void test_not_of_a_trace(void **state)
{
	char name[] = "spantrace", all[] = "-a", option[] = "--last", value[] = "5s";
	char *argv[] = {name, all, option, value, NULL};
	struct options o = {0};
	struct captured c;
	int err;

	(void)state;
	captured_begin(&c, STDERR_FILENO);
	err = cli_parse(4, argv, &o);
	captured_end(&c);
	assert_int_equal(err, -EINVAL);
	assert_string_equal(c.text, "spantrace: unknown option --last; see spantrace --help\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_defaults), cmocka_unit_test(test_options),
		cmocka_unit_test(test_outputs),  cmocka_unit_test(test_help),
		cmocka_unit_test(test_mistakes), cmocka_unit_test(test_not_of_a_trace),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
