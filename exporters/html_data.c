/* SPDX-License-Identifier: MIT */
/* See html_data.h. */
#include "html_data.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "../user/util/cleanup.h"
#include "figures.h"
#include "jsonw.h"
#include "stacks.h"
#include "strtab.h"
#include "summary_tree.h"

/* Nodes whose quantiles are told in full: more would make the page heavy, and nobody looks at that many. */
#define FULL_QUANTILES 1000

/* --- text that HTML leaves alone ------------------------------------------------------------------ */

/* In JSON a '<' stands in strings only, where this means the same. */
static ssize_t write_escaped(void *cookie, const char *bytes, size_t size)
{
	FILE *out = cookie;
	size_t from = 0;

	for (size_t i = 0; i < size; i++) {
		if (bytes[i] != '<')
			continue;
		fwrite(bytes + from, 1, i - from, out);
		fputs("\\u003c", out);
		from = i + 1;
	}
	fwrite(bytes + from, 1, size - from, out);
	/* The caller looks for errors of OUT. */
	return (ssize_t)size;
}

static FILE *open_escaped(FILE *out)
{
	return fopencookie(out, "w", (cookie_io_functions_t){.write = write_escaped});
}

/* --- the tree of spans ---------------------------------------------------------------------------- */

/* An array for each, an element for each node. */
static const struct column {
	const char *name;
	size_t at; /* in struct model_row */
	u32 metrics;
} columns[] = {
	{"count", offsetof(struct model_row, count), 0},
	{"abandoned", offsetof(struct model_row, abandoned), 0},
	{"open", offsetof(struct model_row, open), 0},
	{"wall", offsetof(struct model_row, wall_ns), METRIC_WALL},
	{"busy", offsetof(struct model_row, busy_ns), METRIC_WALL},
	{"self", offsetof(struct model_row, self_ns), METRIC_WALL},
	{"cpu", offsetof(struct model_row, total.cpu_ns), METRIC_CPU},
	{"system", offsetof(struct model_row, total.cpu_system_ns), METRIC_CPU_SPLIT},
	{"self_cpu", offsetof(struct model_row, self_cpu_ns), METRIC_CPU},
	{"run_delay", offsetof(struct model_row, total.run_delay_ns), METRIC_CPU},
	{"switches", offsetof(struct model_row, total.vol_switches), METRIC_CPU},
	{"preempted", offsetof(struct model_row, total.invol_switches), METRIC_CPU},
	{"alloc", offsetof(struct model_row, alloc_bytes), METRIC_ALLOC},
	{"inuse", offsetof(struct model_row, inuse_bytes), METRIC_HEAP},
	{"min", offsetof(struct model_row, min_ns), METRIC_WALL},
	{"mean", offsetof(struct model_row, mean_ns), METRIC_WALL},
	{"max", offsetof(struct model_row, max_ns), METRIC_WALL},
};

static u64 cell(const struct summary_node *node, const struct column *column)
{
	return *(const u64 *)((const char *)&node->sum + column->at);
}

static void put_nodes(struct jsonw *w, const struct summary_tree *tree, u32 metrics)
{
	jsonw_array(w, "name", JSONW_INLINE);
	for (u32 i = 1; i < tree->nnodes; i++)
		jsonw_string(w, NULL, tree->nodes[i].name);
	jsonw_end(w);
	jsonw_array(w, "parent", JSONW_INLINE);
	for (u32 i = 1; i < tree->nnodes; i++)
		jsonw_s64(w, NULL, (s64)tree->nodes[i].parent - 1);
	jsonw_end(w);
	/* 0: a process; 1: here for those below it; 2: spans; 3: spans of a label */
	jsonw_array(w, "kind", JSONW_INLINE);
	for (u32 i = 1; i < tree->nnodes; i++) {
		const struct summary_node *node = &tree->nodes[i];

		jsonw_u64(w, NULL,
			  node->depth == 1  ? 0
			  : node->is_label  ? 3
			  : node->has_spans ? 2
					    : 1);
	}
	jsonw_end(w);
	for (size_t c = 0; c < sizeof(columns) / sizeof(*columns); c++) {
		if ((metrics & columns[c].metrics) != columns[c].metrics)
			continue;
		jsonw_array(w, columns[c].name, JSONW_INLINE);
		for (u32 i = 1; i < tree->nnodes; i++)
			jsonw_u64(w, NULL, cell(&tree->nodes[i], &columns[c]));
		jsonw_end(w);
	}
}

