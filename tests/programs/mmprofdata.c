/* SPDX-License-Identifier: MIT */
/* Event files from our side, for tests that hold them against measureme's own library (tests/live/test_measureme.py).
 *
 *   mmprofdata make FILE N     writes N rounds of known spans and events through the real exporter, and prints what they
 *                              add up to, one label a line: LABEL|COUNT|TIME|SELF TIME in ns, sorted; then the sum of the
 *                              times from the first start to the last end of each thread and lane
 *   mmprofdata dump FILE       what our reader makes of a file, as measureme's would say it, one event a line:
 *                              KIND|LABEL|ARGUMENTS|THREAD|TIMES
 *   mmprofdata totals FILE     the totals of what our reader makes of a file, as `make` prints them
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../exporters/exporter.h"
#include "../../user/recording/replay.h"

static void need(bool good, const char *what)
{
	if (good)
		return;
	fprintf(stderr, "mmprofdata: %s failed\n", what);
	exit(1);
}

/* --- totals by label ------------------------------------------------------------------------------------ */

static struct total {
	char label[128];
	u64 count, time, self;
} totals[64];
static size_t ntotals;

static void add_total(const char *provider, const char *name, u64 count, u64 time, u64 self)
{
	char label[sizeof(totals[0].label)];
	size_t i;

	snprintf(label, sizeof(label), "%s%s%s", provider, *provider ? ":" : "", name);
	for (i = 0; i < ntotals && strcmp(totals[i].label, label) != 0; i++)
		;
	need(i < sizeof(totals) / sizeof(*totals), "room for totals");
	if (i == ntotals)
		memcpy(totals[ntotals++].label, label, sizeof(label));
	totals[i].count += count;
	totals[i].time += time;
	totals[i].self += self;
}

static int compare(const void *a, const void *b)
{
	return strcmp(((const struct total *)a)->label, ((const struct total *)b)->label);
}

static void print_totals(u64 all)
{
	qsort(totals, ntotals, sizeof(*totals), compare);
	for (size_t i = 0; i < ntotals; i++)
		printf("%s|%" PRIu64 "|%" PRIu64 "|%" PRIu64 "\n", totals[i].label, totals[i].count,
		       totals[i].time, totals[i].self);
	printf("%" PRIu64 "\n", all);
}

/* --- make ----------------------------------------------------------------------------------------------- */

enum { ROOT, OUTER, INNER, JOB, TICK, PATHS };
enum { MAIN, WORKER, AGAIN, THREADS };

static const struct model_def defs[PATHS] = {
	[OUTER] = {.id = 1, .kind = MODEL_THREAD_SPAN, .provider = "app", .name = "outer"},
	[INNER] = {.id = 2,
		   .kind = MODEL_THREAD_SPAN,
		   .provider = "lib",
		   .name = "inner ünd; \"so\""},
	[JOB] = {.id = 3, .kind = MODEL_ASYNC_SPAN, .provider = "app", .name = "job"},
	[TICK] = {.id = 4, .kind = MODEL_EVENT, .provider = "app", .name = "tick"},
};
static struct model_path paths[PATHS];
/* AGAIN has WORKER's tid: the kernel used it once more. */
static struct model_thread threads[THREADS] = {
	{.serial = 1, .pid = 100, .tid = 100, .comm = "main"},
	{.serial = 2, .pid = 100, .tid = 101, .comm = "worker"},
	{.serial = 3, .pid = 200, .tid = 101, .comm = "again"},
};

static void give(struct exporter *e, int thread, int path, u32 flags, u64 id, u64 start, u64 end,
		 u64 self)
{
	struct model_span span = {
		.thread = &threads[thread],
		.path = &paths[path],
		.id = id,
		.start_ns = start,
		.end_ns = end,
		.busy_ns = end - start,
		.self_ns = self,
		.flags = flags,
	};

	if (path == INNER) {
		span.nlabels = 2;
		span.labels[0] = (struct model_label){.key = "number", .number = (s64)(start % 7)};
		span.labels[1] = (struct model_label){.key = "text", .text = "GET /"};
	}
	need(!e->ops->span(e, &span), "a span");
	add_total(paths[path].def->provider, paths[path].def->name, 1, end - start,
		  flags & MODEL_ASYNC ? end - start : self);
}

static void give_event(struct exporter *e, int thread, u64 time, bool has_value, s64 value)
{
	const struct model_event event = {
		.thread = &threads[thread],
		.path = &paths[TICK],
		.time_ns = time,
		.value = value,
		.has_value = has_value,
	};

	need(!e->ops->event(e, &event), "an event");
}

/* One round takes 1000 ns: a nest of three on each thread, an async span that lives into the next round and so needs two
 * lanes, its segments out of order. */
