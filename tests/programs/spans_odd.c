/* SPDX-License-Identifier: MIT */
/* Makes a recording of what seldom happens, for tests of formats that hold single spans: names of any bytes, spans that
 * begin or end in the same nanosecond, that overlap, that have no length; ids, labels and values at their limits; a tid
 * that is used again.
 *
 *   spans_odd OUT.spans
 *
 * `spantrace view` says what is in it.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../exporters/exporter.h"

#define START 5000000000000ull
#define LONG  10000

static char long_name[LONG + 1];

static const char *const odd_names[] = {
	"a;b::c",
	"\"quoted\" and \\back\\slashed",
	"<script>alert(1)</script>&amp;",
	"two\nlines\r\ttab \x01 \x1b[31mred\x7f",
	"bad \xff\xc3( \x80 \xed\xa0\x80 \xf0\x9f",
	"\303\274n\303\257code \360\237\230\200 \342\200\256 rtl \342\200\250 line",
	"",
	"null",
	"{\"name\":1}],",
	long_name,
};

#define ODD (sizeof(odd_names) / sizeof(*odd_names))

enum { OUTER, MIDDLE, INNER, JOB, TICK, DEFS };
enum { ONE, TWO, AGAIN, FAR, NAMELESS, TIED, THREADS };

static struct model_def defs[DEFS + ODD] = {
	[OUTER] = {.kind = MODEL_THREAD_SPAN, .provider = "odd", .name = "outer"},
	[MIDDLE] = {.kind = MODEL_THREAD_SPAN, .provider = "odd", .name = "middle"},
	[INNER] = {.kind = MODEL_THREAD_SPAN, .provider = "odd", .name = "inner"},
	[JOB] = {.kind = MODEL_ASYNC_SPAN, .provider = "odd", .name = "job"},
	[TICK] = {.kind = MODEL_EVENT, .provider = "odd", .name = "tick"},
};
static struct model_path root, paths[DEFS + ODD];
static struct model_thread threads[THREADS] = {
	[ONE] = {.pid = 700, .tid = 700, .comm = "ma\"in\xff"},
	[TWO] = {.pid = 700, .tid = 701, .comm = "two"},
	[AGAIN] = {.pid = 700, .tid = 701, .comm = "again"},
	[FAR] = {.pid = 800, .tid = 801, .comm = "sixteen bytes !!"},
	[NAMELESS] = {.pid = 4194304, .tid = 4194304},
	[TIED] = {.pid = 900, .tid = 901, .comm = "tied"},
};
static struct model_thread_row rows[THREADS];
static struct exporter exporter;

static void check(int err, const char *what)
{
	if (!err)
		return;
	fprintf(stderr, "spans_odd: %s: %s\n", what, strerror(-err));
	exit(1);
}

static struct model_span span_of(int thread, int path, u64 start, u64 end)
{
	return (struct model_span){
		.thread = &threads[thread],
		.path = &paths[path],
		.start_ns = START + start,
		.end_ns = START + end,
		.busy_ns = end - start,
		.self_ns = end - start,
		.self_cpu_ns = (end - start) / 2,
		.total.cpu_ns = (end - start) / 2,
	};
}

static void put(const struct model_span *span)
{
	check(exporter.ops->span(&exporter, span), "span");
}

static void simple(int thread, int path, u64 start, u64 end)
{
	struct model_span span = span_of(thread, path, start, end);

	put(&span);
}

static void async(int thread, u64 start, u64 end, u64 id, u32 flags)
{
	struct model_span span = span_of(thread, JOB, start, end);

	span.id = id;
	span.flags = flags;
	put(&span);
}

static void names(void)
{
	for (size_t i = 0; i < ODD; i++) {
		struct model_span span = span_of(ONE, DEFS + (int)i, 100 * i, 100 * i + 50);

		span.nlabels = 2;
		span.labels[0] = (struct model_label){.key = "text", .text = odd_names[i]};
		span.labels[1] = (struct model_label){.key = "a\"k;e\ny",
						      .number = i % 2 ? INT64_MIN : INT64_MAX};
		span.flags = i % 3 == 1 ? MODEL_ABANDONED : i % 3 == 2 ? MODEL_OPEN : 0;
		put(&span);
	}
}

static void ties(void)
{
	simple(TIED, INNER, 10000, 10000);
	simple(TIED, MIDDLE, 10000, 15000);
	simple(TIED, INNER, 15000, 15000);
	simple(TIED, MIDDLE, 15000, 20000);
	simple(TIED, OUTER, 10000, 20000);
	simple(TIED, OUTER, 20000, 20000);
	simple(TIED, OUTER, 20001, 20010);
	simple(TIED, INNER, 20010, 20015);
	simple(TIED, MIDDLE, 20010, 20020);
	simple(TIED, INNER, 20020, 20025);
	simple(TIED, OUTER, 20010, 20030);
	simple(TIED, INNER, 20030, 20040);
	simple(TIED, MIDDLE, 20030, 20040);
	simple(TIED, OUTER, 20030, 20040);
}

static void overlaps(void)
{
	simple(TWO, OUTER, 4000, 4060);
	simple(TWO, OUTER, 4010, 4100);
	simple(TWO, MIDDLE, 4020, 4110);
	simple(AGAIN, OUTER, 5000, 5500);
	simple(FAR, OUTER, 0, 90000);
}

static void asyncs(void)
{
	static const u64 ids[] = {0, 1, UINT64_MAX, (1ull << 53) + 1, 1};

	for (u64 i = 0; i < sizeof(ids) / sizeof(*ids); i++) {
		u64 at = 30000 + 1000 * i;

		async(ONE, at, at + 10, ids[i], MODEL_SEGMENT);
		async(AGAIN, at + 10, at + 20, ids[i], MODEL_SEGMENT);
		async(ONE, at + 20, at + 30, ids[i], MODEL_SEGMENT | MODEL_ABANDONED);
		async(FAR, at + 10, at + 900, ids[i], MODEL_ASYNC);
		async(ONE, at, at + 1500, ids[i], MODEL_ASYNC | (i == 2 ? MODEL_OPEN : 0));
	}
	async(NAMELESS, 40000, 40000, 5, MODEL_ASYNC);
}

static void events(void)
{
	static const s64 values[] = {0, -1, INT64_MAX, INT64_MIN, 1ll << 53};
	struct model_event event = {.thread = &threads[ONE], .path = &paths[TICK]};

	for (u64 i = 0; i < sizeof(values) / sizeof(*values); i++) {
		event.time_ns = START + 50000 + i;
		event.has_value = true;
		event.value = values[i];
		check(exporter.ops->event(&exporter, &event), "event");
	}
	event.time_ns++;
	event.has_value = false;
	event.nlabels = 1;
	event.labels[0] = (struct model_label){.key = "text", .text = odd_names[3]};
	check(exporter.ops->event(&exporter, &event), "event");
}

int main(int argc, char **argv)
{
	struct profile run = {
		.version = "\"0\"",
		.kernel = "0",
		.clock = "CLOCK_MONOTONIC",
		.target = odd_names[4],
		.start_ns = START,
		.start_realtime_ns = 1700000000000000000ull,
		.metrics = METRIC_WALL | METRIC_CPU,
	};
	const struct model_loss losses[] = {{.name = "ring_full", .count = 3},
					    {.name = "too_deep"}};

	if (argc != 2) {
		fprintf(stderr, "usage: %s OUT.spans\n", argv[0]);
		return 2;
	}
	memset(long_name, 'x', LONG);
	for (u32 i = 0; i < DEFS + ODD; i++) {
		if (i >= DEFS)
			defs[i] = (struct model_def){.kind = MODEL_THREAD_SPAN,
						     .provider = odd_names[i - DEFS],
						     .name = odd_names[i - DEFS]};
		defs[i].id = i;
		paths[i] = (struct model_path){.id = i + 2, .depth = 1, .def = &defs[i]};
		paths[i].parent = i == MIDDLE || i == INNER ? &paths[i - 1] : &root;
		paths[i].depth = paths[i].parent->depth + 1;
	}
	for (u32 i = 0; i < THREADS; i++) {
		threads[i].serial = i + 1;
		threads[i].start_ns = START;
		rows[i] =
			(struct model_thread_row){.thread = &threads[i], .end_ns = START + 100000};
	}
	exporter.ops = exporter_by_name("recording");
	exporter.options = EXPORT_OPTIONS_DEFAULT;
	exporter.out = fopen(argv[1], "we");
	if (!exporter.out) {
		perror(argv[1]);
		return 1;
	}
	check(exporter.ops->begin(&exporter, &run), "begin");
	names();
	overlaps();
	ties();
	asyncs();
	events();
	run.end_ns = START + 100000;
	run.threads = rows;
	run.nthreads = THREADS;
	run.losses = losses;
	run.nlosses = 2;
	check(exporter.ops->finish(&exporter, &run), "finish");
	exporter.ops->free(&exporter);
	return fclose(exporter.out) ? 1 : 0;
}
