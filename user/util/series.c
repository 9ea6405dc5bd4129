/* SPDX-License-Identifier: MIT */
/* Welford's running variance; Student's t by the regularised incomplete beta function. See series.h. */
#include "series.h"

#include <math.h>

#define FRACTION_STEPS 300
#define FRACTION_CLOSE 1e-15
#define NEXT_TO_ZERO   1e-300

void series_add(struct series *s, u64 n, double x)
{
	double before = x - s->mean;

	s->mean += before / (double)(n + 1);
	s->m2 += before * (x - s->mean);
}

double series_deviation(const struct series *s, u64 n)
{
	return n < 2 || s->m2 <= 0 ? 0 : sqrt(s->m2 / (double)(n - 1));
}

/* Lentz divides by what may come out as 0. */
static double not_zero(double x)
{
	return fabs(x) < NEXT_TO_ZERO ? NEXT_TO_ZERO : x;
}

/* The continued fraction of the incomplete beta function, by Lentz's method; it converges fast where
 * X < (A + 1) / (A + B + 2). */
static double beta_fraction(double x, double a, double b)
{
	double c = 1, d = 1 / not_zero(1 - (a + b) * x / (a + 1)), result = d;

	for (int m = 1; m <= FRACTION_STEPS; m++) {
		double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
		double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
		double factor;

		d = 1 / not_zero(1 + even * d);
		c = not_zero(1 + even / c);
		result *= d * c;
		d = 1 / not_zero(1 + odd * d);
		c = not_zero(1 + odd / c);
		factor = d * c;
		result *= factor;
		if (fabs(factor - 1) < FRACTION_CLOSE)
			break;
	}
	return result;
}

static double log_gamma(double x)
{
	int sign;

	return lgamma_r(x, &sign);
}

/* I_X(A, B) */
static double beta_regularised(double x, double a, double b)
{
	double front;

	if (x <= 0 || x >= 1)
		return x <= 0 ? 0 : 1;
	front = exp(log_gamma(a + b) - log_gamma(a) - log_gamma(b) + a * log(x) + b * log1p(-x));
	if (x < (a + 1) / (a + b + 2))
		return front * beta_fraction(x, a, b) / a;
	return 1 - front * beta_fraction(1 - x, b, a) / b;
}

double series_student(double t, double df)
{
	if (isinf(t))
		return 0;
	return beta_regularised(df / (df + t * t), df / 2, 0.5);
}

double series_welch(const struct series *a, u64 na, const struct series *b, u64 nb)
{
	double da, db, va, vb, difference = b->mean - a->mean;

	if (na < 2 || nb < 2)
		return -1;
	da = series_deviation(a, na);
	db = series_deviation(b, nb);
	va = da * da / (double)na;
	vb = db * db / (double)nb;
	/* Values that never vary: any difference is one. */
	if (va + vb <= 0)
		return difference != 0 ? 0 : 1;
	return series_student(difference / sqrt(va + vb),
			      (va + vb) * (va + vb) /
				      (va * va / (double)(na - 1) + vb * vb / (double)(nb - 1)));
}
