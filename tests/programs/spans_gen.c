/* SPDX-License-Identifier: MIT */
/* Makes a recording of so many spans through the real exporter, for tests and benches: nested, in the order of their
 * ends on each thread, with sums that are known.
 *
 *   spans_gen N THREADS PATHS DEPTH SEED OUT.spans
 *
 * Prints what it wrote as JSON: counts, sums of wall and self, by thread too. The same arguments give the same bytes.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../exporters/exporter.h"

#define START   1000000000000ull
#define TICK_NS 100000000ull
#define DEFS    64

/* A thread's stack: what is open on it. */
struct open_span {
	const struct model_path *path;
	u64 start_ns, children_ns;
};

struct lane {
	struct model_thread thread;
	struct open_span *stack;
	unsigned depth;
	u64 now_ns;
	u64 spans, wall_ns, self_ns, outer_ns;
};

struct generator {
	u64 seed;
	u64 nspans;
	unsigned nthreads, npaths, depth;
	struct model_def defs[DEFS];
	char names[DEFS][16];
	struct model_path *paths; /* the root is 0 */
	struct lane *lanes;
	struct exporter exporter;
	struct profile run;
};

static u64 next_random(struct generator *g)
{
	g->seed ^= g->seed << 13;
	g->seed ^= g->seed >> 7;
	g->seed ^= g->seed << 17;
	return g->seed;
}

/* A tree of paths of all depths up to the greatest: each under one that was made before. */
static void make_paths(struct generator *g)
{
	for (unsigned i = 0; i < DEFS; i++) {
		snprintf(g->names[i], sizeof(g->names[i]), "phase_%u", i);
		g->defs[i] = (struct model_def){.id = i, .kind = MODEL_THREAD_SPAN};
		g->defs[i].provider = i % 2 ? "app" : "db";
		g->defs[i].name = g->names[i];
	}
	for (unsigned i = 1; i <= g->npaths; i++) {
		struct model_path *path = &g->paths[i];

		path->id = i + 1; /* 1 is kept for the paths that are too many */
		path->parent = i < g->depth ? &g->paths[i - 1] : &g->paths[next_random(g) % i];
		if (path->parent->depth + 1 > g->depth)
			path->parent = &g->paths[0];
		path->depth = path->parent->depth + 1;
		path->def = &g->defs[i % DEFS];
	}
}

static int make_lanes(struct generator *g)
{
	g->lanes = calloc(g->nthreads, sizeof(*g->lanes));
	if (!g->lanes)
		return -ENOMEM;
	for (unsigned i = 0; i < g->nthreads; i++) {
		struct lane *lane = &g->lanes[i];

		lane->thread = (struct model_thread){.serial = i + 1, .pid = 4000, .tid = 4000 + i};
		snprintf(lane->thread.comm, sizeof(lane->thread.comm), "w-%u", i);
		lane->thread.start_ns = lane->now_ns = START;
		lane->stack = calloc(g->depth, sizeof(*lane->stack));
		if (!lane->stack)
			return -ENOMEM;
	}
	return 0;
}

static int end_span(struct generator *g, struct lane *lane)
{
	struct open_span *top = &lane->stack[--lane->depth];
	struct model_span span = {
		.thread = &lane->thread,
		.path = top->path,
		.start_ns = top->start_ns,
		.end_ns = lane->now_ns,
	};

	span.busy_ns = span.end_ns - span.start_ns;
	span.self_ns = span.busy_ns - top->children_ns;
	span.total.cpu_ns = span.busy_ns;
	span.self_cpu_ns = span.self_ns;
	/* One in 32 has waited. */
	if (next_random(g) % 32 == 0) {
		span.self_cpu_ns -= span.self_ns / 2;
		span.total.cpu_ns -= span.self_ns / 2;
		span.total.vol_switches = 1;
	}
	lane->spans++;
	lane->wall_ns += span.busy_ns;
	lane->self_ns += span.self_ns;
	if (lane->depth)
		lane->stack[lane->depth - 1].children_ns += span.busy_ns;
	else
		lane->outer_ns += span.busy_ns;
	return g->exporter.ops->span(&g->exporter, &span);
}

/* Opens a chain of spans down to a path, and ends them one after the other. */
static int run_chain(struct generator *g, struct lane *lane, u64 *left)
{
	const struct model_path *path = &g->paths[1 + next_random(g) % g->npaths];
	int err = 0;

	lane->depth = path->depth;
	for (; path->def; path = path->parent)
		lane->stack[path->depth - 1].path = path;
	for (unsigned i = 0; i < lane->depth; i++) {
		lane->now_ns += 20 + next_random(g) % 500;
		lane->stack[i].start_ns = lane->now_ns;
		lane->stack[i].children_ns = 0;
	}
	while (lane->depth && !err) {
		lane->now_ns += 100 + (next_random(g) % 1000 << next_random(g) % 6);
		err = end_span(g, lane);
		if (*left)
			--*left;
	}
	return err;
}

