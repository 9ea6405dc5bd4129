/* SPDX-License-Identifier: MIT */
/* See otlp_encode.h. Numbers of 64 bits are text in OTLP's JSON, as readers take JSON's for doubles. In JSON each record,
 * attribute and event has a comma before it, which whoever puts them into an array leaves out of the first. */
#include "otlp_encode.h"

#include <string.h>

#include "../user/util/varint.h"
#include "decimal.h"
#include "hash.h"
#include "jsontext.h"
#include "protobuf.h"

enum resource_field {
	REQUEST_RESOURCE_SPANS = 1,
	RESOURCE_SPANS_RESOURCE = 1,
	RESOURCE_SPANS_SCOPE_SPANS = 2,
	SCOPE_SPANS_SCOPE = 1,
	SCOPE_SPANS_SPANS = 2,
	SCOPE_NAME = 1,
	SCOPE_VERSION = 2,
};

enum span_field {
	SPAN_TRACE = 1,
	SPAN_ID = 2,
	SPAN_PARENT = 4,
	SPAN_NAME = 5,
	SPAN_KIND = 6,
	SPAN_START = 7,
	SPAN_END = 8,
	SPAN_EVENTS = 11,
	SPAN_DROPPED_EVENTS = 12,
	SPAN_LINKS = 13,
	EVENT_TIME = 1,
	EVENT_NAME = 2,
	LINK_TRACE = 1,
	LINK_SPAN = 2,
};

enum value_field {
	KEY_VALUE_KEY = 1,
	KEY_VALUE_VALUE = 2,
	VALUE_TEXT = 1,
	VALUE_NUMBER = 3,
};

#define KIND_INTERNAL 1
#define TRACE_BYTES   16

#define ADD(b, literal)  text_add(b, literal, sizeof(literal) - 1)
#define PUT(at, literal) put(at, literal, sizeof(literal) - 1)

static char *put(char *at, const void *bytes, size_t len)
{
	memcpy(at, bytes, len);
	return at + len;
}

static char *put_text(char *at, const struct text_buf *text)
{
	return text->len ? put(at, text->data, text->len) : at;
}

/* --- ids ------------------------------------------------------------------------------------------------ */

/* Eight digits at once: a nibble in each byte, then what those above 9 are more. */
static char *put_hex_32(char *at, u32 value)
{
	u64 digits = value, letters;

	digits = (digits << 16 | digits) & 0x0000ffff0000ffffu;
	digits = (digits << 8 | digits) & 0x00ff00ff00ff00ffu;
	digits = (digits << 4 | digits) & 0x0f0f0f0f0f0f0f0fu;
	letters = (digits + 0x0606060606060606u) >> 4 & 0x0101010101010101u;
	digits += 0x3030303030303030u + letters * ('a' - '9' - 1);
	digits = __builtin_bswap64(digits);
	return put(at, &digits, sizeof(digits));
}

static char *put_hex(char *at, u64 value)
{
	return put_hex_32(put_hex_32(at, (u32)(value >> 32)), (u32)value);
}

static char *put_bytes(char *at, u64 value)
{
	value = __builtin_bswap64(value);
	return put(at, &value, sizeof(value));
}

void otlp_set_trace(const struct otlp_encoding *e, char *at, u64 root)
{
	u64 high = hash_mix(root ^ 0x5370616e54726163u), low = hash_mix(root + high) | 1;

	if (e->json)
		put_hex(put_hex(at, high), low);
	else
		put_bytes(put_bytes(at, high), low);
}

/* Room for the id of the record's own trace, or that of the trace of ROOT. BEGIN is the record's first byte. */
static char *put_trace(const struct otlp_encoding *e, char *at, u64 root,
		       struct otlp_record *record, const char *begin)
{
	if (root)
		otlp_set_trace(e, at, root);
	else
		record->traces[record->ntraces++] = (u32)(at - begin);
	return at + (e->json ? 2 * TRACE_BYTES : TRACE_BYTES);
}

