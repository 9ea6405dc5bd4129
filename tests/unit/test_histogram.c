/* SPDX-License-Identifier: MIT */
/* Quantiles of distributions whose quantiles are known, and the bounds of what a bucket can say. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "../../include/model.h"
#include "../../user/util/histogram.h"

static void assert_close(u64 got, double want)
{
	if (fabs((double)got - want) > want * 0.01)
		fail_msg("got %llu, want %.0f to 1 %%", (unsigned long long)got, want);
}

static int setup(void **state)
{
	struct histogram *h = NULL;
	int err = histogram_new(&h);

	*state = h;
	return err;
}

static int teardown(void **state)
{
	struct histogram *h = *state;

	histogram_free(&h);
	assert_null(h);
	return 0;
}

static void test_empty(void **state)
{
	assert_int_equal(histogram_count(*state), 0);
	assert_int_equal(histogram_quantile(*state, 0.5), 0);
}

static void test_small_values_are_exact(void **state)
{
	struct histogram *h = *state;

	for (u64 v = 0; v < 100; v++)
		assert_int_equal(histogram_add(h, v), 0);
	assert_int_equal(histogram_count(h), 100);
	assert_int_equal(histogram_quantile(h, 0), 0);
	assert_int_equal(histogram_quantile(h, 0.01), 0);
	assert_int_equal(histogram_quantile(h, 0.02), 1);
	assert_int_equal(histogram_quantile(h, 0.5), 49);
	assert_int_equal(histogram_quantile(h, 0.9), 89);
	assert_int_equal(histogram_quantile(h, 0.99), 98);
	assert_int_equal(histogram_quantile(h, 1), 99);
}

static void test_odd_fractions(void **state)
{
	struct histogram *h = *state;

	assert_int_equal(histogram_add(h, 1), 0);
	assert_int_equal(histogram_add(h, 2), 0);
	assert_int_equal(histogram_quantile(h, -1), 1);
	assert_int_equal(histogram_quantile(h, NAN), 1);
	assert_int_equal(histogram_quantile(h, 0.51), 2);
	assert_int_equal(histogram_quantile(h, 2), 2);
}

/* Every power of two, its neighbours and what lies between them come back to within 1 %. */
static void test_every_octave(void **state)
{
	(void)state;
	for (int shift = 0; shift < 64; shift++) {
		u64 power = 1ull << shift;
		u64 values[] = {power - 1, power, power + 1, power + power / 3, power + power / 2};

		for (size_t i = 0; i < sizeof(values) / sizeof(*values); i++) {
			struct histogram *h = NULL;

			assert_int_equal(histogram_new(&h), 0);
			assert_int_equal(histogram_add(h, values[i]), 0);
			if (values[i] < 128)
				assert_int_equal(histogram_quantile(h, 0.5), values[i]);
			assert_close(histogram_quantile(h, 0.5), (double)values[i]);
			histogram_free(&h);
		}
	}
}

static void test_largest(void **state)
{
	assert_int_equal(histogram_add(*state, UINT64_MAX), 0);
	assert_close(histogram_quantile(*state, 1), 18446744073709551615.0);
}

static void test_uniform(void **state)
{
	for (u64 v = 1; v <= 1000000; v++)
		assert_int_equal(histogram_add(*state, v * 7), 0);
	assert_close(histogram_quantile(*state, 0.001), 7000);
	assert_close(histogram_quantile(*state, 0.1), 700000);
	assert_close(histogram_quantile(*state, 0.5), 3500000);
	assert_close(histogram_quantile(*state, 0.9), 6300000);
	assert_close(histogram_quantile(*state, 0.999), 6993000);
}

/* At the fraction q, an exponential of mean m stands at -m ln(1 - q). */
static void test_exponential(void **state)
{
	const double mean = 1e6;
	const int n = 1000000;

	for (int i = 0; i < n; i++) {
		double q = (i + 0.5) / n;

		assert_int_equal(histogram_add(*state, (u64)(-mean * log(1 - q))), 0);
	}
	assert_close(histogram_quantile(*state, 0.5), mean * log(2));
	assert_close(histogram_quantile(*state, 0.99), mean * log(100));
	assert_close(histogram_quantile(*state, 0.999), mean * log(1000));
}

static void test_two_peaks(void **state)
{
	assert_int_equal(histogram_add_many(*state, 1000, 90), 0);
	assert_int_equal(histogram_add_many(*state, 1000000, 10), 0);
	assert_int_equal(histogram_add_many(*state, 5, 0), 0);
	assert_int_equal(histogram_count(*state), 100);
	assert_close(histogram_quantile(*state, 0.9), 1000);
	assert_close(histogram_quantile(*state, 0.91), 1000000);
}

