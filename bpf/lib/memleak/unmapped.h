/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * Unmapped mappings, and parts of them: the beginning of any mapping, and the end of the one that
 * the thread mapped last, since programs cut an aligned mapping out of a larger one. User space
 * finds the other parts, see src/tools/memleak/live-mappings.ts.
 */
#ifndef TSTRACE_MEMLEAK_UNMAPPED_H
#define TSTRACE_MEMLEAK_UNMAPPED_H

#include "allocations.h"

/* Of a thread. */
struct last_mapping {
	u64 start;
	u64 end;
};

/* A mapping was counted as freed, and a part of it is left: that part is outstanding again. */
static __always_inline void keep_part(struct allocation_key *key, struct allocation *taken,
				      u64 bytes)
{
	struct site *site = bpf_map_lookup_elem(&sites, &taken->site);
	struct allocation *over = bpf_map_lookup_elem(&allocations, key);

	/* Of what was mapped over it since it is behind that. */
	if (over) {
		if (over->size >= bytes)
			return;
		key->address += over->size;
		bytes -= over->size;
		if (bpf_map_lookup_elem(&allocations, key))
			return;
	}
	if (!site)
		return;
	taken->size = bytes;
	/* Its chance was that of the whole: it stands for as many. Less than 2^31 is sampled. */
	taken->weight.bytes =
		taken->weight.count == ONE ? bytes : bytes * taken->weight.count / ONE;
	__sync_fetch_and_add(&site->freed_bytes, -taken->weight.bytes);
	__sync_fetch_and_add(&site->freed_count, -taken->weight.count);
	put_allocation(key, taken);
}

/* `bytes`, whole pages, are unmapped at `key`. `last` may be NULL. */
static __always_inline void unmap(struct last_mapping *last, struct allocation_key *key, u64 bytes)
{
	u64 start = key->address, left = 0;
	struct allocation taken;
	bool tail = last && last->start < start && start < last->end && last->end <= start + bytes;

	if (tail)
		key->address = last->start;
	if (!take_allocation(key, &taken))
		return;
	settle_freed(&taken);
	if (tail) {
		left = start - key->address;
		last->end = start;
	} else {
		if (bytes < taken.size)
			left = taken.size - bytes;
		key->address += bytes;
		if (last && last->start == start)
			last->start = key->address;
	}
	if (left > taken.size)
		left = taken.size;
	if (left)
		keep_part(key, &taken, left);
}

#endif
