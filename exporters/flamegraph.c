/* SPDX-License-Identifier: MIT */
/* The format `flamegraph`: the stacks of a profile, drawn by flamegraph_draw.c. */
#include "formats.h"

#include <errno.h>

#include "figures.h"
#include "flamegraph_draw.h"
#include "text.h"

static const char *const default_titles[] = {
	[EXPORT_BUSY] = "Busy time by span",
	[EXPORT_WALL] = "Wall time by span",
	[EXPORT_CPU] = "CPU time by span",
	[EXPORT_CPU_USER] = "User CPU time by span",
	[EXPORT_CPU_SYSTEM] = "System CPU time by span",
	[EXPORT_RUN_DELAY] = "Time spent waiting for a CPU by span",
	[EXPORT_BLOCKED] = "Blocked time by span",
	[EXPORT_ALLOC_OBJECTS] = "Objects allocated by span",
	[EXPORT_ALLOC_SPACE] = "Bytes allocated by span",
	[EXPORT_INUSE_OBJECTS] = "Objects in use by span",
	[EXPORT_INUSE_SPACE] = "Bytes in use by span",
};

static void add_subtitle(struct text_buf *b, const struct flamegraph *g,
			 const struct profile *profile)
{
	u64 ns = profile->end_ns > profile->start_ns ? profile->end_ns - profile->start_ns : 0;
	char buf[FIGURES_SIZE];

	text_add_safe(b, profile->target ? profile->target : "unknown target");
	text_add_str(b, " · traced for ");
	text_add_str(b, figures_time(buf, ns));
	text_add_str(b, " · ");
	text_add_str(b, figures_count(buf, profile->nthreads));
	text_add_str(b, profile->nthreads == 1 ? " thread · " : " threads · ");
	if (profile->sample_ppb) {
		text_add_str(b, figures_sample(buf, profile->sample_ppb));
		text_add_str(b, " of root spans · ");
	}
	text_add_str(b, export_value_name(g->value));
	text_add_str(b, " in ");
	text_add_str(b, export_value_unit(g->value));
	text_add_str(b, ", ");
	text_add_str(b, figures_value(buf, g->value, g->stacks->frames[0].total));
	text_add_str(b, " in all");
}

static int flamegraph_finish(struct exporter *e, const struct profile *profile)
{
	CLEANUP(stacks_free) struct stacks *s = NULL;
	struct flamegraph g = {.value = e->options.value, .note = ""};
	AUTO_TEXT title = {0};
	AUTO_TEXT subtitle = {0};
	int err;

	err = stacks_new(profile, &e->options, STACKS_PLAIN, &s);
	if (err)
		return err;
	g.stacks = s;
	text_add_safe(&title, *e->options.title ? e->options.title : default_titles[g.value]);
	add_subtitle(&subtitle, &g, profile);
	if (title.failed || subtitle.failed)
		return -ENOMEM;
	g.title = title.data;
	g.subtitle = subtitle.data;
	return flamegraph_draw(&g, e->out);
}

static const char *const flamegraph_keys[] = {
	"empty_samples",
	"threads_collapsed",
	"module_path",
	"file_and_line",
	"value",
	"title",
	NULL,
};

const struct exporter_ops exporter_flamegraph = {
	.name = "flamegraph",
	.extension = ".svg",
	.keys = flamegraph_keys,
	.finish = flamegraph_finish,
};
