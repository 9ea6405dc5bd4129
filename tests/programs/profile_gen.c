/* SPDX-License-Identifier: MIT */
/* Makes a profile of so many frames in a shape, and writes it in a format to stdout: to look at
 * outputs, to test them in their readers, to time them.
 *
 *   profile_gen FORMAT[,KEY=VALUE…] SHAPE FRAMES
 *
 * SHAPE: tree (threads, providers and depths mixed), deep (one stack), wide (one parent, equal
 * children), odd (names that formats must survive), async (jobs, ten of them at a time), empty. The same arguments give
 * the same bytes. Formats of single spans get one a frame: as long as it and all below it weigh, from where it starts in a
 * flame graph.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../exporters/exporter.h"
#include "../../user/util/histogram.h"

#define NNAMES     40
#define NPROVIDERS 5
#define NTHREADS   2
#define MAX_DEPTH  24
#define LONG_NAME  10000

static const char *const providers[NPROVIDERS] = {"app", "db", "http", "cache", "render"};

static const char *const odd_names[] = {
	"<script>alert(1)</script>",
	"a;b;c",
	"quotes \" ' and & in it",
	"two\nlines\tand a tab",
	"ends in a number 42",
	"bad \xff\xfe utf-8 \xe2\x82",
	"esc \x1b[31m red",
	"日本語の名前",
	"\xe2\x80\xaeright to left",
	"]]>",
	"back\\slash",
	"",
	" ",
	"naïve µs 🔥",
};

#define NODD (sizeof(odd_names) / sizeof(*odd_names))

struct generator {
	u64 seed;
	size_t nframes;
	struct model_def *defs;
	struct model_path *paths; /* the root is 0 */
	struct model_row *rows;
	struct model_thread threads[NTHREADS];
	struct model_thread_row thread_rows[NTHREADS];
	struct histogram *durations;
	char names[NNAMES][16];
	char long_name[LONG_NAME + 1];
	struct profile profile;
};

static u64 next_random(struct generator *g)
{
	g->seed = g->seed * 6364136223846793005u + 1442695040888963407u;
	return g->seed >> 33;
}

static void add_frame(struct generator *g, size_t i, size_t parent, size_t thread, u64 self)
{
	struct model_path *path = &g->paths[i + 1];
	struct model_row *row = &g->rows[i];

	path->id = (u32)i + 1;
	path->parent = &g->paths[parent];
	path->depth = path->parent->depth + 1;
	row->thread = &g->threads[thread];
	row->path = path;
	row->count = 1 + next_random(g) % 1000;
	row->self_ns = row->work.busy_ns = row->busy_ns = row->wall_ns = self;
	row->self_cpu_ns = row->work.cpu_ns = row->total.cpu_ns = self / 2;
	row->durations = g->durations;
	row->min_ns = 1;
	row->max_ns = self;
	row->mean_ns = self / row->count;
	g->thread_rows[thread].inside_ns += self;
}

/* A walk through the tree depth first, down by one or up by any. */
static void make_tree(struct generator *g)
{
	size_t open[MAX_DEPTH + 1] = {0};
	size_t depth = 0;

	for (size_t i = 0; i < g->nframes; i++) {
		size_t thread = i * NTHREADS / g->nframes;
		u64 self = 1000 << next_random(g) % 14;

		if (i && thread != (i - 1) * NTHREADS / g->nframes)
			depth = 0;
		depth = next_random(g) % 3 && depth < MAX_DEPTH ? depth + 1
								: 1 + next_random(g) % (depth + 1);
		if (depth > MAX_DEPTH)
			depth = MAX_DEPTH;
		g->paths[i + 1].def = &g->defs[next_random(g) % (NNAMES * NPROVIDERS)];
		add_frame(g, i, open[depth - 1], thread, self + next_random(g) % 1000);
		open[depth] = i + 1;
	}
}

static void make_deep(struct generator *g)
{
	for (size_t i = 0; i < g->nframes; i++) {
		g->paths[i + 1].def = &g->defs[i % NNAMES];
		add_frame(g, i, i, 0, 1000);
	}
}

static void make_wide(struct generator *g)
{
	for (size_t i = 0; i < g->nframes; i++) {
		char *name = calloc(1, 32);

		if (!name)
			exit(1);
		snprintf(name, 32, "child %zu", i);
		g->paths[i + 1].def = &g->defs[i % NNAMES];
		g->paths[i + 1].name = name;
		add_frame(g, i, i ? 1 : 0, 0, 100000);
	}
}

static void make_odd(struct generator *g)
{
	memset(g->long_name, 'x', LONG_NAME);
	for (size_t i = 0; i < g->nframes; i++) {
		g->paths[i + 1].def = &g->defs[i % NNAMES];
		g->paths[i + 1].name =
			i % (NODD + 1) < NODD ? odd_names[i % (NODD + 1)] : g->long_name;
		add_frame(g, i, i > NODD ? i - NODD : 0, i % NTHREADS, 1000000 * (1 + i));
	}
}

/* Each lasts for as long as ten of them take to begin. */
static void make_async(struct generator *g)
{
	g->defs[0].kind = MODEL_ASYNC_SPAN;
	for (size_t i = 0; i < g->nframes; i++) {
		g->paths[i + 1].def = &g->defs[0];
		add_frame(g, i, 0, 0, 10000);
	}
}

