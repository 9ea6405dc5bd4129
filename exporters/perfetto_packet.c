/* SPDX-License-Identifier: MIT */
/* See perfetto_packet.h. */
#include "perfetto_packet.h"

#include <errno.h>
#include <string.h>

#include "../user/util/varint.h"

#define FULL (256u << 10)
/* Distinct texts of labels that are told once; further ones stand where they are used. */
#define STRINGS_TOLD (1u << 17)

/* All packets are of one sequence, which is what interned names belong to. */
#define SEQUENCE 1

enum { TRACE_PACKET = 1 };

enum packet_field {
	PACKET_CLOCKS = 6,
	PACKET_TIME = 8,
	PACKET_SEQUENCE = 10,
	PACKET_EVENT = 11,
	PACKET_INTERNED = 12,
	PACKET_FLAGS = 13,
	PACKET_CLOCK = 58,
	PACKET_DEFAULTS = 59,
	PACKET_TRACK = 60,
};

enum packet_flag {
	FLAG_CLEARED = 1, /* nothing is interned yet */
	FLAG_NEEDS = 2,   /* what was interned before is needed */
};

enum clock_field {
	CLOCKS_CLOCK = 1,
	CLOCKS_PRIMARY = 2,
	CLOCK_ID = 1,
	CLOCK_TIME = 2,
};

enum clock_id {
	CLOCK_OF_REALTIME = 1,
	CLOCK_OF_MONOTONIC = 3,
	CLOCK_OF_BOOTTIME = 6,
};

enum track_field {
	TRACK_UUID = 1,
	TRACK_NAME = 2,
	TRACK_PROCESS = 3,
	TRACK_THREAD = 4,
	TRACK_PARENT = 5,
	TRACK_COUNTER = 8,
	PROCESS_PID = 1,
	PROCESS_NAME = 6,
	THREAD_PID = 1,
	THREAD_TID = 2,
	THREAD_NAME = 5,
	COUNTER_TYPE = 1,
	COUNTER_UNIT = 3,
};

enum event_field {
	EVENT_CATEGORY = 3,
	EVENT_ARGUMENT = 4,
	EVENT_TYPE = 9,
	EVENT_NAME = 10,
	EVENT_TRACK = 11,
	EVENT_EXTRA_VALUE = 12,
	EVENT_NAME_TEXT = 23,
	EVENT_VALUE = 30,
	EVENT_EXTRA_TRACK = 31,
	EVENT_FLOW = 47,
};

enum argument_field {
	ARGUMENT_KEY = 1,
	ARGUMENT_UNSIGNED = 3,
	ARGUMENT_SIGNED = 4,
	ARGUMENT_TEXT = 6,
	ARGUMENT_STRING = 17,
};

/* Sorts of interned strings, and the field that each has in a packet's PACKET_INTERNED. */
enum interned_field {
	INTERNED_CATEGORY = 1,
	INTERNED_NAME = 2,
	INTERNED_KEY = 3,
	INTERNED_STRING = 29,
	INTERNED_NUMBER = 1, /* in each of them */
	INTERNED_TEXT = 2,
};

/* --- packets -------------------------------------------------------------------------------------------- */

static void packet_begin(struct perfetto_file *p)
{
	p->packet = protobuf_open(&p->buf, TRACE_PACKET);
	protobuf_u64(&p->buf, PACKET_SEQUENCE, SEQUENCE);
}

static void packet_end(struct perfetto_file *p)
{
	protobuf_close(&p->buf, p->packet);
}

static void put_clock(struct text_buf *b, enum clock_id id, u64 time)
{
	size_t at = protobuf_open(b, CLOCKS_CLOCK);

	protobuf_u64(b, CLOCK_ID, id);
	protobuf_u64(b, CLOCK_TIME, time);
	protobuf_close(b, at);
}

