/* SPDX-License-Identifier: MIT */
/* Recordings that are cut, damaged, of another version or still being written: what is whole is read, the rest is said
 * and counted. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <zlib.h>

#include <cmocka.h>

#include "recorded.h"

#define HEADER sizeof(struct recording_block_header)

/* INFO, NAMES, then five blocks of ten spans, then END. */
enum { INFO, NAMES, FIRST, LAST = FIRST + 4, END };

static void make_five(struct recorded *r)
{
	record_begin(r);
	for (u64 block = 0; block < 5; block++) {
		u64 now = REC_START + block * 1500 * REC_MS;

		for (u64 i = 0; i < 10; i++)
			record_simple(r, REC_ONE, REC_A, now + i, 1 + i, 1 + i);
		record_tick(r, now + 1400 * REC_MS);
	}
	/* No thread is told of at the end only, so that there are no other names. */
	r->rows[REC_TWO] = r->rows[REC_FAR] = r->rows[REC_ONE];
	record_finish(r);
	assert_int_equal(block_header(r, FIRST).spans, 10);
	assert_int_equal(block_header(r, END).kind, RECORDING_END);
}

/* Makes the checksums of the block at AT right again. */
static void reseal(struct recorded *r, size_t at)
{
	struct recording_block_header header;
	const size_t from = offsetof(struct recording_block_header, crc);

	memcpy(&header, r->bytes + at, HEADER);
	header.crc = (u32)crc32(0, (u8 *)r->bytes + at + HEADER, header.length);
	header.header_crc = (u32)crc32(0, (u8 *)&header + from, HEADER - from);
	memcpy(r->bytes + at, &header, HEADER);
}

static void check_said(const struct recorded *r, const char *part)
{
	if (!strstr(r->said.text, part))
		fail_msg("it does not say `%s`: %s", part, r->said.text);
}

static void test_whole(void **state)
{
	struct recorded *r = *state;

	make_five(r);
	replay_all(r);
	assert_int_equal(r->nspans, 50);
	assert_int_equal(replay_loss(r, "damaged_blocks"), 0);
	assert_string_equal(r->said.text, "");
}

/* Cut at each byte: every whole block is read, and nothing else. */
static void test_cut_anywhere(void **state)
{
	struct recorded *r = *state;
	size_t size, end = 0, spans = 0, block = 0;

	make_five(r);
	size = r->size;
	for (size_t cut = block_at(r, NAMES); cut < size; cut++) {
		while (block_at(r, block) + HEADER + block_header(r, block).length <= cut) {
			end = block_at(r, block) + HEADER + block_header(r, block).length;
			spans += block_header(r, block).spans;
			block++;
		}
		assert_int_equal(replay_try(r, cut), 0);
		assert_int_equal(r->nspans, spans);
		assert_false(replay_info(r->replay)->finished);
		assert_int_equal(replay_loss(r, "damaged_blocks"), cut > end);
		check_said(r, "has no end");
		if (cut - end == 17)
			check_said(r, "its last 17 bytes are no whole block");
	}
	assert_int_equal(spans, 50);
}

/* The end of one that was cut is the last moment that it tells of. */
static void test_end_of_a_cut_one(void **state)
{
	struct recorded *r = *state;

	make_five(r);
	assert_int_equal(replay_try(r, block_at(r, END)), 0);
	assert_int_equal(r->profile.end_ns, REC_START + 6000 * REC_MS + 19);
	assert_int_equal(r->profile.threads[0].end_ns, r->profile.end_ns);
	check_said(r, "up to 6.000 s after its start");
}

/* One bit anywhere in a block of spans costs that block and no other. */
static void test_one_bit(void **state)
{
	struct recorded *r = *state;
	size_t at, length;

	make_five(r);
	at = block_at(r, FIRST + 1);
	length = HEADER + block_header(r, FIRST + 1).length;
	for (size_t bit = 0; bit < length * 8; bit += 3) {
		r->bytes[at + bit / 8] ^= (char)(1 << bit % 8);
		replay_all(r);
		assert_int_equal(r->nspans, 40);
		assert_true(replay_info(r->replay)->finished);
		assert_int_equal(replay_loss(r, "damaged_blocks"), 1);
		check_said(r, "1 of its blocks are damaged or missing");
		r->bytes[at + bit / 8] ^= (char)(1 << bit % 8);
	}
}

