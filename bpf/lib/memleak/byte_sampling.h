/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * Sampling by bytes, as heap profilers do it: as if points were strewn over all bytes that are ever
 * allocated, `sample_bytes` apart on average, and an allocation kept that is hit. Its chance is
 * p = 1 - exp(-size / sample_bytes), and it then counts 1/p times: sums stay unbiased, whatever
 * sizes there are. (Poisson sampling and the Horvitz-Thompson estimator: see sampling.h.)
 *
 * The chance comes from a table, straight between its points. That is not the exponential function
 * to the last digit, but an allocation counts by the chance that it really had.
 */
#ifndef TSTRACE_MEMLEAK_BYTE_SAMPLING_H
#define TSTRACE_MEMLEAK_BYTE_SAMPLING_H

#include "../kernel.h"
#include "../sampling.h"

/* Points of the table for each `sample_bytes`, and up to where: beyond, all are kept. */
#define CHANCE_STEPS  16
#define CHANCE_POINTS 257

/* 0: every allocation is kept. User space allows less than 2^27, and may raise it while tracing. */
volatile u64 sample_bytes;
/* p · 2^32 at each point; see src/tools/memleak/byte-sampling.ts. */
const volatile u32 chances[CHANCE_POINTS] = {};

struct weight {
	u64 bytes; /* what the allocation counts as */
	u64 count; /* 1/p, in 1/ONE */
};

/* Whether to keep an allocation of `size` bytes. */
static __always_inline bool sample_by_bytes(u64 size, struct weight *weight)
{
	u64 mean = sample_bytes, place, chance;
	u32 cell;

	weight->bytes = size;
	weight->count = ONE;
	/* What has no bytes has the chance of one. */
	size = size ? size : 1;
	if (!mean || size / mean >= (CHANCE_POINTS - 1) / CHANCE_STEPS)
		return true;
	place = size * CHANCE_STEPS;
	cell = place / mean;
	if (cell >= CHANCE_POINTS - 1)
		return true;
	chance = chances[cell] + (chances[cell + 1] - chances[cell]) * (place % mean) / mean;
	if (!chance || SAMPLING_RANDOM() >= chance)
		return false;
	weight->bytes = (weight->bytes << 32) / chance;
	weight->count = ((u64)ONE << 32) / chance;
	return true;
}

#endif
