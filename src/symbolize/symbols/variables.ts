/** Finds the variable of a file that an address lies in. */
import { boundedName, MAX_NAME_LENGTH } from '../../bounded-names.js';
import { SymbolError } from '../../elf/bytes.js';
import { type Elf, SECTION_TYPE, type Section, stringAt } from '../../elf/elf.js';
import {
	eachSymbol,
	namesOf,
	STT,
	symbolAddress,
	symbolName,
	symbolSize,
	symbolType,
} from '../../elf/symbol-table.js';
import { loadDemangler } from './demangle.js';

/** Symbols that begin below an address and may reach up to it, as one variable may lie in another. */
const MOST_BELOW = 16;

interface Variable {
	readonly address: number;
	readonly size_bytes: number;
	/** Where its name is in the table's section of names. */
	readonly name: number;
}

/** The variables of one file, whose tables are read once, when somebody asks for the first. */
export class Variables {
	readonly #elf: Elf;
	#tables: readonly Table[] | undefined;

	/** The file stays open as long as names are asked for. */
	constructor(elf: Elf) {
		this.#elf = elf;
	}

	/**
	 * Its name, with how far in it the address is ("cache_lock+0x8"); '': the file has no variable there.
	 * `address`: as it is linked.
	 */
	nameAt(address: number): string {
		this.#tables ??= tablesOf(this.#elf);
		for (const table of this.#tables) {
			const name = nameIn(this.#elf, table, address);
			if (name) return name;
		}
		return '';
	}
}

interface Table {
	readonly strings: Section;
	/** By address; of one address in the table's order. */
	readonly variables: readonly Variable[];
}

/** What is damaged is left out. */
function tablesOf(elf: Elf): Table[] {
	return [SECTION_TYPE.symtab, SECTION_TYPE.dynsym].flatMap((type) => {
		const section = elf.sections.find((each) => each.type === type);
		try {
			return section ? tableOf(elf, section) : [];
		} catch (error) {
			if (!(error instanceof SymbolError)) throw error;
			return [];
		}
	});
}

function tableOf(elf: Elf, section: Section): Table {
	const strings = namesOf(elf, section);
	const variables: Variable[] = [];
	eachSymbol(elf, section, (part, at) => {
		if (symbolType(part, at) !== STT.object) return false;
		const size_bytes = symbolSize(part, at);
		if (size_bytes > 0)
			variables.push({
				...{ address: symbolAddress(part, at), size_bytes, name: symbolName(part, at) },
			});
		return false;
	});
	return { strings, variables: variables.sort((a, b) => a.address - b.address) };
}

function nameIn(elf: Elf, { strings, variables }: Table, address: number): string {
	const after = firstAbove(variables, address);
	const near = variables.slice(Math.max(0, after - MOST_BELOW), after);
	const around = near.filter((each) => address < each.address + each.size_bytes);
	// The innermost one; of several names of it, the first of the table.
	const innermost = around.at(-1)?.address;
	for (const each of around.filter((one) => one.address === innermost)) {
		const name = demangled(elf, strings, each.name);
		const offset = address - each.address;
		if (name) return name + (offset > 0 ? `+0x${offset.toString(16)}` : '');
	}
	return '';
}

/** How many of them begin at or below the address. */
function firstAbove(variables: readonly Variable[], address: number): number {
	let low = 0;
	let high = variables.length;
	while (low < high) {
		const middle = (low + high) >>> 1;
		if ((variables[middle] as Variable).address <= address) low = middle + 1;
		else high = middle;
	}
	return low;
}

function demangled(elf: Elf, strings: Section, at: number): string {
	try {
		return boundedName(loadDemangler()(stringAt(elf, strings, at, MAX_NAME_LENGTH)));
	} catch (error) {
		if (error instanceof SymbolError) return '';
		throw error;
	}
}