static void remove_bytes(struct recorded *r, size_t at, size_t n)
{
	memmove(r->bytes + at, r->bytes + at + n, r->size - at - n);
	r->size -= n;
}

static void test_missing_blocks(void **state)
{
	struct recorded *r = *state;

	make_five(r);
	remove_bytes(r, block_at(r, FIRST + 1), block_at(r, FIRST + 3) - block_at(r, FIRST + 1));
	replay_all(r);
	assert_int_equal(r->nspans, 30);
	assert_int_equal(replay_loss(r, "damaged_blocks"), 2);
	check_said(r, "2 of its blocks");
}

/* A piece cut out of the middle of one block and of the next. */
static void test_missing_bytes(void **state)
{
	struct recorded *r = *state;

	make_five(r);
	remove_bytes(r, block_at(r, FIRST + 1) + HEADER + 5, block_header(r, FIRST + 1).length + 3);
	replay_all(r);
	assert_int_equal(r->nspans, 30);
	assert_int_equal(replay_loss(r, "damaged_blocks"), 2);
}

static void test_junk_between_blocks(void **state)
{
	struct recorded *r = *state;
	char *bytes;
	size_t at;

	make_five(r);
	at = block_at(r, FIRST + 1);
	bytes = malloc(r->size + 100000);
	assert_non_null(bytes);
	memcpy(bytes, r->bytes, at);
	for (size_t i = 0; i < 100000; i++)
		bytes[at + i] = "SPBKSPB\n"[i % 8];
	memcpy(bytes + at + 100000, r->bytes + at, r->size - at);
	free(r->bytes);
	r->bytes = bytes;
	r->size += 100000;
	replay_all(r);
	assert_int_equal(r->nspans, 50);
	assert_int_equal(replay_loss(r, "damaged_blocks"), 1);
}

/* A block that comes again, or a whole file behind another, is not read twice. */
static void test_twice(void **state)
{
	struct recorded *r = *state;
	size_t size, end;
	char *bytes;

	make_five(r);
	size = r->size;
	end = block_at(r, END);
	bytes = malloc(2 * size);
	assert_non_null(bytes);
	memcpy(bytes, r->bytes, end);
	memcpy(bytes + end, r->bytes, size);
	free(r->bytes);
	r->bytes = bytes;
	r->size = end + size;
	replay_all(r);
	assert_int_equal(r->nspans, 50);
	assert_true(replay_loss(r, "damaged_blocks") > 0);
	/* Behind an end nothing is looked for. */
	memmove(bytes + size, bytes + end, size);
	memcpy(bytes, bytes + size, size);
	r->size = 2 * size;
	replay_all(r);
	assert_int_equal(r->nspans, 50);
	assert_true(replay_info(r->replay)->finished);
	check_said(r, "goes on behind its end");
}

static void test_lost_names(void **state)
{
	struct recorded *r = *state;

	make_five(r);
	r->bytes[block_at(r, NAMES) + HEADER] ^= 1;
	replay_all(r);
	assert_int_equal(r->nspans, 0);
	assert_int_equal(replay_loss(r, "damaged_blocks"), 1);
	assert_int_equal(replay_loss(r, "unknown_names"), 50);
	check_said(r, "50 spans and events are left out");
}

static void test_lost_info(void **state)
{
	struct recorded *r = *state;

	make_five(r);
	r->bytes[block_at(r, INFO) + HEADER] ^= 1;
	replay_all(r);
	assert_int_equal(r->nspans, 50);
	assert_int_equal(r->profile.start_ns, REC_START);
	assert_null(replay_info(r->replay)->version);
	check_said(r, "the block that says what was traced");
}

static void test_versions(void **state)
{
	struct recorded *r = *state;
	struct recording_file_header header;

	make_five(r);
	memcpy(&header, r->bytes, sizeof(header));
	header.minor++;
	memcpy(r->bytes, &header, sizeof(header));
	replay_all(r);
	assert_int_equal(r->nspans, 50);
	header.major = 2;
	memcpy(r->bytes, &header, sizeof(header));
	assert_int_equal(replay_try(r, r->size), -EINVAL);
	check_said(r, "in version 2.2 of the format; this spantrace reads version 1");
}

