/* SPDX-License-Identifier: MIT */
/* Perfetto's packets, read back by a small strict decoder that prints each as a line. What the engine makes of them is
 * tests/live/test_viewers.py's business. */
#include <errno.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../../exporters/text.h"
#include "../../user/util/varint.h"
#include "recorded.h"

static int setup(void **state)
{
	struct recorded *r = recorded_new();

	r->exporter.ops = exporter_by_name("perfetto");
	assert_non_null(r->exporter.ops);
	*state = r;
	return 0;
}

/* --- a decoder that knows the fields below and no others --------------------------------------------- */

enum sort { NUMBER, FIXED, TEXT, MESSAGE };

struct field {
	u32 in, number; /* the message that has it */
	const char *name;
	enum sort sort;
	u32 message; /* that it is */
};

enum {
	M_TRACE,
	M_PACKET,
	M_CLOCKS,
	M_CLOCK,
	M_DEFAULTS,
	M_TRACK,
	M_PROCESS,
	M_THREAD,
	M_COUNTER,
	M_EVENT,
	M_ARGUMENT,
	M_INTERNED,
	M_NAME,
};

static const struct field fields[] = {
	{M_TRACE, 1, "packet", MESSAGE, M_PACKET},
	{M_PACKET, 6, "clocks", MESSAGE, M_CLOCKS},
	{M_PACKET, 8, "ts", NUMBER, 0},
	{M_PACKET, 10, "seq", NUMBER, 0},
	{M_PACKET, 11, "event", MESSAGE, M_EVENT},
	{M_PACKET, 12, "interned", MESSAGE, M_INTERNED},
	{M_PACKET, 13, "flags", NUMBER, 0},
	{M_PACKET, 59, "defaults", MESSAGE, M_DEFAULTS},
	{M_PACKET, 60, "track", MESSAGE, M_TRACK},
	{M_CLOCKS, 1, "clock", MESSAGE, M_CLOCK},
	{M_CLOCKS, 2, "primary", NUMBER, 0},
	{M_CLOCK, 1, "id", NUMBER, 0},
	{M_CLOCK, 2, "ns", NUMBER, 0},
	{M_DEFAULTS, 58, "clock", NUMBER, 0},
	{M_TRACK, 1, "uuid", NUMBER, 0},
	{M_TRACK, 2, "name", TEXT, 0},
	{M_TRACK, 3, "process", MESSAGE, M_PROCESS},
	{M_TRACK, 4, "thread", MESSAGE, M_THREAD},
	{M_TRACK, 5, "parent", NUMBER, 0},
	{M_TRACK, 8, "counter", MESSAGE, M_COUNTER},
	{M_PROCESS, 1, "pid", NUMBER, 0},
	{M_PROCESS, 6, "name", TEXT, 0},
	{M_THREAD, 1, "pid", NUMBER, 0},
	{M_THREAD, 2, "tid", NUMBER, 0},
	{M_THREAD, 5, "name", TEXT, 0},
	{M_COUNTER, 1, "type", NUMBER, 0},
	{M_COUNTER, 3, "unit", NUMBER, 0},
	{M_EVENT, 3, "cat", NUMBER, 0},
	{M_EVENT, 4, "arg", MESSAGE, M_ARGUMENT},
	{M_EVENT, 9, "type", NUMBER, 0},
	{M_EVENT, 10, "name", NUMBER, 0},
	{M_EVENT, 11, "on", NUMBER, 0},
	{M_EVENT, 12, "cpu", NUMBER, 0},
	{M_EVENT, 23, "called", TEXT, 0},
	{M_EVENT, 30, "value", NUMBER, 0},
	{M_EVENT, 31, "of", NUMBER, 0},
	{M_EVENT, 47, "flow", FIXED, 0},
	{M_ARGUMENT, 1, "key", NUMBER, 0},
	{M_ARGUMENT, 3, "unsigned", NUMBER, 0},
	{M_ARGUMENT, 4, "signed", NUMBER, 0},
	{M_ARGUMENT, 6, "text", TEXT, 0},
	{M_ARGUMENT, 17, "string", NUMBER, 0},
	{M_INTERNED, 1, "cat", MESSAGE, M_NAME},
	{M_INTERNED, 2, "name", MESSAGE, M_NAME},
	{M_INTERNED, 3, "key", MESSAGE, M_NAME},
	{M_INTERNED, 29, "string", MESSAGE, M_NAME},
	{M_NAME, 1, "", NUMBER, 0},
	{M_NAME, 2, "", TEXT, 0},
};

