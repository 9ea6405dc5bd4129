/* SPDX-License-Identifier: MIT */
/* Event files of measureme's form, made by hand, string by string and event by event. */
#ifndef SPANTRACE_TEST_EVENTFILE_H
#define SPANTRACE_TEST_EVENTFILE_H

#include <stdlib.h>
#include <string.h>

#include "../../exporters/text.h"
#include "../../include/mmprofdata.h"

struct eventfile {
	struct text_buf streams[MMP_STREAMS];
	bool old;
};

static inline void eventfile_number(struct text_buf *b, u64 value, size_t size)
{
	text_add(b, (const char *)&value, size);
}

static inline void eventfile_init(struct eventfile *f, bool old)
{
	static const u32 magic[] = {MMP_MAGIC_EVENTS, MMP_MAGIC_STRINGS, MMP_MAGIC_INDEX};

	*f = (struct eventfile){.old = old};
	for (int i = 0; i < MMP_STREAMS; i++) {
		eventfile_number(&f->streams[i], magic[i], 4);
		eventfile_number(&f->streams[i], old ? MMP_VERSION_OLD : MMP_VERSION, 4);
	}
}

static inline void eventfile_free(struct eventfile *f)
{
	for (int i = 0; i < MMP_STREAMS; i++)
		text_buf_free(&f->streams[i]);
}

/* A string of LENGTH bytes as they are; its end is added. Returns its id. */
static inline u64 eventfile_bytes(struct eventfile *f, const char *bytes, size_t length)
{
	u64 id = MMP_FIRST_REGULAR + f->streams[MMP_STRINGS].len;

	text_add(&f->streams[MMP_STRINGS], bytes, length);
	text_add(&f->streams[MMP_STRINGS], "\xff", 1);
	return id;
}

static inline u64 eventfile_string(struct eventfile *f, const char *text)
{
	return eventfile_bytes(f, text, strlen(text));
}

/* BEFORE, then what string ID holds, then AFTER. */
static inline u64 eventfile_joined(struct eventfile *f, const char *before, u64 id,
				   const char *after)
{
	struct text_buf b = {0};
	u64 joined;

	text_add_str(&b, before);
	text_add(&b, "\xfe", 1);
	eventfile_number(&b, id, f->old ? 4 : 8);
	text_add_str(&b, after);
	joined = eventfile_bytes(f, b.data, b.len);
	text_buf_free(&b);
	return joined;
}

static inline void eventfile_index(struct eventfile *f, u64 id, u64 string)
{
	eventfile_number(&f->streams[MMP_INDEX], id, f->old ? 4 : 8);
	eventfile_number(&f->streams[MMP_INDEX], string - MMP_FIRST_REGULAR, f->old ? 4 : 8);
}

static inline void eventfile_event(struct eventfile *f, u64 kind, u64 id, u32 thread, u64 value1,
				   u64 value2)
{
	struct text_buf *b = &f->streams[MMP_EVENTS];

	eventfile_number(b, kind, f->old ? 4 : 8);
	eventfile_number(b, id, f->old ? 4 : 8);
	eventfile_number(b, thread, 4);
	eventfile_number(b, value1, 4);
	eventfile_number(b, value2, 4);
	eventfile_number(b, value1 >> 32 << 16 | value2 >> 32, 4);
}

/* Metadata that measureme could have written. */
static inline void eventfile_metadata(struct eventfile *f, const char *json)
{
	eventfile_index(f, MMP_METADATA, eventfile_string(f, json));
}

/* The file, its streams in pages of at most PAGE bytes, to be freed. */
static inline char *eventfile_image(const struct eventfile *f, size_t page, size_t *size)
{
	struct text_buf b = {0};
	size_t at[MMP_STREAMS] = {0};
	bool more = true;

	text_add_str(&b, "MMPD");
	eventfile_number(&b, f->old ? MMP_VERSION_OLD : MMP_VERSION, 4);
	while (more) {
		more = false;
		for (u32 i = 0; i < MMP_STREAMS; i++) {
			size_t n = f->streams[i].len - at[i];

			n = n > page ? page : n;
			if (!n)
				continue;
			eventfile_number(&b, i, 1);
			eventfile_number(&b, n, 4);
			text_add(&b, f->streams[i].data + at[i], n);
			at[i] += n;
			more = true;
		}
	}
	*size = b.len;
	return b.data;
}

#endif