/* --- attributes and events ------------------------------------------------------------------------------ */

void otlp_attributes_begin(struct otlp_attributes *attributes, enum otlp_of of)
{
	text_cut(&attributes->bytes, 0);
	attributes->of = of;
}

void otlp_add_number(const struct otlp_encoding *e, struct otlp_attributes *to, const char *key,
		     s64 value)
{
	struct text_buf *b = &to->bytes;

	if (e->json) {
		ADD(b, ",{\"key\":");
		jsontext_string(b, key);
		ADD(b, ",\"value\":{\"intValue\":\"");
		if (value < 0)
			ADD(b, "-");
		text_add_u64(b, value < 0 ? -(u64)value : (u64)value);
		ADD(b, "\"}}");
	} else {
		size_t at = protobuf_open(b, to->of), part;

		protobuf_string(b, KEY_VALUE_KEY, key);
		part = protobuf_open(b, KEY_VALUE_VALUE);
		protobuf_u64(b, VALUE_NUMBER, (u64)value);
		protobuf_close(b, part);
		protobuf_close(b, at);
	}
}

void otlp_add_text(const struct otlp_encoding *e, struct otlp_attributes *to, const char *key,
		   const char *text)
{
	struct text_buf *b = &to->bytes;

	if (e->json) {
		ADD(b, ",{\"key\":");
		jsontext_string(b, key);
		ADD(b, ",\"value\":{\"stringValue\":");
		jsontext_string(b, text);
		ADD(b, "}}");
	} else {
		size_t at = protobuf_open(b, to->of), part;

		protobuf_string(b, KEY_VALUE_KEY, key);
		part = protobuf_open(b, KEY_VALUE_VALUE);
		protobuf_string(b, VALUE_TEXT, text);
		protobuf_close(b, part);
		protobuf_close(b, at);
	}
}

void otlp_add_labels(const struct otlp_encoding *e, struct otlp_attributes *to,
		     const struct model_label *labels, u32 n)
{
	for (u32 i = 0; i < n; i++) {
		if (labels[i].text)
			otlp_add_text(e, to, labels[i].key, labels[i].text);
		else
			otlp_add_number(e, to, labels[i].key, labels[i].number);
	}
}

/* In protobuf with its length, and a first byte that says which field it is: put_name() puts another in its place. */
void otlp_add_name(const struct otlp_encoding *e, struct text_buf *to, const char *text)
{
	if (e->json)
		jsontext_string(to, text);
	else
		protobuf_string(to, SPAN_NAME, text);
}

static char *put_name(char *at, u32 field, const struct text_buf *name)
{
	char *first = at;

	at = put_text(at, name);
	*first = (char)(field << 3 | 2);
	return at;
}

void otlp_add_event(const struct otlp_encoding *e, struct text_buf *to, const struct text_buf *name,
		    u64 time_ns, const struct otlp_attributes *attributes)
{
	if (e->json) {
		ADD(to, ",{\"timeUnixNano\":\"");
		text_add_u64(to, time_ns);
		ADD(to, "\",\"name\":");
		text_add(to, name->data, name->len);
		if (attributes->bytes.len) {
			ADD(to, ",\"attributes\":[");
			text_add(to, attributes->bytes.data + 1, attributes->bytes.len - 1);
			ADD(to, "]");
		}
		ADD(to, "}");
	} else {
		size_t at = protobuf_open(to, SPAN_EVENTS);
		char *end;

		protobuf_fixed64(to, EVENT_TIME, time_ns);
		end = text_room(to, name->len);
		if (end)
			text_end(to, put_name(end, EVENT_NAME, name));
		text_add(to, attributes->bytes.data, attributes->bytes.len);
		protobuf_close(to, at);
	}
}

/* --- spans ---------------------------------------------------------------------------------------------- */

/* For all of a span that is not given as text, in either encoding. */
#define SPAN_ROOM 640

