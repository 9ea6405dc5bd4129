/* SPDX-License-Identifier: MIT */
/* The command line: what each option sets, and the sentence and status for each mistake. */
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

#include "../../user/cli/cli.h"
#include "../../user/util/log.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define MAX_WORDS    32

/* Sends FD into a file until capture_end() gives back what was written. */
struct capture {
	int fd, saved;
	FILE *file;
	char text[8192];
};

static void capture_begin(struct capture *c, int fd)
{
	fflush(NULL);
	c->fd = fd;
	c->saved = dup(fd);
	c->file = tmpfile();
	assert_non_null(c->file);
	assert_true(c->saved >= 0);
	assert_int_equal(dup2(fileno(c->file), fd), fd);
}

static const char *capture_end(struct capture *c)
{
	size_t n;

	fflush(NULL);
	assert_int_equal(dup2(c->saved, c->fd), c->fd);
	close(c->saved);
	rewind(c->file);
	n = fread(c->text, 1, sizeof(c->text) - 1, c->file);
	c->text[n] = '\0';
	fclose(c->file);
	return c->text;
}

/* LINE's words, split at single spaces; `''` is an empty one. */
struct words {
	char line[512];
	char *argv[MAX_WORDS];
	int argc;
};

static void split(struct words *w, const char *line)
{
	char *rest = w->line, *word;

	assert_true(strlen(line) < sizeof(w->line));
	strcpy(w->line, line);
	w->argc = 0;
	while ((word = strsep(&rest, " "))) {
		assert_true(w->argc < MAX_WORDS - 1);
		w->argv[w->argc++] = strcmp(word, "''") ? word : word + 2;
	}
	w->argv[w->argc] = NULL;
}

static void good(struct words *w, const char *line, struct options *o)
{
	split(w, line);
	assert_int_equal(cli_parse(w->argc, w->argv, o), 0);
	assert_int_equal(o->action, ACTION_RUN);
}

static void test_defaults(void **state)
{
	struct options o = {0};
	struct words w;

	(void)state;
	good(&w, "spantrace -p 42", &o);
	assert_int_equal(o.mode, MODE_PIDS);
	assert_int_equal(o.npids, 1);
	assert_int_equal(o.pids[0], 42);
	assert_int_equal(o.duration_ns, 0);
	assert_int_equal(o.metrics, METRICS_DEFAULT);
	assert_true(o.follow);
	assert_false(o.json);
	assert_false(o.quiet);
	assert_int_equal(o.verbose, 0);
	assert_int_equal(o.noutputs, 1);
	assert_string_equal(o.outputs[0].format->name, "summary");
	assert_string_equal(o.outputs[0].path, "-");
	assert_int_equal(o.argc, 0);
	options_free(&o);
	assert_null(o.pids);
}

static void test_modes(void **state)
{
	struct options o = {0};
	struct words w;

	(void)state;
	good(&w, "spantrace -p 1,2 --pid 3 --pid=2 -p4", &o);
	assert_int_equal(o.npids, 4);
	for (pid_t i = 0; i < 4; i++)
		assert_int_equal(o.pids[i], i + 1);
	options_free(&o);

	good(&w, "spantrace -a", &o);
	assert_int_equal(o.mode, MODE_ALL);
	options_free(&o);

	good(&w, "spantrace --cgroup /sys/fs/cgroup/web", &o);
	assert_int_equal(o.mode, MODE_ALL);
	assert_string_equal(o.cgroup, "/sys/fs/cgroup/web");
	options_free(&o);

	/* The command's own options are its own. */
	good(&w, "spantrace -q -- cmd -p 1 -- -a", &o);
	assert_int_equal(o.mode, MODE_CMD);
	assert_int_equal(o.npids, 0);
	assert_int_equal(o.argc, 5);
	assert_string_equal(o.argv[0], "cmd");
	assert_string_equal(o.argv[4], "-a");
	assert_null(o.argv[5]);
	options_free(&o);
}