void perfetto_file_begin(struct perfetto_file *p, FILE *out, const struct profile *run)
{
	size_t at;

	*p = (struct perfetto_file){.out = out};
	packet_begin(p);
	at = protobuf_open(&p->buf, PACKET_CLOCKS);
	put_clock(&p->buf, CLOCK_OF_MONOTONIC, run->start_ns);
	put_clock(&p->buf, CLOCK_OF_BOOTTIME, run->start_ns + run->suspended_ns);
	put_clock(&p->buf, CLOCK_OF_REALTIME, run->start_realtime_ns);
	protobuf_u64(&p->buf, CLOCKS_PRIMARY, CLOCK_OF_MONOTONIC);
	protobuf_close(&p->buf, at);
	packet_end(p);

	packet_begin(p);
	protobuf_u64(&p->buf, PACKET_FLAGS, FLAG_CLEARED);
	at = protobuf_open(&p->buf, PACKET_DEFAULTS);
	protobuf_u64(&p->buf, PACKET_CLOCK, CLOCK_OF_MONOTONIC);
	protobuf_close(&p->buf, at);
	packet_end(p);
}

void perfetto_file_free(struct perfetto_file *p)
{
	text_buf_free(&p->buf);
	text_buf_free(&p->interned);
	pairmap_free(&p->names);
	pairmap_free(&p->strings);
}

int perfetto_file_flush(struct perfetto_file *p)
{
	size_t len = p->buf.len;

	if (p->buf.failed || p->interned.failed)
		p->error = -ENOMEM;
	errno = 0;
	if (!p->error && (fwrite(p->buf.data, 1, len, p->out) != len || fflush(p->out)))
		p->error = errno ? -errno : -EIO;
	text_cut(&p->buf, 0);
	return p->error;
}

int perfetto_file_settle(struct perfetto_file *p)
{
	return p->error || p->buf.failed || p->buf.len >= FULL ? perfetto_file_flush(p) : 0;
}

/* --- tracks --------------------------------------------------------------------------------------------- */

static void put_name(struct text_buf *b, u32 field, const char *name)
{
	if (name && *name)
		protobuf_string(b, field, name);
}

void perfetto_describe(struct perfetto_file *p, const struct perfetto_track *track)
{
	struct text_buf *b = &p->buf;
	bool is_own = track->is_process || track->is_thread;
	size_t at, part;

	packet_begin(p);
	at = protobuf_open(b, PACKET_TRACK);
	protobuf_u64(b, TRACK_UUID, track->uuid);
	if (track->parent)
		protobuf_u64(b, TRACK_PARENT, track->parent);
	if (!is_own)
		put_name(b, TRACK_NAME, track->name);
	if (track->is_process) {
		part = protobuf_open(b, TRACK_PROCESS);
		protobuf_u64(b, PROCESS_PID, track->pid);
		put_name(b, PROCESS_NAME, track->name);
		protobuf_close(b, part);
	}
	if (track->is_thread) {
		part = protobuf_open(b, TRACK_THREAD);
		protobuf_u64(b, THREAD_PID, track->pid);
		protobuf_u64(b, THREAD_TID, track->tid);
		put_name(b, THREAD_NAME, track->name);
		protobuf_close(b, part);
	}
	if (track->is_counter) {
		part = protobuf_open(b, TRACK_COUNTER);
		if (track->unit == PERFETTO_THREAD_TIME)
			protobuf_u64(b, COUNTER_TYPE, 1);
		else if (track->unit != PERFETTO_NO_UNIT)
			protobuf_u64(b, COUNTER_UNIT, track->unit);
		protobuf_close(b, part);
	}
	protobuf_close(b, at);
	packet_end(p);
}

/* --- interned strings ----------------------------------------------------------------------------------- */

static void tell(struct perfetto_file *p, enum interned_field sort, u32 number, const char *text)
{
	size_t at = protobuf_open(&p->interned, sort);

	protobuf_u64(&p->interned, INTERNED_NUMBER, number);
	protobuf_string(&p->interned, INTERNED_TEXT, text);
	protobuf_close(&p->interned, at);
}

