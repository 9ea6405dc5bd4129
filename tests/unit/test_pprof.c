/* SPDX-License-Identifier: MIT */
/* Profiles of pprof, read back by a strict reader: every number of a profile that is known, each family, each metric,
 * labels, names that would break what shows them, and the same bytes twice. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../../exporters/pprof_encode.h"
#include "pprofread.h"
#include "sample_profile.h"

static int setup(void **state)
{
	struct sample *s = sample_new();

	s->profile.start_realtime_ns = 1700000000123456789u;
	s->outer.binary = "/usr/bin/app";
	s->outer.build_id = "c0ffee";
	s->inner.binary = "/usr/lib/lib.so";
	*state = s;
	return 0;
}

static int teardown(void **state)
{
	sample_free(*state);
	return 0;
}

/* What the format writes, to be freed; what finish() returns in *ERR. */
static char *export(const struct sample *s, const struct export_options *o, u32 file, size_t *size,
		    int *err)
{
	struct exporter e = {.ops = exporter_by_name("pprof"), .options = *o, .file = file};
	char *bytes = NULL;

	assert_non_null(e.ops);
	e.out = open_memstream(&bytes, size);
	assert_non_null(e.out);
	*err = e.ops->finish(&e, &s->profile);
	assert_int_equal(fclose(e.out), 0);
	return bytes;
}

static void check(const struct sample *s, const struct export_options *o, u32 file,
		  const char *want)
{
	size_t size;
	int err;
	char *bytes = export(s, o, file, &size, &err), *text;

	assert_int_equal(err, 0);
	text = pprof_read(bytes, size);
	assert_string_equal(text, want);
	free(text);
	free(bytes);
}

static void test_all(void **state)
{
	struct export_options o = EXPORT_OPTIONS_DEFAULT;

	check(*state, &o, 0,
	      "types wall/nanoseconds wall_busy/nanoseconds wall_idle/nanoseconds cpu/nanoseconds count/count, default wall, period 1 wall/nanoseconds, time 1700000000123456789, duration 10000000000\n"
	      "# spantrace 1.0: pid 100 (web), kernel 6.18.0\n"
	      "# lost: orphan_exit 2: exits without an enter\n"
	      "app:outer 3000000000 3000000000 0 1500000000 4 | thread=web-100 tid=100 pid=100 comm=web\n"
	      "app:inner<app:outer 1000000000 1000000000 0 500000000 10 | thread=web-100 tid=100 pid=100 comm=web\n"
	      "app:outer 1000000000 1000000000 0 1000000000 1 | thread=worker-101 tid=101 pid=100 comm=worker\n"
	      "app:GET /cart 3000000000 500000000 2500000000 250000000 1 | thread=worker-101 tid=101 pid=100 comm=worker\n"
	      "mapping /usr/bin/app c0ffee functions,files,lines\n"
	      "mapping /usr/lib/lib.so  functions\n"
	      "function app:outer src/main.c 12 @1\n"
	      "function app:inner  0 @2\n"
	      "function app:GET /cart  0 @0\n");
}

/* A file each, by the names that tracing-prof gives them; what was not measured has none. */
static void test_families(void **state)
{
	static const char *const names[] = {"wall", "cpu", "alloc", "heap"};
	struct exporter e = {.ops = exporter_by_name("pprof"), .options = EXPORT_OPTIONS_DEFAULT};
	const u32 all = METRIC_WALL | METRIC_CPU | METRIC_ALLOC | METRIC_HEAP;
	struct sample *s = *state;

	assert_string_equal(e.ops->file(&e, all, 0), "all");
	assert_null(e.ops->file(&e, all, 1));
	e.options.split = true;
	for (u32 i = 0; i < 4; i++) {
		assert_string_equal(e.ops->file(&e, all, i), names[i]);
		assert_string_equal(e.ops->file(&e, METRIC_WALL, i), i ? "" : "wall");
	}
	assert_null(e.ops->file(&e, all, 4));

	s->profile.nlosses = 0;
	s->profile.nrows = 1;
	s->profile.metrics = all | METRIC_CPU_SPLIT;
	s->rows[0].work.cpu_system_ns = 1;
	s->rows[0].work.inuse_objects = 2;
	s->rows[0].work.inuse_bytes = 2048;
	check(s, &e.options, PPROF_WALL,
	      "types wall/nanoseconds wall_busy/nanoseconds wall_idle/nanoseconds count/count, default wall, period 1 wall/nanoseconds, time 1700000000123456789, duration 10000000000\n"
	      "# spantrace 1.0: pid 100 (web), kernel 6.18.0\n"
	      "app:outer 3000000000 3000000000 0 4 | thread=web-100 tid=100 pid=100 comm=web\n"
	      "mapping /usr/bin/app c0ffee functions,files,lines\n"
	      "function app:outer src/main.c 12 @1\n");
	check(s, &e.options, PPROF_CPU,
	      "types cpu/nanoseconds cpu_user/nanoseconds cpu_system/nanoseconds, default cpu, period 1 cpu/nanoseconds, time 1700000000123456789, duration 10000000000\n"
	      "# spantrace 1.0: pid 100 (web), kernel 6.18.0\n"
	      "app:outer 1500000000 1499999999 1 | thread=web-100 tid=100 pid=100 comm=web\n"
	      "mapping /usr/bin/app c0ffee functions,files,lines\n"
	      "function app:outer src/main.c 12 @1\n");
	check(s, &e.options, PPROF_ALLOC,
	      "types alloc_objects/count alloc_space/bytes, default alloc_space, period 1 space/bytes, time 1700000000123456789, duration 10000000000\n"
	      "# spantrace 1.0: pid 100 (web), kernel 6.18.0\n"
	      "app:outer 3 3072 | thread=web-100 tid=100 pid=100 comm=web\n"
	      "mapping /usr/bin/app c0ffee functions,files,lines\n"
	      "function app:outer src/main.c 12 @1\n");
	check(s, &e.options, PPROF_HEAP,
	      "types inuse_objects/count inuse_space/bytes, default inuse_space, period 1 space/bytes, time 1700000000123456789, duration 10000000000\n"
	      "# spantrace 1.0: pid 100 (web), kernel 6.18.0\n"
	      "app:outer 2 2048 | thread=web-100 tid=100 pid=100 comm=web\n"
	      "mapping /usr/bin/app c0ffee functions,files,lines\n"
	      "function app:outer src/main.c 12 @1\n");
}

