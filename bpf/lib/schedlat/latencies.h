/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * Run queue latency by thread: count, sum, extremes and a histogram for each, in both windows.
 *
 * A lookup in a hash for each wait costs as much as all the rest. So each thread has a place in an
 * array, by its number, with its sums and a few buckets' counts: those are found in a nanosecond
 * or two. What does not fit there (a bucket whose place another bucket needs, a thread whose place
 * another thread has) goes to a hash. User space adds up the two.
 */
#ifndef TSTRACE_SCHEDLAT_LATENCIES_H
#define TSTRACE_SCHEDLAT_LATENCIES_H

#include "../histogram.h"
#include "../kernel.h"
#include "../loss.h"
#include "../scheduling/run_queue.h"
#include "../window.h"

/* A thread, whatever number it is given later; a number alone is used again. */
struct thread_key {
	u64 start_ns; /* CLOCK_MONOTONIC */
	u32 pid;      /* in the first PID namespace */
	u32 bucket;
};

_Static_assert(sizeof(struct thread_key) == 16, "no padding: the key is hashed byte by byte");

/* Numbers are those of a second, after which user space takes them out. */
struct latencies {
	u32 count;
	u32 wakeups; /* of them, those after a wake-up */
	u64 sum;
	u64 throttled_ns;   /* throttled parts of the waits; the sum is without them */
	u64 min_complement; /* ~minimum, so that zero is "none yet" */
	u64 max;
	u64 max_ns; /* CLOCK_MONOTONIC, when it ended */
};

#define LATENCY_PLACES	16384
#define BUCKETS_AT_HAND 16
/* A bucket's number and its count, in one word. */
#define AT_HAND_BITS 20
#define AT_HAND_MAX  ((1 << AT_HAND_BITS) - 1)

/* A thread's sums, and the counts of buckets it used last; its other counts are in the hash. */
struct latency_place {
	u64 start_ns;
	u32 pid; /* 0: the place is free */
	u32 reserved;
	struct latencies all; /* its count is of all buckets */
	u32 at_hand[BUCKETS_AT_HAND];
};

_Static_assert(HIST_BUCKETS < 1 << (32 - AT_HAND_BITS), "a bucket's number has 12 bits");
_Static_assert(sizeof(struct latency_place) == 128, "two cache lines");

EXPORT_TYPE(struct thread_key, thread_key);
EXPORT_TYPE(struct latencies, latencies);
EXPORT_TYPE(struct latency_place, latency_place);

/* Both windows, one after the other; user space maps it. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, WINDOWS *LATENCY_PLACES);
	__type(key, u32);
	__type(value, struct latency_place);
} latency_places SEC(".maps");

/* User space sets the size before loading. */
struct latency_map {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 65536);
	__type(key, struct thread_key);
	__type(value, struct latencies);
};

struct latency_map latencies_0 SEC(".maps");
struct latency_map latencies_1 SEC(".maps");

/* Two call sites and not one with a chosen map: the verifier then knows the map, and inlines. */
static __always_inline struct latencies *latencies_lookup(u32 half, struct thread_key *key)
{
	return half ? bpf_map_lookup_elem(&latencies_1, key)
		    : bpf_map_lookup_elem(&latencies_0, key);
}

/* The hash's entry of a bucket, a new one if need be; NULL where there is no room: counted. */
static __always_inline struct latencies *latencies_of(u32 half, struct thread_key *key, u64 count)
{
	struct latencies *latencies = latencies_lookup(half, key);
	struct latencies none = {};

	if (latencies)
		return latencies;
	if (half)
		bpf_map_update_elem(&latencies_1, key, &none, BPF_NOEXIST);
	else
		bpf_map_update_elem(&latencies_0, key, &none, BPF_NOEXIST);
	latencies = latencies_lookup(half, key);
	if (!latencies)
		count_losses(LOSS_THREADS_FULL, count);
	return latencies;
}

/* Only the CPU that switches to the thread at `now_ns` writes this. */
static __always_inline void latencies_add(struct latencies *latencies, struct queued *queued,
					  u64 now_ns)
{
	u64 latency_ns = queued->latency_ns - queued->throttled_ns;

	latencies->throttled_ns += queued->throttled_ns;
	latencies->count++;
	latencies->wakeups += queued->kind == QUEUED_WAKEUP;
	latencies->sum += latency_ns;
	if (~latency_ns > latencies->min_complement)
		latencies->min_complement = ~latency_ns;
	if (latency_ns > latencies->max || !latencies->max_ns) {
		latencies->max = latency_ns;
		latencies->max_ns = now_ns;
	}
}

/* Adds to a bucket's count at hand; what was at hand in its place goes to the hash. */
static __always_inline void bucket_add(struct latency_place *place, u32 half, u32 bucket)
{
	u32 *at_hand = &place->at_hand[bucket % BUCKETS_AT_HAND];
	u32 held = *at_hand, count = held & AT_HAND_MAX;
	struct thread_key key = {};
	struct latencies *latencies;

	if (held >> AT_HAND_BITS == bucket && count < AT_HAND_MAX) {
		*at_hand = held + 1;
		return;
	}
	*at_hand = bucket << AT_HAND_BITS | 1;
	if (!count)
		return;
	key.start_ns = place->start_ns;
	key.pid = place->pid;
	key.bucket = held >> AT_HAND_BITS;
	latencies = latencies_of(half, &key, count);
	if (latencies)
		latencies->count += count;
}

/* Counts the latency of `task`, which gets this CPU at `now_ns` (CLOCK_MONOTONIC). */
static __always_inline void latency_add(struct task_struct *task, struct queued *queued, u64 now_ns)
{
	u32 half = current_window(), pid = task->pid,
	    bucket = hist_bucket(queued->latency_ns - queued->throttled_ns);
	u32 index = half * LATENCY_PLACES + pid % LATENCY_PLACES;
	struct latency_place *place = bpf_map_lookup_elem(&latency_places, &index);
	u64 start_ns = task->start_time;
	struct thread_key key = {};
	struct latencies *latencies;

	if (!place)
		return;
	/*
	 * Two threads that share a place may take it at the same moment on two CPUs; then one
	 * wait is counted for the wrong thread. BPF has no compare-and-exchange before 5.12.
	 */
	if (!place->pid) {
		place->start_ns = start_ns;
		place->pid = pid;
	}
	if (place->pid == pid && place->start_ns == start_ns) {
		latencies_add(&place->all, queued, now_ns);
		bucket_add(place, half, bucket);
		return;
	}
	key.start_ns = start_ns;
	key.pid = pid;
	key.bucket = bucket;
	latencies = latencies_of(half, &key, 1);
	if (latencies)
		latencies_add(latencies, queued, now_ns);
}

#endif
