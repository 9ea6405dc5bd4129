/* SPDX-License-Identifier: MIT */
/* Event files: those that measureme's own library wrote, against what its tools say of them (tests/golden/measureme), and
 * files made by hand for what those do not hold. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../../user/util/log.h"
#include "eventfile.h"
#include "eventread.h"

#define GOLDEN "tests/golden/measureme/"

/* --- real files --------------------------------------------------------------------------------------- */

static char *slurp(const char *path, size_t *size)
{
	FILE *file = fopen(path, "re");
	char *bytes = NULL;
	size_t n = 0;
	int c;

	assert_non_null(file);
	bytes = malloc(1 << 16);
	assert_non_null(bytes);
	while ((c = getc(file)) != EOF && n < (1 << 16) - 1)
		bytes[n++] = (char)c;
	bytes[n] = '\0';
	fclose(file);
	if (size)
		*size = n;
	return bytes;
}

/* What mmview prints of the same file. */
struct mmview {
	struct text_buf text;
	u64 first; /* it counts from the earliest start */
};

__attribute__((format(printf, 2, 3))) static void view(struct mmview *v, const char *format, ...)
{
	char line[512];
	va_list args;

	va_start(args, format);
	vsnprintf(line, sizeof(line), format, args);
	va_end(args);
	text_add_str(&v->text, line);
}

static void view_head(struct mmview *v, const struct model_path *path,
		      const struct model_label *labels, u32 n)
{
	view(v, "{\n    kind: %s,\n    label: %s,\n    additional_data: [", path->def->provider,
	     path->def->name);
	for (u32 i = 0; i < n; i++)
		view(v, "%s%s", i ? "," : "", labels[i].text);
	view(v, "],\n    payload: ");
}

static int view_span(void *context, const struct model_span *span)
{
	struct mmview *v = context;

	view_head(v, span->path, span->labels, span->nlabels);
	view(v, "%" PRIu64 " μs - %" PRIu64 " μs,\n    thread_id: %u,\n}\n",
	     (span->start_ns - v->first) / 1000, (span->end_ns - v->first) / 1000,
	     span->thread->tid);
	return 0;
}

static int view_event(void *context, const struct model_event *event)
{
	struct mmview *v = context;

	view_head(v, event->path, event->labels, event->nlabels);
	if (event->has_value)
		view(v, "%" PRId64, event->value);
	else
		view(v, "%" PRIu64 " μs", (event->time_ns - v->first) / 1000);
	view(v, ",\n    thread_id: %u,\n}\n", event->thread->tid);
	return 0;
}

static void test_same_as_mmview(void **state)
{
	struct mmview v = {.first = 96022};
	const struct trace_sink sink = {.context = &v, .span = view_span, .event = view_event};
	struct replay *replay = NULL;
	char *want = slurp(GOLDEN "mmview.txt", NULL);

	(void)state;
	assert_int_equal(replay_open(GOLDEN "base.mm_profdata", &replay), 0);
	v.first += replay_info(replay)->start_ns;
	assert_int_equal(trace_add_sink(replay_trace(replay), &sink), 0);
	assert_int_equal(replay_run(replay, NULL), 0);
	assert_string_equal(v.text.data, want);
	assert_int_equal(replay_info(replay)->start_realtime_ns, 1795225140068099112ull);
	text_buf_free(&v.text);
	replay_free(&replay);
	free(want);
}

/* Where the rows' own time goes, as stack_collapse prints it: labels without their kinds, all threads together, and the
 * gaps of the threads as the outermost frame. */
