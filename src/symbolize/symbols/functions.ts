/** Finds functions of a file by name: where each begins in the file, and how long it is. */
import { type Elf, SECTION_TYPE, type Section } from '../../elf/elf.js';
import {
	eachSymbol,
	namesOf,
	STT,
	symbolAddress,
	symbolCode,
	symbolName,
	symbolSize,
	symbolType,
} from '../../elf/symbol-table.js';

/** No allocator's function has a longer name. */
const MAX_NAME_BYTES = 100;

export interface FoundFunction {
	readonly name: string;
	/** As it is linked. */
	readonly address: number;
	/** Of its first instruction, in the file. */
	readonly offset: number;
	/** 0: the file does not say. */
	readonly size_bytes: number;
}

/**
 * The functions with these names that the file defines; of a name that several have (versions), the
 * first. Those that are chosen at run time (GNU indirect functions) are left out. Throws SymbolError
 * where the tables are malformed.
 */
export function findFunctions(elf: Elf, names: ReadonlySet<string>): FoundFunction[] {
	const found = new Map<string, FoundFunction>();
	for (const type of [SECTION_TYPE.dynsym, SECTION_TYPE.symtab]) {
		const table = elf.sections.find((section) => section.type === type);
		if (table) searchTable(elf, table, names, found);
	}
	return [...found.values()];
}

/** Whether the file has names for its own functions, and not only for those it shares. */
export function hasSymbolTable(elf: Elf): boolean {
	return elf.sections.some(({ type }) => type === SECTION_TYPE.symtab);
}

function searchTable(
	elf: Elf,
	table: Section,
	names: ReadonlySet<string>,
	found: Map<string, FoundFunction>,
): void {
	const text = elf.contents(namesOf(elf, table));
	eachSymbol(elf, table, (part, at) => {
		const section = symbolType(part, at) === STT.func ? symbolCode(elf, part, at) : undefined;
		if (!section) return false;
		const name = shortName(text, symbolName(part, at));
		if (!names.has(name) || found.has(name)) return false;
		const address = symbolAddress(part, at);
		const offset = address - section.address + section.offset;
		found.set(name, { name, address, offset, size_bytes: symbolSize(part, at) });
		return found.size === names.size;
	});
}

/** Empty if it is longer than what is looked for. */
function shortName(text: Buffer, at: number): string {
	// No further: a table may have millions of names, and no end of one.
	const name = text.subarray(at, at + MAX_NAME_BYTES + 1);
	const end = name.indexOf(0);
	return end < 0 ? '' : name.toString('latin1', 0, end);
}
