/* SPDX-License-Identifier: MIT */
/* Pairs by naming convention: markers of one provider that differ in their last word only. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../util/cleanup.h"
#include "pair_build.h"

enum suffix {
	SUFFIX_NEW,
	SUFFIX_CLOSE,
	SUFFIX_ENTER,
	SUFFIX_EXIT,
	SUFFIX_ENTRY,
	SUFFIX_RETURN,
	SUFFIX_START,
	SUFFIX_DONE,
	SUFFIX_BEGIN,
	SUFFIX_END,
	SUFFIX_STOP,
	SUFFIX_FINISH,
	SUFFIX_NONE,
};

#define NSUFFIXES SUFFIX_NONE

static const char *const suffix_words[NSUFFIXES] = {
	"new",   "close", "enter", "exit", "entry", "return",
	"start", "done",  "begin", "end",  "stop",  "finish",
};

/* In the order they are tried. new/close is not here: see pair_async(). */
static const struct {
	u8 start, end;
	bool recursive;
} conventions[] = {
	{SUFFIX_ENTER, SUFFIX_EXIT, false},   {SUFFIX_ENTRY, SUFFIX_RETURN, true},
	{SUFFIX_START, SUFFIX_DONE, false},   {SUFFIX_BEGIN, SUFFIX_END, false},
	{SUFFIX_START, SUFFIX_END, false},    {SUFFIX_START, SUFFIX_STOP, false},
	{SUFFIX_START, SUFFIX_FINISH, false},
};

#define NCONVENTIONS (sizeof(conventions) / sizeof(conventions[0]))

/* Of pair_entry.separator. */
static const char *const separators[] = {"__", "_", "-"};

/* The markers with one provider, stem and separator, by suffix. */
struct group {
	struct pair_entry *slot[NSUFFIXES];
	const char *separator;
};

static void suffix_parse(struct pair_entry *entry)
{
	const char *word = entry->name + strlen(entry->name);
	u32 stem_len;

	entry->suffix = SUFFIX_NONE;
	while (word > entry->name && word[-1] != '_' && word[-1] != '-')
		word--;
	for (u8 i = 0; i < NSUFFIXES && entry->suffix == SUFFIX_NONE; i++)
		if (!strcmp(word, suffix_words[i]))
			entry->suffix = i;
	if (entry->suffix == SUFFIX_NONE || word == entry->name) {
		entry->suffix = SUFFIX_NONE;
		return;
	}

	stem_len = (u32)(word - entry->name) - 1;
	entry->separator = word[-1] == '-' ? 2 : 1;
	if (entry->separator == 1 && stem_len > 0 && entry->name[stem_len - 1] == '_') {
		entry->separator = 0;
		stem_len--;
	}
	if (stem_len == 0)
		entry->suffix = SUFFIX_NONE;
	entry->stem_len = stem_len;
}

/* Brings together what may pair; all of `__` comes first, so that it gets the plain names. */
static int compare_groups(const struct pair_entry *a, const struct pair_entry *b)
{
	u32 shorter = a->stem_len < b->stem_len ? a->stem_len : b->stem_len;
	int order = (int)a->separator - (int)b->separator;

	if (!order)
		order = strcmp(a->provider, b->provider);
	if (!order)
		order = memcmp(a->name, b->name, shorter);
	if (!order)
		order = (a->stem_len > b->stem_len) - (a->stem_len < b->stem_len);
	return order;
}

static int compare_group_pointers(const void *a, const void *b)
{
	return compare_groups(*(struct pair_entry *const *)a, *(struct pair_entry *const *)b);
}

static struct pair_entry *unused(const struct group *group, enum suffix suffix)
{
	struct pair_entry *entry = group->slot[suffix];

	return entry && !entry->used ? entry : NULL;
}

static struct pair_entry *unused_with_id(const struct group *group, enum suffix suffix)
{
	struct pair_entry *entry = unused(group, suffix);

	return entry && entry->nargs > 0 ? entry : NULL;
}

/* An async span from the lanes new, close, enter and exit; pair.h says which sets of them make
 * one. */
static int pair_async(struct pair_build *build, const struct group *group)
{
	struct pair_entry *new = unused_with_id(group, SUFFIX_NEW);
	struct pair_entry *close = unused_with_id(group, SUFFIX_CLOSE);
	struct pair_entry *enter = unused_with_id(group, SUFFIX_ENTER);
	struct pair_entry *exit = unused_with_id(group, SUFFIX_EXIT);
	const struct pair_entry *any = new ? new : close ? close : enter;
	const char *s = group->separator;
	bool lane = enter && exit;
	char *why;
	int err;

	if (new &&close && lane)
		why = pair_text("by `%snew/%sclose` with `%senter/%sexit`", s, s, s, s);
	else if (new &&close)
		why = pair_text("by `%snew/%sclose`", s, s);
	else if (new &&lane)
		why = pair_text("by `%snew` with `%senter/%sexit`; no `%sclose`, so it stays open",
				s, s, s, s);
	else if (close && lane)
		why = pair_text(
			"by `%sclose` with `%senter/%sexit`; no `%snew`, so it begins where it is first entered",
			s, s, s, s);
	else if (lane && enter->has_meta && exit->has_meta)
		why = pair_text("by `%senter/%sexit` with an id; no `%sclose`, so it stays open", s,
				s, s);
	else
		return 0;

	err = pair_build_def(build, any->provider, any->name, any->stem_len, MODEL_ASYNC_SPAN, 0,
			     why);
	if (!err && new)
		err = pair_build_bind(build, new, PAIR_NEW);
	if (!err && lane)
		err = pair_build_bind(build, enter, PAIR_ENTER);
	if (!err && lane)
		err = pair_build_bind(build, exit, PAIR_EXIT);
	if (!err && close)
		err = pair_build_bind(build, close, PAIR_CLOSE);
	return err;
}