/* The lines of the samples alone, with those labels. */
static char *samples(const struct sample *s, u32 labels, size_t *nsamples)
{
	AUTO_TEXT message = {0};
	char *text, *at, *end;

	assert_int_equal(pprof_encode(&s->profile, PPROF_ALL, labels, &message, nsamples), 0);
	text = pprof_read_message(message.data, message.len);
	at = strchr(text, '\n') + 1;
	while (*at == '#')
		at = strchr(at, '\n') + 1;
	memmove(text, at, strlen(at) + 1);
	end = *nsamples ? text : NULL;
	for (size_t i = 0; i < *nsamples; i++)
		end = strchr(end, '\n') + 1;
	if (end)
		*end = '\0';
	return text;
}

static void check_samples(const struct sample *s, u32 labels, const char *want)
{
	size_t n;
	char *text = samples(s, labels, &n);

	assert_string_equal(text, want);
	free(text);
}

static void test_labels(void **state)
{
	struct sample *s = *state;
	struct model_row *row = &s->rows[SAMPLE_INNER];

	s->profile.rows = row;
	s->profile.nrows = 1;
	s->profile.metrics = 0;
	row->nlabels = 4;
	row->labels[0] = (struct model_label){"url", "/a b\"\xff\n", 0};
	row->labels[1] = (struct model_label){"size", NULL, -5};
	row->labels[2] = (struct model_label){"pid", NULL, 7};
	row->labels[3] = (struct model_label){"empty", "", 0};
	check_samples(s, 0,
		      "app:inner<app:outer 10 | url=/a b\"\xef\xbf\xbd  size=-5 span_pid=7\n");
	row->nlabels = 1;
	row->labels[0] = (struct model_label){"zero", NULL, 0};
	check_samples(s, 0, "app:inner<app:outer 10 | zero=0\n");
	row->nlabels = 0;
	check_samples(s, PPROF_LABEL_TID | PPROF_LABEL_COMM,
		      "app:inner<app:outer 10 | tid=100 comm=web\n");
	memcpy(s->web.comm, "\x1b[0123456789abcd", 16); /* all of its room, without an end */
	check_samples(s, PPROF_LABEL_COMM | PPROF_LABEL_PID,
		      "app:inner<app:outer 10 | pid=100 comm=\xef\xbf\xbd[0123456789abcd\n");
	memset(s->web.comm, 0, 16);
	check_samples(s, PPROF_LABEL_THREAD, "app:inner<app:outer 10 | thread=?-100\n");
}

static void check_name(struct sample *s, const char *name, const char *want)
{
	char line[128];

	s->paths[SAMPLE_JOB_PATH].name = name;
	s->profile.rows = &s->rows[SAMPLE_JOB];
	s->profile.nrows = 1;
	s->profile.metrics = 0;
	snprintf(line, sizeof(line), "%s 1 |\n", want);
	check_samples(s, 0, line);
}

static void test_names(void **state)
{
	struct sample *s = *state;

	check_name(s, "a;b \"q\" 'q' <b> \\ 5", "app:a;b \"q\" 'q' <b> \\ 5");
	check_name(s, "count(*) from std::map<a>", "app:count(*) from std::map<a>");
	check_name(s, "日本", "app:日本");
	check_name(s, "a\nb\x1b[1mz", "app:a b\xef\xbf\xbd[1mz");
	check_name(s, "\xff\xc3", "app:\xef\xbf\xbd\xef\xbf\xbd");
	check_name(s, "", "app:");
}

