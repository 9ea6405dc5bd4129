/* SPDX-License-Identifier: MIT */
/* The commands export and view on a recording whose spans are known, from their words to their exit status. No root. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "../../user/cli/cli.h"
#include "../../user/recording/export.h"
#include "../../user/report/view.h"
#include "../../user/session/outputs.h"
#include "captured.h"
#include "traced.h"

/* A folder with x.spans in it:
 *   main-10   a [100, 200) around b [110, 150); tick at 120 and at 300
 *   side-11   c [100, 900), abandoned
 * microseconds since the start. */
struct folder {
	char path[64];
	char spans[96];
	struct captured out, err;
};

#define US 1000ull

static void record(const char *path)
{
	const struct options_output output = {.format = exporter_by_name("recording"),
					      .path = path};
	struct outputs *outputs = NULL;
	struct wire_event event;
	struct traced *t;
	void *state = NULL;

	assert_int_equal(traced_setup(&state), 0);
	t = state;
	t->profile = (struct profile){.version = "1.2.3",
				      .target = "./app",
				      .start_ns = TRACED_BEGIN,
				      .start_realtime_ns = TRACED_REALTIME,
				      .metrics = METRIC_WALL | METRIC_CPU};
	assert_int_equal(outputs_new(&output, 1, METRIC_WALL | METRIC_CPU, &outputs), 0);
	assert_int_equal(outputs_listen(outputs, t->trace), 0);
	outputs_begin(outputs, &t->profile);
	feed_thread(t, 1, 10, 10, "main");
	feed_thread(t, 2, 10, 11, "side");
	event = make_event(1, PATH_A_TICK, TRACED_BEGIN + 120 * US);
	feed(t, &event);
	feed_span(t, 1, PATH_A_B, TRACED_BEGIN + 110 * US, 40 * US, 40 * US);
	feed_span(t, 1, PATH_A, TRACED_BEGIN + 100 * US, 100 * US, 60 * US);
	event = make_event(1, PATH_TICK, TRACED_BEGIN + 300 * US);
	feed(t, &event);
	{
		struct wire_span span =
			make_span(2, PATH_C, TRACED_BEGIN + 100 * US, 800 * US, 800 * US);

		span.head.flags = WIRE_ABANDONED;
		feed(t, &span);
	}
	assert_int_equal(outputs_finish(outputs, traced_profile(t)), 0);
	outputs_free(&outputs);
	traced_teardown(&state);
}

static int setup(void **state)
{
	struct folder *f = calloc(1, sizeof(*f));

	if (!f)
		return -1;
	snprintf(f->path, sizeof(f->path), "/tmp/test_export.XXXXXX");
	if (!mkdtemp(f->path))
		return -1;
	snprintf(f->spans, sizeof(f->spans), "%s/x.spans", f->path);
	record(f->spans);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct folder *f = *state;

	unlink(f->spans);
	rmdir(f->path);
	free(f);
	return 0;
}

/* COMMAND with WORDS, split at spaces, `@` being the folder. What it prints is in F. */
static int run(struct folder *f, int (*command)(int, char **), const char *words)
{
	static char line[1024];
	char *argv[32], *rest = line, *word;
	int argc = 0, status;
	size_t used = 0;

	for (; *words; words++)
		used += (size_t)snprintf(line + used, sizeof(line) - used, "%s",
					 *words == '@' ? f->path : (char[]){*words, '\0'});
	while ((word = strsep(&rest, " ")))
		argv[argc++] = word;
	argv[argc] = NULL;
	captured_begin(&f->out, STDOUT_FILENO);
	captured_begin(&f->err, STDERR_FILENO);
	status = command(argc, argv);
	captured_end(&f->err);
	captured_end(&f->out);
	return status;
}

static size_t count(const char *text, const char *part)
{
	size_t n = 0;

	for (; (text = strstr(text, part)); text++)
		n++;
	return n;
}

static void good(struct folder *f, int (*command)(int, char **), const char *words)
{
	int status = run(f, command, words);

	if (status || f->err.text[0])
		fail_msg("%s: %d: %s", words, status, f->err.text);
}

static void bad(struct folder *f, int (*command)(int, char **), const char *words, int status,
		const char *part)
{
	int got = run(f, command, words);

	if (got != status || !strstr(f->err.text, part))
		fail_msg("%s: %d, not %d: %s", words, got, status, f->err.text);
	assert_string_equal(f->out.text, "");
}

static void test_summary_by_default(void **state)
{
	struct folder *f = *state;

	good(f, export_run, "export @/x.spans");
	assert_non_null(strstr(f->out.text, "app:a"));
	assert_non_null(strstr(f->out.text, "./app"));
}

static void test_json(void **state)
{
	struct folder *f = *state;

	good(f, export_run, "export --json @/x.spans");
	assert_int_equal(count(f->out.text, "\n\t\t{\"pid\": 10"), 4);
	assert_non_null(strstr(f->out.text,
			       "{\"pid\": 10, \"tid\": 10, \"comm\": \"main\", "
			       "\"path\": [\"app:a\"], \"labels\": {}, \"count\": 1, "
			       "\"abandoned\": 0, \"open\": 0, \"wall_ns\": 100000, "
			       "\"busy_ns\": 100000, \"idle_ns\": 0, \"self_ns\": 60000,"));
	assert_non_null(strstr(f->out.text, "\"path\": [\"app:a\", \"app:b\"]"));
	assert_non_null(strstr(f->out.text, "\"path\": [\"app:c\"], \"labels\": {}, "
					    "\"count\": 1, \"abandoned\": 1,"));
	assert_non_null(strstr(f->out.text, "\"name\": \"app:tick\", \"count\": 2}"));
	assert_non_null(strstr(f->out.text, "\"version\": \"1.2.3\""));
	assert_non_null(strstr(f->out.text, "\"duration_ns\": 8000000,"));
	assert_non_null(strstr(f->out.text, "\"damaged_blocks\": 0"));
}

