/** Where in which file addresses of a process are. */
import { type MapsEntry, parseMaps } from '../../src/proc/maps.js';
import { readMaps } from '../../src/proc/process-facts.js';

export function placeIn(path: string, offset: number): string {
	return `${path.replace(/.*\//, '') || 'anon'}+0x${offset.toString(16)}`;
}

export class Places {
	readonly #maps: readonly MapsEntry[];

	constructor(pid: number) {
		this.#maps = parseMaps(readMaps(pid) ?? '');
	}

	/** Whether it is in code that was made at run time. */
	hasNoFile(address: number): boolean {
		const mapping = this.#mappingOf(address);
		return mapping !== undefined && mapping.inode === 0 && mapping.path !== '[vdso]';
	}

	/** "libc.so.6+0x1234", as of the file; code without one as perf has it: "anon+0x7f0123456789". */
	of(address: number | undefined): string {
		if (address === undefined) return 'nothing';
		const mapping = this.#mappingOf(address);
		if (!mapping) return `0x${address.toString(16)}`;
		const offset = address - mapping.start + mapping.fileOffset;
		return placeIn(mapping.path, mapping.path === '' ? address : offset);
	}

	/** A return address may be behind the last instruction. */
	#mappingOf(address: number): MapsEntry | undefined {
		return this.#maps.find(({ start, end }) => address > start && address <= end);
	}
}