static void test_options(void **state)
{
	struct options o = {0};
	struct words w;

	(void)state;
	good(&w,
	     "spantrace -p 1 -d 1.5s -m wall -P app --provider lib* -x tick --exclude a:b --by k1 --by k2 --no-follow --ring-size 3M --rows 77 --stream --batched --sample 12.5% --max-overhead 0.05",
	     &o);
	assert_int_equal(o.rows, 77);
	assert_int_equal(o.sample_ppb, 125000000);
	assert_int_equal(o.limit_ppb, 50000000);
	assert_true(o.stream);
	assert_true(o.batched);
	assert_int_equal(o.duration_ns, 1500000000);
	assert_int_equal(o.metrics, METRIC_WALL);
	assert_int_equal(o.nproviders, 2);
	assert_string_equal(o.providers[0], "app");
	assert_string_equal(o.providers[1], "lib*");
	assert_int_equal(o.nexcludes, 2);
	assert_string_equal(o.excludes[1], "a:b");
	assert_false(o.follow);
	assert_int_equal(o.ring_bytes, 4 << 20);
	assert_int_equal(o.nby, 2);
	assert_string_equal(o.by[1], "k2");
	options_free(&o);

	good(&w, "spantrace -a -s q=a:b..a:c --span=r=a:b..a:d@1 -vv -m cpu,wall", &o);
	assert_int_equal(o.nspans, 2);
	assert_string_equal(o.spans[0]->label.name, "q");
	assert_int_equal(o.spans[1]->id_arg, 1);
	assert_int_equal(o.verbose, 2);
	assert_int_equal(o.metrics, METRICS_DEFAULT);
	options_free(&o);

	good(&w, "spantrace -a -m cpu=exact", &o);
	assert_int_equal(o.metrics, METRICS_DEFAULT | METRIC_CPU_EXACT);
	options_free(&o);
}

static void test_rules(void **state)
{
	char line[128], path[] = "/tmp/test_cli.XXXXXX";
	struct options o = {0};
	int fd = mkstemp(path);
	struct capture c;
	struct words w;
	size_t n;

	(void)state;
	/* The built-in ones are there without being asked for. */
	good(&w, "spantrace -p 1", &o);
	assert_non_null(o.rules);
	n = o.rules->nrules;
	assert_true(n > 0);
	options_free(&o);
	assert_null(o.rules);

	assert_true(fd >= 0);
	assert_true(dprintf(fd, "provider app\nevent tick\n") > 0);
	snprintf(line, sizeof(line), "spantrace --rules %s --rules=%s -p 1", path, path);
	good(&w, line, &o);
	assert_int_equal(o.rules->nrules, n + 2);
	assert_string_equal(o.rules->rules[0].provider, "app");
	options_free(&o);

	assert_true(dprintf(fd, "tick\n") > 0);
	capture_begin(&c, STDERR_FILENO);
	split(&w, line);
	assert_int_equal(cli_parse(w.argc, w.argv, &o), -EINVAL);
	assert_non_null(strstr(capture_end(&c), ":3:1: `tick` is no statement"));
	unlink(path);
	close(fd);
}

static void test_outputs(void **state)
{
	struct options o = {0};
	struct words w;

	(void)state;
	good(&w, "spantrace -a -o a.folded -o json:b.txt --output=c.svg -o ./odd:name.json -o -",
	     &o);
	assert_int_equal(o.noutputs, 5);
	assert_string_equal(o.outputs[0].format->name, "folded");
	assert_string_equal(o.outputs[0].path, "a.folded");
	assert_string_equal(o.outputs[1].format->name, "json");
	assert_string_equal(o.outputs[1].path, "b.txt");
	assert_string_equal(o.outputs[2].format->name, "flamegraph");
	assert_string_equal(o.outputs[3].format->name, "json");
	assert_string_equal(o.outputs[3].path, "./odd:name.json");
	assert_string_equal(o.outputs[4].format->name, "summary");
	assert_string_equal(o.outputs[4].path, "-");
	options_free(&o);

	good(&w, "spantrace -a -o folded,empty_samples=0,value=cpu:x:y.json", &o);
	assert_string_equal(o.outputs[0].format->name, "folded");
	assert_string_equal(o.outputs[0].path, "x:y.json");
	assert_false(o.outputs[0].options.empty_samples);
	assert_true(o.outputs[0].options.module_path);
	assert_int_equal(o.outputs[0].options.value, EXPORT_CPU);
	options_free(&o);

	/* --json takes stdout in place of the summary, beside files. */
	good(&w, "spantrace -a --json", &o);
	assert_int_equal(o.noutputs, 1);
	assert_string_equal(o.outputs[0].format->name, "json");
	assert_string_equal(o.outputs[0].path, "-");
	options_free(&o);
	good(&w, "spantrace -a --json -o a.folded", &o);
	assert_int_equal(o.noutputs, 2);
	assert_string_equal(o.outputs[1].format->name, "json");
	options_free(&o);
}