/* Several outputs, and a recording of the recording. */
static void test_outputs(void **state)
{
	struct folder *f = *state;
	char path[128];

	good(f, export_run,
	     "export @/x.spans -o recording:@/y.spans -o folded,empty_samples=0,value=wall:-");
	assert_string_equal(f->out.text, "main-10;app::a 60000\n"
					 "main-10;app::a;app::b 40000\n"
					 "side-11;app::c 800000\n");
	good(f, view_run, "view -q @/y.spans");
	assert_int_equal(count(f->out.text, "\n"), 5);
	snprintf(path, sizeof(path), "%s/y.spans", f->path);
	unlink(path);
}

static void test_view(void **state)
{
	struct folder *f = *state;

	good(f, view_run, "view @/x.spans");
	assert_int_equal(count(f->out.text, "\n"), 6);
	assert_int_equal(count(f->out.text, "span     "), 3);
	assert_int_equal(count(f->out.text, "event    app:a;app:tick\n"), 1);
	assert_int_equal(count(f->out.text, "event    app:tick\n"), 1);
	assert_non_null(
		strstr(f->out.text, "   0.000110000    40.0 µs    40.0 µs    40.0 µs  main-10 "));
	assert_non_null(strstr(f->out.text, "app:c  abandoned\n"));
	good(f, view_run, "view --block @/x.spans");
	assert_int_equal(count(f->out.text, "    kind: "), 5);
	good(f, view_run, "view --json --block --lines @/x.spans");
	assert_int_equal(count(f->out.text, "{\"kind\": "), 5);
}

/* What each filter leaves of the 3 spans and 2 events. */
static void test_filters(void **state)
{
	static const struct {
		const char *words;
		size_t spans, events;
	} cases[] = {
		{"--pid 10", 3, 2},
		{"--pid 11", 0, 0},
		{"--tid 10", 2, 2},
		{"--tid 11", 1, 0},
		{"--tid 10,11", 3, 2},
		{"--provider app", 3, 2},
		{"--provider App", 0, 0},
		{"--provider x --provider a*", 3, 2},
		{"--span a", 1, 0},
		{"--span app:[ab]", 2, 0},
		{"--span tick", 0, 2},
		{"--span x:a", 0, 0},
		{"--span b --span c", 2, 0},
		{"--min-duration 100us", 2, 2},
		{"--min-duration 101us", 1, 2},
		{"--from 150us", 3, 1},
		{"--from 151us", 2, 1},
		{"--from 201us", 1, 1},
		{"--from 901us", 0, 0},
		{"--to 109us", 2, 0},
		{"--to 110us", 3, 0},
		{"--to 120us", 3, 1},
		{"--from 201us --to 299us", 1, 0},
		{"--tid 10 --span a --min-duration 1ms", 0, 0},
	};
	struct folder *f = *state;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char words[256];

		snprintf(words, sizeof(words), "view --json @/x.spans %s", cases[i].words);
		good(f, view_run, words);
		if (count(f->out.text, "\"kind\": \"span\"") != cases[i].spans ||
		    count(f->out.text, "\"kind\": \"event\"") != cases[i].events)
			fail_msg("%s:\n%s", cases[i].words, f->out.text);
		snprintf(words, sizeof(words), "export --json @/x.spans %s", cases[i].words);
		good(f, export_run, words);
		if (count(f->out.text, "\"path\": [") != cases[i].spans)
			fail_msg("%s:\n%s", cases[i].words, f->out.text);
	}
}

static void test_mistakes(void **state)
{
	struct folder *f = *state;

	bad(f, export_run, "export", CLI_USAGE, "no file to read");
	bad(f, export_run, "export a b", CLI_USAGE, "\"b\" is one word too many");
	bad(f, export_run, "export --nope", CLI_USAGE, "see spantrace help export");
	bad(f, view_run, "view --block=x", CLI_USAGE, "--block takes no value");
	bad(f, view_run, "view a --json --block", CLI_USAGE, "exclude each other");
	bad(f, export_run, "export @/none", CLI_FAILED, "No such file");
	bad(f, view_run, "view @", CLI_FAILED, "Is a directory");
	bad(f, export_run, "export @/x.spans -o nope:x", CLI_USAGE, "unknown format `nope`");
	bad(f, export_run, "export @/x.spans -o @/none/x.json", CLI_FAILED, "cannot write");
	bad(f, export_run, "export @/x.spans -o json:@/./x.spans", CLI_USAGE,
	    "is the file that is read; write to another");
	bad(f, export_run, "export @/x.spans -o folded,value=inuse_space:@/x.folded", CLI_USAGE,
	    "this trace has busy, wall, cpu, run_delay, blocked");
	bad(f, export_run, "export @/x.spans -o json:/dev/full", CLI_FAILED, "/dev/full");
	/* The recording was none the worse for it. */
	good(f, view_run, "view -q @/x.spans");
	assert_int_equal(count(f->out.text, "\n"), 5);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_summary_by_default),
		TEST(test_json),
		TEST(test_outputs),
		TEST(test_view),
		TEST(test_filters),
		TEST(test_mistakes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
