// SPDX-License-Identifier: MIT
/*
 * Statistics of samples, as ministat(1) has them: the sample's standard
 * deviation, and the difference of two means at 95 % confidence by Student's t
 * with pooled s.
 */
#ifndef IPCLIFT_BENCH_STATS_H
#define IPCLIFT_BENCH_STATS_H

struct stats {
	int n;
	double min, max, median, mean, stddev;
};

/* Of n values, at least one. */
void stats_of(const double *values, int n, struct stats *ret);

struct difference {
	double mean;	 /* b - a */
	double interval; /* +/-, at 95 % */
	double pooled_s;
	int significant; /* 0 is not within the interval */
};

/* 0, or -1 where one has fewer than two values. */
int stats_compare(
	const struct stats *a, const struct stats *b, struct difference *ret);

#endif