static void test_no_recordings(void **state)
{
	struct recorded *r = *state;
	struct replay *replay = NULL;
	struct captured c;
	int err;

	make_five(r);
	assert_int_equal(replay_try(r, 0), -EINVAL);
	check_said(r, "is empty");
	assert_int_equal(replay_try(r, 7), -EINVAL);
	check_said(r, "in no format that it knows");
	assert_int_equal(replay_try(r, 12), -EINVAL);
	check_said(r, "cut in its first 12 bytes");
	captured_begin(&c, STDERR_FILENO);
	err = replay_open("/does/not/exist.spans", &replay);
	captured_end(&c);
	assert_int_equal(err, -ENOENT);
	assert_null(replay);
	assert_non_null(strstr(c.text, "cannot read /does/not/exist.spans"));
	captured_begin(&c, STDERR_FILENO);
	err = replay_open("/tmp", &replay);
	captured_end(&c);
	assert_int_equal(err, -EISDIR);
	/* Only the header: a trace of nothing. */
	assert_int_equal(replay_try(r, sizeof(struct recording_file_header)), 0);
	assert_int_equal(r->profile.nrows, 0);
}

/* Of a later minor version: blocks of another kind, counters of other numbers. */
static void test_what_later_versions_may_add(void **state)
{
	/* ON 1; SPAN 1, end 10 s, busy 5, counters 0 and 20 */
	static const u8 payload[] = {
		0,    1,    RECORDING_SPAN | RECORDING_LEAF | RECORDING_COUNTED,
		1,    0x80, 0x90,
		0xdf, 0xc0, 0x4a,
		5,    0x81, 0x80,
		0x40, 3,    99};
	struct recording_block_header header;
	struct recorded *r = *state;
	size_t at;

	make_five(r);
	at = block_at(r, FIRST + 1);
	r->bytes[at + offsetof(struct recording_block_header, kind)] = 77;
	reseal(r, at);
	at = block_at(r, FIRST + 2);
	memcpy(&header, r->bytes + at, HEADER);
	assert_true(header.length > sizeof(payload));
	remove_bytes(r, at + HEADER, header.length - sizeof(payload));
	header.length = sizeof(payload);
	memcpy(r->bytes + at, &header, HEADER);
	memcpy(r->bytes + at + HEADER, payload, sizeof(payload));
	reseal(r, at);
	replay_all(r);
	assert_int_equal(r->nspans, 31);
	assert_int_equal(r->spans[10].end_ns, 10000000000ull);
	assert_int_equal(r->spans[10].busy_ns, 5);
	assert_int_equal(r->spans[10].total.cpu_ns, 2);
	assert_string_equal(r->said.text, "");
	assert_int_equal(replay_loss(r, "damaged_blocks"), 0);
}

/* The checksums are right and the content is nonsense: what stands before it is read. */
static void test_nonsense_in_a_good_block(void **state)
{
	struct recorded *r = *state;
	size_t at;

	make_five(r);
	at = block_at(r, FIRST + 1);
	r->bytes[at + HEADER + block_header(r, FIRST + 1).length - 4] = 7; /* the last item's tag */
	reseal(r, at);
	replay_all(r);
	assert_int_equal(r->nspans, 49);
	assert_int_equal(replay_loss(r, "damaged_blocks"), 1);
}

/* What is there so far, while it is written. */
static void test_while_it_is_written(void **state)
{
	struct recorded *r = *state;
	size_t spans = 0;

	record_begin(r);
	for (u64 second = 0; second < 6; second++) {
		u64 now = REC_START + second * 1000 * REC_MS;

		record_simple(r, REC_ONE, REC_A, now, 10, 10);
		record_tick(r, now + 1000 * REC_MS + 10);
		replay_all(r);
		assert_int_equal(r->nspans, ++spans);
		check_said(r, "its last 0 bytes");
	}
	record_cut(r);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, recorded_setup, recorded_teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_whole),
		TEST(test_cut_anywhere),
		TEST(test_end_of_a_cut_one),
		TEST(test_one_bit),
		TEST(test_missing_blocks),
		TEST(test_missing_bytes),
		TEST(test_junk_between_blocks),
		TEST(test_twice),
		TEST(test_lost_names),
		TEST(test_lost_info),
		TEST(test_versions),
		TEST(test_no_recordings),
		TEST(test_what_later_versions_may_add),
		TEST(test_nonsense_in_a_good_block),
		TEST(test_while_it_is_written),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
