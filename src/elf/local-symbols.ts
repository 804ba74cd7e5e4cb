/** Finds a few symbols of .symtab by their names. */
import type { Elf } from './elf.js';
import type { ExportedSymbol } from './exported-symbols.js';
import { eachSymbol, namesOf, symbolAddress, symbolName, symbolSize } from './symbol-table.js';

/** By name; those that are not in the table are left out. Throws SymbolError. */
export function symbolsNamed(elf: Elf, names: readonly string[]): Map<string, ExportedSymbol> {
	const found = new Map<string, ExportedSymbol>();
	const table = elf.section('.symtab');
	if (!table) return found;
	const strings = elf.contents(namesOf(elf, table));
	const wanted = new Map<number, string>();
	for (const name of names) {
		const at = strings.indexOf(`\0${name}\0`, 0, 'latin1');
		if (at >= 0) wanted.set(at + 1, name);
	}
	eachSymbol(elf, table, (part, at) => {
		const name = wanted.get(symbolName(part, at));
		if (name !== undefined)
			found.set(name, {
				address: symbolAddress(part, at),
				size_bytes: symbolSize(part, at),
			});
		return found.size === wanted.size;
	});
	return found;
}