/* The number of what A and B, pointers or less, stand for in MAP; it is TEXT when they are new. From 1. */
static u32 number_of(struct perfetto_file *p, struct pairmap *map, u64 a, u64 b,
		     enum interned_field sort, const char *text)
{
	u32 number;

	if (pairmap_get(map, a, b, &number))
		return number;
	number = (u32)map->count + 1;
	if (pairmap_put(map, a, b, number))
		p->error = -ENOMEM;
	tell(p, sort, number, text);
	return number;
}

/* --- events --------------------------------------------------------------------------------------------- */

void perfetto_event_begin(struct perfetto_file *p, enum perfetto_event type, u64 track, u64 time)
{
	packet_begin(p);
	protobuf_u64(&p->buf, PACKET_FLAGS, FLAG_NEEDS);
	protobuf_u64(&p->buf, PACKET_TIME, time);
	p->event = protobuf_open(&p->buf, PACKET_EVENT);
	protobuf_u64(&p->buf, EVENT_TYPE, type);
	protobuf_u64(&p->buf, EVENT_TRACK, track);
}

void perfetto_event_end(struct perfetto_file *p)
{
	protobuf_close(&p->buf, p->event);
	if (p->interned.len) {
		protobuf_bytes(&p->buf, PACKET_INTERNED, p->interned.data, p->interned.len);
		text_cut(&p->interned, 0);
	}
	packet_end(p);
}

void perfetto_event_name(struct perfetto_file *p, const struct model_path *path, const char *text)
{
	const char *provider = path->def->provider;

	protobuf_u64(&p->buf, EVENT_NAME,
		     number_of(p, &p->names, pairmap_key(path->def), pairmap_key(path->name),
			       INTERNED_NAME, text));
	protobuf_u64(&p->buf, EVENT_CATEGORY,
		     number_of(p, &p->strings, pairmap_key(provider), INTERNED_CATEGORY,
			       INTERNED_CATEGORY, provider));
}

/* --- events in one piece -------------------------------------------------------------------------------- */

#define TAG_NUMBER(field) ((u64)(field) << 3)
#define TAG_LENGTH(field) ((u64)(field) << 3 | 2)

static u8 *put_number(u8 *at, u32 field, u64 value)
{
	return varint_put(varint_put(at, TAG_NUMBER(field)), value);
}

void perfetto_piece_head(struct perfetto_piece *piece, enum perfetto_event type, u64 track,
			 u64 extra)
{
	u8 *at = piece->bytes;

	at = put_number(at, EVENT_TYPE, type);
	at = put_number(at, EVENT_TRACK, track);
	if (extra)
		at = put_number(at, EVENT_EXTRA_TRACK, extra);
	piece->len = (u8)(at - piece->bytes);
}

void perfetto_piece_name(struct perfetto_file *p, struct perfetto_piece *piece,
			 const struct model_path *path)
{
	u8 *at = piece->bytes;
	u32 name = 0, category = 0;

	pairmap_get(&p->names, pairmap_key(path->def), pairmap_key(path->name), &name);
	pairmap_get(&p->strings, pairmap_key(path->def->provider), INTERNED_CATEGORY, &category);
	at = put_number(at, EVENT_NAME, name);
	at = put_number(at, EVENT_CATEGORY, category);
	piece->len = (u8)(at - piece->bytes);
}

static u8 *put_piece(u8 *at, const struct perfetto_piece *piece)
{
	memcpy(at, piece->bytes, sizeof(piece->bytes)); /* all of it: a fixed size is faster */
	return at + piece->len;
}

