/** What was lost, and what to do about it: user space's side of bpf/lib/loss.h. */
import type { Lost } from '../aggregate/report.js';
import { loss } from '../generated/common.js';
import { readU64 } from '../loader/layout.js';
import { type BpfMap, possibleCpus, u32Key } from '../loader/map.js';
import { grouped } from '../render/numbers.js';

type Cause = Exclude<keyof typeof loss, 'LOSS_CAUSES'>;

/** Each cause in words: what, why, what to do. With a count and the name it fits a line. */
const EXPLANATIONS: Readonly<Record<Cause, string>> = {
	LOSS_GROUPS_FULL: 'events: too many groups; --max-buckets, or filter',
	LOSS_EVENTS_RING_FULL: 'events: too many at once; filter, or more room or threshold',
	LOSS_WAIT_TABLE_FULL: 'waits: no room to time them; filter',
	LOSS_WAIT_START_UNKNOWN: 'waits: beginning not seen; a part is not counted',
	LOSS_WAITS_UNSEEN: 'waits: this kernel did not trace their end',
	LOSS_WAITS_MISBOOKED: 'waits: the kernel counted sleep as waiting',
	LOSS_STACKS_FULL: 'times a stack had no room; --max-stacks',
	LOSS_STACKS_TRUNCATED: 'walks cut short: deeper than --max-depth',
	LOSS_STACK_WALK_FAILED: 'walks failed: counted without a stack',
	LOSS_CALL_START_UNKNOWN: 'calls: their beginning was not seen; not timed',
	LOSS_THREADS_FULL: 'thread events: no room; --max-threads, or filter',
	LOSS_ALLOCATIONS_FULL: 'allocations: no room; --max-allocs, or --sample-bytes',
	LOSS_ALLOCATIONS_NESTED: 'allocations: interrupted by others again and again',
	LOSS_ALLOCATIONS_ENDLESS: 'allocations: calls that were left by a jump',
	LOSS_ALLOCATING_THREADS_FULL: 'allocations: too many threads',
	LOSS_FREES_UNSEEN: 'frees: the address was given out again',
	LOSS_FAILURES_FULL: 'failed calls: too many paths; --max-paths, or filter',
	LOSS_FILTER_FULL: 'processes to follow: too many; filter',
};

/** Causes that are not counted by a program. */
const LOST_HERE = {
	programs_missed: 'program runs: another one was under way on the CPU',
	events_dropped: 'events: too many; shorten the interval',
	mappings_lost: 'records of mappings: too many at once; names may lack',
	samples_lost: 'samples: more than could be read; lower -F',
	samples_throttled: 'pauses: the kernel found the rate too high; lower -F',
	samples_without_room: 'samples: no room for their stacks; --max-stacks',
	groups_merged: 'waits, to group (others): too many groups; filter',
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
		const values = this.#map.lookupPerCpu(u32Key(cause));
		let total = 0;
		for (let cpu = 0; values && cpu < possibleCpus(); cpu++) total += readU64(values, cpu * 8);
		return total;
	}
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

/** "waits: …" is "wait: …" of one; all begin with what is lost. */
function singular(words: string): string {
	return words.replace(/^(processe|(?:program |thread )?\w+)s\b/, (_, noun: string) =>
		noun === 'processe' ? 'process' : noun,
	);
}

function jsonName(cause: string): string {
	return cause.replace(/^LOSS_/, '').toLowerCase();
}