static const struct text_buf *bytes_of(const struct otlp_attributes *attributes)
{
	static const struct text_buf none;

	return attributes ? &attributes->bytes : &none;
}

static char *put_array(char *at, const struct otlp_span *span)
{
	const struct text_buf *shared = bytes_of(span->shared), *own = bytes_of(span->own);
	char *first;

	if (!shared->len && !own->len)
		return at;
	at = PUT(at, ",\"attributes\":");
	first = at;
	at = put_text(at, shared);
	at = put_text(at, own);
	*first = '['; /* in place of the comma */
	return PUT(at, "]");
}

static char *put_json(const struct otlp_encoding *e, char *at, const struct otlp_span *span,
		      struct otlp_record *record)
{
	const struct otlp_place *place = &span->place;
	const char *begin = at;

	at = PUT(at, ",{\"traceId\":\"");
	at = put_trace(e, at, 0, record, begin);
	at = PUT(at, "\",\"spanId\":\"");
	at = put_hex(at, place->id);
	if (place->parent) {
		at = PUT(at, "\",\"parentSpanId\":\"");
		at = put_hex(at, place->parent);
	}
	at = PUT(at, "\",\"name\":");
	at = put_text(at, span->name);
	at = PUT(at, ",\"kind\":1,\"startTimeUnixNano\":\"");
	at = decimal_put(at, span->start_ns);
	at = PUT(at, "\",\"endTimeUnixNano\":\"");
	at = decimal_put(at, span->end_ns);
	at = PUT(at, "\"");
	at = put_array(at, span);
	if (span->events && span->events->len) {
		at = PUT(at, ",\"events\":[");
		at = put(at, span->events->data + 1, span->events->len - 1);
		at = PUT(at, "]");
	}
	if (span->dropped_events) {
		at = PUT(at, ",\"droppedEventsCount\":");
		at = decimal_put(at, span->dropped_events);
	}
	if (place->link) {
		at = PUT(at, ",\"links\":[{\"traceId\":\"");
		at = put_trace(e, at, place->link_root, record, begin);
		at = PUT(at, "\",\"spanId\":\"");
		at = put_hex(at, place->link);
		at = PUT(at, "\"}]");
	}
	return PUT(at, "}");
}

/* The head of what has a length, and of 64 bits in full. Fields here are below 16, so that a tag is a byte. */
static char *put_length(char *at, u32 field, size_t len)
{
	*at++ = (char)(field << 3 | 2);
	return (char *)varint_put((u8 *)at, len);
}

static char *put_fixed(char *at, u32 field, u64 value)
{
	_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "as it stands in memory");
	*at++ = (char)(field << 3 | 1);
	return put(at, &value, sizeof(value));
}

static char *put_number(char *at, u32 field, u64 value)
{
	*at++ = (char)(field << 3);
	return (char *)varint_put((u8 *)at, value);
}

static char *put_id(char *at, u32 field, u64 id)
{
	return put_bytes(put_length(at, field, sizeof(id)), id);
}

/* What is not as long in every span. */
static char *put_rest(const struct otlp_encoding *e, char *at, const struct otlp_span *span,
		      struct otlp_record *record, const char *begin)
{
	const struct otlp_place *place = &span->place;

	at = put_text(at, bytes_of(span->shared));
	at = put_text(at, bytes_of(span->own));
	if (span->events)
		at = put_text(at, span->events);
	if (span->dropped_events)
		at = put_number(at, SPAN_DROPPED_EVENTS, span->dropped_events);
	if (place->link) {
		at = put_length(at, SPAN_LINKS, 2 + TRACE_BYTES + 2 + sizeof(place->link));
		at = put_length(at, LINK_TRACE, TRACE_BYTES);
		at = put_trace(e, at, place->link_root, record, begin);
		at = put_id(at, LINK_SPAN, place->link);
	}
	return at;
}