static const struct field *field_of(u32 in, u64 number)
{
	for (size_t i = 0; i < sizeof(fields) / sizeof(*fields); i++)
		if (fields[i].in == in && fields[i].number == number)
			return &fields[i];
	fail_msg("message %u has no field %" PRIu64, in, number);
	return NULL;
}

static u64 number(const u8 **at, const u8 *end)
{
	u64 value = 0;

	assert_true(varint_get(at, end, &value));
	return value;
}

static void decode(struct text_buf *b, u32 message, const u8 *at, const u8 *end)
{
	char piece[48];

	while (at < end) {
		u64 tag = number(&at, end), len;
		const struct field *field = field_of(message, tag >> 3);

		assert_int_equal(tag & 7, field->sort == NUMBER ? 0 : field->sort == FIXED ? 1 : 2);
		if (message != M_TRACE) {
			text_add_str(b, " ");
			text_add_str(b, field->name);
		}
		if (field->sort == NUMBER) {
			snprintf(piece, sizeof(piece), ":%" PRId64, (s64)number(&at, end));
			text_add_str(b, piece);
			continue;
		}
		len = field->sort == FIXED ? 8 : number(&at, end);
		assert_true(len <= (u64)(end - at));
		if (field->sort == FIXED) {
			memcpy(&tag, at, 8);
			snprintf(piece, sizeof(piece), ":%" PRIu64, tag);
			text_add_str(b, piece);
		} else if (field->sort == TEXT) {
			text_add_str(b, ":'");
			text_add(b, (const char *)at, len);
			text_add_str(b, "'");
		} else {
			text_add_str(b, message == M_TRACE ? "" : "(");
			decode(b, field->message, at, at + len);
			text_add_str(b, message == M_TRACE ? "\n" : ")");
		}
		at += len;
	}
}

/* Without what every packet says. */
static void assert_packets(struct recorded *r, const char *want)
{
	static const char seq[] = " seq:1", flags[] = " flags:2";
	struct text_buf text = {0};
	char *found;

	decode(&text, M_TRACE, (const u8 *)r->bytes, (const u8 *)r->bytes + r->size);
	assert_false(text.failed);
	while ((found = strstr(text.data, seq)))
		memmove(found, found + strlen(seq), strlen(found + strlen(seq)) + 1);
	while ((found = strstr(text.data, flags)))
		memmove(found, found + strlen(flags), strlen(found + strlen(flags)) + 1);
	assert_string_equal(text.data, want);
	text_buf_free(&text);
}

#define ABOUT                                                                                                             \
	" clocks( clock( id:3 ns:1000000000) clock( id:6 ns:1000012345) clock( id:1 ns:1700000000000000000) primary:3)\n" \
	" flags:1 defaults( clock:3)\n"                                                                                   \
	" track( uuid:1 name:'spantrace')\n"                                                                              \
	" ts:1000000000 event( type:3 on:1 called:'spantrace' arg( key:1 text:'7.8.9')"                                   \
	" arg( key:2 text:'6.18.0-test') arg( key:3 text:'CLOCK_MONOTONIC') arg( key:4 text:'./app --quick')"             \
	" arg( key:5 unsigned:1700000000000000000))"                                                                      \
	" interned( key( :1 :'version') key( :2 :'kernel') key( :3 :'clock') key( :4 :'target')"                          \
	" key( :5 :'start_realtime_ns'))\n"
#define ONE                                             \
	" track( uuid:2 process( pid:10 name:'one'))\n" \
	" track( uuid:3 parent:2 thread( pid:10 tid:10 name:'one'))\n"

static struct model_span at(struct recorded *r, int thread, int path, u64 start, u64 end, u64 self)
{
	return recorded_span(r, thread, path, REC_START + start, end - start, self);
}