static void test_top(void **state)
{
	struct options o = {0};
	struct words w;

	(void)state;
	split(&w, "top -p 42");
	assert_int_equal(cli_parse_top(w.argc, w.argv, &o), 0);
	assert_int_equal(o.noutputs, 1);
	assert_string_equal(o.outputs[0].format->name, "summary");
	assert_int_equal(o.interval_ns, TOP_INTERVAL_NS);
	assert_int_equal(o.outputs[0].options.interval_ns, TOP_INTERVAL_NS);
	options_free(&o);
	split(&w, "top --interval 500ms -a -m alloc");
	assert_int_equal(cli_parse_top(w.argc, w.argv, &o), 0);
	assert_int_equal(o.outputs[0].options.interval_ns, 500000000);
	assert_true(o.metrics & METRIC_ALLOC);
	options_free(&o);
}

static void test_interval(void **state)
{
	struct options o = {0};
	struct words w;

	(void)state;
	good(&w, "spantrace -a -o a.pb.gz -o b.json --interval 2s -o pprof,split=1:c", &o);
	assert_int_equal(o.interval_ns, 2000000000);
	assert_string_equal(o.outputs[0].format->name, "pprof");
	assert_int_equal(o.outputs[0].options.interval_ns, 2000000000);
	assert_false(o.outputs[0].options.split);
	assert_int_equal(o.outputs[1].options.interval_ns, 0); /* of all of the trace */
	assert_int_equal(o.outputs[2].options.interval_ns, 2000000000);
	assert_true(o.outputs[2].options.split);
	options_free(&o);
}

static void test_list_options(void **state)
{
	struct options o = {0};
	struct words w;

	(void)state;
	split(&w, "list one -v two --json");
	assert_int_equal(cli_parse_list(w.argc, w.argv, &o), 0);
	assert_int_equal(o.mode, MODE_NONE);
	assert_int_equal(o.argc, 2);
	assert_string_equal(o.argv[0], "one");
	assert_string_equal(o.argv[1], "two");
	assert_int_equal(o.verbose, 1);
	assert_true(o.json);
	assert_int_equal(o.noutputs, 0);
	options_free(&o);

	split(&w, "list -p 5");
	assert_int_equal(cli_parse_list(w.argc, w.argv, &o), 0);
	assert_int_equal(o.mode, MODE_PIDS);
	options_free(&o);
}

static void test_push(void **state)
{
	struct options o;
	struct words w;

	(void)state;
	good(&w,
	     "spantrace -a --pyroscope http://x --tag a=b --tag c=d=e --app z --spool d --spool-size 1M --push-user u --push-password-file p --push-tenant t --push-header A:b --push-ca f --push-timeout 2s --push-wait 3s",
	     &o);
	assert_string_equal(o.pyroscope, "http://x");
	assert_int_equal(o.interval_ns, 10000000000);
	assert_int_equal(o.ntags, 2);
	assert_string_equal(o.tags[1], "c=d=e");
	assert_string_equal(o.app, "z");
	assert_string_equal(o.push.spool, "d");
	assert_int_equal(o.push.spool_bytes, 1 << 20);
	assert_string_equal(o.push.user, "u");
	assert_string_equal(o.push.password_file, "p");
	assert_string_equal(o.push.tenant, "t");
	assert_int_equal(o.push.nheaders, 1);
	assert_string_equal(o.push.headers[0], "A:b");
	assert_string_equal(o.push.ca_file, "f");
	assert_int_equal(o.push.timeout_ns, 2000000000);
	assert_int_equal(o.push_wait_ns, 3000000000);
	assert_int_equal(o.noutputs, 0); /* nobody is there to read a summary */
	options_free(&o);

	good(&w, "spantrace -a --pyroscope http://x -o a.pb.gz --push-token-file t", &o);
	assert_string_equal(o.push.token_file, "t");
	assert_int_equal(o.noutputs, 1);
	assert_int_equal(o.outputs[0].options.interval_ns, 0); /* one of all */
	assert_int_equal(o.interval_ns, 10000000000);
	assert_int_equal(o.push_wait_ns, PUSH_WAIT_NS);
	options_free(&o);
}

