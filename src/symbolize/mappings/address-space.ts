/** Address spaces: what was mapped where, from when on. */

import { firstAtLeast } from '../../ascending.js';
import type { MappedFile } from './mapped-file.js';

/** Something executable in an address space, since `time_ns`. */
export interface Mapping {
	readonly time_ns: number;
	readonly start: number;
	readonly end: number;
	/** Where in the file `start` is. */
	readonly fileOffset: number;
	/** As the process sees it: "/usr/lib/libc.so.6", "[vdso]"; "" or "//anon" without a file. */
	readonly path: string;
	/** Undefined for memory that no file is behind. */
	readonly file: MappedFile | undefined;
}

type FileMapping = Mapping & { readonly file: MappedFile };

const isOfFile = (mapping: Mapping): mapping is FileMapping => mapping.file !== undefined;

/** Forks of forks of forks: whose copy a process's memory is. */
const MAX_PARENTS = 8;

/** How many of the mappings that an address is in, at different times, are looked at. */
const MAX_OVERLAPS = 4096;

/** Mappings, found by address and time. */
export class MappingIndex {
	readonly #byStart: readonly Mapping[];
	readonly #starts: Float64Array;
	/** The greatest end up to each one: how far back one can reach over an address. */
	readonly #reach: Float64Array;
	/** Ascending; undefined: nobody has asked. */
	#times: Float64Array | undefined;

	constructor(readonly mappings: readonly Mapping[]) {
		this.#byStart = mappings.toSorted((a, b) => a.start - b.start || a.time_ns - b.time_ns);
		this.#starts = Float64Array.from(this.#byStart, ({ start }) => start);
		let reach = 0;
		this.#reach = Float64Array.from(this.#byStart, ({ end }) => {
			reach = Math.max(reach, end);
			return reach;
		});
	}

	/** What was mapped there last at that time; undefined if nothing was yet. */
	find(address: number, time_ns: number): Mapping | undefined {
		let latest: Mapping | undefined;
		for (const mapping of this.#around(address)) {
			if (mapping.time_ns > time_ns) continue;
			if (!latest || mapping.time_ns > latest.time_ns) latest = mapping;
		}
		return latest;
	}

	/** What was mapped there first, whenever. */
	findFirst(address: number): Mapping | undefined {
		let first: Mapping | undefined;
		for (const mapping of this.#around(address)) {
			if (!first || mapping.time_ns < first.time_ns) first = mapping;
		}
		return first;
	}

	/** How many there were at that time, or had been. */
	countUntil(time_ns: number): number {
		this.#times ??= Float64Array.from(this.mappings, (mapping) => mapping.time_ns).sort();
		let count = firstAtLeast(this.#times, time_ns);
		while (this.#times[count] === time_ns) count++;
		return count;
	}

	#around(address: number): Mapping[] {
		const found: Mapping[] = [];
		const last = firstAtLeast(this.#starts, address + 1) - 1;
		const first = Math.max(0, last - MAX_OVERLAPS);
		for (let i = last; i >= first && (this.#reach[i] as number) > address; i--) {
			const mapping = this.#byStart[i] as Mapping;
			if (mapping.end > address) found.push(mapping);
		}
		return found;
	}
}

/** One program's time in a process: from exec or fork to the next exec, or the end. */
export interface Life {
	readonly pid: number;
	readonly since_ns: number;
	readonly index: MappingIndex;
	/** Of a forked process, whose memory it began with a copy of. */
	readonly parentPid: number | undefined;
}

/** The address space that a process had at one time. */
export class AddressSpace {
	/** `line`: the process's life, its parent's up to the fork, and so on. */
	constructor(
		/** Which one it is: the same for as long as nothing but mappings is added. */
		readonly life: Life,
		private readonly line: readonly { life: Life; until_ns: number }[],
	) {}

	/** What is mapped at the address; undefined when it is not known. */
	find(address: number): Mapping | undefined {
		for (const { life, until_ns } of this.line) {
			const mapping = life.index.find(address, until_ns);
			if (mapping) return mapping;
		}
		// Mapped before it was learnt of: by a snapshot after the stack, say.
		return this.life.index.findFirst(address);
	}

	/** Whether whatever is found in one of them is found in the other: of the same program, and nothing was mapped in between. */
	isMappedAs(other: AddressSpace): boolean {
		const countIn = ({ line: [own] }: AddressSpace) => own?.life.index.countUntil(own.until_ns);
		return this.life === other.life && countIn(this) === countIn(other);
	}

	/** Whose memory it began with a copy of, as a fork does: the parent, then the parent's parent. */
	*parents(): Generator<Life> {
		for (const { life } of this.line.slice(1, 1 + MAX_PARENTS)) yield life;
	}

	/** What files are known to be mapped in it, code of theirs at least. */
	*files(): Generator<FileMapping> {
		for (const { life } of this.line) {
			for (const mapping of life.index.mappings) if (isOfFile(mapping)) yield mapping;
		}
	}

	/** Of everything that is known to have been mapped in it, at whatever time. */
	*paths(): Generator<string> {
		for (const { life } of this.line) {
			for (const { path } of life.index.mappings) yield path;
		}
	}
}
