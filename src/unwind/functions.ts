/** Which function an address lies in, by unwind information: stripped files have that, too. */
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
 * said of an address. Of several functions the one that begins last counts. Never throws; what is
 * damaged is not found.
 */
export function enclosingFunctions(
	elf: Elf,
	wanted: Float64Array,
): ReadonlyMap<number, EnclosingFunction> {
	const found = new Map<number, EnclosingFunction>();
	const registers = registersOf(elf.machine);
	if (!registers || wanted.length === 0) return found;
	const nothing = () => undefined;
	const machine = new CfiMachine(registers, new RuleSet(1), nothing);
	for (const section of frameSections(elf, nothing)) {
		new EntryReader(section, registers, machine, nothing).read((common, start, size_bytes) => {
			const { isSignal } = common.initial;
			for (let i = firstFrom(wanted, start); i < wanted.length; i++) {
				const address = wanted[i] as number;
				if (address >= start + size_bytes) break;
				const known = found.get(address);
				if (!known || known.start < start) found.set(address, { start, isSignal });
			}
		});
	}
	return found;
}

/** The index of the first that is not below `least`. */
function firstFrom(ascending: Float64Array, least: number): number {
	let low = 0;
	let high = ascending.length;
	while (low < high) {
		const middle = (low + high) >>> 1;
		if ((ascending[middle] as number) < least) low = middle + 1;
		else high = middle;
	}
	return low;
}