/* Every percent from 0 to 100, then 99.9 % and 99.99 %; or a few. */
static void put_quantiles(struct jsonw *w, const struct summary_tree *tree)
{
	static const double few[] = {0.5, 0.9, 0.99, 0.999};
	u32 full = 0;

	jsonw_array(w, "quantiles", JSONW_LINES);
	for (u32 i = 1; i < tree->nnodes; i++) {
		const struct model_row *row = &tree->nodes[i].sum;

		jsonw_array(w, NULL, JSONW_INLINE);
		if (row->count && row->durations && full++ < FULL_QUANTILES) {
			for (int p = 0; p <= 100; p++)
				jsonw_u64(w, NULL, model_quantile(row, p / 100.0));
			jsonw_u64(w, NULL, model_quantile(row, 0.999));
			jsonw_u64(w, NULL, model_quantile(row, 0.9999));
		} else if (row->count && row->durations) {
			for (size_t q = 0; q < sizeof(few) / sizeof(*few); q++)
				jsonw_u64(w, NULL, model_quantile(row, few[q]));
		}
		jsonw_end(w);
	}
	jsonw_end(w);
}

static int put_tree(struct jsonw *w, const struct profile *profile)
{
	CLEANUP(summary_tree_free) struct summary_tree *tree = NULL;
	int err = summary_tree_new(profile, &tree);

	if (err)
		return err;
	jsonw_object(w, "spans", JSONW_LINES);
	put_nodes(w, tree, profile->metrics);
	if (profile->metrics & METRIC_WALL)
		put_quantiles(w, tree);
	jsonw_end(w);
	return 0;
}

/* --- stacks --------------------------------------------------------------------------------------- */

static int put_stack(struct jsonw *w, const struct profile *profile,
		     const struct export_options *options, struct strtab *names)
{
	CLEANUP(stacks_free) struct stacks *s = NULL;
	int err = stacks_new(profile, options, STACKS_PLAIN, &s);

	if (err)
		return err;
	jsonw_object(w, NULL, JSONW_LINES);
	jsonw_string(w, "value", export_value_name(options->value));
	jsonw_string(w, "unit", export_value_unit(options->value));
	jsonw_array(w, "name", JSONW_INLINE);
	for (u32 i = 1; i < s->nframes && !err; i++) {
		u32 id = 0;

		err = strtab_add(names, s->frames[i].label, strlen(s->frames[i].label), &id);
		jsonw_u64(w, NULL, id);
	}
	jsonw_end(w);
	jsonw_array(w, "depth", JSONW_INLINE);
	for (u32 i = 1; i < s->nframes; i++)
		jsonw_u64(w, NULL, s->frames[i].depth);
	jsonw_end(w);
	jsonw_array(w, "self", JSONW_INLINE);
	for (u32 i = 1; i < s->nframes; i++)
		jsonw_u64(w, NULL, s->frames[i].self);
	jsonw_end(w);
	jsonw_end(w);
	return err;
}

/* One for each value that there is; frames that weigh nothing under one do not stand there. */
static int put_stacks(struct jsonw *w, const struct profile *profile,
		      const struct export_options *options)
{
	CLEANUP(strtab_free) struct strtab *names = NULL;
	struct export_options o = *options;
	int err = strtab_new(&names);

	o.empty_samples = false;
	if (err)
		return err;
	jsonw_array(w, "stacks", JSONW_LINES);
	for (o.value = EXPORT_BUSY; o.value <= EXPORT_INUSE_SPACE && !err; o.value++) {
		if (export_value_measured(profile->metrics, o.value))
			err = put_stack(w, profile, &o, names);
	}
	jsonw_end(w);
	jsonw_array(w, "frames", JSONW_LINES);
	for (u32 i = 0; i < strtab_count(names); i++)
		jsonw_string(w, NULL, strtab_get(names, i));
	jsonw_end(w);
	return err;
}

/* --- the rest ------------------------------------------------------------------------------------- */

static void put_run(struct jsonw *w, const struct profile *profile)
{
	char buf[FIGURES_SIZE];

	jsonw_string(w, "version", profile->version ? profile->version : "");
	jsonw_string(w, "kernel", profile->kernel ? profile->kernel : "");
	jsonw_string(w, "target", profile->target ? profile->target : "unknown target");
	jsonw_u64(w, "start_ms", profile->start_realtime_ns / 1000000);
	jsonw_u64(w, "duration",
		  profile->end_ns > profile->start_ns ? profile->end_ns - profile->start_ns : 0);
	jsonw_bool(w, "cpu", profile->metrics & METRIC_CPU);
	if (profile->sample_ppb)
		jsonw_string(w, "sample", figures_sample(buf, profile->sample_ppb));
}

