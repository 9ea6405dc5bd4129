/* SPDX-License-Identifier: MIT */
/* Options from a file: the same as from the command line, which wins; mistakes are told with their line. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <sys/mman.h>

#include "../../user/cli/cli.h"
#include "../../user/cli/cli_config.h"
#include "../../user/util/log.h"
#include "captured.h"

struct parsed {
	char path[32];
	int file;
	struct options options;
	struct captured said;
	int err;
};

static void put(struct parsed *p, const char *text, size_t len)
{
	assert_int_equal(ftruncate(p->file, 0), 0);
	assert_int_equal(pwrite(p->file, text, len, 0), (ssize_t)len);
}

/* The file says TEXT, LEN bytes, the line WORDS, up to a NULL. */
static void parse_bytes(struct parsed *p, const char *text, size_t len, const char *const *words)
{
	static char *argv[16]; /* options point into it */
	int argc = 3;

	p->file = memfd_create("conf", MFD_CLOEXEC);
	assert_true(p->file >= 0);
	snprintf(p->path, sizeof(p->path), "/proc/self/fd/%d", p->file);
	put(p, text, len);
	argv[0] = (char *)"spantrace";
	argv[1] = (char *)"--config";
	argv[2] = p->path;
	for (; words && *words; words++)
		argv[argc++] = (char *)*words;
	argv[argc] = NULL;
	p->options = (struct options){0};
	captured_begin(&p->said, STDERR_FILENO);
	p->err = cli_parse(argc, argv, &p->options);
	captured_end(&p->said);
}

static void parse(struct parsed *p, const char *text, const char *const *words)
{
	parse_bytes(p, text, strlen(text), words);
}

static void done(struct parsed *p)
{
	options_free(&p->options);
	close(p->file);
}

static void good(struct parsed *p, const char *text, const char *const *words)
{
	parse(p, text, words);
	assert_string_equal(p->said.text, "");
	assert_int_equal(p->err, 0);
}

/* Refused with SENTENCE, on line LINE; 0: of the whole. */
static void bad(const char *text, unsigned line, const char *sentence)
{
	struct parsed p;
	char want[512];

	parse(&p, text, NULL);
	assert_int_equal(p.err, -EINVAL);
	if (line)
		snprintf(want, sizeof(want), "spantrace: %s:%u: %s", p.path, line, sentence);
	else
		snprintf(want, sizeof(want), "spantrace: %s", sentence);
	if (strncmp(p.said.text, want, strlen(want)) != 0)
		fail_msg("%s\nis not\n%s", p.said.text, want);
	done(&p);
}

static void test_values(void **state)
{
	struct parsed p;

	(void)state;
	good(&p,
	     "# a service\r\n; and\n\n  all\nprovider = a*\n\tprovider=b = c \nduration =\t2m\n"
	     "stats = yes\nstream = no\nlisten = 9437\nlog-level = debug",
	     NULL);
	assert_int_equal(p.options.mode, MODE_ALL);
	assert_int_equal(p.options.nproviders, 2);
	assert_string_equal(p.options.providers[0], "a*");
	assert_string_equal(p.options.providers[1], "b = c");
	assert_int_equal(p.options.duration_ns, 120000000000ull);
	assert_true(p.options.stats);
	assert_false(p.options.stream);
	assert_int_equal(p.options.verbose, 2);
	assert_true(p.options.listen.on);
	assert_string_equal(p.options.config, p.path);
	done(&p);
}

static void test_the_line_wins(void **state)
{
	static const char *const words[] = {"-p", "1", "-P", "mine", "-q", "-d", "1s", NULL};
	struct parsed p;

	(void)state;
	good(&p,
	     "all\nprovider = a\nprovider = b\nverbose\nduration = 2m\nexclude = x\n"
	     "cgroup = /nowhere\n",
	     words);
	assert_int_equal(p.options.mode, MODE_PIDS);
	assert_int_equal(p.options.npids, 1);
	assert_int_equal(p.options.nproviders, 1);
	assert_string_equal(p.options.providers[0], "mine");
	assert_int_equal(p.options.duration_ns, 1000000000);
	assert_true(p.options.quiet);
	assert_int_equal(p.options.verbose, 0);
	assert_int_equal(p.options.nexcludes, 1);
	assert_null(p.options.cgroup);
	done(&p);
}