/* How long the span is, without its head. */
static size_t protobuf_length(const struct otlp_span *span)
{
	const struct otlp_place *place = &span->place;
	u8 number[VARINT_MAX];
	size_t len = 2 + TRACE_BYTES + 2 + sizeof(place->id) + span->name->len + 2 +
		     2 * (1 + sizeof(span->start_ns));

	len += bytes_of(span->shared)->len + bytes_of(span->own)->len;
	if (place->parent)
		len += 2 + sizeof(place->parent);
	if (span->events)
		len += span->events->len;
	if (span->dropped_events)
		len += 1 + (size_t)(varint_put(number, span->dropped_events) - number);
	if (place->link)
		len += 2 + 2 + TRACE_BYTES + 2 + sizeof(place->link);
	return len;
}

static char *put_protobuf(const struct otlp_encoding *e, char *at, const struct otlp_span *span,
			  struct otlp_record *record)
{
	const struct otlp_place *place = &span->place;
	const char *begin = at;

	at = put_length(at, SCOPE_SPANS_SPANS, protobuf_length(span));
	at = put_length(at, SPAN_TRACE, TRACE_BYTES);
	at = put_trace(e, at, 0, record, begin);
	at = put_id(at, SPAN_ID, place->id);
	if (place->parent)
		at = put_id(at, SPAN_PARENT, place->parent);
	at = put_name(at, SPAN_NAME, span->name);
	at = put_number(at, SPAN_KIND, KIND_INTERNAL);
	at = put_fixed(at, SPAN_START, span->start_ns);
	at = put_fixed(at, SPAN_END, span->end_ns);
	return put_rest(e, at, span, record, begin);
}

void otlp_encode(const struct otlp_encoding *e, const struct otlp_span *span, struct text_buf *to,
		 struct otlp_record *record)
{
	size_t most = SPAN_ROOM + span->name->len + bytes_of(span->shared)->len +
		      bytes_of(span->own)->len + (span->events ? span->events->len : 0);
	char *at = text_room(to, most), *end;

	*record = (struct otlp_record){0};
	if (!at)
		return;
	end = e->json ? put_json(e, at, span, record) : put_protobuf(e, at, span, record);
	record->len = (u32)(end - at);
	text_end(to, end);
}

/* --- requests ------------------------------------------------------------------------------------------- */

#define SCOPE "spantrace"

void otlp_add_resource(const struct otlp_encoding *e, struct text_buf *to, bool first,
		       const struct otlp_attributes *resource, const char *version,
		       const struct text_buf *spans)
{
	size_t all, part, scope;

	if (e->json) {
		text_add_str(to,
			     first ? "{\"resourceSpans\":[{\"resource\":{" : ",{\"resource\":{");
		if (resource->bytes.len) {
			ADD(to, "\"attributes\":[");
			text_add(to, resource->bytes.data + 1, resource->bytes.len - 1);
			ADD(to, "]");
		}
		ADD(to, "},\"scopeSpans\":[{\"scope\":{\"name\":\"" SCOPE "\",\"version\":");
		jsontext_string(to, version);
		ADD(to, "},\"spans\":[");
		text_add(to, spans->data + 1, spans->len - 1);
		ADD(to, "]}]}");
		return;
	}
	all = protobuf_open(to, REQUEST_RESOURCE_SPANS);
	part = protobuf_open(to, RESOURCE_SPANS_RESOURCE);
	text_add(to, resource->bytes.data, resource->bytes.len);
	protobuf_close(to, part);
	part = protobuf_open(to, RESOURCE_SPANS_SCOPE_SPANS);
	scope = protobuf_open(to, SCOPE_SPANS_SCOPE);
	protobuf_string(to, SCOPE_NAME, SCOPE);
	protobuf_string(to, SCOPE_VERSION, version);
	protobuf_close(to, scope);
	text_add(to, spans->data, spans->len);
	protobuf_close(to, part);
	protobuf_close(to, all);
}

void otlp_end_request(const struct otlp_encoding *e, struct text_buf *to)
{
	if (e->json)
		ADD(to, "]}\n");
}
