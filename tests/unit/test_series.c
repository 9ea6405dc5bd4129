/* SPDX-License-Identifier: MIT */
/* Means, spreads and the t-test against values from tables and other implementations. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "../../user/util/series.h"

static void assert_near(double got, double want, double within)
{
	if (!(fabs(got - want) <= within))
		fail_msg("%.12g is not within %g of %.12g", got, within, want);
}

static struct series series_of(const double *values, u64 n)
{
	struct series s = {0};

	for (u64 i = 0; i < n; i++)
		series_add(&s, i, values[i]);
	return s;
}

static void test_mean_and_deviation(void **state)
{
	static const double values[] = {2, 4, 4, 4, 5, 5, 7, 9};
	struct series s = series_of(values, 8);

	(void)state;
	assert_near(s.mean, 5, 1e-12);
	assert_near(series_deviation(&s, 8), sqrt(32.0 / 7), 1e-12);
	s = series_of(values, 1);
	assert_near(s.mean, 2, 0);
	assert_near(series_deviation(&s, 1), 0, 0);
}

/* Where the mean is large and the spread small, a sum of squares would have no digit left. */
static void test_small_spread_of_large_values(void **state)
{
	static const double values[] = {1e15 + 4, 1e15 + 7, 1e15 + 13, 1e15 + 16};
	struct series s = series_of(values, 4);

	(void)state;
	assert_near(series_deviation(&s, 4), sqrt(30), 1e-9);
}

/* An item that first appears in the third run was 0 in the two before. */
static void test_zeroes_before_the_first_value(void **state)
{
	static const double values[] = {0, 0, 6};
	struct series s = {0}, whole = series_of(values, 3);

	(void)state;
	series_add(&s, 2, 6);
	assert_near(s.mean, 2, 1e-12);
	assert_near(s.mean, whole.mean, 1e-12);
	assert_near(s.m2, whole.m2, 1e-12);
}

/* The two-sided critical values of Student's t in any table. */
static void test_student(void **state)
{
	(void)state;
	assert_near(series_student(0, 5), 1, 1e-12);
	assert_near(series_student(12.7062047, 1), 0.05, 1e-8);
	assert_near(series_student(63.6567412, 1), 0.01, 1e-8);
	assert_near(series_student(4.3026527, 2), 0.05, 1e-8);
	assert_near(series_student(2.2281389, 10), 0.05, 1e-8);
	assert_near(series_student(-2.2281389, 10), 0.05, 1e-8);
	assert_near(series_student(3.1692727, 10), 0.01, 1e-8);
	assert_near(series_student(2.0422725, 30), 0.05, 1e-8);
	assert_near(series_student(1.9599640, 1e9), 0.05, 1e-6);
	assert_near(series_student(1, 1), 0.5, 1e-12);
	/* df 2 has a closed form: 1 - t / sqrt(2 + t^2) */
	assert_near(series_student(1.5, 2), 1 - 1.5 / sqrt(2 + 1.5 * 1.5), 1e-12);
	assert_near(series_student(INFINITY, 3), 0, 0);
}

/* Examples that are in wide use; their p values are the same in every statistics package. */
static void test_welch(void **state)
{
	static const double a1[] = {27.5, 21.0, 19.0, 23.6, 17.0, 17.9, 16.9, 20.1,
				    21.9, 22.6, 23.1, 19.6, 19.0, 21.7, 21.4};
	static const double a2[] = {27.1, 22.0, 20.8, 23.4, 23.4, 23.5, 25.8, 22.0,
				    24.8, 20.2, 21.9, 22.1, 22.9, 20.5, 24.4};
	static const double b1[] = {17.2, 20.9, 22.6, 18.1, 21.7, 21.4, 23.5, 24.2, 14.7, 21.8};
	static const double b2[] = {21.5, 22.8, 21.0, 23.0, 21.6, 23.6, 22.5, 20.7, 23.4, 21.8,
				    20.7, 21.7, 21.5, 22.5, 23.6, 21.5, 22.5, 23.5, 21.5, 21.8};
	static const double c1[] = {3.0, 4.0, 1.0, 2.1};
	static const double c2[] = {490.2, 340.0, 433.9};
	struct series a = series_of(a1, 15), b = series_of(a2, 15);

	(void)state;
	assert_near(series_welch(&a, 15, &b, 15), 0.021378001, 1e-8);
	assert_near(series_welch(&b, 15, &a, 15), 0.021378001, 1e-8);
	a = series_of(b1, 10);
	b = series_of(b2, 20);
	assert_near(series_welch(&a, 10, &b, 20), 0.148841696, 1e-8);
	a = series_of(c1, 4);
	b = series_of(c2, 3);
	assert_near(series_welch(&a, 4, &b, 3), 0.010751561, 1e-8);
}

static void test_welch_where_it_says_nothing(void **state)
{
	static const double same[] = {5, 5, 5};
	static const double other[] = {6, 6, 6};
	struct series a = series_of(same, 3), b = series_of(other, 3), one = series_of(other, 1);

	(void)state;
	assert_near(series_welch(&a, 3, &one, 1), -1, 0);
	assert_near(series_welch(&one, 1, &a, 3), -1, 0);
	assert_near(series_welch(&a, 3, &a, 3), 1, 0);
	assert_near(series_welch(&a, 3, &b, 3), 0, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_mean_and_deviation),
		cmocka_unit_test(test_small_spread_of_large_values),
		cmocka_unit_test(test_zeroes_before_the_first_value),
		cmocka_unit_test(test_student),
		cmocka_unit_test(test_welch),
		cmocka_unit_test(test_welch_where_it_says_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
