/* SPDX-License-Identifier: MIT */
/* Labels: keys of sites, texts by name, and rows that are split by them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "traced.h"

enum { SITE = 40, NAME_GET = WIRE_STRING_FIRST, NAME_PUT };

static void feed_text(struct traced *t, u64 name, const char *text)
{
	struct wire_string record = {
		.head = {.size = sizeof(record), .kind = WIRE_STRING},
		.name = name,
		.length = (u32)strlen(text),
	};

	strncpy(record.text, text, sizeof(record.text));
	feed(t, &record);
}

/* A span of PATH_A on thread 1 with the labels of SITE. */
static void feed_labels(struct traced *t, u64 busy, u64 a, u64 b, u64 c, u64 d)
{
	struct wire_span span = make_span(1, PATH_A, 1000, busy, busy);

	span.head.size = sizeof(span);
	span.head.flags = WIRE_LABELS;
	span.site = SITE;
	span.labels[0] = a;
	span.labels[1] = b;
	span.labels[2] = c;
	span.labels[3] = d;
	feed(t, &span);
}

/* A site with a text "method" and a number "size". */
static void add_site(struct traced *t)
{
	static const char *const keys[] = {"method", "size"};

	assert_int_equal(trace_add_site(t->trace, SITE, keys, 2, 1), 0);
}

struct sunk {
	struct model_span span;
	struct model_event event;
};

static int sink_span(void *context, const struct model_span *span)
{
	((struct sunk *)context)->span = *span;
	return 0;
}

static int sink_event(void *context, const struct model_event *event)
{
	((struct sunk *)context)->event = *event;
	return 0;
}

static void check_label(const struct model_label *label, const char *key, const char *text,
			s64 number)
{
	assert_string_equal(label->key, key);
	if (text)
		assert_string_equal(label->text, text);
	else
		assert_null(label->text);
	if (!text)
		assert_int_equal(label->number, number);
}

static void test_single_spans_carry_them(void **state)
{
	struct wire_async job = make_async(1, PATH_JOB, 7, 1000, 2000);
	struct wire_event event = make_event(1, PATH_TICK, 1000);
	struct sunk sunk = {0};
	const struct trace_sink sink = {.context = &sunk, .span = sink_span, .event = sink_event};
	struct traced *t = *state;

	add_site(t);
	assert_int_equal(trace_add_sink(t->trace, &sink), 0);
	feed_text(t, NAME_GET, "GET");
	feed_labels(t, 10, NAME_GET, (u64)-5, 0, 0);
	assert_int_equal(sunk.span.nlabels, 2);
	check_label(&sunk.span.labels[0], "method", "GET", 0);
	check_label(&sunk.span.labels[1], "size", NULL, -5);
	job.head.flags = WIRE_LABELS;
	job.site = SITE;
	job.labels[0] = NAME_GET;
	job.labels[1] = 6;
	feed(t, &job);
	assert_int_equal(sunk.span.nlabels, 2);
	check_label(&sunk.span.labels[1], "size", NULL, 6);
	event.head.size = sizeof(event);
	event.head.flags = WIRE_LABELS;
	event.site = SITE;
	event.labels[1] = 7;
	feed(t, &event);
	assert_int_equal(sunk.event.nlabels, 2);
	check_label(&sunk.event.labels[0], "method", "<null>", 0);
	check_label(&sunk.event.labels[1], "size", NULL, 7);
	/* Without the flag, and of a site that nobody knows, there are none. */
	feed_span(t, 1, PATH_A, 1, 1, 1);
	assert_int_equal(sunk.span.nlabels, 0);
	job.site = SITE + 1;
	feed(t, &job);
	assert_int_equal(sunk.span.nlabels, 0);
	assert_int_equal(trace_damaged(t->trace), 0);
}

/* Rows are not split unless --by asks for it. */
static void test_rows_are_whole(void **state)
{
	struct traced *t = *state;
	const struct model_row *row;

	add_site(t);
	feed_labels(t, 10, NAME_GET, 1, 0, 0);
	feed_labels(t, 20, NAME_PUT, 2, 0, 0);
	row = traced_row(t, 1, PATH_A);
	assert_int_equal(row->count, 2);
	assert_int_equal(row->nlabels, 0);
	assert_int_equal(t->profile.nrows, 1);
}