static void test_same_as_stack_collapse(void **state)
{
	static const char *const stacks[] = {
		"mine",
		"outer",
		"<unknown>",
		"outer;query_with_args;query_with_args",
		"outer;virtual_resolved",
		"outer;query_with_args",
	};
	u64 sums[6] = {0}, gaps = 0;
	struct replay *replay = NULL;
	struct profile p = {0};
	char *want = slurp(GOLDEN "out.stacks_folded", NULL), line[128];

	(void)state;
	assert_int_equal(replay_open(GOLDEN "base.mm_profdata", &replay), 0);
	assert_int_equal(replay_run(replay, NULL), 0);
	assert_int_equal(replay_profile(replay, &p), 0);
	for (size_t i = 0; i < p.nrows; i++) {
		const struct model_path *path = p.rows[i].path;
		char stack[256] = "", longer[512];
		size_t j;

		for (; path && path->def; path = path->parent) {
			snprintf(longer, sizeof(longer), "%s%s%s", path->def->name,
				 *stack ? ";" : "", stack);
			memcpy(stack, longer, sizeof(stack));
			stack[sizeof(stack) - 1] = '\0';
		}
		for (j = 0; j < 6 && strcmp(stacks[j], stack) != 0; j++)
			;
		assert_in_range(j, 0, 5);
		sums[j] += p.rows[i].self_ns;
	}
	for (size_t i = 0; i < p.nthreads; i++)
		gaps += p.threads[i].end_ns - p.threads[i].thread->start_ns -
			p.threads[i].inside_ns;
	for (size_t j = 0; j < 6; j++) {
		snprintf(line, sizeof(line), "rustc;%s %" PRIu64 "\n", stacks[j], sums[j]);
		assert_non_null(strstr(want, line));
	}
	snprintf(line, sizeof(line), "rustc %" PRIu64 "\n", gaps);
	assert_non_null(strstr(want, line));
	replay_free(&replay);
	free(want);
}

/* summarize: "Total cpu time: 53.658042ms". */
static void test_total_time(void **state)
{
	struct eventfile_read r;

	(void)state;
	eventfile_read_path(&r, GOLDEN "base.mm_profdata");
	assert_int_equal(r.err, 0);
	assert_int_equal(r.total_ns, 53658042);
	assert_true(r.finished);
	assert_string_equal(r.said.text, "");
	assert_string_equal(r.target, "../../sample/target/release/mm_sample ./base 1 ");
	assert_string_equal(r.counter, "");
	eventfile_read_end(&r);
}

/* summarize panics on this one, stack_collapse's numbers wrap. */
static void test_overlapping_siblings(void **state)
{
	struct eventfile_read r;

	(void)state;
	eventfile_read_path(&r, GOLDEN "ooo.mm_profdata");
	assert_int_equal(r.err, 0);
	/* 13016926 + 12007951 of children, 3000428 of it twice */
	assert_non_null(
		strstr(r.text.data, "9 GenericActivity:outer 56443831-79469233 self 1000953\n"));
	assert_non_null(
		strstr(r.text.data, "thread 17905/9 '' 56443831-79469233 inside 23025402\n"));
	assert_null(strstr(r.text.data, "loss"));
	eventfile_read_end(&r);
}

static void test_bad_metadata(void **state)
{
	struct eventfile_read r;

	(void)state;
	eventfile_read_path(&r, GOLDEN "bad-cmd-quote.mm_profdata");
	assert_int_equal(r.err, 0);
	assert_string_equal(r.target, "../../sample/target/release/mm_sample ./it's 1 ");
	assert_non_null(strstr(r.text.data, "thread 2424/1 '' "));
	assert_string_equal(r.said.text, "");
	eventfile_read_end(&r);
}

static void test_aborted(void **state)
{
	struct eventfile_read r;

	(void)state;
	eventfile_read_path(&r, GOLDEN "abort.mm_profdata");
	assert_int_equal(r.err, 0);
	assert_string_equal(r.text.data, "");
	assert_false(r.finished);
	assert_non_null(strstr(r.said.text, "abort.mm_profdata holds no events"));
	eventfile_read_end(&r);
}

static size_t count_lines(const char *text)
{
	size_t n = 0;

	for (; *text; text++)
		n += *text == '\n';
	return n;
}

/* Cut anywhere: what stands before the cut is read, never more, and the rest is said. */
static void test_cut(void **state)
{
	struct eventfile_read r, whole;
	size_t size, last = 0;
	char *bytes = slurp(GOLDEN "base.mm_profdata", &size);

	(void)state;
	eventfile_read_bytes(&whole, bytes, size);
	for (size_t cut = 8; cut < size; cut++) {
		size_t lines;

		eventfile_read_bytes(&r, bytes, cut);
		assert_int_equal(r.err, 0);
		assert_false(r.finished);
		assert_true(strlen(r.said.text) > 0);
		lines = count_lines(r.text.data);
		assert_true(lines + 2 >= last); /* a loss may be gone */
		last = lines;
		eventfile_read_end(&r);
	}
	assert_true(last >= count_lines(whole.text.data));
	eventfile_read_end(&whole);
	free(bytes);
}

