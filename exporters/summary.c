/* SPDX-License-Identifier: MIT */
/* What a person sees when nothing else was asked for: the spans as a tree, added up over threads,
 * then events, then what was lost or refused. */
#include "formats.h"

#include <string.h>

#include "../user/util/cleanup.h"
#include "figures.h"
#include "summary_print.h"
#include "summary_tree.h"
#include "text.h"

#define INDENT     2  /* columns a level */
#define MAX_INDENT 16 /* levels; deeper ones say how deep they are */

#define MAX_NAME_WIDTH 200
#define LAST_DROP      8 /* of the columns below */

#define IF_ANY  1 /* a column is shown if a node has something to show there */
#define IF_WIDE 2 /* and if there is room for it on the terminal, or METRIC_CPU_EXACT asks for it */

struct column {
	const char *title;
	u32 metrics;  /* shown if all of these were measured … */
	int optional; /* … and IF_…; 0: always */
	int drop;     /* order in which columns give way on a narrow terminal; 0: never */
	void (*cell)(char buf[FIGURES_SIZE], const struct model_row *row);
};

struct table {
	const struct export_options *options;
	const struct summary_tree *tree;
	FILE *out;
	unsigned name_width;
	unsigned *widths; /* one a column; 0: not shown */
};

static void cell_count(char buf[FIGURES_SIZE], const struct model_row *row)
{
	figures_count(buf, row->count);
}

static void cell_abandoned(char buf[FIGURES_SIZE], const struct model_row *row)
{
	if (row->abandoned)
		figures_count(buf, row->abandoned);
}

static void cell_open(char buf[FIGURES_SIZE], const struct model_row *row)
{
	if (row->open)
		figures_count(buf, row->open);
}

/* Says something for async spans only: thread spans are busy all the time that they exist. */
static void cell_wall(char buf[FIGURES_SIZE], const struct model_row *row)
{
	if (row->wall_ns != row->busy_ns)
		figures_time(buf, row->wall_ns);
}

static void cell_busy(char buf[FIGURES_SIZE], const struct model_row *row)
{
	figures_time(buf, row->busy_ns);
}

static void cell_self(char buf[FIGURES_SIZE], const struct model_row *row)
{
	figures_time(buf, row->self_ns);
}

static void cell_cpu(char buf[FIGURES_SIZE], const struct model_row *row)
{
	figures_time(buf, row->total.cpu_ns);
}

static void cell_system(char buf[FIGURES_SIZE], const struct model_row *row)
{
	if (row->total.cpu_system_ns)
		figures_time(buf, row->total.cpu_system_ns);
}

static void cell_objects(char buf[FIGURES_SIZE], const struct model_row *row)
{
	figures_count(buf, row->alloc_objects);
}

static void cell_alloc(char buf[FIGURES_SIZE], const struct model_row *row)
{
	figures_bytes(buf, row->alloc_bytes);
}

static void cell_inuse(char buf[FIGURES_SIZE], const struct model_row *row)
{
	figures_bytes(buf, row->inuse_bytes);
}

static void cell_mean(char buf[FIGURES_SIZE], const struct model_row *row)
{
	if (row->count)
		figures_time(buf, row->mean_ns);
}

static void cell_p50(char buf[FIGURES_SIZE], const struct model_row *row)
{
	if (row->count && row->durations)
		figures_time(buf, model_quantile(row, 0.5));
}

static void cell_p99(char buf[FIGURES_SIZE], const struct model_row *row)
{
	if (row->count && row->durations)
		figures_time(buf, model_quantile(row, 0.99));
}

static void cell_max(char buf[FIGURES_SIZE], const struct model_row *row)
{
	if (row->count)
		figures_time(buf, row->max_ns);
}

static const struct column columns[] = {
	{"count", 0, 0, 0, cell_count},
	{"abandoned", 0, IF_ANY, 0, cell_abandoned},
	{"open", 0, IF_ANY, 0, cell_open},
	{"wall", METRIC_WALL, IF_ANY, 7, cell_wall},
	{"busy", METRIC_WALL, 0, 0, cell_busy},
	{"self", METRIC_WALL, 0, 4, cell_self},
	{"cpu", METRIC_CPU, 0, 5, cell_cpu},
	{"sys", METRIC_CPU_SPLIT, IF_WIDE, 0, cell_system},
	{"blocks", METRIC_ALLOC, 0, 8, cell_objects},
	{"alloc", METRIC_ALLOC, 0, 0, cell_alloc},
	{"in use", METRIC_HEAP, 0, 0, cell_inuse},
	{"mean", METRIC_WALL, 0, 2, cell_mean},
	{"p50", METRIC_WALL, 0, 1, cell_p50},
	{"p99", METRIC_WALL, 0, 6, cell_p99},
	{"max", METRIC_WALL, 0, 3, cell_max},
};

#define NCOLUMNS (sizeof(columns) / sizeof(*columns))

/* Processes take a line only where there are several. */
static bool is_shown(const struct summary_tree *t, const struct summary_node *node)
{
	return node->depth > 1 || (node->depth == 1 && t->nprocesses > 1);
}