static void test_split(void **state)
{
	static const char *const by[] = {"method"};
	struct traced *t = *state;
	const struct model_row *rows;

	add_site(t);
	trace_split_by(t->trace, by, 1);
	feed_text(t, NAME_PUT, "PUT");
	feed_text(t, NAME_GET, "GET");
	feed_labels(t, 10, NAME_PUT, 1, 0, 0);
	feed_labels(t, 20, NAME_GET, 2, 0, 0);
	feed_labels(t, 30, NAME_GET, 3, 0, 0);
	feed_labels(t, 40, WIRE_STRING_UNREADABLE, 3, 0, 0);
	feed_span(t, 1, PATH_A, 1000, 50, 50);
	rows = traced_profile(t)->rows;
	assert_int_equal(t->profile.nrows, 4);
	/* Without the label, then by its text. */
	assert_int_equal(rows[0].nlabels, 0);
	assert_int_equal(rows[0].wall_ns, 50);
	check_label(&rows[1].labels[0], "method", "<unreadable>", 0);
	assert_int_equal(rows[1].wall_ns, 40);
	check_label(&rows[2].labels[0], "method", "GET", 0);
	assert_int_equal(rows[2].wall_ns, 50);
	assert_int_equal(rows[2].count, 2);
	check_label(&rows[3].labels[0], "method", "PUT", 0);
	assert_int_equal(rows[3].wall_ns, 10);
	/* The thread was inside for all of them. */
	assert_int_equal(t->profile.threads[0].inside_ns, 150);
}

static void test_split_by_numbers(void **state)
{
	static const char *const by[] = {"size", "method"};
	struct traced *t = *state;
	const struct model_row *rows;
	u64 i;

	add_site(t);
	trace_split_by(t->trace, by, 2);
	feed_text(t, NAME_GET, "GET");
	for (i = 0; i < 1000; i++)
		feed_labels(t, 1, NAME_GET, i % 100 - 50, 0, 0);
	rows = traced_profile(t)->rows;
	assert_int_equal(t->profile.nrows, 100);
	for (i = 0; i < 100; i++) {
		assert_int_equal(rows[i].count, 10);
		assert_int_equal(rows[i].nlabels, 2);
		check_label(&rows[i].labels[0], "size", NULL, (s64)i - 50);
		check_label(&rows[i].labels[1], "method", "GET", 0);
	}
}

/* A program may give one key to all its labels, and a person may ask for it more than once. */
static void test_one_key_for_all(void **state)
{
	static const char *const keys[] = {"k", "k", "k", "k"};
	struct traced *t = *state;
	const struct model_row *row;

	assert_int_equal(trace_add_site(t->trace, SITE, keys, 4, 0), 0);
	trace_split_by(t->trace, keys, 4);
	feed_labels(t, 10, 1, 2, 3, 4);
	feed_labels(t, 10, 1, 3, 4, 5);
	row = traced_row(t, 1, PATH_A);
	assert_int_equal(t->profile.nrows, 1);
	assert_int_equal(row->nlabels, 4);
	check_label(&row->labels[3], "k", NULL, 1);
}

/* One key, text at one site and number at another: an order that holds, whatever came first. */
static void test_mixed_values(void **state)
{
	static const char *const keys[] = {"size"};
	struct traced *t = *state;
	struct wire_span span = make_span(1, PATH_A, 1000, 1, 1);
	const struct model_row *rows;
	u64 i;

	assert_int_equal(trace_add_site(t->trace, 1, keys, 1, 0), 0);
	assert_int_equal(trace_add_site(t->trace, 2, keys, 1, 1), 0);
	trace_split_by(t->trace, keys, 1);
	feed_text(t, 100, "a");
	feed_text(t, 90, "b");
	feed_text(t, 110, "c");
	span.head.size = sizeof(span);
	span.head.flags = WIRE_LABELS;
	for (i = 90; i <= 110; i += 5) {
		span.labels[0] = i;
		span.site = 1;
		feed(t, &span);
		span.site = 2;
		if (i % 10 == 0)
			feed(t, &span);
	}
	rows = traced_profile(t)->rows;
	assert_int_equal(t->profile.nrows, 8);
	for (i = 0; i < 5; i++)
		check_label(&rows[i].labels[0], "size", NULL, (s64)(90 + 5 * i));
	check_label(&rows[5].labels[0], "size", "a", 0);
	check_label(&rows[6].labels[0], "size", "b", 0);
	check_label(&rows[7].labels[0], "size", "c", 0);
}

static void test_sites(void **state)
{
	char key[] = "method";
	const char *const keys[] = {key};
	static const char *const other[] = {"other", "b", "c", "d", "e", "f"};
	struct sunk sunk = {0};
	const struct trace_sink sink = {.context = &sunk, .span = sink_span};
	struct traced *t = *state;

	assert_int_equal(trace_add_sink(t->trace, &sink), 0);
	assert_int_equal(trace_add_site(t->trace, SITE, keys, 1, 0), 0);
	key[0] = '!';
	assert_int_equal(trace_add_site(t->trace, SITE, other, 1, 0), 0); /* it stands already */
	feed_labels(t, 1, 5, 0, 0, 0);
	check_label(&sunk.span.labels[0], "method", NULL, 5);
	/* No more than a record has room for. */
	assert_int_equal(trace_add_site(t->trace, SITE + 1, other, 6, 0), 0);
}

