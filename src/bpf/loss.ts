/** What was lost, and what to do about it: user space's side of bpf/lib/loss.h. */
import type { Lost } from '../aggregate/report.js';
import { loss } from '../generated/common.js';
import { readU64 } from '../loader/layout.js';
import { type BpfMap, possibleCpus, u32Key } from '../loader/map.js';
import { grouped } from '../render/numbers.js';

type Cause = Exclude<keyof typeof loss, 'LOSS_CAUSES'>;

/** Each cause in words: what, why, what to do. */
const EXPLANATIONS: Readonly<Record<Cause, string>> = {
	LOSS_GROUPS_FULL: 'events: no room for more groups; raise --max-buckets, or choose threads (-p)',
	LOSS_EVENTS_RING_FULL:
		'events: they came faster than tstrace read them; choose fewer threads (-p)',
	LOSS_WAITS_RING_FULL:
		'waits: they came faster than tstrace read them; raise --period, or lower --hops',
	LOSS_WAIT_TABLE_FULL:
		'waits or calls: no room for the time when they began; choose fewer threads (-p)',
	LOSS_WAIT_START_UNKNOWN:
		'waits: tstrace did not see when they began; some or all of their time may be missing',
	LOSS_WAITS_UNSEEN: 'waits: the kernel reported no switch when they ended',
	LOSS_WAITS_MISBOOKED:
		'waits: the kernel counted their sleep as run queue latency; tstrace does not',
	LOSS_STACKS_FULL: 'events: no room for their stack; raise --max-stacks',
	LOSS_STACKS_TRUNCATED: 'stacks: cut, as they are deeper than --max-depth',
	LOSS_STACK_WALK_FAILED: 'events: the kernel could not walk their stack',
	LOSS_CALL_START_UNKNOWN: 'calls: tstrace did not see when they began; not counted',
	LOSS_THREADS_FULL:
		'events: no room for more threads or latencies; raise --max-threads, or choose fewer threads (-p)',
	LOSS_ENDED_THREADS_FULL:
		'threads: they ended faster than tstrace read of it; their time is not in the result',
	LOSS_ALLOCATIONS_FULL:
		'allocations: no room or no memory; raise --max-allocs, or use --sample-bytes',
	LOSS_ALLOCATIONS_NESTED: 'allocations: missing, as probes interrupted each other too often',
	LOSS_ALLOCATIONS_ENDLESS: 'calls: the function never returned (longjmp or exception)',
	LOSS_ALLOCATING_THREADS_FULL: 'allocations: too many threads allocated at once',
	LOSS_FREES_UNSEEN: 'frees: tstrace did not see them, but their address was allocated again',
	LOSS_FAILURES_FULL:
		'failed calls: no room for more paths; raise --max-paths, or choose threads (-p)',
	LOSS_OBJECTS_FULL:
		'waits: no room for what they were for; raise --max-stacks, or choose threads (-p)',
	LOSS_CALLS_RING_FULL:
		'calls: they came faster than tstrace read them; raise --buffer, or choose fewer (-e, -p)',
	LOSS_FILTER_FULL: 'processes: --follow has no room for more; not traced',
};

/** Causes that are not counted by a program. */
const LOST_HERE = {
	programs_missed:
		'program runs: skipped, as the same BPF program was already running on that CPU; events may be missing',
	events_dropped: 'events: too many in one second for JSON; choose fewer threads (-p), or text',
	mappings_lost: 'mapping records: too many at once; names may be missing',
	samples_lost: 'samples: they came faster than tstrace read them; lower -F',
	samples_throttled:
		'pauses: samples came too fast, and the kernel took none until its next tick; if there are many, lower -F',
	samples_without_room: 'samples: no room for their stack; raise --max-stacks',
	chains_cut:
		'waits: shown without all of their wakers, as there are too many; use -p, or raise --max-stacks',
	ended_threads_dropped:
		'threads: more ended than tstrace keeps; their time is not in the result; trace for less time, or use -p',
	threads_uncounted:
		'threads: they were created while tstrace opened its counters; what they did is not counted',
	groups_merged: 'waits: counted in the group (others), as there are too many groups; use -p',
} as const;

/** Reads the loss counters, which only ever grow, by difference. */
export class Losses {
	readonly #map: BpfMap;
	#before: Lost = {};

	constructor(
		object: { map(name: 'losses'): BpfMap },
		private readonly missed: () => number,
	) {
		this.#map = object.map('losses');
	}

	/** What was lost since the last call, by cause; what was not lost is not there. */
	read(): Lost {
		const now: Record<string, number> = { programs_missed: this.missed() };
		for (const cause of Object.keys(EXPLANATIONS) as Cause[]) {
			now[jsonName(cause)] = this.#total(loss[cause]);
		}
		const lost: Record<string, number> = {};
		for (const [name, total] of Object.entries(now)) {
			const difference = total - (this.#before[name] ?? 0);
			if (difference > 0) lost[name] = difference;
		}
		this.#before = now;
		return lost;
	}

	#total(cause: number): number {
		return lossTotal(this.#map, cause);
	}
}

/** How often a cause was counted since the programs were loaded; `map`: `losses`. */
export function lossTotal(map: BpfMap, cause: number): number {
	const values = map.lookupPerCpu(u32Key(cause));
	let total = 0;
	for (let cpu = 0; values && cpu < possibleCpus(); cpu++) total += readU64(values, cpu * 8);
	return total;
}

/** All causes, as JSON names them. */
export function lossCauses(): string[] {
	return [...Object.keys(EXPLANATIONS).map(jsonName), ...Object.keys(LOST_HERE)];
}

/** Loss in words, one line for each cause. */
export function explainLost(lost: Lost): string[] {
	const kernel = Object.entries(EXPLANATIONS).map(([cause, words]) => [jsonName(cause), words]);
	const words: Record<string, string> = { ...LOST_HERE, ...Object.fromEntries(kernel) };
	return Object.entries(lost).map(([name, count]) => {
		const what = words[name] ?? '';
		return `${grouped(count)} ${count === 1 ? singular(what) : what} (${name})`;
	});
}

/** "waits: … they ended" is "wait: … it ended" of one; all begin with what is lost. */
function singular(words: string): string {
	return words
		.replace(/^[^:]+/, (nouns) => nouns.replace(/(process)es\b|(\w)s\b/g, '$1$2'))
		.replace(/(?<=\bthey )are\b/, 'is')
		.replace(/\b(they|them)\b/g, 'it')
		.replace(/\btheir\b/g, 'its');
}

function jsonName(cause: string): string {
	return cause.replace(/^LOSS_/, '').toLowerCase();
}
