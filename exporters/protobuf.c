/* SPDX-License-Identifier: MIT */
/* See protobuf.h. A message's length stands before it and is not known when it is opened: one byte is kept for it, and
 * what is longer than that can say moves up at its close. Most messages are not. */
#include "protobuf.h"

#include <string.h>

#include "../user/util/varint.h"

enum wire_type {
	TYPE_VARINT = 0,
	TYPE_FIXED64 = 1,
	TYPE_LENGTH = 2,
};

static u8 *put_tag(u8 *at, u32 field, enum wire_type type)
{
	return varint_put(at, (u64)field << 3 | type);
}

static void add(struct text_buf *b, const u8 *bytes, const u8 *end)
{
	text_add(b, (const char *)bytes, (size_t)(end - bytes));
}

void protobuf_varint(struct text_buf *b, u64 value)
{
	u8 bytes[VARINT_MAX];

	add(b, bytes, varint_put(bytes, value));
}

void protobuf_u64(struct text_buf *b, u32 field, u64 value)
{
	u8 bytes[2 * VARINT_MAX];

	add(b, bytes, varint_put(put_tag(bytes, field, TYPE_VARINT), value));
}

void protobuf_fixed64(struct text_buf *b, u32 field, u64 value)
{
	u8 bytes[VARINT_MAX + sizeof(value)], *at = put_tag(bytes, field, TYPE_FIXED64);

	for (unsigned shift = 0; shift < 64; shift += 8)
		*at++ = (u8)(value >> shift);
	add(b, bytes, at);
}

void protobuf_double(struct text_buf *b, u32 field, double value)
{
	u64 bits;

	memcpy(&bits, &value, sizeof(bits));
	protobuf_fixed64(b, field, bits);
}

void protobuf_bytes(struct text_buf *b, u32 field, const void *bytes, size_t len)
{
	u8 head[2 * VARINT_MAX];

	add(b, head, varint_put(put_tag(head, field, TYPE_LENGTH), len));
	text_add(b, bytes, len);
}

void protobuf_string(struct text_buf *b, u32 field, const char *text)
{
	size_t at = protobuf_open(b, field);

	while (*text) {
		const char *run = text;

		while (*text > 0 && *text < 0x7f) /* nearly all of it */
			text++;
		text_add(b, run, (size_t)(text - run));
		if (*text)
			text_add_code(b, text_next(&text));
	}
	protobuf_close(b, at);
}

size_t protobuf_open(struct text_buf *b, u32 field)
{
	u8 bytes[VARINT_MAX + 1], *at = put_tag(bytes, field, TYPE_LENGTH);

	*at++ = 0;
	add(b, bytes, at);
	return b->len;
}

void protobuf_close(struct text_buf *b, size_t at)
{
	u8 bytes[VARINT_MAX];
	size_t len, more;

	if (b->failed)
		return;
	len = b->len - at;
	if (len < 0x80) {
		b->data[at - 1] = (char)len;
		return;
	}
	more = (size_t)(varint_put(bytes, len) - bytes) - 1;
	text_add(b, (const char *)bytes, more); /* room */
	if (b->failed)
		return;
	memmove(b->data + at + more, b->data + at, len);
	memcpy(b->data + at - 1, bytes, more + 1);
}
