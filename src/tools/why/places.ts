/** Parts that are about the same thing, added up. Pure values: no I/O, no kernel. */
import { middleOf } from '../../aggregate/buckets.js';
import { Histogram } from '../../aggregate/histogram.js';
import { objectText } from '../../render/wait-object.js';
import { nameOf } from './idle.js';
import type { Part, PlaceName } from './parts.js';

/** Times of waits, in ns; all 0 where none was seen to end. */
interface Durations {
	readonly p50: number;
	readonly p99: number;
	readonly max: number;
}

/** A line of the account. */
export interface Place {
	readonly place: PlaceName | 'not seen';
	readonly kind: string;
	/** '': it is not known, or not for anything. */
	readonly object: string;
	/** For other threads that are traced, too. */
	readonly follows: boolean;
	readonly total_ns: number;
	readonly count: number;
	/** Standard error of `total_ns`. */
	readonly error_ns: number;
	readonly durations: Durations;
}

/** Of their values, in ns. */
export const sumOf = (parts: readonly Part[]) =>
	parts.reduce((sum, { value_ns }) => sum + value_ns, 0);

/** Memory of the heap or a stack, which no name tells apart. */
const UNNAMED = /^(heap|stack|anonymous memory|\[anon.*|)$/;

/**
 * What it was for, without who has it now; '': it has no name. What there may be thousands of is one: children of a
 * name; condition variables of one array, or the two words of each.
 */
export function accountObject({ object, place, kind }: Part): string {
	if (!object || place === 'running' || place === 'runnable') return '';
	if (object.type === 'child') return `child ${object.comm}`;
	if (object.type === 'futex') {
		const { owner: _, ...whole } = object;
		const name = kind === 'condition' ? whole.in.replace(/\+0x[0-9a-f]+$/, '') : whole.in;
		const futex = { ...whole, in: name };
		return nameOf(object) ?? (UNNAMED.test(object.in) ? '' : objectText(futex));
	}
	return object.type === 'unknown' ? '' : objectText(object);
}

/** Those of the same key together, in the order of their first ones. */
export function grouped(
	parts: readonly Part[],
	keyOf: (part: Part) => readonly string[],
): Part[][] {
	const groups = new Map<string, Part[]>();
	for (const part of parts) {
		const key = JSON.stringify(keyOf(part));
		const group = groups.get(key);
		if (group) group.push(part);
		else groups.set(key, [part]);
	}
	return [...groups.values()];
}

/** The line of the account that they are; one at least. */
export function placeOf(parts: readonly Part[]): Place {
	const [first] = parts as [Part];
	return {
		place: first.place,
		kind: first.kind,
		object: accountObject(first),
		follows: first.follows,
		total_ns: sumOf(parts),
		count: parts.reduce((sum, { count }) => sum + count, 0),
		error_ns: Math.sqrt(parts.reduce((sum, { variance }) => sum + variance, 0)),
		durations: durationsOf(new Set(parts.flatMap(({ durations }) => durations))),
	};
}

/** What nothing was seen of. */
export const unseenPlace = (total_ns: number): Place => ({
	...{ place: 'not seen', kind: '', object: '', follows: false, total_ns, count: 0, error_ns: 0 },
	durations: { p50: 0, p99: 0, max: 0 },
});

/** Of waits that count for several: each bucket by its middle. */
function durationsOf(histograms: ReadonlySet<Histogram>): Durations {
	const all = new Histogram();
	for (const each of histograms) all.add(each);
	if (all.count === 0) return { p50: 0, p99: 0, max: 0 };
	const buckets = all.buckets();
	const at = (share: number) => {
		let left = share * all.count;
		const found = buckets.find(({ count }) => {
			left -= count;
			return left <= 0;
		});
		return Math.min(
			all.max_ns,
			Math.max(all.min_ns, middleOf((found ?? buckets.at(-1))?.bucket ?? 0)),
		);
	};
	return { p50: at(0.5), p99: at(0.99), max: all.max_ns };
}
