/* SPDX-License-Identifier: MIT */
/* OpenTelemetry's trace messages, as protobuf or as JSON: spans, what they carry, and the request around them.
 *
 * A span's bytes may have to wait until it is known which trace it belongs to. An id has the same length in each trace,
 * so those bytes have room for it, and otlp_set_trace() fills it.
 *
 * Field numbers and names are those of opentelemetry/proto/trace/v1/trace.proto and its neighbours. */
#ifndef SPANTRACE_OTLP_ENCODE_H
#define SPANTRACE_OTLP_ENCODE_H

#include "../include/model.h"
#include "text.h"

/* What attributes are of: protobuf tells them with a number of its own. */
enum otlp_of {
	OTLP_OF_RESOURCE = 1,
	OTLP_OF_EVENT = 3,
	OTLP_OF_SPAN = 9,
};

/* Attributes of one span, event or resource, encoded. */
struct otlp_attributes {
	struct text_buf bytes;
	enum otlp_of of;
};

/* The span's id and its neighbours', which stand in the tree of spans; 0: there is none. */
struct otlp_place {
	u64 id;
	u64 parent;    /* in the same trace */
	u64 link;      /* another span that it follows */
	u64 link_root; /* of that span's trace; 0: it is this one */
};

struct otlp_span {
	struct otlp_place place;
	const struct text_buf *name;                /* encoded */
	u64 start_ns, end_ns;                       /* since 1970 */
	const struct otlp_attributes *shared, *own; /* NULL: none */
	const struct text_buf *events;              /* NULL: none */
	u32 dropped_events;
};

#define OTLP_TRACES 2

/* How many bytes a span took, and where among them ids of its own trace belong. */
struct otlp_record {
	u32 len;
	u32 traces[OTLP_TRACES];
	u32 ntraces;
};

struct otlp_encoding {
	bool json;
};

/* No attributes, so far, of such a thing. */
void otlp_attributes_begin(struct otlp_attributes *attributes, enum otlp_of of);
void otlp_add_number(const struct otlp_encoding *e, struct otlp_attributes *to, const char *key,
		     s64 value);
void otlp_add_text(const struct otlp_encoding *e, struct otlp_attributes *to, const char *key,
		   const char *text);
void otlp_add_labels(const struct otlp_encoding *e, struct otlp_attributes *to,
		     const struct model_label *labels, u32 n);
/* TEXT as the name of any number of spans and events, behind what TO holds. */
void otlp_add_name(const struct otlp_encoding *e, struct text_buf *to, const char *text);
/* An event behind those that TO holds. TIME_NS since 1970. */
void otlp_add_event(const struct otlp_encoding *e, struct text_buf *to, const struct text_buf *name,
		    u64 time_ns, const struct otlp_attributes *attributes);

/* SPAN goes behind what TO holds, RECORD tells of it. Without memory TO has failed. */
void otlp_encode(const struct otlp_encoding *e, const struct otlp_span *span, struct text_buf *to,
		 struct otlp_record *record);
/* Puts the id of the trace whose root is the span ROOT where a record has room for one. */
void otlp_set_trace(const struct otlp_encoding *e, char *at, u64 root);

/* The part of a request that is one process's: RESOURCE are its attributes, SPANS records behind each other, VERSION that
 * of spantrace. FIRST: the request begins with it. */
void otlp_add_resource(const struct otlp_encoding *e, struct text_buf *to, bool first,
		       const struct otlp_attributes *resource, const char *version,
		       const struct text_buf *spans);
/* The end of a request. */
void otlp_end_request(const struct otlp_encoding *e, struct text_buf *to);

#endif
