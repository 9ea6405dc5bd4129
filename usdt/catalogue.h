/* SPDX-License-Identifier: MIT */
/* What server.c serves: made-up records, and work on them that takes real CPU time and is the same
 * in each run. Nothing here knows of spans.
 */
#ifndef SPANTRACE_CATALOGUE_H
#define SPANTRACE_CATALOGUE_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CATALOGUE_RECORDS 4096
#define CATALOGUE_PAGE    64 /* records on a page, at most */

struct record {
	unsigned number, score;
	char title[24];
};

struct text {
	size_t size;
	char bytes[8192];
};

static struct record catalogue[CATALOGUE_RECORDS];

static inline unsigned catalogue_hash(const char *bytes, size_t size, unsigned seed)
{
	unsigned h = 2166136261U ^ seed;

	for (size_t i = 0; i < size; i++)
		h = (h ^ (unsigned char)bytes[i]) * 16777619U;
	return h;
}

static inline void catalogue_init(void)
{
	static const char *const things[] = {"lamp", "table", "kettle", "clock", "mirror"};

	for (unsigned i = 0; i < CATALOGUE_RECORDS; i++) {
		catalogue[i].number = i;
		snprintf(catalogue[i].title, sizeof(catalogue[i].title), "%s %u", things[i % 5], i);
	}
}

static inline int catalogue_by_score(const void *a, const void *b)
{
	const struct record *left = (const struct record *)a, *right = (const struct record *)b;

	return (left->score < right->score) - (left->score > right->score);
}

/* The best for QUERY: every record gets a score, and about half of them are sorted by it. */
static inline size_t catalogue_search(unsigned query, struct record *found)
{
	struct record matches[CATALOGUE_RECORDS];
	size_t count = 0;

	for (size_t i = 0; i < CATALOGUE_RECORDS; i++) {
		const struct record *r = &catalogue[i];

		matches[count] = *r;
		matches[count].score = catalogue_hash(r->title, strlen(r->title), query);
		count += matches[count].score >> 31;
	}
	qsort(matches, count, sizeof(*matches), catalogue_by_score);
	if (count > CATALOGUE_PAGE)
		count = CATALOGUE_PAGE;
	memcpy(found, matches, count * sizeof(*found));
	return count;
}

static inline void catalogue_print(const struct record *found, size_t count, struct text *page)
{
	page->size = 0;
	for (size_t i = 0; i < count && page->size < sizeof(page->bytes) - 128; i++)
		page->size +=
			(size_t)snprintf(page->bytes + page->size, sizeof(page->bytes) - page->size,
					 "<tr><td>%u</td><td>%s</td><td>%u</td></tr>\n",
					 found[i].number, found[i].title, found[i].score);
}

/* In place. Four bytes or more that were there before become their length, with the top bit set,
 * and how far back they are; so the result is never longer. TEXT is ASCII. */
static inline void catalogue_compress(struct text *text)
{
	size_t last[1024] = {0}, used = 0, at = 0;
	struct text out;

	while (at < text->size) {
		size_t rest = text->size - at, length = 0, back;
		size_t *seen;

		seen = &last[catalogue_hash(text->bytes + at, rest < 4 ? rest : 4, 0) % 1024];
		back = at - *seen;
		while (back && length < rest && length < 127 &&
		       text->bytes[at + length] == text->bytes[*seen + length])
			length++;
		*seen = at;
		if (length < 4) {
			out.bytes[used++] = text->bytes[at++];
			continue;
		}
		out.bytes[used++] = (char)(0x80 | length);
		out.bytes[used++] = (char)(back >> 8);
		out.bytes[used++] = (char)back;
		at += length;
	}
	memcpy(text->bytes, out.bytes, used);
	text->size = used;
}

#endif
