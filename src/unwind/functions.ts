/** Which function an address lies in, by unwind information: stripped files have that, too. */
import { firstAtLeast } from '../ascending.js';
import type { Elf } from '../elf/elf.js';
import { CfiMachine } from './cfi.js';
import { EntryReader } from './entries.js';
import { frameSections } from './frame-sections.js';
import { registersOf } from './frame-state.js';
import { RuleSet } from './rule.js';

export interface EnclosingFunction {
	/** Where it begins, as it is linked. */
	readonly start: number;
	/** Signal handlers return into it. */
	readonly isSignal: boolean;
}

/**
 * The functions that these addresses lie in (as they are linked, ascending); none where nothing is
 * said of an address. Of several functions the one that begins last counts; of those that begin at the
 * same place, the first. Never throws; what is damaged is not found.
 */
export function enclosingFunctions(
	elf: Elf,
	wanted: Float64Array,
): ReadonlyMap<number, EnclosingFunction> {
	const registers = registersOf(elf.machine);
	if (!registers || wanted.length === 0) return new Map();
	const nothing = () => undefined;
	const machine = new CfiMachine(registers, new RuleSet(1), nothing);
	const latest = new LatestFunctions(wanted.length);
	for (const section of frameSections(elf, nothing)) {
		new EntryReader(section, registers, machine, nothing).read((common, start, size_bytes) => {
			const first = firstAtLeast(wanted, start);
			// Most lie between two of the addresses.
			if (!((wanted[first] as number) < start + size_bytes)) return;
			const end = firstAtLeast(wanted, start + size_bytes);
			latest.add(first, end, start, common.initial.isSignal);
		});
	}
	return new Map(
		Array.from(wanted, (address, i) => [address, latest.of(i)] as const).filter(isFound),
	);
}

const isFound = <T>(pair: readonly [number, T | undefined]): pair is [number, T] =>
	pair[1] !== undefined;

/**
 * For each of some indexes, the function that begins last of those that were added for it. A function is kept at few
 * nodes of a binary tree over the indexes, as many as the tree is deep, however many indexes it has: files
 * that are made to be slow have a million functions, each of all addresses.
 */
class LatestFunctions {
	/** The root is 1; the children of n are 2n and 2n + 1; the leaves are the indexes. -Infinity: none. */
	readonly #starts: Float64Array;
	/** The how many-eth it was, and in the lowest bit whether it is a signal's. */
	readonly #numbers: Uint32Array;
	#added = 0;

	constructor(private readonly count: number) {
		this.#starts = new Float64Array(2 * count).fill(Number.NEGATIVE_INFINITY);
		this.#numbers = new Uint32Array(2 * count);
	}

	/** A function of the indexes from `first` to in front of `end`. */
	add(first: number, end: number, start: number, isSignal: boolean): void {
		const number = this.#added++ * 2 + (isSignal ? 1 : 0);
		let low = first + this.count;
		let high = end + this.count;
		for (; low < high; low >>= 1, high >>= 1) {
			if (low & 1) this.#put(low++, start, number);
			if (high & 1) this.#put(--high, start, number);
		}
	}

	/** Undefined: none was added for it. */
	of(index: number): EnclosingFunction | undefined {
		let best = index + this.count;
		for (let node = best >> 1; node > 0; node >>= 1) {
			const later = (this.#starts[node] as number) - (this.#starts[best] as number);
			const isFirst = (this.#numbers[node] as number) < (this.#numbers[best] as number);
			if (later > 0 || (later === 0 && isFirst)) best = node;
		}
		const start = this.#starts[best] as number;
		const isSignal = ((this.#numbers[best] as number) & 1) === 1;
		return start === Number.NEGATIVE_INFINITY ? undefined : { start, isSignal };
	}

	#put(node: number, start: number, number: number): void {
		const before = this.#starts[node] as number;
		if (before >= start) return;
		this.#starts[node] = start;
		this.#numbers[node] = number;
	}
}
