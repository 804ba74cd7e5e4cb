/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * Log-linear histograms: 64 linear steps in every power of two, so a bucket is at most 1/64 wide
 * relative to the values in it, from 1 ns to 2^40 ns (18 minutes). 64 and not 32, because then
 * 1000 * 2^k falls on an edge for every k: the power-of-two rows in microseconds are exact.
 * src/aggregate/buckets.ts has the same arithmetic; test/live proves the two against each other.
 */
#ifndef TSTRACE_HISTOGRAM_H
#define TSTRACE_HISTOGRAM_H

#include "kernel.h"

#define HIST_STEP_BITS 6
#define HIST_STEPS     (1 << HIST_STEP_BITS)
#define HIST_MAX_BITS  40
/* One linear run below HIST_STEPS, then one for each power of two up to HIST_MAX_BITS. */
#define HIST_BUCKETS ((HIST_MAX_BITS - HIST_STEP_BITS + 1) * HIST_STEPS)

struct hist {
	u64 sum;
	u64 min_complement; /* ~minimum, so that zero is "none yet" */
	u64 max;
	u64 buckets[HIST_BUCKETS];
};

EXPORT_TYPE(struct hist, hist);

_Static_assert(HIST_BUCKETS == 2240, "src/aggregate/buckets.ts counts on this");
/* mm/percpu.c, PCPU_MIN_UNIT_SIZE: the largest value of a per-CPU map. */
_Static_assert(sizeof(struct hist) <= 32 << 10, "too large for a per-CPU map");

static __always_inline u32 log2_u64(u64 value)
{
	u32 bits = 0;

	/* BPF has no instruction that counts leading zeros. */
	if (value >> 32) {
		bits += 32;
		value >>= 32;
	}
	if (value >> 16) {
		bits += 16;
		value >>= 16;
	}
	if (value >> 8) {
		bits += 8;
		value >>= 8;
	}
	if (value >> 4) {
		bits += 4;
		value >>= 4;
	}
	if (value >> 2) {
		bits += 2;
		value >>= 2;
	}
	return bits + (value >> 1);
}

/* The bucket that `value` belongs in; values of 2^40 and more share the last one. */
static __always_inline u64 hist_bucket(u64 value)
{
	u64 bucket = value;
	u32 exponent;

	if (value >= HIST_STEPS) {
		exponent = log2_u64(value);
		bucket = (u64)(exponent - HIST_STEP_BITS + 1) * HIST_STEPS +
			 ((value >> (exponent - HIST_STEP_BITS)) & (HIST_STEPS - 1));
	}
	/*
	 * Tests the very register that indexes, which is the one the verifier bounds, and all of
	 * its 64 bits: 5.10 forgets the bounds of what lay on the stack meanwhile, as `value` may.
	 */
	barrier_var(bucket);
	return bucket < HIST_BUCKETS ? bucket : HIST_BUCKETS - 1;
}

/* Adds to a histogram that only this CPU writes. */
static __always_inline void hist_add(struct hist *hist, u64 value)
{
	hist->sum += value;
	if (~value > hist->min_complement)
		hist->min_complement = ~value;
	if (value > hist->max)
		hist->max = value;
	hist->buckets[hist_bucket(value)]++;
}

#endif