/* Time on the CPU nests as the spans do; what is told once is not told again. */
static void test_spans(void **state)
{
	static const char text[] = "\xff";
	struct recorded *r = *state;
	struct model_span span = at(r, REC_ONE, REC_A_B, 20, 30, 10);

	record_begin(r);
	span.nlabels = 2;
	span.labels[0] = (struct model_label){.key = "user", .number = -42};
	span.labels[1] = (struct model_label){.key = "path", .text = text};
	span.flags = MODEL_OPEN;
	record_span(r, &span);
	span.start_ns = REC_START + 40;
	span.end_ns = REC_START + 50;
	record_span(r, &span);
	span = at(r, REC_ONE, REC_A, 20, 60, 20);
	record_span(r, &span);
	record_tick(r, REC_START + 1000000000);
	record_cut(r);
	assert_packets(
		r, ABOUT ONE
		" track( uuid:4 parent:3 counter( type:1))\n"
		" ts:1000000030 event( type:2 on:3 of:4 cpu:10)\n"
		" track( uuid:5 parent:2 name:'CPU of spans' counter( unit:1))\n"
		" ts:1000000030 event( type:4 on:5 value:10)\n"
		" ts:1000000040 event( type:1 on:3 of:4 cpu:10 name:1 cat:6 arg( key:7 signed:-42)"
		" arg( key:8 string:9) arg( key:10 unsigned:1)) interned( name( :1 :'lib:b of its own')"
		" cat( :6 :'lib') key( :7 :'user') key( :8 :'path') string( :9 :'\xef\xbf\xbd')"
		" key( :10 :'span:open'))\n"
		" ts:1000000050 event( type:2 on:3 of:4 cpu:20)\n"
		" ts:1000000020 event( type:1 on:3 of:4 cpu:0 name:2 cat:11)"
		" interned( name( :2 :'app:a') cat( :11 :'app'))\n"
		" ts:1000000020 event( type:1 on:3 of:4 cpu:0 name:1 cat:6 arg( key:7 signed:-42)"
		" arg( key:8 string:9) arg( key:10 unsigned:1))\n"
		" ts:1000000060 event( type:2 on:3 of:4 cpu:40)\n");
}

/* What a span allocated is told where nothing else is to be told of it; a span beside it has nothing. */
static void test_allocations(void **state)
{
	struct recorded *r = *state;
	struct model_span span = at(r, REC_ONE, REC_A, 10, 20, 10);

	record_begin(r);
	record_span(r, &span);
	span = at(r, REC_ONE, REC_A, 30, 40, 10);
	span.alloc.objects = 3;
	span.alloc.bytes = 500;
	span.self_alloc.bytes = 200;
	record_span(r, &span);
	record_tick(r, REC_START + 1000000000);
	record_cut(r);
	assert_packets(
		r, ABOUT
		" track( uuid:2 process( pid:10 name:'one'))\n"
		" track( uuid:3 parent:2 thread( pid:10 tid:10 name:'one'))\n"
		" track( uuid:4 parent:3 counter( type:1))\n"
		" ts:1000000010 event( type:1 on:3 of:4 cpu:0 name:1 cat:6)"
		" interned( name( :1 :'app:a') cat( :6 :'app'))\n"
		" ts:1000000020 event( type:2 on:3 of:4 cpu:10)\n"
		" track( uuid:5 parent:2 name:'CPU of spans' counter( unit:1))\n"
		" ts:1000000020 event( type:4 on:5 value:10)\n"
		" ts:1000000030 event( type:1 on:3 of:4 cpu:10 name:1 cat:6 arg( key:7 unsigned:3)"
		" arg( key:8 unsigned:500) arg( key:9 unsigned:200)) interned("
		" key( :7 :'span:alloc_objects') key( :8 :'span:alloc_bytes')"
		" key( :9 :'span:self_alloc_bytes'))\n"
		" ts:1000000040 event( type:2 on:3 of:4 cpu:20)\n");
}

