/** Every cause of loss, and what forces it in a test: test/unit/bpf/loss.test.ts holds it to be complete. */

/** The test file in test/live or test/unit that forces it, and names it; or why none can here. */
type Entry = { readonly forcedIn: string } | { readonly not: string };

const LOSSES = 'live/losses';
const IN_PROGRAMS = 'live/losses-in-programs';
const IN_TABLES = 'live/losses-in-tables';
const OF_ALLOCATIONS = 'live/losses-of-allocations';

export const LOSS_TABLE: Readonly<Record<string, Entry>> = {
	groups_full: { forcedIn: LOSSES },
	events_ring_full: { forcedIn: LOSSES },
	waits_ring_full: { forcedIn: IN_TABLES },
	wait_table_full: { forcedIn: IN_PROGRAMS },
	wait_start_unknown: { forcedIn: LOSSES },
	waits_unseen: { forcedIn: IN_PROGRAMS },
	waits_misbooked: { forcedIn: 'live/truth' },
	stacks_full: { forcedIn: LOSSES },
	stacks_truncated: { forcedIn: LOSSES },
	stack_walk_failed: { forcedIn: LOSSES },
	call_start_unknown: { forcedIn: LOSSES },
	threads_full: { forcedIn: LOSSES },
	ended_threads_full: { forcedIn: IN_TABLES },
	allocations_full: { forcedIn: LOSSES },
	allocations_nested: { forcedIn: OF_ALLOCATIONS },
	allocations_endless: { forcedIn: LOSSES },
	allocating_threads_full: { forcedIn: OF_ALLOCATIONS },
	frees_unseen: { forcedIn: LOSSES },
	failures_full: { forcedIn: LOSSES },
	calls_ring_full: { forcedIn: LOSSES },
	chains_cut: { forcedIn: 'unit/aggregate/chains' },
	objects_full: { forcedIn: LOSSES },
	filter_full: { forcedIn: IN_PROGRAMS },
	programs_missed: { not: 'chance decides whether a program interrupts itself' },
	events_dropped: { not: 'it takes 100,000 rows in one second' },
	mappings_lost: { forcedIn: LOSSES },
	samples_lost: { forcedIn: LOSSES },
	samples_throttled: { forcedIn: 'live/samples-throttled' },
	samples_without_room: { forcedIn: 'unit/tools/profile/sample-counter' },
	ended_threads_dropped: { forcedIn: 'unit/tools/why/thread-accounts' },
	threads_uncounted: { forcedIn: 'live/counters' },
	groups_merged: { forcedIn: 'unit/bpf/groups' },
};