static void put_thread(struct jsonw *w, const struct model_thread *thread)
{
	char comm[MODEL_COMM_LEN + 1] = {0};

	memcpy(comm, thread->comm, MODEL_COMM_LEN);
	jsonw_string(w, "comm", comm);
	jsonw_u64(w, "pid", thread->pid);
	jsonw_u64(w, "tid", thread->tid);
}

static void put_threads(struct jsonw *w, const struct profile *profile)
{
	jsonw_array(w, "threads", JSONW_LINES);
	for (size_t i = 0; i < profile->nthreads; i++) {
		jsonw_object(w, NULL, JSONW_INLINE);
		put_thread(w, profile->threads[i].thread);
		jsonw_u64(w, "inside", profile->threads[i].inside_ns);
		jsonw_end(w);
	}
	jsonw_end(w);
}

static void put_events(struct jsonw *w, const struct profile *profile)
{
	jsonw_array(w, "events", JSONW_LINES);
	for (size_t i = 0; i < profile->nevents; i++) {
		const struct model_event_row *row = &profile->events[i];

		jsonw_object(w, NULL, JSONW_INLINE);
		jsonw_string_pair(w, "name", row->def->provider,
				  row->name ? row->name : row->def->name);
		put_thread(w, row->thread);
		jsonw_u64(w, "count", row->count);
		if (row->has_sum)
			jsonw_s64(w, "sum", row->sum);
		jsonw_end(w);
	}
	jsonw_end(w);
}

static void put_losses(struct jsonw *w, const struct profile *profile)
{
	jsonw_array(w, "losses", JSONW_LINES);
	for (size_t i = 0; i < profile->nlosses; i++) {
		const struct model_loss *loss = &profile->losses[i];

		jsonw_object(w, NULL, JSONW_INLINE);
		jsonw_string(w, "name", loss->name);
		jsonw_string(w, "text", loss->text ? loss->text : "");
		jsonw_u64(w, "count", loss->count);
		jsonw_end(w);
	}
	jsonw_end(w);
	jsonw_array(w, "refused", JSONW_LINES);
	for (size_t i = 0; i < profile->nrefused; i++) {
		jsonw_object(w, NULL, JSONW_INLINE);
		jsonw_string(w, "marker", profile->refused[i].marker);
		jsonw_string(w, "why", profile->refused[i].why);
		jsonw_end(w);
	}
	jsonw_end(w);
}

static void put_timeline(struct jsonw *w, const struct timeline *t)
{
	jsonw_object(w, "timeline", JSONW_LINES);
	jsonw_u64(w, "length", t->end_ns - t->start_ns);
	jsonw_u64(w, "spans", t->nspans);
	jsonw_u64(w, "events", t->nevents);
	jsonw_u64(w, "items", t->nitems);
	jsonw_u64(w, "grain", t->grain_ns);
	jsonw_u64(w, "omitted", t->nomitted);
	jsonw_array(w, "labels", JSONW_LINES);
	for (u32 i = 0; i < timeline_nlabels(t); i++)
		jsonw_string(w, NULL, timeline_label(t, i));
	jsonw_end(w);
	jsonw_array(w, "tracks", JSONW_LINES);
	for (u32 i = 0; i < t->ntracks; i++) {
		const struct timeline_track *track = &t->tracks[i];

		jsonw_object(w, NULL, JSONW_INLINE);
		put_thread(w, track->thread);
		jsonw_bool(w, "async", track->async);
		jsonw_u64(w, "spans", track->nspans);
		jsonw_u64(w, "segments", track->nsegments);
		jsonw_u64(w, "events", track->nevents);
		jsonw_array(w, "lanes", JSONW_INLINE);
		for (u32 l = 0; l < track->nlanes; l++)
			jsonw_u64(w, NULL, t->lanes[track->first + l].nitems);
		jsonw_end(w);
		jsonw_end(w);
	}
	jsonw_end(w);
	jsonw_end(w);
}

int html_write_totals(const struct profile *profile, const struct timeline *timeline,
		      const struct export_options *options, FILE *out)
{
	AUTO_FCLOSE FILE *escaped = open_escaped(out);
	struct jsonw w = {.out = escaped};
	int err;

	if (!escaped)
		return -ENOMEM;
	jsonw_object(&w, NULL, JSONW_LINES);
	put_run(&w, profile);
	err = put_tree(&w, profile);
	if (!err)
		err = put_stacks(&w, profile, options);
	put_threads(&w, profile);
	put_events(&w, profile);
	put_losses(&w, profile);
	put_timeline(&w, timeline);
	jsonw_end(&w);
	return err;
}