/* --- files made by hand --------------------------------------------------------------------------------- */

static void assert_read(struct eventfile *f, const char *want)
{
	/* Whatever the pages: whole streams, pieces, single bytes. */
	static const size_t pages[] = {1 << 20, 7, 1};
	struct eventfile_read r;

	for (size_t i = 0; i < sizeof(pages) / sizeof(*pages); i++) {
		size_t size;
		char *image = eventfile_image(f, pages[i], &size);

		eventfile_read_bytes(&r, image, size);
		assert_int_equal(r.err, 0);
		assert_string_equal(r.text.data, want);
		eventfile_read_end(&r);
		free(image);
	}
}

static void fill_strings(struct eventfile *f)
{
	u64 kind = eventfile_string(f, "K"), a = eventfile_string(f, "a"), b, c;

	eventfile_metadata(f, "{\"start_time\": 1000, \"process_id\": 7}");
	b = eventfile_joined(f, "b ", a, "");
	c = eventfile_joined(f, "", b, "\x1e one\x1e two");
	eventfile_index(f, 5, a);
	eventfile_index(f, 5, c); /* the later one counts */
	eventfile_event(f, kind, a, 1, 0, 10);
	eventfile_event(f, kind, b, 1, 10, 20);
	eventfile_event(f, kind, 5, 1, 20, 30);
	eventfile_event(f, kind, 6, 1, 30, 40);
	eventfile_event(f, MMP_INVALID, a, 1, 40, 50);
	eventfile_event(f, kind, a, 2, 50, MMP_INSTANT);
	eventfile_event(f, kind, a, 2, 50, MMP_INTEGER);
}

static const char strings_read[] = "1 K:a 0-10 self 10\n"
				   "1 K:b a 10-20 self 10\n"
				   "1 K:b a 20-30 self 10 arg0=' one' arg1=' two'\n"
				   "1 K:<unknown> 30-40 self 10\n"
				   "1 <unknown>:a 40-50 self 10\n"
				   "2 K:a 50\n"
				   "2 K:a 50 value 50\n"
				   "thread 7/1 '' 0-50 inside 50\n"
				   "thread 7/2 '' 0-0 inside 0\n";

static void test_strings(void **state)
{
	struct eventfile f;

	(void)state;
	eventfile_init(&f, false);
	fill_strings(&f);
	assert_read(&f, strings_read);
	eventfile_free(&f);
}

static void test_old_version(void **state)
{
	struct eventfile f;

	(void)state;
	eventfile_init(&f, true);
	fill_strings(&f);
	assert_read(&f, strings_read);
	eventfile_free(&f);
}

/* Strings that never end, and one without its end. */
static void test_hostile_strings(void **state)
{
	struct eventfile f;
	u64 kind, self, twice;
	struct eventfile_read r;
	size_t size;
	char *image;

	(void)state;
	eventfile_init(&f, false);
	eventfile_metadata(&f, "{}");
	kind = eventfile_string(&f, "K");
	self = MMP_FIRST_REGULAR + f.streams[MMP_STRINGS].len;
	assert_int_equal(eventfile_joined(&f, "x", self, "y"), self);
	twice = MMP_FIRST_REGULAR + f.streams[MMP_STRINGS].len;
	eventfile_bytes(&f, "\x01 control", 9);
	eventfile_event(&f, kind, self, 1, 0, 1);
	eventfile_event(&f, kind, twice, 1, 1, 2);
	eventfile_event(&f, kind, MMP_FIRST_REGULAR, 1, 2, 3); /* the stream's header */
	eventfile_event(&f, kind, UINT64_MAX, 1, 3, 4);
	eventfile_event(&f, kind, MMP_FIRST_REGULAR + (1 << 20), 1, 4, 5);
	text_add_str(&f.streams[MMP_STRINGS], "no end");
	eventfile_event(&f, kind, MMP_FIRST_REGULAR + f.streams[MMP_STRINGS].len - 6, 1, 5, 6);
	image = eventfile_image(&f, 1 << 20, &size);
	eventfile_read_bytes(&r, image, size);
	assert_int_equal(r.err, 0);
	assert_non_null(strstr(r.text.data, "1 K:xxxxxxx"));
	assert_non_null(strstr(r.text.data, "xxx<invalid> 0-1 self 1\n"));
	assert_non_null(strstr(r.text.data, "1 K:<parse error> 1-2 self 1\n"
					    "1 K:<unknown> 2-3 self 1\n"
					    "1 K:<unknown> 3-4 self 1\n"
					    "1 K:<unknown> 4-5 self 1\n"
					    "1 K:no end<invalid> 5-6 self 1\n"));
	eventfile_read_end(&r);
	free(image);
	eventfile_free(&f);
}

