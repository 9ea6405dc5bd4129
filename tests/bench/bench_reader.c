/* SPDX-License-Identifier: MIT */
/* How many span records a second one core takes from memory to rows: decoded, their thread and path found, added up.
 *
 *   bench_reader THREADS PATHS [RECORDS]      prints records a second of CPU time, of the best batch
 *
 * The records are those of a ring that is full, in the order in which call trees end, half of them short and half with
 * system time; there are more of them than the processor's caches hold, and they are read again and again.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../../user/trace/trace.h"
#include "../../user/util/cleanup.h"

#define BATCH    (1u << 20)
#define RECORDS  (20ull * BATCH)
#define DEFS     100
#define FANOUT   10 /* paths under each path */
#define BEGIN_NS 1000000000ull

static u64 random_state = 1;

/* xorshift64: the same in each run. */
static u64 random_next(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state;
}

static u64 cpu_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (u64)now.tv_sec * 1000000000ULL + (u64)now.tv_nsec;
}

static int add_defs(struct trace *trace)
{
	u32 i;

	for (i = 0; i < DEFS; i++) {
		char name[16];
		struct model_def def = {
			.kind = MODEL_THREAD_SPAN, .provider = "bench", .name = name};
		u32 id;
		int err;

		snprintf(name, sizeof(name), "span%u", i);
		err = trace_add_def(trace, &def, &id);
		if (err)
			return err;
	}
	return 0;
}

/* Ten paths outside all spans, ten under each of those, and so on. */
static void make_paths(struct wire_path *paths, u32 n)
{
	u32 i;

	for (i = 0; i < n; i++)
		paths[PATHS_RESERVED + i] = (struct wire_path){
			.parent = i < FANOUT ? PATH_ROOT : PATHS_RESERVED + i / FANOUT - 1,
			.def = i % DEFS,
		};
}

/* Fills BATCH records, each a leaf or one of those above the leaf before it: what ends, ends from the inside. */
static size_t make_records(u8 *out, u32 threads, u32 paths)
{
	u64 now = BEGIN_NS;
	u32 thread = 1, path = 0, i;
	u8 *at = out;

	for (i = 0; i < BATCH; i++) {
		u64 busy = 200 + random_next() % 100000;
		struct wire_span span = {
			.head = {.size = i % 2 ? WIRE_SPAN_SPLIT : WIRE_SPAN_SHORT,
				 .kind = WIRE_SPAN},
			.start_ns = now,
			.busy_ns = busy,
			.self_ns = busy / 2,
		};

		if (path >= FANOUT && i % 4) {
			path = path / FANOUT - 1;
		} else {
			path = (u32)(random_next() % paths);
			thread = 1 + (u32)(random_next() % threads);
		}
		span.head.thread = thread;
		span.path = PATHS_RESERVED + path;
		span.usage.system_ns = i % 2 ? busy / 4 : 0;
		now += busy;
		memcpy(at, &span, span.head.size);
		at += span.head.size;
	}
	return (size_t)(at - out);
}

static void feed(struct trace *trace, const u8 *records, size_t size)
{
	const u8 *end = records + size;

	while (records < end) {
		const struct wire_head *head = (const void *)records;

		trace_record(trace, records, head->size);
		records += head->size;
	}
}

static int bench(u32 threads, u32 paths, u64 records)
{
	AUTO_FREE struct wire_path *table = calloc(paths + PATHS_RESERVED, sizeof(*table));
	AUTO_FREE u8 *bytes = malloc((size_t)BATCH * WIRE_SPAN_SPLIT);
	CLEANUP(trace_free) struct trace *trace = NULL;
	struct trace_counts counts;
	u64 best = UINT64_MAX, done;
	size_t size;
	int err;

	if (!table || !bytes)
		return -1;
	make_paths(table, paths);
	err = trace_new(table, paths + PATHS_RESERVED, METRIC_WALL | METRIC_CPU, &trace);
	if (!err)
		err = add_defs(trace);
	if (err)
		return err;
	trace_begin(trace, BEGIN_NS, BEGIN_NS);
	size = make_records(bytes, threads, paths);
	for (done = 0; done < records; done += BATCH) {
		u64 begin = cpu_ns(), took;

		feed(trace, bytes, size);
		took = cpu_ns() - begin;
		best = took < best ? took : best;
	}
	trace_counts(trace, &counts);
	if (counts.spans != done || trace_damaged(trace)) {
		fprintf(stderr, "bench_reader: %llu of %llu records became spans\n",
			(unsigned long long)counts.spans, (unsigned long long)done);
		return -1;
	}
	printf("%.0f\n", BATCH * 1e9 / (double)best);
	return 0;
}

int main(int argc, char **argv)
{
	u32 threads = argc > 2 ? (u32)strtoul(argv[1], NULL, 10) : 0;
	u32 paths = argc > 2 ? (u32)strtoul(argv[2], NULL, 10) : 0;
	u64 records = argc > 3 ? strtoull(argv[3], NULL, 10) : RECORDS;

	if (!threads || !paths || paths > PATHS_MAX - PATHS_RESERVED || !records) {
		fprintf(stderr, "usage: bench_reader THREADS PATHS [RECORDS]\n");
		return 2;
	}
	return bench(threads, paths, records) ? 1 : 0;
}
