/**
 * Finds the symbols of some addresses by going through a file's symbol tables once. No table is
 * kept in memory, and names are read of those symbols only that are asked for: files have hundreds
 * of thousands of symbols, of which a trace meets hundreds.
 */
import { firstAtLeast } from '../../ascending.js';
import { boundedName, MAX_NAME_LENGTH } from '../../bounded-names.js';
import { SymbolError } from '../../elf/bytes.js';
import { type Elf, type Section, stringAt } from '../../elf/elf.js';
import {
	eachSymbol,
	namesOf,
	STB,
	STT,
	type Symbols,
	symbolAddress,
	symbolBinding,
	symbolCode,
	symbolName,
	symbolSize,
	symbolType,
} from '../../elf/symbol-table.js';

/** Aliases of one address, and functions around it; beyond these, only malice has more. */
const MAX_CANDIDATES = 16;

interface Candidate {
	readonly start: number;
	/** The first address that is not the symbol's any more. */
	readonly end: number;
	readonly binding: number;
	readonly elf: Elf;
	readonly strings: Section;
	readonly nameOffset: number;
}

/** Between an address and the one before it: what begins there. */
interface Slot {
	/** Sized symbols that reach the address. */
	readonly covering: Candidate[];
	/** Where the last symbol before the address begins, sized or not. */
	lastStart: number;
	/** Symbols without a size that begin at `lastStart`. */
	unsized: Candidate[];
}

export class SymbolSearch {
	readonly #wanted: Float64Array;
	readonly #slots: (Slot | undefined)[];
	readonly #names = new Map<Candidate, string>();
	/** Where symbols begin that say no size, by the wanted addresses that they name. */
	readonly #unsized = new Map<number, number>();

	/** Takes the addresses, as they are linked, ascending, each once. */
	constructor(wanted: Float64Array) {
		this.#wanted = wanted;
		this.#slots = new Array(wanted.length);
	}

	/** Goes through a table of symbols (.symtab, .dynsym). Throws SymbolError. */
	add(elf: Elf, table: Section): void {
		const strings = namesOf(elf, table);
		eachSymbol(elf, table, (part, at) => {
			this.#see(elf, strings, part, at);
			return false;
		});
	}

	/** The name of each address, in their order; undefined where no symbol is. */
	names(): (string | undefined)[] {
		/** Symbols that began before; a stack, as functions nest. */
		const around: Candidate[] = [];
		let last: Slot | undefined;
		return Array.from(this.#wanted, (address, i) => {
			const slot = this.#slots[i];
			if (slot) {
				last = slot;
				slot.covering.sort((a, b) => a.start - b.start);
				for (const candidate of slot.covering) around.push(candidate);
			}
			while ((around.at(-1)?.end ?? Infinity) <= address) around.pop();
			if (around.length > 0) return this.#best(innermost(around, address));
			const unsized = last?.unsized.filter(({ end }) => address < end) ?? [];
			if (unsized[0]) this.#unsized.set(address, unsized[0].start);
			return this.#best(unsized);
		});
	}

	/**
	 * The addresses that `names` has named by a symbol without a size, and where that begins. If the tables lack
	 * functions, one of those may lie between.
	 */
	get unsized(): ReadonlyMap<number, number> {
		return this.#unsized;
	}

	#see(elf: Elf, strings: Section, part: Symbols, at: number): void {
		const type = symbolType(part, at);
		const binding = symbolBinding(part, at);
		// Assembly often lacks types; what it exports is a function all the same. Its local labels
		// are none, and on arm64 they mark where data begins.
		const isFunction = type === STT.func || type === STT.gnuIfunc;
		if (!isFunction && (type !== STT.notype || binding === STB.local)) return;
		const section = symbolCode(elf, part, at);
		if (!section) return;

		const start = symbolAddress(part, at);
		const i = firstAtLeast(this.#wanted, start);
		const address = this.#wanted[i];
		if (address === undefined) return;
		const size = symbolSize(part, at);
		const slot = this.#slot(i);
		// Without a size it reaches to the next symbol, or to the section's end.
		const end = size > 0 ? start + size : section.address + section.size_bytes;
		if (size > 0 && end > address && slot.covering.length < MAX_CANDIDATES) {
			const nameOffset = symbolName(part, at);
			slot.covering.push({ start, end, binding, elf, strings, nameOffset });
		}
		if (start > slot.lastStart) {
			slot.lastStart = start;
			slot.unsized = [];
		}
		if (size === 0 && start === slot.lastStart && slot.unsized.length < MAX_CANDIDATES) {
			const nameOffset = symbolName(part, at);
			slot.unsized.push({ start, end, binding, elf, strings, nameOffset });
		}
	}

	#slot(i: number): Slot {
		this.#slots[i] ??= { covering: [], lastStart: -1, unsized: [] };
		return this.#slots[i];
	}

	/** Of aliases, the one people know: not local, "read" rather than "__read", not weak. */
	#best(candidates: readonly Candidate[]): string | undefined {
		let best: string | undefined;
		let bestRank = Infinity;
		for (const candidate of candidates) {
			const name = this.#name(candidate);
			if (name === '') continue;
			const local = candidate.binding === STB.local ? 1000 : 0;
			const weak = candidate.binding === STB.weak ? 1 : 0;
			const rank = local + leadingUnderscores(name) * 2 + weak;
			if (rank < bestRank) {
				best = name;
				bestRank = rank;
			}
		}
		return best;
	}

	/** Empty when it lies outside its table: that costs this name only. */
	#name(candidate: Candidate): string {
		let name = this.#names.get(candidate);
		if (name === undefined) {
			name = nameOf(candidate);
			this.#names.set(candidate, name);
		}
		return name;
	}
}

function nameOf({ elf, strings, nameOffset }: Candidate): string {
	try {
		const name = stringAt(elf, strings, nameOffset, MAX_NAME_LENGTH);
		// "read@@GLIBC_2.2.5": versions are the linker's business.
		const version = name.indexOf('@', 1);
		return boundedName(version < 0 ? name : name.slice(0, version));
	} catch (error) {
		if (error instanceof SymbolError) return '';
		throw error;
	}
}

/** Of symbols around the address, by where they begin, the last and its aliases. */
function innermost(around: readonly Candidate[], address: number): Candidate[] {
	const aliases: Candidate[] = [];
	for (let i = around.length - 1; around[i]?.start === around.at(-1)?.start; i--) {
		const candidate = around[i] as Candidate;
		if (candidate.end > address) aliases.push(candidate);
	}
	return aliases;
}

function leadingUnderscores(name: string): number {
	// "_Z" and "_R" begin every mangled name.
	if (name.startsWith('_Z') || name.startsWith('_R')) return 0;
	let count = 0;
	while (count < 9 && name[count] === '_') count++;
	return count;
}