/* Ends out of order within the window are put in order; those that end before they start are counted. */
static void test_order(void **state)
{
	struct eventfile f;
	u64 kind, a, b, c;

	(void)state;
	eventfile_init(&f, false);
	eventfile_metadata(&f, "{\"start_time\": 1000, \"process_id\": 7}");
	kind = eventfile_string(&f, "K");
	a = eventfile_string(&f, "a");
	b = eventfile_string(&f, "b");
	c = eventfile_string(&f, "c");
	eventfile_event(&f, kind, a, 1, 0, 100);
	eventfile_event(&f, kind, c, 1, 20, 30);
	eventfile_event(&f, kind, c, 2, 5, 4);
	eventfile_event(&f, kind, b, 1, 10, 50);
	eventfile_event(&f, kind, c, 1, 40, MMP_INSTANT);
	assert_read(&f, "1 K:a;K:b;K:c 20-30 self 10\n"
			"1 K:a;K:b;K:c 40\n"
			"1 K:a;K:b 10-50 self 30\n"
			"1 K:a 0-100 self 60\n"
			"thread 7/1 '' 0-100 inside 100\n"
			"loss damaged 1\n");
	eventfile_free(&f);
}

/* So many that they are read ahead in a thread, both ways: of each round the child, the event with its value, the parent.
 * LATE: the parent stands before its child, so that the file is walked a second time. */
static void check_many(bool late)
{
	enum { ROUNDS = 10000 };
	struct eventfile f;
	struct eventfile_read r;
	u64 kind, outer, inner, tick;
	size_t size;
	char *image, *at, line[128];

	eventfile_init(&f, false);
	eventfile_metadata(&f, "{\"start_time\": 1000, \"spantrace\": {\"version\": \"1\"}}");
	kind = eventfile_string(&f, "K");
	outer = eventfile_string(&f, "K:outer");
	inner = eventfile_string(&f, "K:inner");
	tick = eventfile_string(&f, "K:tick");
	for (u64 i = 0; i < ROUNDS; i++) {
		if (late)
			eventfile_event(&f, kind, outer, 1, i * 10, i * 10 + 9);
		eventfile_event(&f, kind, inner, 1, i * 10 + 1, i * 10 + 5);
		eventfile_event(&f, kind, tick, 1, i * 10 + 6, MMP_INSTANT);
		eventfile_event(&f, kind, tick, 1, i, MMP_INTEGER);
		if (!late)
			eventfile_event(&f, kind, outer, 1, i * 10, i * 10 + 9);
	}
	image = eventfile_image(&f, 1 << 18, &size);
	eventfile_read_bytes(&r, image, size);
	assert_int_equal(r.err, 0);
	at = r.text.data;
	for (u64 i = 0; i < ROUNDS; i++) {
		int n = snprintf(line, sizeof(line),
				 "1 K:outer;K:inner %" PRIu64 "-%" PRIu64 " self 4\n"
				 "1 K:outer;K:tick %" PRIu64 " value %" PRIu64 "\n"
				 "1 K:outer %" PRIu64 "-%" PRIu64 " self 5\n",
				 i * 10 + 1, i * 10 + 5, i * 10 + 6, i, i * 10, i * 10 + 9);

		assert_memory_equal(at, line, n);
		at += n;
	}
	assert_null(strstr(at, "loss"));
	eventfile_read_end(&r);
	free(image);
	eventfile_free(&f);
}