/* More than a 32-bit counter holds, in one bucket, by one addition and by many. */
static void test_counters_that_wrap(void **state)
{
	struct histogram *h = *state, *sum = NULL;

	assert_int_equal(histogram_add_many(h, 10, UINT32_MAX), 0);
	assert_int_equal(histogram_add(h, 10), 0);
	assert_int_equal(histogram_add(h, 10), 0);
	assert_int_equal(histogram_add_many(h, 20, 10ull << 32), 0);
	assert_int_equal(histogram_count(h), (11ull << 32) + 1);
	assert_int_equal(histogram_quantile(h, 0.09), 10);
	assert_int_equal(histogram_quantile(h, 0.0909), 10);
	assert_int_equal(histogram_quantile(h, 0.0911), 20);

	assert_int_equal(histogram_new(&sum), 0);
	assert_int_equal(histogram_merge(sum, h), 0);
	assert_int_equal(histogram_merge(sum, h), 0);
	assert_int_equal(histogram_count(sum), (22ull << 32) + 2);
	assert_int_equal(histogram_quantile(sum, 0.0909), 10);
	assert_int_equal(histogram_quantile(sum, 0.0911), 20);
	histogram_free(&sum);
}

static void test_merge(void **state)
{
	struct histogram *odd = *state, *even = NULL;

	assert_int_equal(histogram_new(&even), 0);
	for (u64 v = 0; v < 200000; v++)
		assert_int_equal(histogram_add(v % 2 ? odd : even, v * v), 0);
	assert_int_equal(histogram_merge(odd, even), 0);
	assert_int_equal(histogram_count(odd), 200000);
	assert_int_equal(histogram_count(even), 100000);
	assert_close(histogram_quantile(odd, 0.5), 1e10);
	assert_close(histogram_quantile(odd, 0.9), 3.24e10);
	histogram_free(&even);
}

static void test_memory(void **state)
{
	size_t empty = histogram_size(*state);

	assert_true(empty < 200);
	/* A row that was seen a few times must not take an octave for each. */
	for (u64 v = 1; v <= 1u << 20; v *= 2)
		assert_int_equal(histogram_add(*state, v), 0);
	assert_int_equal(histogram_size(*state) - empty, 32 * 2);
}

static void test_memory_of_many(void **state)
{
	size_t empty = histogram_size(*state);

	for (u64 v = 1000; v < 8000; v++)
		assert_int_equal(histogram_add(*state, v), 0);
	/* 512, 1024, 2048 and 4096 begin the octaves that it needs; and the list of recent ones. */
	assert_int_equal(histogram_size(*state) - empty, 4 * 256 + 64 * 2);
}

/* What it says does not depend on what is settled: each prefix of a sequence, by addition and by merging, against
 * sorted values. Values below 128 are told exactly. */
static void test_every_prefix(void **state)
{
	enum { N = 400 };
	u32 counts[128] = {0};

	(void)state;
	for (u32 n = 1; n <= N; n++) {
		struct histogram *h = NULL, *merged = NULL;

		assert_int_equal(histogram_new(&h), 0);
		assert_int_equal(histogram_new(&merged), 0);
		counts[(n - 1) * 89 % 128]++;
		for (u32 i = 0; i < n; i++)
			assert_int_equal(histogram_add(h, i * 89 % 128), 0);
		assert_int_equal(histogram_add(merged, 0), 0);
		assert_int_equal(histogram_merge(merged, h), 0);
		assert_int_equal(histogram_count(h), n);
		assert_int_equal(histogram_count(merged), n + 1);
		for (u32 rank = 1, value = 0, below = counts[0]; rank <= n; rank++) {
			while (below < rank)
				below += counts[++value];
			assert_int_equal(histogram_quantile(h, (double)rank / n), value);
			assert_int_equal(histogram_quantile(merged, (rank + 1.0) / (n + 1)), value);
		}
		histogram_free(&merged);
		histogram_free(&h);
	}
}

static void test_speed(void **state)
{
	struct timespec from, to;
	const int n = 10000000;
	double ns;

	clock_gettime(CLOCK_MONOTONIC, &from);
	for (int i = 0; i < n; i++)
		histogram_add(*state, (u64)i * 2654435761u >> 12);
	clock_gettime(CLOCK_MONOTONIC, &to);
	ns = ((double)(to.tv_sec - from.tv_sec) * 1e9 + (double)(to.tv_nsec - from.tv_nsec)) / n;
	print_message("%.1f ns an addition\n", ns);
	/* Only a change of kind shall fail here: machines, sanitizers and neighbours differ. */
	assert_true(ns < 500);
}

static void test_model_quantile(void **state)
{
	struct model_row row = {.count = 0, .durations = NULL, .min_ns = 1000, .max_ns = 1001};

	assert_int_equal(model_quantile(&row, 0.5), 0);
	assert_int_equal(histogram_add(*state, 1000), 0);
	assert_int_equal(histogram_add(*state, 1001), 0);
	row.count = 2;
	assert_int_equal(model_quantile(&row, 0.5), 0);
	row.durations = *state;
	/* Both are in the bucket of 1000 to 1007, whose middle lies outside what was seen. */
	assert_int_equal(model_quantile(&row, 0.5), 1001);
	row.min_ns = row.max_ns = 1007;
	assert_int_equal(model_quantile(&row, 0.5), 1007);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_empty),          TEST(test_small_values_are_exact),
		TEST(test_odd_fractions),  TEST(test_every_octave),
		TEST(test_largest),        TEST(test_uniform),
		TEST(test_exponential),    TEST(test_two_peaks),
		TEST(test_merge),          TEST(test_counters_that_wrap),
		TEST(test_memory),         TEST(test_memory_of_many),
		TEST(test_every_prefix),   TEST(test_speed),
		TEST(test_model_quantile),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