/* Memory outside spans has a frame of its own; rows of nothing are no samples; numbers beyond the format's are its largest. */
static void test_edges(void **state)
{
	struct sample *s = *state;
	struct model_row *row = &s->rows[SAMPLE_OUTER];

	memset(&row->work, 0, sizeof(row->work));
	row->count = 0;
	row->path = &s->paths[SAMPLE_ROOT_PATH];
	row->work.alloc_objects = UINT64_MAX;
	s->profile.nrows = 1;
	s->profile.metrics = METRIC_ALLOC;
	check_samples(s, 0, "(outside spans) 9223372036854775807 0 0 |\n");
	s->profile.metrics = METRIC_WALL;
	check_samples(s, 0, "");
}

/* Nothing at all is a profile too, but not one of an interval. */
static void test_empty(void **state)
{
	struct export_options o = EXPORT_OPTIONS_DEFAULT;
	struct sample *s = *state;
	size_t size;
	char *bytes;
	int err;

	s->profile = (struct profile){.metrics = METRIC_WALL};
	check(s, &o, 0,
	      "types wall/nanoseconds wall_busy/nanoseconds wall_idle/nanoseconds count/count, default wall, period 1 wall/nanoseconds, time 0, duration 0\n"
	      "# spantrace\n");
	o.interval_ns = 1;
	bytes = export(s, &o, 0, &size, &err);
	assert_int_equal(err, -ENODATA);
	assert_int_equal(size, 0);
	free(bytes);
}

static void test_same_bytes(void **state)
{
	struct export_options o = EXPORT_OPTIONS_DEFAULT;
	struct sample *other = NULL;
	size_t size, again;
	char *a, *b;
	int err;

	/* At other addresses too: nothing of the order may come from those. */
	setup((void **)&other);
	a = export(*state, &o, 0, &size, &err);
	b = export(other, &o, 0, &again, &err);
	assert_int_equal(size, again);
	assert_memory_equal(a, b, size);
	free(a);
	free(b);
	sample_free(other);
}

/* More than any buffer on the way holds. */
static void test_many(void **state)
{
	enum { N = 8000 };
	struct export_options o = EXPORT_OPTIONS_DEFAULT;
	struct sample *s = *state;
	struct model_path *paths = calloc(N, sizeof(*paths));
	struct model_row *rows = calloc(N, sizeof(*rows));
	char(*names)[24] = calloc(N, sizeof(*names));
	size_t size, lines = 0;
	char *bytes, *text;
	int err;

	assert_true(paths && rows && names);
	for (int i = 0; i < N; i++) {
		snprintf(names[i], sizeof(*names), "statement %d", i);
		paths[i] = s->paths[SAMPLE_JOB_PATH];
		paths[i].name = names[i];
		rows[i] = (struct model_row){.thread = &s->web, .path = &paths[i], .count = 1};
	}
	s->profile.rows = rows;
	s->profile.nrows = N;
	bytes = export(s, &o, 0, &size, &err);
	assert_int_equal(err, 0);
	text = pprof_read(bytes, size);
	assert_non_null(strstr(text, "\napp:statement 7999 0 0 0 0 1 |"));
	for (const char *at = text; (at = strstr(at, "\napp:statement ")); at++)
		lines++;
	assert_int_equal(lines, N);
	free(text);
	free(bytes);
	free(paths);
	free(rows);
	free(names);
}

/* A stack deeper than any reader shows keeps its inner frames, and says that there were others. */
static void test_deep(void **state)
{
	enum { DEPTH = 2000 };
	struct sample *s = *state;
	struct model_path *paths = calloc(DEPTH + 1, sizeof(*paths));
	struct model_row row = {.thread = &s->web, .count = 1};
	size_t n, frames = 1;
	char *text;

	assert_non_null(paths);
	for (u32 i = 1; i <= DEPTH; i++)
		paths[i] = (struct model_path){
			.id = i, .depth = i, .parent = &paths[i - 1], .def = &s->inner};
	row.path = &paths[DEPTH];
	s->profile.rows = &row;
	s->profile.nrows = 1;
	text = samples(s, 0, &n);
	for (const char *at = text; (at = strchr(at, '<')); at++)
		frames++;
	assert_int_equal(frames, 512);
	assert_non_null(strstr(text, "app:inner<(outer spans) "));
	free(text);
	free(paths);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_all),        TEST(test_families), TEST(test_labels),
		TEST(test_names),      TEST(test_edges),    TEST(test_empty),
		TEST(test_same_bytes), TEST(test_many),     TEST(test_deep),
	};

	return cmocka_run_group_tests_name("pprof", tests, NULL, NULL);
}
