/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * Sampling by duration. What lasts for at least a period is always kept; what is shorter is kept
 * with probability duration / period, and then counts as a whole period. Sums stay unbiased, and no
 * more is kept than the sum of all durations has periods, however many events there are.
 *
 * This is Poisson sampling with the Horvitz-Thompson estimator (Horvitz and Thompson, "A
 * Generalization of Sampling Without Replacement From a Finite Universe", JASA 47, 1952): the
 * variance of a sum is estimated by period² · Σ (1 - p) over what was kept; Σ (1 - p) is its doubt.
 */
#ifndef TSTRACE_SAMPLING_H
#define TSTRACE_SAMPLING_H

#include "kernel.h"

/* Counts and doubts have 8 bits after the point. */
#define ONE 256

/* At most a second, so that what is multiplied here stays within 64 bits. */
#define MAX_PERIOD_NS 1000000000

struct sampled {
	u64 weighed_ns; /* what it counts as */
	u64 count;	/* 1/p, in 1/ONE */
	u64 doubt;	/* 1 - p, in 1/ONE */
};

/* A test puts seeded numbers in its place. */
#ifndef SAMPLING_RANDOM
#define SAMPLING_RANDOM() bpf_get_prandom_u32()
#endif

/* Whether to keep what took `duration_ns`; period 0 keeps all. */
static __always_inline bool sample_by_duration(u64 duration_ns, u64 period_ns,
					       struct sampled *sampled)
{
	if (duration_ns >= period_ns) {
		sampled->weighed_ns = duration_ns;
		sampled->count = ONE;
		sampled->doubt = 0;
		return true;
	}
	if (period_ns > MAX_PERIOD_NS || SAMPLING_RANDOM() * period_ns >= duration_ns << 32)
		return false;
	sampled->weighed_ns = period_ns;
	sampled->count = (period_ns * ONE + duration_ns / 2) / duration_ns;
	sampled->doubt = ONE - duration_ns * ONE / period_ns;
	return true;
}

#endif