/* Columns in front of the name, with the mark of a deep one in MARK. */
static unsigned lead(const struct summary_tree *t, const struct summary_node *node,
		     char mark[FIGURES_SIZE])
{
	u32 level = node->depth - (t->nprocesses > 1 ? 1 : 2);

	mark[0] = '\0';
	if (level > MAX_INDENT) {
		snprintf(mark, FIGURES_SIZE, "[%u] ", level);
		level = MAX_INDENT;
	}
	return level * INDENT;
}

static unsigned table_width(const struct table *t)
{
	unsigned width = t->name_width;

	for (size_t c = 0; c < NCOLUMNS; c++)
		width += t->widths[c] ? SUMMARY_GAP + t->widths[c] : 0;
	return width;
}

/* Outside every span there is memory, and nothing else. */
static bool has_cell(const struct summary_node *node, const struct column *column)
{
	return node->has_spans && (!node->is_outside || column->metrics & METRIC_ALLOC ||
				   column->metrics & METRIC_HEAP);
}

static void measure(struct table *t, u32 metrics)
{
	char buf[FIGURES_SIZE];

	for (size_t c = 0; c < NCOLUMNS; c++) {
		unsigned widest = 0;

		if ((metrics & columns[c].metrics) != columns[c].metrics)
			continue;
		if (columns[c].optional == IF_WIDE && !t->options->width &&
		    !(metrics & METRIC_CPU_EXACT))
			continue;
		for (u32 i = 0; i < t->tree->nnodes; i++) {
			if (!has_cell(&t->tree->nodes[i], &columns[c]))
				continue;
			buf[0] = '\0';
			columns[c].cell(buf, &t->tree->nodes[i].sum);
			if (text_columns(buf) > widest)
				widest = text_columns(buf);
		}
		if (!widest && columns[c].optional)
			continue;
		if (widest < strlen(columns[c].title))
			widest = (unsigned)strlen(columns[c].title);
		t->widths[c] = widest;
	}
	t->name_width = 4;
	for (u32 i = 0; i < t->tree->nnodes; i++) {
		const struct summary_node *node = &t->tree->nodes[i];
		unsigned width;

		if (!is_shown(t->tree, node))
			continue;
		width = lead(t->tree, node, buf) + text_columns(buf) + text_columns(node->name);
		if (width > t->name_width)
			t->name_width = width;
	}
	if (t->name_width > MAX_NAME_WIDTH)
		t->name_width = MAX_NAME_WIDTH;
}

/* Names give way first, down to what still tells them apart; then columns, the least needed
 * first. */
static void fit(struct table *t)
{
	unsigned width = t->options->width;

	for (size_t c = 0; c < NCOLUMNS && width && table_width(t) > width; c++) {
		if (columns[c].optional == IF_WIDE)
			t->widths[c] = 0;
	}
	for (int drop = 1; width && table_width(t) > width; drop++) {
		unsigned others = table_width(t) - t->name_width;

		if (others + SUMMARY_MIN_NAME <= width) {
			t->name_width = width - others;
			return;
		}
		if (drop > LAST_DROP) {
			if (t->name_width > SUMMARY_MIN_NAME)
				t->name_width = SUMMARY_MIN_NAME;
			return;
		}
		for (size_t c = 0; c < NCOLUMNS; c++) {
			if (columns[c].drop == drop)
				t->widths[c] = 0;
		}
	}
}

static void print_node(const struct table *t, const struct summary_node *node)
{
	char buf[FIGURES_SIZE];
	unsigned indent = lead(t->tree, node, buf);
	unsigned mark = text_columns(buf), room;

	/* On a narrow terminal depth must not eat the name. */
	if (indent + mark + text_columns(node->name) > t->name_width && indent > t->name_width / 2)
		indent = t->name_width / 2;
	summary_put_spaces(t->out, indent);
	fputs(buf, t->out);
	room = indent + mark < t->name_width ? t->name_width - indent - mark : 0;
	room -= summary_put_cut(t->out, node->name, room);
	for (size_t c = 0; node->has_spans && c < NCOLUMNS; c++) {
		if (!t->widths[c])
			continue;
		buf[0] = '\0';
		if (has_cell(node, &columns[c]))
			columns[c].cell(buf, &node->sum);
		room += SUMMARY_GAP + t->widths[c];
		/* Space is held back until something stands behind it: none at the end of a
		 * line. */
		if (!*buf)
			continue;
		summary_put_right(t->out, buf, room);
		room = 0;
	}
	putc_unlocked('\n', t->out);
}

