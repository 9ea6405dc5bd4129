/* SPDX-License-Identifier: MIT */
/* See diff_flame.h. The keys of the comparison are the frames: each weighs what its spans weighed on either side, the
 * mean over the runs, less what the frames below it weighed. */
#include "diff_flame.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../../exporters/figures.h"
#include "../../exporters/flamegraph_draw.h"
#include "../../exporters/preorder.h"
#include "../../exporters/text.h"
#include "../util/log.h"

#define VALUES "busy, cpu, run_delay, blocked, alloc_objects or alloc_space"

struct weight {
	double self[2]; /* by side */
	double total[2];
};

/* What can be drawn; self times where there are some. */
static const struct drawable {
	enum export_value value;
	enum report_value figure;
	bool inclusive; /* it holds what ran in deeper frames */
} drawables[] = {
	{EXPORT_BUSY, REPORT_SELF, false},
	{EXPORT_CPU, REPORT_SELF_CPU, false},
	{EXPORT_RUN_DELAY, REPORT_RUN_DELAY, true},
	{EXPORT_BLOCKED, REPORT_BLOCKED, true},
	{EXPORT_ALLOC_OBJECTS, REPORT_ALLOC_OBJECTS, false},
	{EXPORT_ALLOC_SPACE, REPORT_ALLOC_BYTES, false},
};

static const struct drawable *find_drawable(enum export_value value)
{
	for (size_t i = 0; i < sizeof(drawables) / sizeof(*drawables); i++)
		if (drawables[i].value == value)
			return &drawables[i];
	return NULL;
}

int diff_flame_check(const struct options_output *output)
{
	if (strcmp(output->format->name, "flamegraph") != 0) {
		log_error(
			"-o: diff cannot write %s; write -o flamegraph:%s, or --json for programs",
			output->format->name, output->path);
		return -EINVAL;
	}
	if (!find_drawable(output->options.value)) {
		log_error("-o: diff cannot draw value=%s; write value=%s",
			  export_value_name(output->options.value), VALUES);
		return -EINVAL;
	}
	return 0;
}

/* Fills WEIGHTS, [0] for the root. Of an inclusive figure a frame's own is what remains when those below it are taken
 * off; what overlaps, as async spans can, leaves nothing. */
static void weigh(const struct diff *diff, const struct drawable *drawable, struct weight *weights)
{
	const struct report_keys *keys = diff->keys;

	for (u32 id = 1; id < keys->nkeys; id++) {
		struct diff_figure figure = diff_value(diff, id, drawable->figure);
		struct weight *parent = &weights[keys->keys[id].parent];

		weights[id].self[DIFF_BASE] += figure.base;
		weights[id].self[DIFF_CHANGE] += figure.change;
		if (!drawable->inclusive || !keys->keys[id].parent)
			continue;
		parent->self[DIFF_BASE] -= figure.base;
		parent->self[DIFF_CHANGE] -= figure.change;
	}
	for (u32 id = keys->nkeys; id-- > 0;) {
		struct weight *at = &weights[id],
			      *parent = &weights[id ? keys->keys[id].parent : 0];

		for (int s = 0; s < 2; s++) {
			/* Half a nanosecond is what rounding a mean can make. */
			if (at->self[s] < 0.5)
				at->self[s] = 0;
			at->total[s] += at->self[s];
			if (id)
				parent->total[s] += at->total[s];
		}
	}
}

struct ranked {
	const char *name;
	u32 id;
};

static int compare_ranked(const void *a, const void *b)
{
	const struct ranked *x = a, *y = b;
	int order = strcmp(x->name, y->name);

	return order ? order : (x->id > y->id) - (x->id < y->id);
}

struct picture {
	const struct diff *diff;
	struct weight *weights;
	int width;
	struct stacks stacks;
	struct flamegraph_other *others;
	u32 nhidden;   /* paths that only the other side has */
	double hidden; /* what they weigh there */
};

static void picture_free(struct picture *p)
{
	free(p->weights);
	free(p->stacks.frames);
	free(p->others);
	strtab_free(&p->stacks.labels);
}

static u64 rounded(double weight)
{
	return weight < 1e18 ? (u64)(weight + 0.5) : (u64)1e18;
}

static int add_frame(struct picture *p, u32 id, const u32 *frame_of, struct text_buf *name)
{
	const struct weight *weight = &p->weights[id];
	struct stacks_frame *frame = &p->stacks.frames[p->stacks.nframes];
	int other = !p->width;
	u32 label;
	int err;

	*frame = (struct stacks_frame){.end = p->stacks.nframes + 1};
	frame->self = rounded(weight->self[p->width]);
	frame->total = rounded(weight->total[p->width]);
	p->others[p->stacks.nframes] = (struct flamegraph_other){rounded(weight->self[other]),
								 rounded(weight->total[other])};
	if (!p->stacks.nframes++)
		return 0;
	text_cut(name, 0);
	text_add_safe(name, p->diff->keys->keys[id].name);
	if (name->failed)
		return -ENOMEM;
	err = strtab_add(p->stacks.labels, name->len ? name->data : "?", name->len ? name->len : 1,
			 &label);
	if (err)
		return err;
	frame->label = strtab_get(p->stacks.labels, label);
	frame->parent = frame_of[p->diff->keys->keys[id].parent];
	frame->depth = p->stacks.frames[frame->parent].depth + 1;
	if (frame->depth > p->stacks.max_depth)
		p->stacks.max_depth = frame->depth;
	return 0;
}