static void test_a_command_wins(void **state)
{
	static const char *const words[] = {"--", "/bin/true", "-p", "0", NULL};
	struct parsed p;

	(void)state;
	good(&p, "all\nstats\n", words);
	assert_int_equal(p.options.mode, MODE_CMD);
	assert_string_equal(p.options.argv[0], "/bin/true");
	assert_true(p.options.stats);
	done(&p);
}

static void test_again(void **state)
{
	static const char changed[] = "all\nprovider = other\nlisten = 1";
	struct options again;
	struct parsed p;

	(void)state;
	good(&p, "all\nprovider = one\n", NULL);
	put(&p, changed, strlen(changed));
	assert_int_equal(cli_parse_again(&p.options, &again), 0);
	assert_string_equal(again.providers[0], "other");
	assert_true(again.listen.on);
	assert_string_equal(p.options.providers[0], "one");
	options_free(&again);
	done(&p);
}

static void test_mistakes(void **state)
{
	struct parsed p;

	(void)state;
	bad("all\nnonsense = 1\n", 2, "unknown option \"nonsense\"; see spantrace --help");
	bad("max-size = 1M\n", 1, "unknown option \"max-size\"");
	bad("-a\n", 1, "\"-a\": options stand here without the dashes in front");
	bad("= 1\n", 1, "unknown option \"\"");
	bad("duration\n", 1, "duration needs a value; write duration = TIME");
	bad("\n\nduration = soon\n", 3, "-d: \"soon\" is not a duration");
	bad("all = perhaps\n", 1, "all takes no value but yes and no");
	bad("help\n", 1, "there is no place here for \"help\"");
	bad("config = x\n", 1, "there is no place here for \"config\"");
	bad("all = no\n", 0, "nothing to trace");
	parse_bytes(&p, "all\0x", 5, NULL);
	assert_int_equal(p.err, -EINVAL);
	assert_non_null(strstr(p.said.text, "is no text"));
	done(&p);
}

static void test_size(void **state)
{
	char *text = malloc(CONFIG_BYTES_MAX + 1);
	struct parsed p;

	(void)state;
	assert_non_null(text);
	memset(text, '\n', CONFIG_BYTES_MAX + 1);
	memcpy(text, "all", 3);
	parse_bytes(&p, text, CONFIG_BYTES_MAX, NULL);
	assert_int_equal(p.err, 0);
	done(&p);
	parse_bytes(&p, text, CONFIG_BYTES_MAX + 1, NULL);
	assert_int_equal(p.err, -EINVAL);
	assert_non_null(strstr(p.said.text, "larger than 1 MiB"));
	done(&p);
	free(text);
}

/* No second file, and none that is not there. */
static void test_files(void **state)
{
	static const char *const twice[] = {"--config", "x", NULL};
	char name[] = "spantrace", config[] = "--config", nowhere[] = "/nowhere/conf";
	char *argv[] = {name, config, nowhere, NULL};
	struct parsed p;

	(void)state;
	parse(&p, "all\n", twice);
	assert_int_equal(p.err, -EINVAL);
	assert_non_null(strstr(p.said.text, "; give one"));
	done(&p);
	captured_begin(&p.said, STDERR_FILENO);
	p.err = cli_parse(3, argv, &p.options);
	captured_end(&p.said);
	assert_int_equal(p.err, -EINVAL);
	assert_string_equal(p.said.text,
			    "spantrace: --config: cannot read /nowhere/conf: No such file or directory\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_values),         cmocka_unit_test(test_the_line_wins),
		cmocka_unit_test(test_a_command_wins), cmocka_unit_test(test_again),
		cmocka_unit_test(test_mistakes),       cmocka_unit_test(test_size),
		cmocka_unit_test(test_files),
	};

	return cmocka_run_group_tests_name("cli_config", tests, NULL, NULL);
}