/* A text is told once; one that fills its record has no NUL. */
static void test_texts(void **state)
{
	struct wire_string full = {
		.head = {.size = sizeof(full), .kind = WIRE_STRING},
		.name = NAME_PUT,
		.length = UINT32_MAX,
	};
	struct sunk sunk = {0};
	const struct trace_sink sink = {.context = &sunk, .span = sink_span};
	struct traced *t = *state;

	add_site(t);
	assert_int_equal(trace_add_sink(t->trace, &sink), 0);
	memset(full.text, 'x', sizeof(full.text));
	feed(t, &full);
	feed_labels(t, 1, NAME_PUT, 0, 0, 0);
	assert_int_equal(strlen(sunk.span.labels[0].text), STRING_MAX - 1);
	feed_text(t, NAME_PUT, "again");
	feed_labels(t, 1, NAME_PUT, 0, 0, 0);
	assert_int_equal(sunk.span.labels[0].text[0], 'x');
	feed_text(t, NAME_GET, "");
	feed_labels(t, 1, NAME_GET, 0, 0, 0);
	check_label(&sunk.span.labels[0], "method", "", 0);
	feed_labels(t, 1, WIRE_STRING_LOST, 0, 0, 0);
	check_label(&sunk.span.labels[0], "method", "<lost>", 0);
}

/* Ids come down to a span; its own label by that key wins, also where it is of another kind; sinks are told none of it. */
static void test_inherited(void **state)
{
	static const char *const keys[] = {"span_id", "size"};
	static const char *const by[] = {"span_id", "trace_id"};
	struct wire_span span = make_span(1, PATH_A, 1000, 10, 10);
	struct wire_async job = make_async(1, PATH_JOB, 7, 1000, 2000);
	struct sunk sunk = {0};
	const struct trace_sink sink = {.context = &sunk, .span = sink_span};
	struct traced *t = *state;
	const struct model_row *row;

	assert_int_equal(trace_add_sink(t->trace, &sink), 0);
	assert_int_equal(trace_add_site(t->trace, SITE, keys, 2, 0), 0);
	trace_split_by(t->trace, by, 2);
	feed_text(t, NAME_GET, "0af7651916cd43dd8448eb211c80319c");
	span.head.size = sizeof(span);
	span.ids.values[0] = NAME_GET;
	span.ids.values[1] = 5;
	span.ids.kinds = WIRE_ID(0) | WIRE_ID_TEXT(0) | WIRE_ID(1);
	feed(t, &span);
	assert_int_equal(sunk.span.nlabels, 0);
	span.head.flags = WIRE_LABELS;
	span.site = SITE;
	span.labels[0] = 6;
	feed(t, &span);
	assert_int_equal(sunk.span.nlabels, 2);
	job.ids = span.ids;
	job.ids.kinds = WIRE_ID(1);
	feed(t, &job);
	/* A kind alone is no id; a record that ends before them has none. */
	span.head.flags = 0;
	span.ids.kinds = WIRE_ID_TEXT(0) | WIRE_ID_TEXT(1);
	feed(t, &span);
	span.ids.kinds = WIRE_ID_KINDS;
	span.head.size = WIRE_SPAN_ALLOC;
	feed(t, &span);
	row = traced_profile(t)->rows;
	assert_int_equal(t->profile.nrows, 4);
	assert_int_equal(row[0].nlabels, 0);
	assert_int_equal(row[0].count, 2);
	for (u32 i = 1; i < 3; i++) {
		assert_int_equal(row[i].nlabels, 2);
		assert_int_equal(row[i].count, 1);
		check_label(&row[i].labels[0], "span_id", NULL, 4 + i);
		check_label(&row[i].labels[1], "trace_id", "0af7651916cd43dd8448eb211c80319c", 0);
	}
	assert_int_equal(row[3].nlabels, 1);
	check_label(&row[3].labels[0], "span_id", NULL, 5);
	assert_int_equal(trace_damaged(t->trace), 0);
}

static void test_id_numbers(void **state)
{
	(void)state;
	assert_int_equal(trace_id_number("trace_id"), 1);
	assert_int_equal(trace_id_number("span_id"), 2);
	assert_int_equal(trace_id_number("span_id2"), 0);
	assert_int_equal(trace_id_number(""), 0);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, traced_setup, traced_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_single_spans_carry_them),
		TEST(test_rows_are_whole),
		TEST(test_split),
		TEST(test_split_by_numbers),
		TEST(test_one_key_for_all),
		TEST(test_mixed_values),
		TEST(test_sites),
		TEST(test_texts),
		TEST(test_inherited),
		TEST(test_id_numbers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