static void test_mistakes(void **state)
{
	static const char pid_fix[] = " is not a process id; write -p 123 or -p 123,456\n";
	static const char time_fix[] = " is not a duration; write 10s, 500ms, 2m\n";
	static const struct {
		const char *line, *message, *more;
	} cases[] = {
		{"s -p x", "-p: \"x\"", pid_fix},
		{"s -a --interval 2s", "--interval: no output is written by intervals", ""},
		{"s -a --interval 99ms -o a.pb.gz", "--interval: \"99ms\" is too short", ""},
		{"s -a -o pprof,split=2:x", "-o: \"split=2\" is not understood", "split=0 or 1"},
		{"s -p 0", "-p: \"0\"", pid_fix},
		{"s -a --sample 0", "--sample: \"0\" is not a share above 0", "write 0.01 or 1%"},
		{"s -a --sample 2", "--sample: \"2\" is not a share above 0", "at most 1"},
		{"s -a --max-overhead 5", "--max-overhead: \"5\" is not a share", "write 5%"},
		{"s -p -3", "-p: \"-3\"", pid_fix},
		{"s -p 1,", "-p: \"\"", pid_fix},
		{"s -p ''", "-p: \"\"", pid_fix},
		{"s -p 1,,2", "-p: \"\"", pid_fix},
		{"s -p 1,2x,3", "-p: \"2x\"", pid_fix},
		{"s -p +1", "-p: \"+1\"", pid_fix},
		{"s -p 4294967297", "-p: \"4294967297\"", pid_fix},
		{"s -a -d 10x", "-d: \"10x\"", time_fix},
		{"s -a -d ''", "-d: \"\"", time_fix},
		{"s -a -d -1s", "-d: \"-1s\"", time_fix},
		{"s -a -d 0", "-d: \"0\" leaves no time to trace; write 10s, 500ms, 2m\n", ""},
		{"s -a -d 99999999999d",
		 "-d: \"99999999999d\" is too long; without -d it runs until Ctrl-C\n", ""},
		{"s -a -m ram",
		 "-m: \"ram\" is not a metric; write a list of wall,cpu,alloc,heap,mmap, or all\n",
		 ""},
		{"s -a -m wall,", "-m: \"\" is not a metric", ""},
		{"s -a --heap-objects 3", "--heap-objects: \"3\" is not a number", ""},
		{"s -a --heap-objects 1M", "--heap-objects: \"1M\" is not a number", ""},
		{"s -a -m alloc --alloc-sample 1", "--alloc-sample: \"1\" is not a size", ""},
		{"s -a -m alloc --allocator :x", "--allocator: no file in \":x\"", ""},
		{"s -a --alloc-sample 4K", "--alloc-sample needs allocations; write -m alloc", ""},
		{"s -a --allocator f", "--allocator needs allocations; write -m alloc", ""},
		{"s -a -m alloc --leaks 1s", "--leaks needs the live heap; write -m heap", ""},
		{"s -a -s q=a:b",
		 "-s \"q=a:b\": there is no `..` after `a:b`; write NAME=PROVIDER:START..PROVIDER:END\n",
		 ""},
		{"s -a -P ''", "-P: the glob is empty; write a name, with * for any part of it\n",
		 ""},
		{"s -a -x ''", "-x: the glob is empty; write a name, with * for any part of it\n",
		 ""},
		{"s -a -q -v", "-q and -v exclude each other\n", ""},
		{"s -a --by ''", "--by: the key is empty; write the name of a label\n", ""},
		{"s -a --by 1 --by 2 --by 3 --by 4 --by 5",
		 "--by 5: rows can be split by 4 labels at most\n", ""},
		{"s -a --ring-size 1K",
		 "--ring-size: \"1K\" is not a size from 64K to 1G; write 16M\n", ""},
		{"s -a --rows 15",
		 "--rows: \"15\" is not a number from 16 to 1048576; write 100000\n", ""},
		{"s -a --rows 1e5",
		 "--rows: \"1e5\" is not a number from 16 to 1048576; write 100000\n", ""},
		{"s -a --no-follow", "--no-follow and -a exclude each other: -a is every process\n",
		 ""},
		{"s -a -p 1", "-p and -a exclude each other; give one of -p PID, -a and -- CMD\n",
		 ""},
		{"s --cgroup /c --no-follow",
		 "--no-follow and --cgroup exclude each other: --cgroup is every process in it\n",
		 ""},
		{"s --cgroup /c -p 1",
		 "-p and --cgroup exclude each other; give one of -p PID, -a and -- CMD\n", ""},
		{"s -p 1 -- cmd",
		 "-p and -- CMD exclude each other; give one of -p PID, -a and -- CMD\n", ""},
		{"s -a -- cmd",
		 "-a and -- CMD exclude each other; give one of -p PID, -a and -- CMD\n", ""},
		{"s -q", "nothing to trace; give -p PID, -a or -- CMD\n", ""},
		{"s -q --", "nothing follows `--`; write: spantrace [OPTION…] -- CMD [ARG…]\n", ""},
		{"s -d 1s ./app",
		 "unexpected \"./app\"; to run a program write: spantrace [OPTION…] -- ./app\n",
		 ""},
		{"s -P -- app",
		 "unexpected \"app\"; to run a program write: spantrace [OPTION…] -- app\n", ""},
		{"s -z", "unknown option -z; see spantrace --help\n", ""},
		{"s -qz", "unknown option -z; see spantrace --help\n", ""},
		{"s -a --pyroscope", "--pyroscope needs a value", ""},
		{"s -a --pyroscope ''", "--pyroscope: no URL", ""},
		{"s -a --spool d", "--spool: there is no server to push to; give --pyroscope URL",
		 ""},
		{"s -a --tag a=b", "--tag: there is no server to push to", ""},
		{"s -a --pyroscope u --tag a", "--tag: \"a\" is not understood; write KEY=VALUE",
		 ""},
		{"s -a --pyroscope u --tag =a", "--tag: \"=a\" is not understood", ""},
		{"s -a --pyroscope u --app ''", "--app: the name is empty", ""},
		{"s -a --pyroscope u --spool-size 1M", "--spool-size needs --spool DIR", ""},
		{"s -a --pyroscope u --spool d --spool-size 1", "--spool-size: \"1\" is not a size",
		 ""},
		{"s -a --pyroscope u --push-password-file f",
		 "--push-password-file needs --push-user", ""},
		{"s -a --pyroscope u --interval 200ms", "--interval: --pyroscope needs 1s at least",
		 ""},
		{"s --json=x", "--json takes no value\n", ""},
		{"s -a -d", "-d needs a value; see spantrace --help\n", ""},
		{"s -a --duration", "--duration needs a value; see spantrace --help\n", ""},
		{"s -a -o ''", "-o: \"\" names no file; write [FORMAT:]PATH, with `-` for stdout\n",
		 ""},
		{"s -a -o json:",
		 "-o: \"json:\" names no file; write [FORMAT:]PATH, with `-` for stdout\n", ""},
		{"s -a -o foo:x.json", "-o: unknown format `foo`; spantrace knows: ",
		 "(for a file of that name write ./foo:…)\n"},
		{"s -a -o x.unknown",
		 "-o: cannot tell the format of \"x.unknown\" from its name; write FORMAT:x.unknown, with one of: ",
		 "json"},
		{"s -a -o json",
		 "-o: cannot tell the format of \"json\" from its name; write FORMAT:-, with one of: ",
		 "folded"},
		{"s -a -o folded,depth=3:x",
		 "-o: format folded takes no option \"depth=3\"; it takes ", "empty_samples"},
		{"s -a -o folded,value=heat:x",
		 "-o: \"value=heat\" is not understood; write value=busy, wall, cpu, ", ""},
		{"s -a -o folded,module_path=2:x",
		 "-o: \"module_path=2\" is not understood; write module_path=0 or 1\n", ""},
		{"s -a -o json:x -o folded:x",
		 "-o: json and folded would both go to x; give each a path of its own\n", ""},
		{"s -a --json -o -",
		 "-o: summary and json would both go to stdout; give each a path of its own\n", ""},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct options o = {.argc = 77};
		struct capture err;
		char expected[512];
		struct words w;
		int result;

		split(&w, cases[i].line);
		snprintf(expected, sizeof(expected), "spantrace: %s", cases[i].message);
		capture_begin(&err, STDERR_FILENO);
		result = cli_parse(w.argc, w.argv, &o);
		capture_end(&err);
		assert_int_equal(result, -EINVAL);
		assert_int_equal(cli_status_of(result), CLI_USAGE);
		assert_int_equal(o.argc, 77);
		if (strncmp(err.text, expected, strlen(expected)) != 0)
			assert_string_equal(err.text, expected);
		assert_non_null(strstr(err.text, cases[i].more));
		/* One line, and the whole of it. */
		assert_ptr_equal(strchr(err.text, '\n'), err.text + strlen(err.text) - 1);
	}
}

