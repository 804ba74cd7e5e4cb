/** What was lost, and what to do about it: user space's side of bpf/lib/loss.h. */
import type { Lost } from '../aggregate/report.js';
import { loss } from '../generated/common.js';
import { readU64 } from '../loader/layout.js';
import { type BpfMap, possibleCpus, u32Key } from '../loader/map.js';

type Cause = Exclude<keyof typeof loss, 'LOSS_CAUSES'>;

/** Each cause in words: what, why, what to do. */
const EXPLANATIONS: Readonly<Record<Cause, string>> = {
	LOSS_GROUPS_FULL:
		'not counted, because the table of groups was full: group more coarsely, or filter',
	LOSS_EVENTS_RING_FULL:
		'events not shown, because they came faster than they were read: raise the threshold, or filter',
	LOSS_WAIT_TABLE_FULL:
		'waits not seen, because the table of waiting threads was full or out of memory: filter',
	LOSS_WAIT_START_UNKNOWN:
		'waits perhaps measured short, if the thread was moved between CPUs while it waited',
	LOSS_WAITS_UNSEEN:
		'waits not seen, because this kernel did not trace the switches that ended them',
	LOSS_FILTER_FULL: 'processes not followed, because the filter was full: choose fewer',
};

/** Causes that are not counted by a program. */
const LOST_HERE = {
	programs_missed: 'program runs skipped by the kernel, because they were nested',
	groups_merged:
		'counted as (others), because there were too many groups: give an interval, or filter',
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
	return Object.entries(lost).map(([name, count]) => `${count} ${words[name]} (${name})`);
}

function jsonName(cause: string): string {
	return cause.replace(/^LOSS_/, '').toLowerCase();
}