static void give_round(struct exporter *e, u64 t)
{
	for (int thread = 0; thread < THREADS; thread++) {
		give(e, thread, INNER, 0, 0, t + 110, t + 150, 40);
		give_event(e, thread, t + 155, thread == MAIN, (s64)t);
		give(e, thread, JOB, MODEL_SEGMENT, t, t + 160, t + 260, 100);
		give(e, thread, INNER, MODEL_ABANDONED, 0, t + 300, t + 490, 190);
		give(e, thread, OUTER, 0, 0, t + 100, t + 500, 70);
	}
	give(e, MAIN, JOB, MODEL_ASYNC, t, t + 20, t + 1320, 300);
}

static const u64 first = 5000000000ull, per_round = 1000;

static int make(const char *path, u64 rounds)
{
	struct exporter e = {.ops = exporter_by_path(path), .options = EXPORT_OPTIONS_DEFAULT};
	struct profile run = {
		.version = "test",
		.target = "it's \"quoted\" \\ and ünïcode\n",
		.start_ns = first,
		.end_ns = first + (rounds + 1) * per_round,
		.start_realtime_ns = 1700000000123456789ull,
		.metrics = METRIC_WALL | METRIC_CPU,
	};
	u64 span_time = 0;

	for (int i = OUTER; i < PATHS; i++)
		paths[i] = (struct model_path){
			.id = 2 + (u32)i, .depth = 1, .parent = &paths[ROOT], .def = &defs[i]};
	paths[INNER].parent = &paths[OUTER];
	paths[INNER].depth = 2;
	e.out = fopen(path, "we");
	need(e.out && e.ops, "opening the file");
	need(!e.ops->begin(&e, &run), "begin");
	for (u64 i = 0; i < rounds; i++)
		give_round(&e, first + i * per_round);
	need(!e.ops->finish(&e, &run) && !fclose(e.out), "finish");
	e.ops->free(&e);
	/* Each thread from 100 of the first round to 500 of the last. Two lanes take turns. */
	span_time += THREADS * ((rounds - 1) * per_round + 400);
	for (u64 lane = 0; lane < 2 && lane < rounds; lane++)
		span_time += (rounds - 1 - lane) / 2 * 2 * per_round + 1300;
	print_totals(span_time);
	return 0;
}

/* --- dump, totals --------------------------------------------------------------------------------------- */

static u64 start;
static bool dumping;

static void print_head(const struct model_path *path, const struct model_label *labels, u32 n,
		       const struct model_thread *thread)
{
	printf("%s|%s|", path->def->provider, path->def->name);
	for (u32 i = 0; i < n; i++)
		printf("%s%s", i ? "," : "", labels[i].text);
	printf("|%u|", thread->tid);
}

static int dump_span(void *context, const struct model_span *span)
{
	(void)context;
	if (!dumping) {
		add_total("", span->path->def->name, 1, span->end_ns - span->start_ns,
			  span->self_ns);
		return 0;
	}
	print_head(span->path, span->labels, span->nlabels, span->thread);
	printf("%" PRIu64 "-%" PRIu64 "\n", span->start_ns - start, span->end_ns - start);
	return 0;
}

static int dump_event(void *context, const struct model_event *event)
{
	(void)context;
	if (!dumping)
		return 0;
	print_head(event->path, event->labels, event->nlabels, event->thread);
	if (event->has_value)
		printf("value %" PRId64 "\n", event->value);
	else
		printf("%" PRIu64 "\n", event->time_ns - start);
	return 0;
}

static int read_back(const char *path)
{
	const struct trace_sink sink = {.span = dump_span, .event = dump_event};
	struct replay *replay = NULL;
	struct profile profile = {0};
	u64 all = 0;

	need(!replay_open(path, &replay), "open");
	start = replay_info(replay)->start_ns;
	need(!trace_add_sink(replay_trace(replay), &sink), "sink");
	need(!replay_run(replay, NULL) && !replay_profile(replay, &profile), "replay");
	for (size_t i = 0; i < profile.nthreads; i++)
		all += profile.threads[i].end_ns - profile.threads[i].thread->start_ns;
	if (!dumping)
		print_totals(all);
	replay_free(&replay);
	return 0;
}

int main(int argc, char **argv)
{
	if (argc == 4 && !strcmp(argv[1], "make"))
		return make(argv[2], strtoull(argv[3], NULL, 10));
	dumping = argc == 3 && !strcmp(argv[1], "dump");
	if (dumping || (argc == 3 && !strcmp(argv[1], "totals")))
		return read_back(argv[2]);
	fprintf(stderr, "usage: mmprofdata make FILE N | dump FILE | totals FILE\n");
	return 2;
}
