/* SPDX-License-Identifier: MIT */
/* From the bytes of a recording to its whole blocks. See recording_read.h.
 *
 * A block is found by its magic number and the checksum of its header, which also vouches for its length; so looking
 * for the next one in damaged bytes costs time that grows with the file alone. The checksum of a payload is the one
 * thing that a hostile file could have made again and again over the same bytes: there is a limit to that.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "recording_read.h"

#define HEADER     sizeof(struct recording_block_header)
#define ROOM_FIRST 4096u
/* Read so much at once, where there is so much. */
#define ROOM_USUAL (256u << 10)
/* Checksums that were wrong may have cost so much, and twice the bytes gone by. */
#define WASTE_MAX (16u << 20)

int recording_input_init(struct recording_input *in, int fd, const u8 *first, size_t n)
{
	*in = (struct recording_input){.fd = fd, .room = ROOM_FIRST, .first_bad = UINT64_MAX};
	in->bytes = malloc(in->room);
	if (!in->bytes)
		return -ENOMEM;
	memcpy(in->bytes, first, n);
	in->end = n;
	return 0;
}

void recording_input_free(struct recording_input *in)
{
	free(in->bytes);
	in->bytes = NULL;
}

static size_t input_left(const struct recording_input *in)
{
	return in->end - in->start;
}

static void input_skip(struct recording_input *in, size_t n)
{
	in->start += n;
	in->offset += n;
}

static int input_grow(struct recording_input *in, size_t room)
{
	u8 *bytes = realloc(in->bytes, room);

	if (!bytes)
		return -ENOMEM;
	in->bytes = bytes;
	in->room = room;
	return 0;
}

/* Has NEED bytes at hand, or all there are. 0 or -errno. */
static int input_fill(struct recording_input *in, size_t need)
{
	ssize_t n;
	int err;

	if (input_left(in) >= need || in->ended)
		return 0;
	memmove(in->bytes, in->bytes + in->start, input_left(in));
	in->end -= in->start;
	in->start = 0;
	if (need > in->room) {
		err = input_grow(in, need + ROOM_USUAL);
		if (err)
			return err;
	}
	while (in->end < need) {
		n = read(in->fd, in->bytes + in->end, in->room - in->end);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		in->ended = n == 0;
		if (in->ended)
			return 0;
		in->end += (size_t)n;
	}
	/* A small file never needs the usual room. */
	if (in->end == in->room && in->room < ROOM_USUAL)
		return input_grow(in, in->room * 4);
	return 0;
}

/* From here on bytes are left out. */
static void input_bad(struct recording_input *in)
{
	if (in->has_bad)
		return;
	in->has_bad = true;
	in->bad = in->offset;
	if (in->offset < in->first_bad)
		in->first_bad = in->offset;
}

/* To the next place where a block might begin. 0 or -errno. */
static int input_search(struct recording_input *in)
{
	const u32 magic = RECORDING_BLOCK_MAGIC;
	const u8 *found;
	int err;

	input_bad(in);
	if (input_left(in))
		input_skip(in, 1);
	for (;;) {
		found = memmem(in->bytes + in->start, input_left(in), &magic, sizeof(magic));
		if (found) {
			input_skip(in, (size_t)(found - in->bytes) - in->start);
			return 0;
		}
		if (input_left(in) >= sizeof(magic))
			input_skip(in, input_left(in) - (sizeof(magic) - 1));
		err = input_fill(in, sizeof(magic));
		if (err)
			return err;
		if (input_left(in) < sizeof(magic)) {
			input_skip(in, input_left(in));
			return 0;
		}
	}
}

static bool header_is_good(const struct recording_block_header *header)
{
	const size_t from = offsetof(struct recording_block_header, crc);

	return header->magic == RECORDING_BLOCK_MAGIC && header->length <= RECORDING_BLOCK_MAX &&
	       crc32(0, (const u8 *)header + from, HEADER - from) == header->header_crc;
}

/* Whether the block at hand comes after the one before; counts those that are missing in between. */
static bool input_in_sequence(struct recording_input *in, u32 sequence)
{
	u32 expected = in->begun ? in->sequence + 1 : 0;

	if (in->begun && sequence <= in->sequence) {
		in->blocks_lost++;
		return false;
	}
	/* What stood between two blocks that follow each other was none. */
	in->blocks_lost += sequence - expected ? sequence - expected : in->has_bad;
	if (sequence != expected && in->offset < in->first_bad)
		in->first_bad = in->offset;
	in->begun = true;
	in->sequence = sequence;
	in->has_bad = false;
	return true;
}

/* The block at hand: 1; 0 when it is none, and the input stands where to look on. */
static int input_try(struct recording_input *in, struct recording_block_header *header,
		     const u8 **payload)
{
	size_t whole;
	int err;

	memcpy(header, in->bytes + in->start, HEADER);
	if (!header_is_good(header))
		return input_search(in);
	whole = HEADER + header->length;
	err = input_fill(in, whole);
	if (err)
		return err;
	if (input_left(in) < whole)
		return input_search(in);
	*payload = in->bytes + in->start + HEADER;
	if (crc32(0, *payload, header->length) != header->crc) {
		in->wasted += header->length;
		if (in->wasted < WASTE_MAX + 2 * in->offset)
			return input_search(in);
		input_bad(in);
		input_skip(in, whole);
		return 0;
	}
	if (!input_in_sequence(in, header->sequence)) {
		input_bad(in);
		in->has_bad = false; /* it is counted already */
		input_skip(in, whole);
		return 0;
	}
	input_skip(in, whole);
	return 1;
}

int recording_input_next(struct recording_input *in, struct recording_block_header *header,
			 const u8 **payload)
{
	int err;

	for (;;) {
		err = input_fill(in, HEADER);
		if (err)
			return err;
		if (input_left(in) < HEADER)
			break;
		err = input_try(in, header, payload);
		if (err)
			return err;
	}
	if (input_left(in)) {
		input_bad(in);
		input_skip(in, input_left(in));
	}
	if (in->has_bad) {
		in->tail = in->offset - in->bad;
		in->blocks_lost++;
		in->has_bad = false;
	}
	return 0;
}

bool recording_input_more(struct recording_input *in)
{
	return input_fill(in, 1) == 0 && input_left(in);
}

u64 recording_input_earliest(const struct recording_input *in)
{
	struct recording_block_header header;
	u64 earliest = UINT64_MAX;
	off_t at = (off_t)in->offset;

	while (pread(in->fd, &header, HEADER, at) == (ssize_t)HEADER && header_is_good(&header)) {
		if (header.kind == RECORDING_SPANS && header.last_ns && header.first_ns < earliest)
			earliest = header.first_ns;
		at += (off_t)(HEADER + header.length);
	}
	return earliest;
}
