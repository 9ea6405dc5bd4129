/* SPDX-License-Identifier: MIT */
/* The summary's lines about memory: mappings, suspects of --leaks by path, and what was counted otherwise than asked. */
#include "summary_print.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "../user/util/grow.h"
#include "chain.h"
#include "figures.h"
#include "pairmap.h"
#include "text.h"

#define SUSPECTS_SHOWN 20u

/* Blocks of one path, added up over threads. */
struct suspect {
	const struct model_path *path;
	u64 objects;
	u64 bytes;
	u64 oldest_ns;
};

struct suspects {
	struct suspect *items;
	u32 n;
	struct pairmap index; /* (path, 0) → item */
};

static void suspects_free(struct suspects *s)
{
	free(s->items);
	pairmap_free(&s->index);
}

static int suspects_add(struct suspects *s, const struct model_row *row)
{
	struct suspect *item;
	u32 at;

	if (!row->leak_objects)
		return 0;
	if (!s->items || !pairmap_get(&s->index, pairmap_key(row->path), 0, &at)) {
		at = s->n;
		if (GROW(s->items, at) || pairmap_put(&s->index, pairmap_key(row->path), 0, at))
			return -ENOMEM;
		s->items[s->n++] = (struct suspect){.path = row->path};
	}
	item = &s->items[at];
	item->objects += row->leak_objects;
	item->bytes += row->leak_bytes;
	if (row->leak_oldest_ns > item->oldest_ns)
		item->oldest_ns = row->leak_oldest_ns;
	return 0;
}

static int compare_suspects(const void *a, const void *b)
{
	const struct suspect *x = a, *y = b;

	if (x->bytes != y->bytes)
		return x->bytes > y->bytes ? -1 : 1;
	return (x->path->id > y->path->id) - (x->path->id < y->path->id);
}

static int path_text(struct text_buf *text, struct chain *chain, const struct model_path *path)
{
	text_cut(text, 0);
	if (!path->def)
		text_add_str(text, SUMMARY_OUTSIDE);
	for (chain->n = 0; path && path->def; path = path->parent)
		if (chain_push(chain, path))
			return -ENOMEM;
	while ((path = chain_pop(chain))) {
		if (text->len)
			text_add_str(text, " > ");
		text_add_safe(text, path->def->provider);
		text_add_str(text, ":");
		text_add_safe(text, path->name ? path->name : path->def->name);
	}
	return text->failed ? -ENOMEM : 0;
}

static int print_suspects(struct exporter *e, const struct profile *profile)
{
	CLEANUP(suspects_free) struct suspects s = {0};
	CLEANUP(chain_free) struct chain chain = {0};
	AUTO_TEXT text = {0};
	char buf[FIGURES_SIZE];
	size_t i;
	int err = 0;

	for (i = 0; !err && i < profile->nrows; i++)
		err = suspects_add(&s, &profile->rows[i]);
	if (err)
		return err;
	if (s.n)
		qsort(s.items, s.n, sizeof(*s.items), compare_suspects);
	text_add_str(&text, "");
	putc_unlocked('\n', e->out);
	summary_put_style(&e->options, e->out, SUMMARY_BOLD);
	fprintf(e->out, "not freed for %s", figures_time(buf, profile->memory.leaks_ns));
	summary_put_style(&e->options, e->out, SUMMARY_PLAIN);
	fputs(s.n ? "\n" : ": nothing\n", e->out);
	for (i = 0; i < s.n && i < SUSPECTS_SHOWN; i++) {
		err = path_text(&text, &chain, s.items[i].path);
		if (err)
			return err;
		fprintf(e->out, "  %s in ", figures_bytes(buf, s.items[i].bytes));
		fprintf(e->out, "%s block%s, ", figures_count(buf, s.items[i].objects),
			s.items[i].objects == 1 ? "" : "s");
		fprintf(e->out, "the oldest of %s ago: ", figures_time(buf, s.items[i].oldest_ns));
		fprintf(e->out, "%s\n", text.data);
	}
	if (s.n > SUSPECTS_SHOWN)
		fprintf(e->out, "  and %u more paths; --json has all\n", s.n - SUSPECTS_SHOWN);
	return 0;
}

static void print_mappings(struct exporter *e, const struct profile *profile)
{
	u64 map_calls = 0, map_bytes = 0, unmap_calls = 0, unmap_bytes = 0;
	char buf[FIGURES_SIZE];
	size_t i;

	for (i = 0; i < profile->nrows; i++) {
		map_calls += profile->rows[i].map_calls;
		map_bytes += profile->rows[i].map_bytes;
		unmap_calls += profile->rows[i].unmap_calls;
		unmap_bytes += profile->rows[i].unmap_bytes;
	}
	fprintf(e->out, "\nmapped %s", figures_bytes(buf, map_bytes));
	fprintf(e->out, " in %s calls, ", figures_count(buf, map_calls));
	fprintf(e->out, "unmapped %s", figures_bytes(buf, unmap_bytes));
	fprintf(e->out, " in %s\n", figures_count(buf, unmap_calls));
}

static void print_how(struct exporter *e, const struct model_memory *memory)
{
	char buf[FIGURES_SIZE];

	if (memory->sample)
		fprintf(e->out, "allocations are estimated from a sample: one in %s on average\n",
			figures_bytes(buf, memory->sample));
	if (memory->late)
		fprintf(e->out,
			"%s of %" PRIu64
			" processes began while traced: what they allocated before their probes stood is not counted\n",
			figures_count(buf, memory->late), memory->processes);
	if (memory->entries)
		fprintf(e->out,
			"%s of %" PRIu64
			" processes count at the entry of their allocator, because of seccomp: failed allocations too, and what they hold is not known\n",
			figures_count(buf, memory->entries), memory->processes);
}

int summary_print_memory(struct exporter *e, const struct profile *profile)
{
	const struct model_memory *memory = &profile->memory;

	if (profile->metrics & METRIC_MMAP)
		print_mappings(e, profile);
	if (memory->sample || memory->late || memory->entries) {
		putc_unlocked('\n', e->out);
		print_how(e, memory);
	}
	return memory->leaks_ns ? print_suspects(e, profile) : 0;
}