static void test_many(void **state)
{
	(void)state;
	check_many(false);
	check_many(true);
}

/* One that is 5000 events late is used all the same, and counted. */
static void test_far_out_of_order(void **state)
{
	struct eventfile f;
	struct eventfile_read r;
	u64 kind, a, b;
	size_t size;
	char *image;

	(void)state;
	eventfile_init(&f, false);
	eventfile_metadata(&f, "{\"start_time\": 1000}");
	kind = eventfile_string(&f, "K");
	a = eventfile_string(&f, "a");
	b = eventfile_string(&f, "b");
	eventfile_event(&f, kind, a, 1, 0, 100000);
	for (u64 i = 0; i < 5000; i++)
		eventfile_event(&f, kind, b, 1, i * 10, i * 10 + 5);
	image = eventfile_image(&f, 1 << 18, &size);
	eventfile_read_bytes(&r, image, size);
	assert_int_equal(r.err, 0);
	assert_int_equal(count_lines(r.text.data), 5001 + 2);
	assert_non_null(strstr(r.text.data, "loss out_of_order 1\n"));
	eventfile_read_end(&r);
	free(image);
	eventfile_free(&f);
}

/* Deeper than what is kept of a stack, wider than what is kept in memory: both are read, in bounded memory. */
static void test_deep(void **state)
{
	struct eventfile f;
	struct eventfile_read r;
	u64 kind, a;
	size_t size;
	char *image;

	(void)state;
	eventfile_init(&f, false);
	eventfile_metadata(&f, "{\"start_time\": 1000}");
	kind = eventfile_string(&f, "K");
	a = eventfile_string(&f, "a");
	for (u64 i = 0; i < 6000; i++)
		eventfile_event(&f, kind, a, 1, 10000 - i, 10000 + i);
	image = eventfile_image(&f, 1 << 18, &size);
	log_threshold = LOG_ERROR;
	eventfile_read_bytes(&r, image, size);
	log_threshold = LOG_WARN;
	assert_int_equal(r.err, 0);
	assert_non_null(strstr(r.text.data, "1 K:a 4001-15999 self 2\n"));
	assert_non_null(strstr(r.text.data, "loss too_deep 1905\n"));
	eventfile_read_end(&r);
	free(image);
	eventfile_free(&f);
}

static void test_other_versions(void **state)
{
	struct eventfile_read r;

	(void)state;
	eventfile_read_bytes(&r, "MMPD\x0a\0\0", 8);
	assert_int_equal(r.err, -EINVAL);
	assert_non_null(strstr(r.said.text,
			       "is an event file of version 10; spantrace reads versions 8 and 9"));
	eventfile_read_end(&r);
}

static void test_counter(void **state)
{
	struct eventfile f;
	struct eventfile_read r;
	size_t size;
	char *image;

	(void)state;
	eventfile_init(&f, false);
	eventfile_metadata(
		&f,
		"{ \"start_time\": 5, \"counter\": { \"units\": [[\"n\", 1]], \"name\": \"instructions:u\" } }");
	image = eventfile_image(&f, 1 << 18, &size);
	eventfile_read_bytes(&r, image, size);
	assert_string_equal(r.counter, "instructions:u");
	eventfile_read_end(&r);
	free(image);
	eventfile_free(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_same_as_mmview),
		cmocka_unit_test(test_same_as_stack_collapse),
		cmocka_unit_test(test_total_time),
		cmocka_unit_test(test_overlapping_siblings),
		cmocka_unit_test(test_bad_metadata),
		cmocka_unit_test(test_aborted),
		cmocka_unit_test(test_cut),
		cmocka_unit_test(test_strings),
		cmocka_unit_test(test_old_version),
		cmocka_unit_test(test_hostile_strings),
		cmocka_unit_test(test_order),
		cmocka_unit_test(test_many),
		cmocka_unit_test(test_far_out_of_order),
		cmocka_unit_test(test_deep),
		cmocka_unit_test(test_other_versions),
		cmocka_unit_test(test_counter),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
