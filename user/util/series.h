/* SPDX-License-Identifier: MIT */
/* Mean and spread of repeated measurements, and whether two series of them differ. */
#ifndef SPANTRACE_SERIES_H
#define SPANTRACE_SERIES_H

#include "../../include/types.h"

/* A series; how many values it has is the caller's to know, for many series of one length stand side by side. One that
 * starts as zeroes is a series of any number of zeroes. */
struct series {
	double mean;
	double m2; /* the sum of squares of the distances to the mean */
};

/* Adds X to a series of N values. */
void series_add(struct series *s, u64 n, double x);
/* The standard deviation of what the N values are a sample of; 0 for fewer than two. */
double series_deviation(const struct series *s, u64 n);
/* Welch's t-test (spreads may differ): how probable a difference of means like this, or a greater one either way, is
 * where there is none. -1 where a side has fewer than two values: nothing is known of its spread. */
double series_welch(const struct series *a, u64 na, const struct series *b, u64 nb);
/* The probability that Student's t with DF degrees of freedom is at least |T| away from 0, on either side. */
double series_student(double t, double df);

#endif
