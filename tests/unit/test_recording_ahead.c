/* SPDX-License-Identifier: MIT */
/* Recordings long enough to be read ahead in a thread: every span, in its order, whole or damaged, with one CPU as with
 * several. */
#include <errno.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <zlib.h>

#include <cmocka.h>

#include "../../user/util/varint.h"
#include "recorded.h"

#define SPANS      240000u
#define LATE       150000u /* from here on thread two and async spans take part */
#define RUN        16      /* spans in a row on one thread */
#define KEYS       2
#define FAILS_AT   200000u
#define HEADER     sizeof(struct recording_block_header)
#define ITEMS_BIG  20000u /* of one block that is greater than any that is written */
#define ITEM_BYTES 4

/* What the sink sees against what was written; spans from SKIP_FROM to SKIP_TO are missing. */
struct expected {
	struct recorded *r;
	u32 next;
	u32 skip_from, skip_to;
	u32 fails_at;
	int failures;
};

static struct model_span nth(struct recorded *r, u32 i, struct model_label labels[KEYS])
{
	int thread = i >= LATE && i / RUN % 2 ? REC_TWO : REC_ONE;
	bool async = i >= LATE && i % 5 == 0;
	u64 busy = 1 + (u64)i % 1000 * 977;
	struct model_span span = recorded_span(r, thread, i % 3 ? REC_A : REC_A_B, REC_START + i,
					       busy, i % 2 ? busy : busy / 2);

	if (async) {
		span.path = &r->paths[REC_JOB];
		span.id = 0x100000000ull + i;
		span.flags = MODEL_ASYNC;
		span.end_ns += 500;
	}
	if (i % 7 == 0) {
		span.total.cpu_ns = busy / 3;
		span.self_cpu_ns = span.self_ns / 3;
		span.total.vol_switches = i;
	}
	if (i % 11 == 0) {
		labels[0] = (struct model_label){.key = "size", .number = -(s64)i};
		labels[1] = (struct model_label){.key = "what", .text = i % 2 ? "odd" : "even"};
		memcpy(span.labels, labels, KEYS * sizeof(*labels));
		span.nlabels = KEYS;
	}
	return span;
}

static void write_all(struct recorded *r)
{
	struct model_label labels[KEYS];

	record_begin(r);
	for (u32 i = 0; i < SPANS; i++) {
		struct model_span span = nth(r, i, labels);

		record_span(r, &span);
	}
	record_finish(r);
	/* Else nothing would be read ahead. */
	assert_true(block_count(r) > 32);
}

static bool same(const struct model_span *a, const struct model_span *b)
{
	bool same = a->thread->tid == b->thread->tid && a->path->depth == b->path->depth &&
		    strcmp(a->path->def->name, b->path->def->name) == 0 && a->id == b->id &&
		    a->start_ns == b->start_ns && a->end_ns == b->end_ns &&
		    a->busy_ns == b->busy_ns && a->self_ns == b->self_ns &&
		    a->self_cpu_ns == b->self_cpu_ns && a->total.cpu_ns == b->total.cpu_ns &&
		    a->total.vol_switches == b->total.vol_switches && a->flags == b->flags &&
		    a->nlabels == b->nlabels;

	if (!same || !a->nlabels)
		return same;
	return a->labels[0].number == b->labels[0].number &&
	       strcmp(a->labels[0].key, b->labels[0].key) == 0 &&
	       strcmp(a->labels[1].key, b->labels[1].key) == 0 &&
	       strcmp(a->labels[1].text, b->labels[1].text) == 0;
}

static int check_span(void *context, const struct model_span *span)
{
	struct expected *e = context;
	struct model_label labels[KEYS];
	struct model_span other;

	if (e->fails_at && e->next == e->fails_at)
		return -EDQUOT;
	if (e->next == e->skip_from)
		e->next = e->skip_to;
	other = nth(e->r, e->next++, labels);
	e->failures += !same(span, &other);
	return 0;
}

static int replay(struct recorded *r, struct expected *e,
		  int (*take)(void *context, const struct model_span *span))
{
	const struct trace_sink sink = {.context = e, .span = take};
	int fd = memfd_create("recorded", MFD_CLOEXEC), err;
	char path[32];

	e->r = r;
	e->next = 0;
	e->failures = 0;
	replay_free(&r->replay);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, r->bytes, r->size), r->size);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	captured_begin(&r->said, STDERR_FILENO);
	err = replay_open(path, &r->replay);
	if (!err)
		err = trace_add_sink(replay_trace(r->replay), &sink);
	if (!err)
		err = replay_run(r->replay, NULL);
	if (!err)
		err = replay_profile(r->replay, &r->profile);
	captured_end(&r->said);
	close(fd);
	return err;
}

static void check_all(struct recorded *r)
{
	struct expected e = {.skip_from = UINT32_MAX};

	assert_int_equal(replay(r, &e, check_span), 0);
	assert_int_equal(e.failures, 0);
	assert_int_equal(e.next, SPANS);
	assert_string_equal(r->said.text, "");
}