static int print_spans(struct exporter *e, const struct profile *profile)
{
	CLEANUP(summary_tree_free) struct summary_tree *tree = NULL;
	unsigned widths[NCOLUMNS] = {0};
	struct table t = {.options = &e->options, .out = e->out, .widths = widths};
	int err = summary_tree_new(profile, &tree);

	if (err)
		return err;
	t.tree = tree;
	if (tree->nnodes == 1 && profile->is_part) {
		fputs("No span ended.\n", e->out);
		return 0;
	}
	if (tree->nnodes == 1) {
		fputs("No span was recorded: no marker that starts or ends one was hit.\n"
		      "`spantrace list` shows a program's markers and the spans that they make.\n",
		      e->out);
		return 0;
	}
	measure(&t, profile->metrics);
	fit(&t);
	summary_put_style(t.options, t.out, SUMMARY_BOLD);
	summary_put_padded(t.out, "span", t.name_width);
	for (size_t c = 0; c < NCOLUMNS; c++) {
		if (!t.widths[c])
			continue;
		summary_put_spaces(t.out, SUMMARY_GAP);
		summary_put_right(t.out, columns[c].title, t.widths[c]);
	}
	summary_put_style(t.options, t.out, SUMMARY_PLAIN);
	putc_unlocked('\n', t.out);
	for (u32 i = 0; i < tree->nnodes; i++) {
		if (is_shown(tree, &tree->nodes[i]))
			print_node(&t, &tree->nodes[i]);
	}
	return 0;
}

/* --sample left it out: that is told where the rate is. */
static bool is_asked_for(const struct profile *profile, const struct model_loss *loss)
{
	return profile->sample_ppb && !strcmp(loss->name, "unsampled");
}

static void print_losses(struct exporter *e, const struct profile *profile)
{
	char buf[FIGURES_SIZE];
	bool any = false;

	putc_unlocked('\n', e->out);
	for (size_t i = 0; i < profile->nlosses; i++) {
		const struct model_loss *loss = &profile->losses[i];

		if (!loss->count || is_asked_for(profile, loss))
			continue;
		if (!any) {
			summary_put_style(&e->options, e->out, SUMMARY_YELLOW);
			fputs("lost", e->out);
			summary_put_style(&e->options, e->out, SUMMARY_PLAIN);
			putc_unlocked('\n', e->out);
		}
		any = true;
		fprintf(e->out, "  %s %s: ", loss->name, figures_count(buf, loss->count));
		summary_put_safe(e->out, loss->text ? loss->text : "");
		putc_unlocked('\n', e->out);
	}
	if (!any)
		fputs("nothing lost\n", e->out);
	if (!profile->nrefused)
		return;
	summary_put_style(&e->options, e->out, SUMMARY_YELLOW);
	fputs("not probed", e->out);
	summary_put_style(&e->options, e->out, SUMMARY_PLAIN);
	putc_unlocked('\n', e->out);
	for (size_t i = 0; i < profile->nrefused; i++) {
		fputs("  ", e->out);
		summary_put_safe(e->out, profile->refused[i].marker);
		fputs(": ", e->out);
		summary_put_safe(e->out, profile->refused[i].why);
		putc_unlocked('\n', e->out);
	}
}

/* With --sample: what stands for what, and how much that leaves out. */
static void print_sampling(struct exporter *e, const struct profile *profile)
{
	char buf[FIGURES_SIZE];

	if (!profile->sample_ppb)
		return;
	fprintf(e->out, "%s of the root spans, by chance; ",
		figures_sample(buf, profile->sample_ppb));
	for (size_t i = 0; i < profile->nlosses; i++)
		if (is_asked_for(profile, &profile->losses[i]))
			fprintf(e->out, "%s spans and events left out; ",
				figures_count(buf, profile->losses[i].count));
	fputs("nothing is scaled\n\n", e->out);
}

/* Of a part, the threads that have something in it: rows stand by thread. */
static size_t count_threads(const struct profile *profile)
{
	size_t n = 0;

	if (!profile->is_part)
		return profile->nthreads;
	for (size_t i = 0; i < profile->nrows; i++)
		n += !i || profile->rows[i].thread != profile->rows[i - 1].thread;
	return n;
}

static void print_header(struct exporter *e, const struct profile *profile)
{
	u64 ns = profile->end_ns > profile->start_ns ? profile->end_ns - profile->start_ns : 0;
	size_t threads = count_threads(profile);
	char buf[FIGURES_SIZE];

	summary_put_style(&e->options, e->out, SUMMARY_BOLD);
	summary_put_safe(e->out, profile->target ? profile->target : "unknown target");
	summary_put_style(&e->options, e->out, SUMMARY_PLAIN);
	fprintf(e->out, "%s%s, ", profile->is_part ? ": the last " : ": traced for ",
		figures_time(buf, ns));
	fprintf(e->out, "%s thread%s\n\n", figures_count(buf, threads), threads == 1 ? "" : "s");
	print_sampling(e, profile);
}

static int summary_finish(struct exporter *e, const struct profile *profile)
{
	int err;

	print_header(e, profile);
	err = print_spans(e, profile);
	if (!err)
		err = summary_print_events(e, profile);
	if (!err)
		err = summary_print_memory(e, profile);
	if (!err)
		print_losses(e, profile);
	return err;
}

static const char *const summary_keys[] = {"width", "color", NULL};

const struct exporter_ops exporter_summary = {
	.name = "summary",
	.extension = ".txt",
	.keys = summary_keys,
	.again = true,
	.finish = summary_finish,
};