/* One number for all stretches of an async span; async spans share a track where they do not overlap. */
static void test_async(void **state)
{
	struct recorded *r = *state;
	struct model_span span;

	r->run.metrics = METRIC_WALL;
	r->exporter.options.args = false;
	record_begin(r);
	for (int i = 0; i < 2; i++) {
		span = at(r, REC_ONE, REC_JOB, 10 + 10 * (u64)i, 15 + 10 * (u64)i, 5);
		span.flags = MODEL_SEGMENT;
		span.id = 7;
		record_span(r, &span);
	}
	for (int i = 0; i < 3; i++) {
		span = at(r, REC_ONE, REC_JOB, 5 + 20 * (u64)i, 45 + 20 * (u64)i, 5);
		span.flags = MODEL_ASYNC;
		span.id = 7 + (u64)i;
		record_span(r, &span);
	}
	record_tick(r, REC_START + 1000000000);
	record_cut(r);
	assert_packets(r, ABOUT ONE " ts:1000000015 event( type:2 on:3)\n"
				    " ts:1000000020 event( type:1 on:3 name:1 cat:6 flow:1)"
				    " interned( name( :1 :'app:job') cat( :6 :'app'))\n"
				    " ts:1000000025 event( type:2 on:3)\n"
				    " track( uuid:4 parent:2 name:'app:job')\n"
				    " ts:1000000005 event( type:1 on:4 name:1 cat:6)\n"
				    " ts:1000000045 event( type:2 on:4)\n"
				    " track( uuid:5 parent:2 name:'app:job')\n"
				    " ts:1000000025 event( type:1 on:5 name:1 cat:6)\n"
				    " ts:1000000065 event( type:2 on:5)\n"
				    " ts:1000000045 event( type:1 on:4 name:1 cat:6)\n"
				    " ts:1000000085 event( type:2 on:4)\n");
}

/* The first stretch waits for what could have begun with it, until the end. */
static void test_end(void **state)
{
	struct recorded *r = *state;
	struct model_span span = at(r, REC_ONE, REC_JOB, 10, 15, 5);

	r->run.metrics = METRIC_WALL;
	r->exporter.options.module_path = false;
	r->losses[0].count = 4;
	span.flags = MODEL_SEGMENT;
	for (int i = 0; i < 2; i++) {
		record_begin(r);
		record_span(r, &span);
		record_finish(r);
		assert_packets(
			r, ABOUT ONE
			" ts:1000000015 event( type:2 on:3)\n"
			" ts:1000000010 event( type:1 on:3 name:1 cat:6 flow:1 arg( key:7 unsigned:0))"
			" interned( name( :1 :'job') cat( :6 :'app') key( :7 :'span:id'))\n"
			" track( uuid:4 parent:2 thread( pid:10 tid:11 name:'two'))\n"
			" track( uuid:5 process( pid:20 name:'far'))\n"
			" track( uuid:6 parent:5 thread( pid:20 tid:20 name:'far'))\n"
			" track( uuid:7 name:'spantrace')\n"
			" ts:9000000000 event( type:3 on:7 called:'spantrace losses' arg( key:8 unsigned:4))"
			" interned( key( :8 :'ring_full'))\n");
	}
}

static void test_events(void **state)
{
	struct recorded *r = *state;
	struct model_event event = {
		.thread = &r->threads[REC_ONE],
		.path = &r->paths[REC_A_TICK],
		.time_ns = REC_START + 15,
		.has_value = true,
		.value = -7,
	};

	r->run.metrics = METRIC_WALL;
	record_begin(r);
	record_event(r, &event);
	event.path = &r->paths[REC_TICK];
	event.value = 8;
	record_event(r, &event);
	record_tick(r, REC_START + 1000000000);
	record_cut(r);
	assert_packets(r, ABOUT ONE
		       " ts:1000000015 event( type:3 on:3 name:1 cat:6 arg( key:7 signed:-7))"
		       " interned( name( :1 :'app:tick') cat( :6 :'app') key( :7 :'event:value'))\n"
		       " track( uuid:4 parent:2 name:'app:tick' counter())\n"
		       " ts:1000000015 event( type:4 on:4 value:-7)\n"
		       " ts:1000000015 event( type:3 on:3 name:1 cat:6 arg( key:7 signed:8))\n"
		       " ts:1000000015 event( type:4 on:4 value:8)\n");
}

static void test_full_disk(void **state)
{
	struct recorded *r = *state;

	r->exporter.out = fopen("/dev/full", "w");
	assert_non_null(r->exporter.out);
	assert_int_equal(r->exporter.ops->begin(&r->exporter, &r->run), 0);
	r->run.end_ns = REC_END;
	assert_int_equal(r->exporter.ops->tick(&r->exporter, &r->run), -ENOSPC);
	fclose(r->exporter.out);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, recorded_teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_spans),  TEST(test_async),     TEST(test_end),
		TEST(test_events), TEST(test_full_disk), TEST(test_allocations),
	};

	return cmocka_run_group_tests_name("perfetto", tests, NULL, NULL);
}
