// SPDX-License-Identifier: MIT
/*
 * Means, medians and Student's t; see stats.h. The library for this in C is the
 * GSL, whose licence (GPL) a program under MIT that links it would come under.
 */
#include "tool/bench/stats.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static int by_size(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

void stats_of(const double *values, int n, struct stats *ret)
{
	double *v = malloc((size_t)n * sizeof(*v)), sum = 0, squares = 0;
	int i;

	if (!v)
		abort();
	memcpy(v, values, (size_t)n * sizeof(*v));
	qsort(v, (size_t)n, sizeof(*v), by_size);
	for (i = 0; i < n; i++)
		sum += v[i];
	ret->n = n;
	ret->min = v[0];
	ret->max = v[n - 1];
	ret->median = n % 2 ? v[n / 2] : (v[n / 2 - 1] + v[n / 2]) / 2;
	ret->mean = sum / n;
	for (i = 0; i < n; i++)
		squares += (v[i] - ret->mean) * (v[i] - ret->mean);
	ret->stddev = n > 1 ? sqrt(squares / (n - 1)) : 0;
	free(v);
}

/* Two-sided 95 % quantile of Student's t. */
static double student_t(int freedom)
{
	static const double t[] = {12.706, 4.303, 3.182, 2.776, 2.571, 2.447,
		2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131,
		2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064,
		2.060, 2.056, 2.052, 2.048, 2.045, 2.042};
	const double z = 1.959964;

	if (freedom <= (int)(sizeof(t) / sizeof(t[0])))
		return t[freedom - 1];
	/* Cornish and Fisher's series, right to three digits from here on. */
	return z + (pow(z, 3) + z) / (4 * freedom) +
	       (5 * pow(z, 5) + 16 * pow(z, 3) + 3 * z) /
		       (96.0 * freedom * freedom);
}

int stats_compare(
	const struct stats *a, const struct stats *b, struct difference *ret)
{
	int freedom = a->n + b->n - 2;
	double s;

	if (a->n < 2 || b->n < 2)
		return -1;
	s = sqrt(((a->n - 1) * a->stddev * a->stddev +
			 (b->n - 1) * b->stddev * b->stddev) /
		 freedom);
	ret->pooled_s = s;
	ret->mean = b->mean - a->mean;
	ret->interval = student_t(freedom) * s * sqrt(1.0 / a->n + 1.0 / b->n);
	ret->significant = fabs(ret->mean) > ret->interval;
	return 0;
}
