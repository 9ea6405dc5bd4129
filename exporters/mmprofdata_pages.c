/* SPDX-License-Identifier: MIT */
/* See mmprofdata_pages.h. */
#include "mmprofdata_pages.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../user/util/cleanup.h"
#include "../user/util/grow.h"
#include "strtab.h"

/* Strings that are known to stand in the file already. A trace may have any number of different ones, so now and then
 * all of them are forgotten, and written once more if they come again. */
#define KNOWN_MAX       16384u
#define KNOWN_BYTES_MAX (8u << 20)

struct page {
	u8 *data; /* MMP_PAGE_MAX bytes */
	u32 used;
	u64 address; /* of the stream's end */
};

struct mmp_pages_out {
	FILE *out;
	struct page pages[MMP_STREAMS];
	struct strtab *known;
	u64 *ids; /* of those */
	size_t known_bytes;
};

static void page_write(struct mmp_pages_out *pages, enum mmp_stream which)
{
	struct page *page = &pages->pages[which];
	u8 header[MMP_PAGE_HEADER] = {(u8)which};

	if (!page->used)
		return;
	mmp_put32(header + 1, page->used);
	fwrite(header, 1, sizeof(header), pages->out);
	fwrite(page->data, 1, page->used, pages->out);
	page->used = 0;
}

/* Strings before the index that leads to them, both before the events that name them. */
void mmp_pages_flush(struct mmp_pages_out *pages)
{
	page_write(pages, MMP_STRINGS);
	page_write(pages, MMP_INDEX);
	page_write(pages, MMP_EVENTS);
}

/* Strings may be cut by the end of a page; events and entries of the index, whose sizes are powers of two, are not. */
static void page_add(struct mmp_pages_out *pages, enum mmp_stream which, const void *data,
		     size_t size)
{
	struct page *page = &pages->pages[which];
	const u8 *from = data;

	page->address += size;
	while (size) {
		size_t n = MMP_PAGE_MAX - page->used;

		if (n > size)
			n = size;
		memcpy(page->data + page->used, from, n);
		page->used += (u32)n;
		from += n;
		size -= n;
		if (page->used < MMP_PAGE_MAX)
			break;
		if (which == MMP_STRINGS)
			page_write(pages, which);
		else
			mmp_pages_flush(pages);
	}
}

static void stream_begin(struct mmp_pages_out *pages, enum mmp_stream which, u32 magic)
{
	u8 header[MMP_HEADER_SIZE];

	mmp_put32(header, magic);
	mmp_put32(header + 4, MMP_VERSION);
	page_add(pages, which, header, sizeof(header));
}

int mmp_pages_new(FILE *out, struct mmp_pages_out **result)
{
	CLEANUP(mmp_pages_free) struct mmp_pages_out *pages = calloc(1, sizeof(*pages));
	u8 header[MMP_HEADER_SIZE];
	int err, i;

	if (!pages)
		return -ENOMEM;
	pages->out = out;
	err = strtab_new(&pages->known);
	if (err)
		return err;
	for (i = 0; i < MMP_STREAMS; i++) {
		pages->pages[i].data = malloc(MMP_PAGE_MAX);
		if (!pages->pages[i].data)
			return -ENOMEM;
	}
	mmp_put32(header, MMP_MAGIC);
	mmp_put32(header + 4, MMP_VERSION);
	fwrite(header, 1, sizeof(header), out);
	stream_begin(pages, MMP_EVENTS, MMP_MAGIC_EVENTS);
	stream_begin(pages, MMP_STRINGS, MMP_MAGIC_STRINGS);
	stream_begin(pages, MMP_INDEX, MMP_MAGIC_INDEX);
	*result = TAKE_PTR(pages);
	return 0;
}

void mmp_pages_free(struct mmp_pages_out **result)
{
	struct mmp_pages_out *pages = *result;
	int i;

	if (!pages)
		return;
	*result = NULL;
	for (i = 0; i < MMP_STREAMS; i++)
		free(pages->pages[i].data);
	strtab_free(&pages->known);
	free(pages->ids);
	free(pages);
}

u64 mmp_pages_string(struct mmp_pages_out *pages, const struct text_buf *text)
{
	static const u8 terminator = MMP_TERMINATOR;
	u64 id = MMP_FIRST_REGULAR + pages->pages[MMP_STRINGS].address;

	if (text->len)
		page_add(pages, MMP_STRINGS, text->data, text->len);
	page_add(pages, MMP_STRINGS, &terminator, sizeof(terminator));
	return id;
}

static int forget(struct mmp_pages_out *pages)
{
	struct strtab *known = NULL;
	int err = strtab_new(&known);

	if (err)
		return err;
	strtab_free(&pages->known);
	free(pages->ids);
	pages->known = known;
	pages->ids = NULL;
	pages->known_bytes = 0;
	return 0;
}

int mmp_pages_intern(struct mmp_pages_out *pages, const struct text_buf *text, u64 *id)
{
	u32 count = strtab_count(pages->known), number;
	int err = 0;

	if (text->failed)
		return -ENOMEM;
	if (count >= KNOWN_MAX || pages->known_bytes >= KNOWN_BYTES_MAX) {
		err = forget(pages);
		count = 0;
	}
	if (!err)
		err = GROW(pages->ids, count);
	if (!err)
		err = strtab_add(pages->known, text->data ? text->data : "", text->len, &number);
	if (err)
		return err;
	if (number == count) {
		pages->ids[number] = mmp_pages_string(pages, text);
		pages->known_bytes += text->len;
	}
	*id = pages->ids[number];
	return 0;
}

void mmp_pages_metadata(struct mmp_pages_out *pages, u64 id)
{
	u8 entry[16];

	mmp_put64(entry, MMP_METADATA);
	mmp_put64(entry + 8, id - MMP_FIRST_REGULAR);
	page_add(pages, MMP_INDEX, entry, sizeof(entry));
}

void mmp_pages_event(struct mmp_pages_out *pages, const struct mmp_event *event)
{
	u8 bytes[MMP_EVENT_SIZE];

	mmp_event_put(bytes, event);
	page_add(pages, MMP_EVENTS, bytes, sizeof(bytes));
}

void mmp_add_reference(struct text_buf *text, u64 id)
{
	u8 bytes[9] = {MMP_REFERENCE};

	mmp_put64(bytes + 1, id);
	text_add(text, (const char *)bytes, sizeof(bytes));
}

void mmp_add_text(struct text_buf *out, const char *text)
{
	u32 code;

	while ((code = text_next(&text))) {
		bool control = (code < 0x20 && !strchr("\t\n\f\r", (int)code)) || code == 0x7f;

		text_add_code(out, control ? TEXT_REPLACEMENT : code);
	}
}
