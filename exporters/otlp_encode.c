/* SPDX-License-Identifier: MIT */
/* See otlp_encode.h. Numbers of 64 bits are text in OTLP's JSON, as readers take JSON's for doubles. In JSON each record,
 * attribute and event has a comma before it, which whoever puts them into an array leaves out of the first. */
#include "otlp_encode.h"

#include <string.h>

#include "hash.h"
#include "jsontext.h"
#include "protobuf.h"

enum resource_field {
	REQUEST_RESOURCE_SPANS = 1,
	RESOURCE_SPANS_RESOURCE = 1,
	RESOURCE_SPANS_SCOPE_SPANS = 2,
	RESOURCE_ATTRIBUTES = 1,
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
	SPAN_ATTRIBUTES = 9,
	SPAN_EVENTS = 11,
	SPAN_DROPPED_EVENTS = 12,
	SPAN_LINKS = 13,
	EVENT_TIME = 1,
	EVENT_NAME = 2,
	EVENT_ATTRIBUTES = 3,
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

#define ADD(b, literal) text_add(b, literal, sizeof(literal) - 1)

/* --- ids ------------------------------------------------------------------------------------------------ */

static void put_hex(char *at, u64 value)
{
	static const char digits[] = "0123456789abcdef";

	for (unsigned i = 16; i--; value >>= 4)
		at[i] = digits[value & 15];
}

static void put_bytes(char *at, u64 value)
{
	for (unsigned i = 8; i--; value >>= 8)
		at[i] = (char)value;
}

void otlp_set_trace(const struct otlp_encoding *e, char *at, u64 root)
{
	u64 high = hash_mix(root ^ 0x5370616e54726163u), low = hash_mix(root + high) | 1;

	if (e->json) {
		put_hex(at, high);
		put_hex(at + 16, low);
	} else {
		put_bytes(at, high);
		put_bytes(at + 8, low);
	}
}

/* Room for a trace's id, or that of the trace of ROOT. Returns where it is. */
static u32 add_trace(const struct otlp_encoding *e, struct text_buf *b, u64 root)
{
	char id[2 * TRACE_BYTES] = {0};
	size_t at = b->len;

	otlp_set_trace(e, id, root);
	text_add(b, id, e->json ? sizeof(id) : TRACE_BYTES);
	return (u32)at;
}

static void add_hex(struct text_buf *b, u64 id)
{
	char hex[16];

	put_hex(hex, id);
	text_add(b, hex, sizeof(hex));
}

static void add_id(struct text_buf *b, u32 field, u64 id)
{
	char bytes[8];

	put_bytes(bytes, id);
	protobuf_bytes(b, field, bytes, sizeof(bytes));
}

/* --- attributes and events ------------------------------------------------------------------------------ */

/* Those of a message's FIELD are told with a number that is the field's; what is encoded once for any message has
 * this. */
static void add_members(struct text_buf *b, u32 field, const struct otlp_attributes *attributes)
{
	const char *at = attributes->bytes.data, *end = at + attributes->bytes.len;

	while (at < end) {
		u32 len;

		memcpy(&len, at, sizeof(len));
		protobuf_bytes(b, field, at + sizeof(len), len);
		at += sizeof(len) + len;
	}
}

/* A message within OTHER messages' bytes: its length stands before it until it is known what field it is. */
static size_t begin_member(struct text_buf *b)
{
	static const u32 none;

	text_add(b, (const char *)&none, sizeof(none));
	return b->len;
}

static void end_member(struct text_buf *b, size_t at)
{
	u32 len = (u32)(b->len - at);

	if (!b->failed)
		memcpy(b->data + at - sizeof(len), &len, sizeof(len));
}

void otlp_add_number(const struct otlp_encoding *e, struct otlp_attributes *to, const char *key,
		     s64 value)
{
	struct text_buf *b = &to->bytes;

	to->count++;
	if (e->json) {
		ADD(b, ",{\"key\":");
		jsontext_string(b, key);
		ADD(b, ",\"value\":{\"intValue\":\"");
		if (value < 0)
			ADD(b, "-");
		text_add_u64(b, value < 0 ? -(u64)value : (u64)value);
		ADD(b, "\"}}");
	} else {
		size_t at = begin_member(b), part;

		protobuf_string(b, KEY_VALUE_KEY, key);
		part = protobuf_open(b, KEY_VALUE_VALUE);
		protobuf_u64(b, VALUE_NUMBER, (u64)value);
		protobuf_close(b, part);
		end_member(b, at);
	}
}

void otlp_add_text(const struct otlp_encoding *e, struct otlp_attributes *to, const char *key,
		   const char *text)
{
	struct text_buf *b = &to->bytes;

	to->count++;
	if (e->json) {
		ADD(b, ",{\"key\":");
		jsontext_string(b, key);
		ADD(b, ",\"value\":{\"stringValue\":");
		jsontext_string(b, text);
		ADD(b, "}}");
	} else {
		size_t at = begin_member(b), part;

		protobuf_string(b, KEY_VALUE_KEY, key);
		part = protobuf_open(b, KEY_VALUE_VALUE);
		protobuf_string(b, VALUE_TEXT, text);
		protobuf_close(b, part);
		end_member(b, at);
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

/* "attributes":[…] of both, in JSON. */
static void add_array(struct text_buf *b, const struct otlp_attributes *shared,
		      const struct otlp_attributes *own)
{
	const struct otlp_attributes *both[] = {shared, own};
	bool any = false;

	for (unsigned i = 0; i < 2; i++) {
		if (!both[i] || !both[i]->bytes.len)
			continue;
		if (!any)
			ADD(b, ",\"attributes\":[");
		text_add(b, both[i]->bytes.data + !any, both[i]->bytes.len - !any);
		any = true;
	}
	if (any)
		ADD(b, "]");
}

void otlp_add_event(const struct otlp_encoding *e, struct text_buf *to, const char *name,
		    u64 time_ns, const struct otlp_attributes *attributes)
{
	if (e->json) {
		ADD(to, ",{\"timeUnixNano\":\"");
		text_add_u64(to, time_ns);
		ADD(to, "\",\"name\":");
		jsontext_string(to, name);
		add_array(to, attributes, NULL);
		ADD(to, "}");
	} else {
		size_t at = protobuf_open(to, SPAN_EVENTS);

		protobuf_fixed64(to, EVENT_TIME, time_ns);
		protobuf_string(to, EVENT_NAME, name);
		if (attributes)
			add_members(to, EVENT_ATTRIBUTES, attributes);
		protobuf_close(to, at);
	}
}

/* --- spans ---------------------------------------------------------------------------------------------- */

static void encode_json(const struct otlp_encoding *e, const struct otlp_span *span,
			struct otlp_record *record)
{
	const struct otlp_place *place = &span->place;
	struct text_buf *b = &record->bytes;

	ADD(b, ",{\"traceId\":\"");
	record->traces[record->ntraces++] = add_trace(e, b, 0);
	ADD(b, "\",\"spanId\":\"");
	add_hex(b, place->id);
	if (place->parent) {
		ADD(b, "\",\"parentSpanId\":\"");
		add_hex(b, place->parent);
	}
	ADD(b, "\",\"name\":");
	jsontext_string(b, span->name);
	ADD(b, ",\"kind\":1,\"startTimeUnixNano\":\"");
	text_add_u64(b, span->start_ns);
	ADD(b, "\",\"endTimeUnixNano\":\"");
	text_add_u64(b, span->end_ns);
	ADD(b, "\"");
	add_array(b, span->shared, span->own);
	if (span->events && span->events->len) {
		ADD(b, ",\"events\":[");
		text_add(b, span->events->data + 1, span->events->len - 1);
		ADD(b, "]");
	}
	if (span->dropped_events) {
		ADD(b, ",\"droppedEventsCount\":");
		text_add_u64(b, span->dropped_events);
	}
	if (place->link) {
		u32 at;

		ADD(b, ",\"links\":[{\"traceId\":\"");
		at = add_trace(e, b, place->link_root);
		if (!place->link_root)
			record->traces[record->ntraces++] = at;
		ADD(b, "\",\"spanId\":\"");
		add_hex(b, place->link);
		ADD(b, "\"}]");
	}
	ADD(b, "}");
}

static u32 put_trace(const struct otlp_encoding *e, struct text_buf *b, u32 field, u64 root)
{
	size_t at = protobuf_open(b, field);
	u32 place = add_trace(e, b, root);

	protobuf_close(b, at);
	return place;
}

/* The span's own head is as long as its length wants: what stands in it moves, the trace's id with it. */
static void encode_protobuf(const struct otlp_encoding *e, const struct otlp_span *span,
			    struct otlp_record *record)
{
	const struct otlp_place *place = &span->place;
	struct text_buf *b = &record->bytes;
	size_t begin = protobuf_open(b, SCOPE_SPANS_SPANS), end, link;

	record->traces[record->ntraces++] = put_trace(e, b, SPAN_TRACE, 0);
	add_id(b, SPAN_ID, place->id);
	if (place->parent)
		add_id(b, SPAN_PARENT, place->parent);
	protobuf_string(b, SPAN_NAME, span->name);
	protobuf_u64(b, SPAN_KIND, KIND_INTERNAL);
	protobuf_fixed64(b, SPAN_START, span->start_ns);
	protobuf_fixed64(b, SPAN_END, span->end_ns);
	if (span->shared)
		add_members(b, SPAN_ATTRIBUTES, span->shared);
	if (span->own)
		add_members(b, SPAN_ATTRIBUTES, span->own);
	if (span->events)
		text_add(b, span->events->data, span->events->len);
	if (span->dropped_events)
		protobuf_u64(b, SPAN_DROPPED_EVENTS, span->dropped_events);
	if (place->link) {
		u32 at;

		link = protobuf_open(b, SPAN_LINKS);
		at = put_trace(e, b, LINK_TRACE, place->link_root);
		if (!place->link_root)
			record->traces[record->ntraces++] = at;
		add_id(b, LINK_SPAN, place->link);
		protobuf_close(b, link);
	}
	end = b->len;
	protobuf_close(b, begin);
	for (u32 i = 0; i < record->ntraces; i++)
		record->traces[i] += (u32)(b->len - end);
}

void otlp_encode(const struct otlp_encoding *e, const struct otlp_span *span,
		 struct otlp_record *record)
{
	text_cut(&record->bytes, 0);
	record->ntraces = 0;
	if (e->json)
		encode_json(e, span, record);
	else
		encode_protobuf(e, span, record);
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
	add_members(to, RESOURCE_ATTRIBUTES, resource);
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
