/* SPDX-License-Identifier: MIT */
/* What a flight recorder keeps, and what it writes when it is asked. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "recorded.h"

static void fly(struct recorded *r, u64 last_ns, u64 last_bytes)
{
	r->exporter.options.last_ns = last_ns;
	r->exporter.options.last_bytes = last_bytes;
	record_begin(r);
}

/* A span of 1 ms at the end of each 100 ms of so many seconds. */
static void fly_seconds(struct recorded *r, u64 from, u64 to)
{
	for (u64 tenth = from * 10 + 1; tenth <= to * 10; tenth++) {
		u64 now = REC_START + tenth * 100 * REC_MS;

		record_simple(r, REC_ONE, REC_A, now - REC_MS, REC_MS, REC_MS);
		record_tick(r, now);
	}
}

static void test_flight_keeps_the_last(void **state)
{
	struct recorded *r = *state;

	fly(r, 2000 * REC_MS, 1 << 20);
	fly_seconds(r, 0, 8);
	fflush(r->exporter.out);
	assert_int_equal(r->size, 0);
	record_finish(r);
	replay_all(r);
	/* Two seconds, and the rest of the block that reaches into them. */
	assert_in_range(r->nspans, 20, 31);
	assert_int_equal(r->spans[r->nspans - 1].end_ns, REC_START + 8000 * REC_MS);
	assert_true(r->profile.start_ns > REC_START);
	assert_true(r->profile.start_ns <= r->spans[0].start_ns);
	assert_int_equal(r->profile.start_realtime_ns - REC_REALTIME,
			 r->profile.start_ns - REC_START);
	assert_int_equal(r->profile.threads[0].inside_ns, r->nspans * REC_MS);
	assert_int_equal(replay_loss(r, RECORDING_LOSS_SQUEEZED), 0);
	assert_string_equal(r->said.text, "");
}

/* Shorter than the time that is kept: all of it is there. */
static void test_flight_of_a_short_run(void **state)
{
	struct recorded *r = *state;

	r->rows[REC_ONE].inside_ns = 99;
	fly(r, 60000 * REC_MS, 1 << 20);
	fly_seconds(r, 0, 3);
	record_finish(r);
	replay_all(r);
	assert_int_equal(r->nspans, 30);
	assert_int_equal(r->profile.start_ns, REC_START);
	assert_int_equal(r->profile.threads[0].inside_ns, 99);
}

/* Written when asked, as often as asked; names told long ago are there. */
static void test_flight_is_written_again(void **state)
{
	struct recorded *r = *state;
	size_t first;

	fly(r, 3000 * REC_MS, 1 << 20);
	record_simple(r, REC_TWO, REC_A_B, REC_START, 10, 10);
	fly_seconds(r, 0, 8);
	record_finish(r);
	replay_all(r);
	first = r->nspans;
	record_open(r);
	record_finish(r);
	replay_all(r);
	assert_int_equal(r->nspans, first);
	record_begin(r);
	record_simple(r, REC_TWO, REC_A_B, REC_START + 8000 * REC_MS, 10, 10);
	record_finish(r);
	replay_all(r);
	assert_int_equal(r->nspans, first + 1);
	assert_string_equal(r->spans[first].path->name, "b of its own");
	assert_string_equal(r->said.text, "");
}

/* A disk that was full once is no reason to stop. */
static void test_flight_after_disk_full(void **state)
{
	struct recorded *r = *state;
	FILE *full = fopen("/dev/full", "we");

	assert_non_null(full);
	fly(r, 60000 * REC_MS, 1 << 20);
	fly_seconds(r, 0, 2);
	fclose(r->exporter.out);
	r->exporter.out = full;
	assert_int_equal(r->exporter.ops->finish(&r->exporter, &r->run), -ENOSPC);
	fclose(full);
	record_open(r);
	fly_seconds(r, 2, 3);
	record_finish(r);
	replay_all(r);
	assert_int_equal(r->nspans, 30);
}

/* Too little memory for the seconds asked for: the oldest go, and are counted until they would have gone anyway. */
static void test_flight_out_of_memory(void **state)
{
	struct recorded *r = *state;
	u64 squeezed;

	fly(r, 20000 * REC_MS, 2 * RECORDING_BLOCK_FULL);
	for (size_t i = 0; i < 100000; i++)
		record_simple(r, REC_ONE, REC_A, REC_START + i * 10000, 9000, 9000);
	record_finish(r);
	assert_true(r->size < 4 * RECORDING_BLOCK_FULL);
	replay_all(r);
	squeezed = replay_loss(r, RECORDING_LOSS_SQUEEZED);
	assert_true(squeezed > 0);
	assert_int_equal(r->nspans + squeezed, 100000);
	record_open(r);
	record_tick(r, REC_START + 25000 * REC_MS);
	r->run.end_ns = REC_START + 25000 * REC_MS;
	assert_int_equal(r->exporter.ops->finish(&r->exporter, &r->run), 0);
	record_cut(r);
	replay_all(r);
	assert_int_equal(r->nspans, 0);
	assert_int_equal(replay_loss(r, RECORDING_LOSS_SQUEEZED), 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, recorded_setup, recorded_teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_flight_keeps_the_last),   TEST(test_flight_of_a_short_run),
		TEST(test_flight_is_written_again), TEST(test_flight_after_disk_full),
		TEST(test_flight_out_of_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
