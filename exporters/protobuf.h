/* SPDX-License-Identifier: MIT */
/* Protocol buffers, written: fields go behind each other into a text_buf, messages within messages are opened and
 * closed, nothing is allocated for a message. Which field has which type is the caller's business.
 *
 *	size_t at = protobuf_open(&b, 3);
 *	protobuf_u64(&b, 1, 42);
 *	protobuf_close(&b, at);
 */
#ifndef SPANTRACE_PROTOBUF_H
#define SPANTRACE_PROTOBUF_H

#include <stddef.h>

#include "../include/types.h"
#include "text.h"

/* Types int64, int32, uint64, uint32, bool, enum; a negative value as (u64). */
void protobuf_u64(struct text_buf *b, u32 field, u64 value);
/* Types fixed64 and sfixed64. */
void protobuf_fixed64(struct text_buf *b, u32 field, u64 value);
void protobuf_double(struct text_buf *b, u32 field, double value);
/* Type bytes, also a message or a packed field that is encoded already. */
void protobuf_bytes(struct text_buf *b, u32 field, const void *bytes, size_t len);
/* Type string, which must be UTF-8: what is not becomes U+FFFD. */
void protobuf_string(struct text_buf *b, u32 field, const char *text);
/* A number without a field: for packed ones, between open and close. */
void protobuf_varint(struct text_buf *b, u64 value);

/* Begins a message, a packed field or a string that is added in pieces. Returns what its close wants. */
size_t protobuf_open(struct text_buf *b, u32 field);
void protobuf_close(struct text_buf *b, size_t at);

#endif