static void test_all_in_order(void **state)
{
	write_all(*state);
	check_all(*state);
}

static void test_one_cpu(void **state)
{
	cpu_set_t before, one;
	int cpu = 0;

	write_all(*state);
	assert_int_equal(sched_getaffinity(0, sizeof(before), &before), 0);
	while (!CPU_ISSET(cpu, &before))
		cpu++;
	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	assert_int_equal(sched_setaffinity(0, sizeof(one), &one), 0);
	check_all(*state);
	assert_int_equal(sched_setaffinity(0, sizeof(before), &before), 0);
}

/* A block far behind the first is damaged: its spans are missing, and no others. */
static void test_a_damaged_block(void **state)
{
	struct recorded *r = *state;
	struct expected e = {.skip_from = 0};
	size_t block;

	write_all(r);
	for (block = 0; block < 25 || block_header(r, block).kind != RECORDING_SPANS; block++)
		e.skip_from += block_header(r, block).spans;
	e.skip_to = e.skip_from + block_header(r, block).spans;
	r->bytes[block_at(r, block) + HEADER + 5] ^= 1;
	assert_int_equal(replay(r, &e, check_span), 0);
	assert_int_equal(e.failures, 0);
	assert_int_equal(e.next, SPANS);
	assert_int_equal(replay_loss(r, "damaged_blocks"), 1);
}

/* The one who reads ahead is stopped, wherever it is. */
static void test_a_sink_that_fails(void **state)
{
	struct expected e = {.skip_from = UINT32_MAX, .fails_at = FAILS_AT};

	write_all(*state);
	assert_int_equal(replay(*state, &e, check_span), -EDQUOT);
	assert_int_equal(e.next, FAILS_AT);
	e.fails_at = 1;
	assert_int_equal(replay(*state, &e, check_span), -EDQUOT);
}

static void test_cut(void **state)
{
	struct recorded *r = *state;
	struct expected e = {.skip_from = UINT32_MAX};
	size_t last = 0, spans = 0;

	write_all(r);
	for (size_t i = 0; block_at(r, i) < r->size / 2; i++) {
		last = i;
		spans += block_header(r, i).spans;
	}
	r->size = block_at(r, last) + HEADER + block_header(r, last).length;
	assert_int_equal(replay(r, &e, check_span), 0);
	assert_int_equal(e.failures, 0);
	assert_int_equal(e.next, spans);
	assert_non_null(strstr(r->said.text, "has no end"));
}

/* INFO and NAMES of R, and behind them a block of so many spans on path 1 of thread 1, with a byte of no kind at its
 * end. */
static void make_big_block(struct recorded *r)
{
	const size_t from = offsetof(struct recording_block_header, crc);
	struct recording_block_header header = block_header(r, 2);
	size_t begin = block_at(r, 2) + HEADER;
	u8 *bytes = calloc(1, begin + 16 + ITEMS_BIG * ITEM_BYTES), *at = bytes + begin;

	assert_non_null(bytes);
	assert_int_equal(header.kind, RECORDING_SPANS);
	memcpy(bytes, r->bytes, begin);
	*at++ = RECORDING_ON;
	*at++ = 1;
	for (u32 i = 0; i < ITEMS_BIG; i++) {
		*at++ = RECORDING_SPAN | RECORDING_LEAF;
		*at++ = 1;
		at = varint_put(at, varint_zigzag(i ? 2 : (s64)REC_START + 2));
		*at++ = 1;
	}
	*at++ = 7;
	header.length = (u32)(at - (bytes + begin));
	header.crc = (u32)crc32(0, bytes + begin, header.length);
	header.header_crc = (u32)crc32(0, (u8 *)&header + from, HEADER - from);
	memcpy(bytes + begin - HEADER, &header, HEADER);
	free(r->bytes);
	r->bytes = (char *)bytes;
	r->size = (size_t)(at - bytes);
}

static int count_span(void *context, const struct model_span *span)
{
	struct expected *e = context;

	e->next++;
	e->failures += span->end_ns != REC_START + 2 * (u64)e->next || span->busy_ns != 1;
	return 0;
}

/* More items than a batch holds, then one of no kind: what stands before that is taken, the block counts once. */
static void test_a_block_of_many_batches(void **state)
{
	struct recorded *r = *state;
	struct expected e = {0};

	record_begin(r);
	record_simple(r, REC_ONE, REC_A, REC_START, 1, 1);
	record_finish(r);
	make_big_block(r);
	assert_int_equal(replay(r, &e, count_span), 0);
	assert_int_equal(e.failures, 0);
	assert_int_equal(e.next, ITEMS_BIG);
	assert_int_equal(replay_loss(r, "damaged_blocks"), 1);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, recorded_setup, recorded_teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_all_in_order),
		TEST(test_one_cpu),
		TEST(test_a_damaged_block),
		TEST(test_a_sink_that_fails),
		TEST(test_cut),
		TEST(test_a_block_of_many_batches),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
