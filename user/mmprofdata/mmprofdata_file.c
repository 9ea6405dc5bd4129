/* SPDX-License-Identifier: MIT */
/* See mmprofdata_file.h. */
#include "mmprofdata_file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../util/cleanup.h"
#include "../util/grow.h"
#include "../util/io.h"

/* More pages than this are copied together: a real file of 8 GiB has fewer. */
#define RUNS_MAX 65536u

static const u32 stream_magic[MMP_STREAMS] = {
	[MMP_EVENTS] = MMP_MAGIC_EVENTS,
	[MMP_STRINGS] = MMP_MAGIC_STRINGS,
	[MMP_INDEX] = MMP_MAGIC_INDEX,
};

/* --- streams -------------------------------------------------------------------------------------- */

/* The first run that ends behind POSITION. */
static size_t run_at(const struct mmp_pages *pages, u64 position)
{
	size_t low = 0, high = pages->nruns;

	while (low < high) {
		size_t middle = (low + high) / 2;
		const struct mmp_run *run = &pages->runs[middle];

		if (run->position + run->length <= position)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Of a stream, across its pages; what it does not have is zero. */
static int pages_read(void *source, u64 position, void *buf, size_t size)
{
	const struct mmp_pages *pages = source;
	size_t i = run_at(pages, position);
	u8 *to = buf;

	for (; size && i < pages->nruns; i++) {
		const struct mmp_run *run = &pages->runs[i];
		u64 within = position - run->position;
		size_t n = run->length - within < size ? (size_t)(run->length - within) : size;
		ssize_t got = io_read_at(pages->file->fd, to, n, (off_t)(run->offset + within));

		if (got < 0)
			return (int)got;
		memset(to + got, 0, n - (size_t)got); /* the file has become shorter */
		to += n;
		position += n;
		size -= n;
	}
	memset(to, 0, size);
	return 0;
}

static struct blockcache *pages_cache(const struct mmp_pages *pages)
{
	return pages->copy ? pages->copy : pages->cache;
}

/* Writes SIZE bytes at OFFSET of the file to the end of the stream's copy. */
static int pages_copy(struct mmp_pages *pages, u64 offset, u64 position, u64 size)
{
	char buf[16384];

	while (size) {
		size_t n = size < sizeof(buf) ? (size_t)size : sizeof(buf);
		ssize_t got = io_read_at(pages->file->fd, buf, n, (off_t)offset);
		int err;

		if (got <= 0)
			return (int)got;
		err = blockcache_write(pages->copy, position, buf, (size_t)got);
		if (err)
			return err;
		offset += (u64)got;
		position += (u64)got;
		size -= (u64)got;
	}
	return 0;
}

/* From here on the stream is what stands in a scratch area. */
static int pages_start_copy(struct mmp_pages *pages)
{
	int err = blockcache_new(NULL, NULL, &pages->copy);
	size_t i;

	for (i = 0; !err && i < pages->nruns; i++)
		err = pages_copy(pages, pages->runs[i].offset, pages->runs[i].position,
				 pages->runs[i].length);
	free(pages->runs);
	pages->runs = NULL;
	pages->nruns = 0;
	return err;
}

static int pages_add(struct mmp_pages *pages, u64 offset, u64 size)
{
	struct mmp_run *last = pages->nruns ? &pages->runs[pages->nruns - 1] : NULL;
	int err = 0;

	if (!pages->copy && pages->nruns == RUNS_MAX)
		err = pages_start_copy(pages);
	if (err)
		return err;
	if (pages->copy) {
		err = pages_copy(pages, offset, pages->length, size);
	} else if (last && last->offset + last->length == offset) {
		last->length += size;
	} else {
		err = GROW(pages->runs, pages->nruns);
		if (err || !pages->runs)
			return err;
		pages->runs[pages->nruns++] = (struct mmp_run){
			.offset = offset, .position = pages->length, .length = size};
	}
	if (!err)
		pages->length += size;
	return err;
}

/* Walks the pages. Whatever is no page any more ends the walk. */
static int file_find_pages(struct mmp_file *file)
{
	off_t end = lseek(file->fd, 0, SEEK_END);
	u64 offset = MMP_HEADER_SIZE;

	if (end < 0)
		return -errno;
	while (offset < (u64)end) {
		u64 left = (u64)end - offset;
		u8 header[MMP_PAGE_HEADER];
		ssize_t got = io_read_at(file->fd, header, sizeof(header), (off_t)offset);
		u32 size;
		int err;

		if (got < 0)
			return (int)got;
		if (got < (ssize_t)sizeof(header)) {
			file->damaged++;
			file->cut_bytes = left;
			break;
		}
		size = mmp_get32(header + 1);
		if (header[0] >= MMP_STREAMS || !size) {
			file->damaged++;
			file->cut_bytes = left;
			break;
		}
		left -= sizeof(header);
		if (size > left) {
			file->damaged++;
			file->cut_bytes = left;
			size = (u32)left;
		}
		offset += sizeof(header);
		if (size) {
			err = pages_add(&file->pages[header[0]], offset, size);
			if (err)
				return err;
		}
		offset += size;
	}
	return 0;
}

/* A stream that does not begin as it should is read all the same: its contents say more than its header. */
static int file_check_stream(struct mmp_file *file, enum mmp_stream which, u32 version)
{
	struct mmp_pages *pages = &file->pages[which];
	u8 header[MMP_HEADER_SIZE];
	int err;

	if (!pages->copy) {
		err = blockcache_new(pages_read, pages, &pages->cache);
		if (err)
			return err;
	}
	if (!pages->length)
		return 0;
	err = blockcache_read(pages_cache(pages), 0, header, sizeof(header));
	if (err)
		return err;
	if (pages->length < MMP_HEADER_SIZE || mmp_get32(header) != stream_magic[which] ||
	    mmp_get32(header + 4) != version)
		file->damaged++;
	return 0;
}

/* --- strings -------------------------------------------------------------------------------------- */

/* Later entries win, so they are just written one after the other. */
static int file_read_index(struct mmp_file *file)
{
	struct blockcache *from = pages_cache(&file->pages[MMP_INDEX]);
	u64 end = file->pages[MMP_INDEX].length, at;
	size_t half = file->old ? 4 : 8;

	for (at = MMP_HEADER_SIZE; at + 2 * half <= end; at += 2 * half) {
		u8 entry[16], value[8];
		u64 id, address;
		int err = blockcache_read(from, at, entry, 2 * half);

		if (err)
			return err;
		id = file->old ? mmp_get32(entry) : mmp_get64(entry);
		address = file->old ? mmp_get32(entry + 4) : mmp_get64(entry + 8);
		if (id > MMP_METADATA || address == UINT64_MAX) {
			file->damaged++;
			continue;
		}
		mmp_put64(value, address + 1);
		err = blockcache_write(file->index, id * sizeof(value), value, sizeof(value));
		if (err)
			return err;
	}
	if (at != end && end > MMP_HEADER_SIZE)
		file->damaged++;
	return 0;
}

/* The address of string ID in *ADDRESS, or false there is none in *KNOWN. */
static int string_address(struct mmp_file *file, u64 id, u64 *address, bool *known)
{
	u8 value[8];
	int err;

	*known = false;
	if (id >= MMP_FIRST_REGULAR) {
		*address = id - MMP_FIRST_REGULAR;
	} else if (id <= MMP_METADATA) {
		err = blockcache_read(file->index, id * sizeof(value), value, sizeof(value));
		if (err)
			return err;
		*address = mmp_get64(value) - 1; /* none: far behind the end */
	} else {
		return 0;
	}
	*known = *address >= MMP_HEADER_SIZE && *address < file->pages[MMP_STRINGS].length;
	return 0;
}

/* Strings refer to strings: to each depth there is a place to go back to. A file may make a string of references
 * that never ends, so they are counted too. */
#define REFERENCES_DEEP 128
#define REFERENCES_MAX  4096

/* Adds what stands before the next reference or end of the string at *AT. Returns the byte that stopped it, moved
 * behind it; -EILSEQ where the stream ends first. */
static int text_add_plain(struct mmp_file *file, u64 *at, struct text_buf *out)
{
	struct mmp_pages *pages = &file->pages[MMP_STRINGS];

	while (*at < pages->length) {
		const u8 *bytes;
		long n = blockcache_peek(pages_cache(pages), *at, &bytes), i;
		size_t room = MMP_TEXT_MAX - out->len;

		if (n < 0)
			return (int)n;
		if ((u64)n > pages->length - *at)
			n = (long)(pages->length - *at);
		for (i = 0; i < n && bytes[i] < MMP_REFERENCE; i++)
			;
		text_add(out, (const char *)bytes, (size_t)i < room ? (size_t)i : room);
		if (out->failed)
			return -ENOMEM;
		*at += (u64)i;
		if (i < n) {
			(*at)++;
			return bytes[i];
		}
		if (out->len >= MMP_TEXT_MAX)
			break;
	}
	return -EILSEQ;
}

int mmp_file_text(struct mmp_file *file, u64 id, struct text_buf *out)
{
	u64 back[REFERENCES_DEEP], at = 0;
	unsigned depth = 0, references = 0;
	size_t size = file->old ? 4 : 8;
	bool known;
	int err = string_address(file, id, &at, &known);

	if (err)
		return err;
	if (!known) {
		file->unknown++;
		text_add_str(out, "<unknown>");
		return out->failed ? -ENOMEM : 0;
	}
	while (out->len < MMP_TEXT_MAX) {
		int stop = text_add_plain(file, &at, out);
		u8 value[8] = {0};
		u64 to = 0;

		if (stop == -EILSEQ) {
			text_add_str(out, "<invalid>");
			break;
		}
		if (stop < 0)
			return stop;
		if (stop == MMP_TERMINATOR) {
			if (!depth)
				break;
			at = back[--depth];
			continue;
		}
		err = blockcache_read(pages_cache(&file->pages[MMP_STRINGS]), at, value, size);
		if (!err)
			err = string_address(file, mmp_get64(value), &to, &known);
		if (err)
			return err;
		at += size;
		if (depth == REFERENCES_DEEP || ++references > REFERENCES_MAX) {
			text_add_str(out, "<invalid>");
			break;
		}
		if (known) {
			back[depth++] = at;
			at = to;
		} else {
			text_add_str(out, "<unknown>");
		}
	}
	return out->failed ? -ENOMEM : 0;
}

/* --- all of it ------------------------------------------------------------------------------------ */

int mmp_file_event(struct mmp_file *file, u64 number, struct mmp_event *event)
{
	struct blockcache *from = pages_cache(&file->pages[MMP_EVENTS]);
	u8 bytes[MMP_EVENT_SIZE];
	int err;

	if (file->old)
		err = blockcache_read(from, MMP_HEADER_SIZE + number * MMP_EVENT_SIZE_OLD, bytes,
				      MMP_EVENT_SIZE_OLD);
	else
		err = blockcache_read(from, MMP_HEADER_SIZE + number * MMP_EVENT_SIZE, bytes,
				      MMP_EVENT_SIZE);
	if (!err)
		mmp_event_get(bytes, file->old, event);
	return err;
}

int mmp_file_value_behind(struct mmp_file *file, u64 number, const struct mmp_event *instant,
			  u64 *value)
{
	struct mmp_event next;
	int err;

	if (number + 1 >= file->nevents)
		return 0;
	err = mmp_file_event(file, number + 1, &next);
	if (err)
		return err;
	*value = next.value1;
	return next.value2 == MMP_INTEGER && next.kind == instant->kind && next.id == instant->id &&
	       next.thread == instant->thread;
}

int mmp_file_new(int fd, u32 version, struct mmp_file **out)
{
	CLEANUP(mmp_file_free) struct mmp_file *file = calloc(1, sizeof(*file));
	u64 length;
	int err, i;

	if (!file)
		return -ENOMEM;
	file->fd = fd;
	file->old = version == MMP_VERSION_OLD;
	for (i = 0; i < MMP_STREAMS; i++)
		file->pages[i].file = file;
	err = blockcache_new(NULL, NULL, &file->index);
	if (!err)
		err = file_find_pages(file);
	for (i = 0; !err && i < MMP_STREAMS; i++)
		err = file_check_stream(file, (enum mmp_stream)i, version);
	if (!err)
		err = file_read_index(file);
	if (err)
		return err;
	length = file->pages[MMP_EVENTS].length;
	if (length > MMP_HEADER_SIZE) {
		u32 size = file->old ? MMP_EVENT_SIZE_OLD : MMP_EVENT_SIZE;

		file->nevents = (length - MMP_HEADER_SIZE) / size;
		if ((length - MMP_HEADER_SIZE) % size)
			file->damaged++;
	}
	*out = TAKE_PTR(file);
	return 0;
}

void mmp_file_free(struct mmp_file **out)
{
	struct mmp_file *file = *out;
	int i;

	if (!file)
		return;
	*out = NULL;
	for (i = 0; i < MMP_STREAMS; i++) {
		free(file->pages[i].runs);
		blockcache_free(&file->pages[i].copy);
		blockcache_free(&file->pages[i].cache);
	}
	blockcache_free(&file->index);
	free(file);
}
