/* SPDX-License-Identifier: MIT */
/* The summary's table of events: count and sum of each, added up over the threads of a process. */
#include "summary_print.h"

#include <errno.h>
#include <string.h>

#include "../user/util/grow.h"
#include "figures.h"
#include "pairmap.h"
#include "strtab.h"
#include "summary_tree.h"
#include "text.h"

/* An event added up over the threads of its process, or of all processes of one name. */
struct event_sum {
	const struct model_event_row *row; /* the first of them */
	u32 name;
	u32 process; /* crowded: the processes' name */
	u64 count;
	s64 sum;
	bool has_sum;
};

struct events {
	struct strtab *names;
	struct event_sum *items;
	u32 n;
	struct pairmap index; /* (pid or the process's name, name) → item */
	bool one_process;
	bool crowded;
};

static void events_free(struct events *events)
{
	strtab_free(&events->names);
	free(events->items);
	pairmap_free(&events->index);
}

/* What tells the process of THREAD from others: its pid or, where there are many, its name. */
static int events_process(struct events *events, const struct profile *profile,
			  const struct model_thread *thread, u32 *process)
{
	AUTO_TEXT comm = {0};
	char text[MODEL_COMM_LEN + 1] = {0};

	*process = thread->pid;
	if (!events->crowded)
		return 0;
	memcpy(text, summary_comm(profile, thread), MODEL_COMM_LEN);
	text_add(&comm, "", 0);
	text_add_safe(&comm, text);
	return comm.failed ? -ENOMEM : strtab_add(events->names, comm.data, comm.len, process);
}

static int events_add(struct events *events, const struct profile *profile,
		      const struct model_event_row *row)
{
	AUTO_TEXT name = {0};
	struct event_sum *item;
	u32 id, at, process;
	int err;

	text_add_safe(&name, row->def->provider);
	text_add_str(&name, ":");
	text_add_safe(&name, row->name ? row->name : row->def->name);
	err = name.failed ? -ENOMEM : strtab_add(events->names, name.data, name.len, &id);
	if (!err)
		err = events_process(events, profile, row->thread, &process);
	if (err)
		return err;
	if (!pairmap_get(&events->index, process, id, &at)) {
		at = events->n;
		err = GROW(events->items, at);
		if (!err)
			err = pairmap_put(&events->index, process, id, at);
		if (err)
			return err;
		events->items[events->n++] =
			(struct event_sum){.row = row, .name = id, .process = process};
	}
	item = &events->items[at];
	item->count += row->count;
	item->has_sum |= row->has_sum;
	if (__builtin_add_overflow(item->sum, row->sum, &item->sum))
		item->sum = row->sum < 0 ? INT64_MIN : INT64_MAX;
	events->one_process &= process == events->items[0].process;
	return 0;
}

struct widths {
	unsigned name;
	unsigned count;
	unsigned sum; /* 0: no event has one */
};

static unsigned larger(unsigned a, unsigned b)
{
	return a > b ? a : b;
}

static struct widths measure(const struct events *events, unsigned limit)
{
	struct widths w = {.name = 5, .count = 5};
	char buf[FIGURES_SIZE];
	unsigned others;

	for (u32 i = 0; i < events->n; i++) {
		const struct event_sum *item = &events->items[i];

		w.name = larger(w.name, text_columns(strtab_get(events->names, item->name)));
		w.count = larger(w.count, text_columns(figures_count(buf, item->count)));
		if (item->has_sum)
			w.sum = larger(larger(w.sum, 3),
				       text_columns(figures_signed(buf, item->sum)));
	}
	others = SUMMARY_GAP + w.count + (w.sum ? SUMMARY_GAP + w.sum : 0);
	if (limit && w.name + others > limit)
		w.name = larger(SUMMARY_MIN_NAME, limit > others ? limit - others : 0);
	return w;
}

static void put_line(FILE *out, const struct widths *w, const char *name, const char *count,
		     const char *sum, const char *process)
{
	summary_put_padded(out, name, w->name);
	summary_put_spaces(out, SUMMARY_GAP);
	summary_put_right(out, count, w->count);
	if (w->sum && (*sum || *process)) {
		summary_put_spaces(out, SUMMARY_GAP);
		summary_put_right(out, sum, w->sum);
	}
	if (*process) {
		summary_put_spaces(out, SUMMARY_GAP);
		fputs(process, out);
	}
}

int summary_print_events(struct exporter *e, const struct profile *profile)
{
	CLEANUP(events_free)
	struct events events = {.one_process = true, .crowded = summary_is_crowded(profile)};
	int err = strtab_new(&events.names);
	struct widths w;

	for (size_t i = 0; !err && i < profile->nevents; i++)
		err = events_add(&events, profile, &profile->events[i]);
	if (err || !events.n)
		return err;
	w = measure(&events, e->options.width);
	putc_unlocked('\n', e->out);
	summary_put_style(&e->options, e->out, SUMMARY_BOLD);
	put_line(e->out, &w, "event", "count", "sum", events.one_process ? "" : "process");
	summary_put_style(&e->options, e->out, SUMMARY_PLAIN);
	putc_unlocked('\n', e->out);
	for (u32 i = 0; i < events.n; i++) {
		const struct event_sum *item = &events.items[i];
		char count[FIGURES_SIZE], sum[FIGURES_SIZE] = "", number[16] = "";
		const char *process = number;

		figures_count(count, item->count);
		if (item->has_sum)
			figures_signed(sum, item->sum);
		if (!events.one_process && events.crowded)
			process = strtab_get(events.names, item->process);
		else if (!events.one_process)
			snprintf(number, sizeof(number), "%u", item->process);
		put_line(e->out, &w, strtab_get(events.names, item->name), count, sum, process);
		putc_unlocked('\n', e->out);
	}
	return 0;
}