static void test_list_mistakes(void **state)
{
	static const char *const cases[][2] = {
		{"list", "nothing to list; write: spantrace list FILE…, or -p PID, or -a\n"},
		{"list -p 1 file", "-p, -a and FILE exclude each other; list one kind at a time\n"},
		{"list -a -p 1", "-p, -a and FILE exclude each other; list one kind at a time\n"},
		{"list -d 1s x", "unknown option -d; see spantrace help list\n"},
		{"list x --output=y", "unknown option --output=y; see spantrace help list\n"},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct options o = {0};
		struct capture err;
		char expected[256];
		struct words w;
		int result;

		split(&w, cases[i][0]);
		snprintf(expected, sizeof(expected), "spantrace: %s", cases[i][1]);
		capture_begin(&err, STDERR_FILENO);
		result = cli_parse_list(w.argc, w.argv, &o);
		capture_end(&err);
		assert_int_equal(result, -EINVAL);
		assert_string_equal(err.text, expected);
	}
}

/* What cli_main() called, as text. */
static char called[256];

static int run_one(int argc, char **argv)
{
	snprintf(called, sizeof(called), "one:%d:%s:%s", argc, argv[0], argc > 1 ? argv[1] : "");
	return 31;
}

static int run_trace(const struct options *o)
{
	snprintf(called, sizeof(called), "trace:%d:%zu:%d", o->mode, o->npids, log_threshold);
	return 32;
}