void perfetto_event_plain(struct perfetto_file *p, const struct perfetto_piece *head, u64 time,
			  const u64 *value, const struct perfetto_piece *name)
{
	/* Their lengths stand in one byte each: all together is less than 128 bytes. */
	enum { MOST = 2 + 2 + 2 + 1 + VARINT_MAX + 2 + 2 * sizeof(head->bytes) + 1 + VARINT_MAX };
	u8 *packet = (u8 *)text_room(&p->buf, MOST), *at = packet, *event;

	_Static_assert(MOST - 2 < 0x80, "a length in one byte");
	_Static_assert(TAG_LENGTH(PACKET_FLAGS) < 0x80 && TAG_NUMBER(EVENT_EXTRA_VALUE) < 0x80,
		       "a tag in one byte");
	if (!at)
		return;
	*at++ = TAG_LENGTH(TRACE_PACKET);
	at++;
	*at++ = TAG_NUMBER(PACKET_SEQUENCE);
	*at++ = SEQUENCE;
	*at++ = TAG_NUMBER(PACKET_FLAGS);
	*at++ = FLAG_NEEDS;
	*at++ = TAG_NUMBER(PACKET_TIME);
	at = varint_put(at, time);
	*at++ = TAG_LENGTH(PACKET_EVENT);
	event = ++at;
	at = put_piece(at, head);
	if (value) {
		*at++ = TAG_NUMBER(EVENT_EXTRA_VALUE);
		at = varint_put(at, *value);
	}
	if (name)
		at = put_piece(at, name);
	event[-1] = (u8)(at - event);
	packet[1] = (u8)(at - packet - 2);
	text_end(&p->buf, (char *)at);
}

/* --- what events say ------------------------------------------------------------------------------------ */

void perfetto_event_text(struct perfetto_file *p, const char *name)
{
	protobuf_string(&p->buf, EVENT_NAME_TEXT, name);
}

void perfetto_event_value(struct perfetto_file *p, s64 value)
{
	protobuf_u64(&p->buf, EVENT_VALUE, (u64)value);
}

void perfetto_event_extra(struct perfetto_file *p, u64 track, u64 value)
{
	protobuf_u64(&p->buf, EVENT_EXTRA_TRACK, track);
	protobuf_u64(&p->buf, EVENT_EXTRA_VALUE, value);
}

void perfetto_event_flow(struct perfetto_file *p, u64 number)
{
	protobuf_fixed64(&p->buf, EVENT_FLOW, number);
}

static size_t argument_begin(struct perfetto_file *p, const char *key)
{
	size_t at = protobuf_open(&p->buf, EVENT_ARGUMENT);

	protobuf_u64(&p->buf, ARGUMENT_KEY,
		     number_of(p, &p->strings, pairmap_key(key), INTERNED_KEY, INTERNED_KEY, key));
	return at;
}

void perfetto_event_number(struct perfetto_file *p, const char *key, u64 value)
{
	size_t at = argument_begin(p, key);

	protobuf_u64(&p->buf, ARGUMENT_UNSIGNED, value);
	protobuf_close(&p->buf, at);
}

void perfetto_event_string(struct perfetto_file *p, const char *key, const char *text)
{
	size_t at = argument_begin(p, key);

	protobuf_string(&p->buf, ARGUMENT_TEXT, text);
	protobuf_close(&p->buf, at);
}

void perfetto_event_label(struct perfetto_file *p, const struct model_label *label)
{
	size_t at;
	u32 number;

	if (label->text && p->strings.count >= STRINGS_TOLD &&
	    !pairmap_get(&p->strings, pairmap_key(label->text), INTERNED_STRING, &number)) {
		perfetto_event_string(p, label->key, label->text);
		return;
	}
	at = argument_begin(p, label->key);
	if (label->text)
		protobuf_u64(&p->buf, ARGUMENT_STRING,
			     number_of(p, &p->strings, pairmap_key(label->text), INTERNED_STRING,
				       INTERNED_STRING, label->text));
	else
		protobuf_u64(&p->buf, ARGUMENT_SIGNED, (u64)label->number);
	protobuf_close(&p->buf, at);
}