static int pair_thread(struct pair_build *build, const struct group *group, size_t convention)
{
	struct pair_entry *start = unused(group, conventions[convention].start);
	struct pair_entry *end = unused(group, conventions[convention].end);
	const char *s = group->separator;
	int err;

	if (!start || !end)
		return 0;
	err = pair_build_def(build, start->provider, start->name, start->stem_len,
			     MODEL_THREAD_SPAN, -1,
			     pair_text("by `%s%s/%s%s`", s, suffix_words[start->suffix], s,
				       suffix_words[end->suffix]));
	if (err)
		return err;
	build->plan->defs[build->plan->ndefs - 1].recursive = conventions[convention].recursive;
	err = pair_build_bind(build, start, PAIR_ENTER);
	if (!err)
		err = pair_build_bind(build, end, PAIR_EXIT);
	return err;
}

/* Suffixes that would end (or start) a span with SUFFIX, in the order of the conventions. */
static size_t partners(u8 suffix, u8 out[NCONVENTIONS])
{
	size_t n = 0;

	if (suffix == SUFFIX_NEW || suffix == SUFFIX_CLOSE)
		out[n++] = suffix == SUFFIX_NEW ? SUFFIX_CLOSE : SUFFIX_NEW;
	for (size_t i = 0; i < NCONVENTIONS; i++) {
		if (conventions[i].start == suffix)
			out[n++] = conventions[i].end;
		else if (conventions[i].end == suffix)
			out[n++] = conventions[i].start;
	}
	return n;
}

/* Why ENTRY, which no convention used, is an event. */
static char *why_event(const struct group *group, const struct pair_entry *entry)
{
	const char *s = group->separator;
	const char *words[NCONVENTIONS] = {"", "", "", ""};
	u8 suffixes[NCONVENTIONS];
	size_t n = partners(entry->suffix, suffixes);

	for (size_t i = 0; i < n; i++) {
		const struct pair_entry *partner = group->slot[suffixes[i]];

		words[i] = suffix_words[suffixes[i]];
		if (partner && partner->used)
			return pair_text("`%s` beside it belongs to another span", partner->name);
		/* An unused partner is one of new and close: any other two would have paired. */
		if (partner)
			return pair_text("`%s` carries no argument to be the id of an async span",
					 entry->nargs ? partner->name : entry->name);
	}
	if (n == 1)
		return pair_text("no `%s%s` beside it", s, words[0]);
	if (n == 2)
		return pair_text("no `%s%s` or `%s%s` beside it", s, words[0], s, words[1]);
	return pair_text("no `%s%s`, `%s%s`, `%s%s` or `%s%s` beside it", s, words[0], s, words[1],
			 s, words[2], s, words[3]);
}

static int pair_group(struct pair_build *build, struct group *group)
{
	int err = pair_async(build, group);

	for (size_t i = 0; i < NCONVENTIONS && !err; i++)
		err = pair_thread(build, group, i);
	for (size_t i = 0; i < NSUFFIXES && !err; i++) {
		struct pair_entry *entry = unused(group, i);

		if (!entry)
			continue;
		entry->why = why_event(group, entry);
		if (!entry->why)
			err = -ENOMEM;
	}
	return err;
}

int pair_conventions(struct pair_build *build)
{
	AUTO_FREE struct pair_entry **sorted =
		calloc(build->nentries + 1, sizeof(struct pair_entry *));
	size_t n = 0;
	int err = 0;

	if (!sorted)
		return -ENOMEM;
	for (size_t i = 0; i < build->nentries; i++) {
		suffix_parse(&build->entries[i]);
		if (build->entries[i].suffix != SUFFIX_NONE)
			sorted[n++] = &build->entries[i];
	}
	qsort(sorted, n, sizeof(*sorted), compare_group_pointers);

	for (size_t i = 0; i < n && !err;) {
		struct group group = {.separator = separators[sorted[i]->separator]};
		const struct pair_entry *first = sorted[i];

		for (; i < n && compare_groups(first, sorted[i]) == 0; i++)
			group.slot[sorted[i]->suffix] = sorted[i];
		err = pair_group(build, &group);
	}
	return err;
}