/* The keys as frames, depth first, those of the other side alone left out. */
static int lay_out(struct picture *p)
{
	const struct report_keys *keys = p->diff->keys;
	AUTO_FREE struct ranked *list = calloc(keys->nkeys, sizeof(*list));
	AUTO_FREE u32 *parents = calloc(keys->nkeys, sizeof(*parents));
	AUTO_FREE u32 *ranked = calloc(keys->nkeys, sizeof(*ranked));
	AUTO_FREE u32 *order = calloc((size_t)keys->nkeys + 1, sizeof(*order));
	AUTO_FREE u32 *frame_of = calloc(keys->nkeys, sizeof(*frame_of));
	AUTO_TEXT name = {0};
	u32 n = 0;
	int err;

	p->stacks.frames = calloc((size_t)keys->nkeys + 1, sizeof(*p->stacks.frames));
	p->others = calloc((size_t)keys->nkeys + 1, sizeof(*p->others));
	if (!list || !parents || !ranked || !order || !frame_of || !p->stacks.frames || !p->others)
		return -ENOMEM;
	for (u32 id = 1; id < keys->nkeys; id++) {
		const struct weight *weight = &p->weights[id];

		parents[id] = keys->keys[id].parent;
		if (rounded(weight->total[p->width]))
			list[n++] = (struct ranked){keys->keys[id].name, id};
		else if (weight->total[!p->width] > 0) {
			p->nhidden++;
			p->hidden += weight->self[!p->width];
		}
	}
	qsort(list, n, sizeof(*list), compare_ranked);
	for (u32 i = 0; i < n; i++)
		ranked[i] = list[i].id;
	err = preorder(keys->nkeys, parents, n, ranked, order);
	for (u32 i = 0; i <= n && !err; i++) {
		frame_of[order[i]] = i;
		err = add_frame(p, order[i], frame_of, &name);
	}
	for (u32 i = p->stacks.nframes; i-- > 1 && !err;) {
		struct stacks_frame *parent = &p->stacks.frames[p->stacks.frames[i].parent];

		if (parent->end < p->stacks.frames[i].end)
			parent->end = p->stacks.frames[i].end;
	}
	return err;
}

static void add_side(struct text_buf *b, const char *what, u64 runs, enum export_value value,
		     double weight)
{
	char buf[FIGURES_SIZE];

	text_add_str(b, what);
	text_add_str(b, figures_value(buf, value, rounded(weight)));
	if (runs > 1) {
		text_add_str(b, " (mean of ");
		text_add_u64(b, runs);
		text_add_str(b, " runs)");
	}
}

static void add_subtitle(struct text_buf *b, const struct picture *p, enum export_value value)
{
	const struct weight *root = &p->weights[0];

	text_add_str(b, export_value_name(value));
	add_side(b, " before ", p->diff->sides[DIFF_BASE].runs, value, root->total[DIFF_BASE]);
	add_side(b, ", after ", p->diff->sides[DIFF_CHANGE].runs, value, root->total[DIFF_CHANGE]);
	text_add_str(b, p->width == DIFF_BASE ? " · widths: before" : " · widths: after");
}

static void add_note(struct text_buf *b, const struct picture *p, enum export_value value)
{
	char buf[FIGURES_SIZE];

	text_add_str(b, "red: more than before, blue: less");
	if (!p->nhidden)
		return;
	text_add_str(b, " · ");
	text_add_str(b, figures_count(buf, p->nhidden));
	text_add_str(b, p->nhidden == 1 ? " path is " : " paths are ");
	text_add_str(b, p->width == DIFF_BASE ? "new (" : "gone (");
	text_add_str(b, figures_value(buf, value, rounded(p->hidden)));
	text_add_str(b,
		     p->width == DIFF_BASE ? "): --width change draws " : "): --width base draws ");
	text_add_str(b, p->nhidden == 1 ? "it" : "them");
}

static int draw(struct picture *p, const struct export_options *options, FILE *out)
{
	AUTO_TEXT title = {0};
	AUTO_TEXT subtitle = {0};
	AUTO_TEXT note = {0};
	struct flamegraph graph = {
		.stacks = &p->stacks,
		.value = options->value,
		.others = p->others,
		.is_base = p->width == DIFF_BASE,
	};

	text_add_safe(&title, *options->title ? options->title : "What changed by span");
	add_subtitle(&subtitle, p, options->value);
	add_note(&note, p, options->value);
	if (title.failed || subtitle.failed || note.failed)
		return -ENOMEM;
	graph.title = title.data;
	graph.subtitle = subtitle.data;
	graph.note = note.data;
	return flamegraph_draw(&graph, out);
}

static int write_file(struct picture *p, const struct options_output *output)
{
	bool is_stdout = !strcmp(output->path, "-");
	AUTO_FCLOSE FILE *file = is_stdout ? NULL : fopen(output->path, "we");
	FILE *out = is_stdout ? stdout : file;
	int err;

	if (!out) {
		err = -errno;
		log_error("cannot write %s: %s", output->path, strerror(-err));
		return err;
	}
	err = draw(p, &output->options, out);
	if (!err && (fflush(out) || ferror(out)))
		err = errno ? -errno : -EIO;
	if (err)
		log_error("cannot write %s: %s", output->path, strerror(-err));
	return err;
}

int diff_flame(const struct diff *diff, const struct options_output *output, int width)
{
	CLEANUP(picture_free) struct picture p = {.diff = diff, .width = width};
	int err;

	if (!export_value_measured(diff->rows.metrics, output->options.value)) {
		log_error("-o: not all of these files hold %s; write value=busy",
			  export_value_name(output->options.value));
		return -ENODATA;
	}
	p.weights = calloc((size_t)diff->keys->nkeys + 1, sizeof(*p.weights));
	err = p.weights ? strtab_new(&p.stacks.labels) : -ENOMEM;
	if (!err) {
		weigh(diff, find_drawable(output->options.value), p.weights);
		err = lay_out(&p);
	}
	if (err) {
		log_error("out of memory");
		return err;
	}
	return write_file(&p, output);
}
