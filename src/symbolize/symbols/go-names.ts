/** Names of a Go program's functions, from the table that its own runtime has of them: stripped files have it, too. */

import { boundedName } from '../../bounded-names.js';
import { SymbolError } from '../../elf/bytes.js';
import type { Elf } from '../../elf/elf.js';
import { findGoTable } from '../../elf/go-place.js';
import { GoTable } from '../../elf/go-table.js';

/** What a signal's handler returns to: its return address is looked up one byte in front. */
const SIGNAL_RETURN = /^runtime\.sigreturn(__sigaction)?$/;

/** The names of those `addresses`, as they are linked, that lie in a Go function, by address. Throws SymbolError. */
export function goNames(elf: Elf, addresses: ArrayLike<number>): Map<number, string> {
	const names = new Map<number, string>();
	const place = addresses.length > 0 ? findGoTable(elf) : undefined;
	if (!place) return names;
	const table = new GoTable(elf, place, false);
	for (const address of Array.from(addresses)) {
		const name = nameAt(table, address);
		if (name) names.set(address, boundedName(name));
	}
	return names;
}

/** Undefined where there is none, or where it lies outside the table: that costs this name only. */
function nameAt(table: GoTable, address: number): string | undefined {
	try {
		const [here, next] = [address, address + 1].map((at) => nameOf(table, table.numberAt(at)));
		return next && SIGNAL_RETURN.test(next) ? next : here;
	} catch (error) {
		if (error instanceof SymbolError) return undefined;
		throw error;
	}
}

function nameOf(table: GoTable, number: number): string | undefined {
	if (number < 0) return undefined;
	return table.nameOf(table.functionAt(number));
}