static void test_main(void **state)
{
	static const struct command commands[] = {{"one", "does one thing", run_one}, {0}};
	static const struct {
		const char *line;
		int status;
		const char *called, *out, *err;
	} cases[] = {
		{"s", 2, "", NULL, "usage: spantrace "},
		{"s one", 31, "one:1:one:", NULL, NULL},
		{"s one -z", 31, "one:2:one:-z", NULL, NULL},
		{"s help one", 31, "one:2:one:--help", NULL, NULL},
		{"s help", 0, "", "does one thing", NULL},
		{"s --help", 0, "", "--duration TIME", NULL},
		{"s -h -p x", 0, "", "usage: spantrace ", NULL},
		{"s --version", 0, "", "spantrace " SPANTRACE_VERSION "\n", NULL},
		{"s ls", 2, "", NULL,
		 "`ls` is no command; to run a program write: spantrace -- ls\n"},
		{"s -p 1,2", 32, "trace:1:2:2", NULL, NULL},
		{"s -p 1 -q", 32, "trace:1:1:0", NULL, NULL},
		{"s -a -v", 32, "trace:3:0:3", NULL, NULL},
		{"s -a -vv", 32, "trace:3:0:4", NULL, NULL},
		{"s -p x", 2, "", NULL, "is not a process id"},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct capture out, err;
		struct words w;
		int status;

		split(&w, cases[i].line);
		called[0] = '\0';
		capture_begin(&out, STDOUT_FILENO);
		capture_begin(&err, STDERR_FILENO);
		status = cli_main(w.argc, w.argv, commands, run_trace);
		capture_end(&err);
		capture_end(&out);
		assert_int_equal(status, cases[i].status);
		assert_string_equal(called, cases[i].called);
		if (cases[i].out)
			assert_non_null(strstr(out.text, cases[i].out));
		else
			assert_string_equal(out.text, "");
		if (cases[i].err)
			assert_non_null(strstr(err.text, cases[i].err));
		else
			assert_string_equal(err.text, "");
	}
	log_threshold = LOG_WARN;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_defaults),      cmocka_unit_test(test_modes),
		cmocka_unit_test(test_options),       cmocka_unit_test(test_outputs),
		cmocka_unit_test(test_list_options),  cmocka_unit_test(test_mistakes),
		cmocka_unit_test(test_list_mistakes), cmocka_unit_test(test_main),
		cmocka_unit_test(test_push),          cmocka_unit_test(test_rules),
		cmocka_unit_test(test_interval),      cmocka_unit_test(test_top),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