/* The innermost first, as they end. */
static int give_spans(struct generator *g, struct exporter *e)
{
	u64 *totals = calloc(g->nframes + 1, sizeof(*totals)),
	    *filled = calloc(g->nframes + 1, sizeof(*filled));
	u64 *starts = calloc(g->nframes + 1, sizeof(*starts)), at[NTHREADS] = {0};
	int err = totals && filled && starts ? 0 : -ENOMEM;

	for (size_t i = g->nframes; i-- > 0 && !err;) {
		totals[i + 1] += g->rows[i].busy_ns;
		totals[g->paths[i + 1].parent - g->paths] += totals[i + 1];
	}
	for (size_t i = 0; i < g->nframes && !err; i++) {
		size_t parent = (size_t)(g->paths[i + 1].parent - g->paths);
		u64 *from = parent ? &filled[parent] : &at[g->rows[i].thread->serial];

		starts[i + 1] = filled[i + 1] = *from;
		*from += g->paths[i + 1].def->kind == MODEL_ASYNC_SPAN ? totals[i + 1] / 10
								       : totals[i + 1];
	}
	for (size_t i = g->nframes; i-- > 0 && !err;) {
		const struct model_row *row = &g->rows[i];
		struct model_span span = {.thread = row->thread, .path = row->path};

		span.start_ns = g->profile.start_ns + starts[i + 1];
		span.end_ns = span.start_ns + totals[i + 1];
		span.busy_ns = totals[i + 1];
		span.self_ns = row->busy_ns;
		span.total.cpu_ns = totals[i + 1] / 2;
		span.flags = row->path->def->kind == MODEL_ASYNC_SPAN ? MODEL_ASYNC : 0;
		err = e->ops->span(e, &span);
	}
	free(totals);
	free(filled);
	free(starts);
	return err;
}

static void make_parts(struct generator *g)
{
	static const char *const comms[NTHREADS] = {"server", "worker <1>"};
	u64 second = 1000000000;

	for (int i = 0; i < NNAMES; i++)
		snprintf(g->names[i], sizeof(g->names[i]), "phase_%d", i);
	for (int i = 0; i < NNAMES * NPROVIDERS; i++) {
		g->defs[i].id = (u32)i;
		g->defs[i].kind = MODEL_THREAD_SPAN;
		g->defs[i].provider = providers[i / NNAMES];
		g->defs[i].name = g->names[i % NNAMES];
	}
	for (u32 i = 0; i < NTHREADS; i++) {
		g->threads[i] = (struct model_thread){.serial = i, .pid = 4242, .tid = 4242 + i};
		memcpy(g->threads[i].comm, comms[i], strlen(comms[i]));
		g->threads[i].start_ns = second;
		g->thread_rows[i].thread = &g->threads[i];
		g->thread_rows[i].end_ns = second + 1;
	}
	g->profile = (struct profile){
		.version = "0",
		.kernel = "0",
		.clock = "monotonic",
		.target = "profile_gen & <friends>",
		.start_ns = second,
		.end_ns = 3 * second,
		.metrics = METRIC_WALL | METRIC_CPU,
		.rows = g->rows,
		.nrows = g->nframes,
		.threads = g->thread_rows,
		.nthreads = NTHREADS,
	};
}

static int make_profile(struct generator *g, const char *shape)
{
	static const struct {
		const char *name;
		void (*make)(struct generator *g);
	} shapes[] = {
		{"tree", make_tree}, {"deep", make_deep},   {"wide", make_wide},
		{"odd", make_odd},   {"async", make_async},
	};

	if (!strcmp(shape, "empty"))
		g->nframes = 0;
	g->defs = calloc(NNAMES * NPROVIDERS, sizeof(*g->defs));
	g->paths = calloc(g->nframes + 1, sizeof(*g->paths));
	g->rows = calloc(g->nframes + 1, sizeof(*g->rows));
	if (!g->defs || !g->paths || !g->rows || histogram_new(&g->durations) ||
	    histogram_add(g->durations, 1000))
		return -ENOMEM;
	make_parts(g);
	if (!strcmp(shape, "empty"))
		return 0;
	for (size_t i = 0; i < sizeof(shapes) / sizeof(*shapes); i++) {
		if (!strcmp(shapes[i].name, shape)) {
			shapes[i].make(g);
			return 0;
		}
	}
	return -EINVAL;
}

/* "FORMAT,KEY=VALUE,KEY=VALUE" */
static int parse_format(const char *text, struct exporter *e)
{
	char name[32];
	size_t len = strcspn(text, ",");
	int err = 0;

	snprintf(name, sizeof(name), "%.*s", (int)len, text);
	e->ops = exporter_by_name(name);
	if (!e->ops)
		return -ENOENT;
	while (!err && text[len]) {
		text += len + 1;
		len = strcspn(text, ",");
		err = export_option_set(e->ops, &e->options, text, len);
	}
	return err;
}

int main(int argc, char **argv)
{
	struct exporter e = {.options = EXPORT_OPTIONS_DEFAULT, .out = stdout};
	static struct generator g = {.seed = 1};
	int err;

	if (argc != 4) {
		fprintf(stderr, "usage: %s FORMAT[,KEY=VALUE…] SHAPE FRAMES\n", argv[0]);
		return 2;
	}
	g.nframes = strtoul(argv[3], NULL, 10);
	err = parse_format(argv[1], &e);
	if (!err)
		err = make_profile(&g, argv[2]);
	if (!err && e.ops->begin)
		err = e.ops->begin(&e, &g.profile);
	if (!err && e.ops->span)
		err = give_spans(&g, &e);
	if (!err)
		err = e.ops->finish(&e, &g.profile);
	if (!err && fflush(stdout))
		err = -errno;
	if (e.ops && e.ops->free)
		e.ops->free(&e);
	if (err)
		fprintf(stderr, "%s: %s\n", argv[0], strerror(-err));
	return err ? 1 : 0;
}