static int generate(struct generator *g)
{
	const struct exporter_ops *ops = g->exporter.ops;
	u64 left = g->nspans, ticked = START;
	int err = ops->begin(&g->exporter, &g->run);

	while (left && !err) {
		struct lane *lane = &g->lanes[next_random(g) % g->nthreads];

		/* Threads keep together, as on CPUs of one clock. */
		for (unsigned i = 0; i < g->nthreads; i++)
			if (g->lanes[i].now_ns + TICK_NS / 100 < lane->now_ns)
				lane = &g->lanes[i];
		for (int i = 0; i < 4 && left && !err; i++)
			err = run_chain(g, lane, &left);
		if (lane->now_ns > g->run.end_ns)
			g->run.end_ns = lane->now_ns;
		if (!err && g->run.end_ns - ticked > TICK_NS) {
			ticked = g->run.end_ns;
			err = ops->tick(&g->exporter, &g->run);
		}
	}
	return err;
}

static int finish(struct generator *g)
{
	struct model_thread_row *rows = calloc(g->nthreads, sizeof(*rows));
	int err;

	if (!rows)
		return -ENOMEM;
	for (unsigned i = 0; i < g->nthreads; i++)
		rows[i] = (struct model_thread_row){.thread = &g->lanes[i].thread,
						    .inside_ns = g->lanes[i].outer_ns,
						    .end_ns = g->run.end_ns};
	g->run.threads = rows;
	g->run.nthreads = g->nthreads;
	err = g->exporter.ops->finish(&g->exporter, &g->run);
	g->exporter.ops->free(&g->exporter);
	free(rows);
	return err;
}

static void print_totals(const struct generator *g)
{
	u64 spans = 0, wall = 0, self = 0;

	printf("{\"threads\":[");
	for (unsigned i = 0; i < g->nthreads; i++) {
		const struct lane *lane = &g->lanes[i];

		printf("%s{\"tid\":%u,\"spans\":%" PRIu64 ",\"wall_ns\":%" PRIu64
		       ",\"self_ns\":%" PRIu64 "}",
		       i ? "," : "", lane->thread.tid, lane->spans, lane->wall_ns, lane->self_ns);
		spans += lane->spans;
		wall += lane->wall_ns;
		self += lane->self_ns;
	}
	printf("],\"spans\":%" PRIu64 ",\"wall_ns\":%" PRIu64 ",\"self_ns\":%" PRIu64
	       ",\"duration_ns\":%" PRIu64 "}\n",
	       spans, wall, self, g->run.end_ns - g->run.start_ns);
}

int main(int argc, char **argv)
{
	static struct generator g;
	int err;

	if (argc != 7) {
		fprintf(stderr, "usage: %s N THREADS PATHS DEPTH SEED OUT.spans\n", argv[0]);
		return 2;
	}
	g.nspans = strtoull(argv[1], NULL, 10);
	g.nthreads = (unsigned)strtoul(argv[2], NULL, 10);
	g.npaths = (unsigned)strtoul(argv[3], NULL, 10);
	g.depth = (unsigned)strtoul(argv[4], NULL, 10);
	g.seed = strtoull(argv[5], NULL, 10) * 2 + 1;
	if (!g.nthreads || !g.npaths || !g.depth) {
		fprintf(stderr, "%s: THREADS, PATHS and DEPTH begin at 1\n", argv[0]);
		return 2;
	}
	g.run = (struct profile){.version = "0", .kernel = "0", .clock = "CLOCK_MONOTONIC"};
	g.run.target = "spans_gen";
	g.run.start_ns = g.run.end_ns = START;
	g.run.start_realtime_ns = 1700000000000000000ull;
	g.run.metrics = METRIC_WALL | METRIC_CPU;
	g.exporter = (struct exporter){.ops = exporter_by_name("recording"),
				       .options = EXPORT_OPTIONS_DEFAULT,
				       .out = fopen(argv[6], "we")};
	g.paths = calloc(g.npaths + 1, sizeof(*g.paths));
	err = !g.exporter.out ? -errno : !g.paths ? -ENOMEM : make_lanes(&g);
	if (!err) {
		make_paths(&g);
		err = generate(&g);
	}
	if (!err)
		err = finish(&g);
	if (!err && fclose(g.exporter.out))
		err = -errno;
	if (err) {
		fprintf(stderr, "%s: %s: %s\n", argv[0], argv[6], strerror(-err));
		return 1;
	}
	print_totals(&g);
	return 0;
}
