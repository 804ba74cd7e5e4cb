/**
 * Walks the user stacks of threads that sleep, from outside: of those that slept until tracing ended, and so
 * never came by a hook.
 *
 * Of memory only such is read that belongs to no file. To read what a stranger has mapped is to wait for
 * whoever provides it, which may be the stranger (FUSE), for as long as it pleases.
 */
import { closeSync, openSync, readFileSync, readSync } from 'node:fs';
import { FileBytes, MemoryBytes } from '../elf/bytes.js';
import type { Address } from '../loader/address.js';
import { type RuleLookup, ruleLookup } from '../unwind/lookup.js';
import { END, type WalkEnd } from '../unwind/step.js';
import { type StoppedRegisters, type WalkedProcess, walkOutside } from '../unwind/walk.js';
import type { AddressSpace, Mapping } from './address-space.js';
import type { MappedFile } from './mapped-file.js';
import { readVdso } from './vdso.js';

/** Most stacks end within one. */
const PIECE_BYTES = 16 << 10;
/** Code of 32 bits, whose frames are laid out otherwise, has its stack below. */
const LOWEST_STACK = 2 ** 32;
/** Files that are first met when it is over are walked by frame pointers. */
const TIME_LIMIT_MS = 5000;
/** Of what was read of files: node's is 5 MB. */
const MAX_BYTES_KEPT = 128 << 20;
const MAX_MAPPINGS = 65_536;

const NO_RULES = ruleLookup(new MemoryBytes(Buffer.alloc(0)));
const NOTHING = new DataView(new ArrayBuffer(0));
const PROCESSOR = { isArm64: process.arch === 'arm64' };

export interface SleepingStack {
	/** Leaf first; the leaf alone where memory cannot be read. */
	readonly addresses: Address[];
	readonly end: WalkEnd;
}

/** Reads other processes' memory; keeps one file open, since threads of a process come in a row. */
export class SleepingStacks {
	#memory: ProcessMemory | undefined;
	readonly #tables = new Map<MappedFile | 'vdso', RuleLookup>();
	#spent_ms = 0;
	#bytesKept = 0;

	/** Walks the stack of a thread of process `pid`, whose address space is `space`. */
	walk(
		pid: number,
		space: AddressSpace | undefined,
		registers: StoppedRegisters,
		depth: number,
	): SleepingStack {
		const { ip, sp, fp } = registers;
		if (ip <= 0) return { addresses: [], end: END.unreadable };
		if (!space || sp < LOWEST_STACK) return { addresses: [ip], end: END.unreadable };
		if (this.#memory?.pid !== pid) {
			this.#memory?.close();
			this.#memory = new ProcessMemory(pid);
		}
		const there = this.#process(space, this.#memory);
		const { addresses, end } = walkOutside(
			PROCESSOR.isArm64 ? registers : { ip, sp, fp },
			there,
			depth,
		);
		return { addresses: [...addresses], end };
	}

	close(): void {
		this.#memory?.close();
		this.#memory = undefined;
		this.#tables.clear();
	}

	#process(space: AddressSpace, memory: ProcessMemory): WalkedProcess<WalkedMapping> {
		return {
			processor: PROCESSOR,
			mappingAt: (address) => {
				const mapping = space.find(address);
				return mapping && { ...mapping, hasFile: mapping.file !== undefined || isVdso(mapping) };
			},
			tableOf: (mapping) => this.#tableOf(mapping),
			read: (address, length_bytes) => memory.read(address, length_bytes),
		};
	}

	#readTable(mapping: Mapping): RuleLookup | undefined {
		if (isVdso(mapping)) {
			const image = readVdso();
			return image && ruleLookup(new MemoryBytes(image));
		}
		const open = mapping.file?.open();
		if (!open) return undefined;
		try {
			const bytes = new FileBytes(open.fd, open.stat.size);
			const lookup = ruleLookup(bytes);
			this.#bytesKept += bytes.bytesRead;
			return lookup;
		} finally {
			closeSync(open.fd);
		}
	}

	/** Empty where there is none: frame pointers lead on there. */
	#tableOf(mapping: Mapping): RuleLookup {
		const key = mapping.file ?? 'vdso';
		let table = this.#tables.get(key);
		if (!table) {
			const begun_ms = performance.now();
			const hasTime = this.#spent_ms < TIME_LIMIT_MS && this.#bytesKept < MAX_BYTES_KEPT;
			table = (hasTime && this.#readTable(mapping)) || NO_RULES;
			this.#spent_ms += performance.now() - begun_ms;
			this.#tables.set(key, table);
		}
		return table;
	}
}

type WalkedMapping = Mapping & { readonly hasFile: boolean };

const isVdso = ({ path }: Mapping): boolean => path === '[vdso]';

/** What a process has in memory that no file is behind. */
class ProcessMemory {
	#fd = -1;
	#ranges: readonly Range[] = [];
	/** What was read last, and where it is. */
	#piece: DataView = NOTHING;
	#pieceAt = 0;

	constructor(readonly pid: number) {
		try {
			this.#ranges = anonymousRanges(readFileSync(`/proc/${pid}/maps`, 'latin1'));
			this.#fd = openSync(`/proc/${pid}/mem`, 'r');
		} catch {
			// It has ended, or is not ours to read.
		}
	}

	read(address: number, length_bytes: number): DataView | undefined {
		const end = address + length_bytes;
		if (address < this.#pieceAt || end > this.#pieceAt + this.#piece.byteLength) {
			const range = this.#ranges.find((each) => address >= each.start && end <= each.end);
			if (!range || this.#fd < 0) return undefined;
			this.#piece = this.#readPiece(address, Math.min(PIECE_BYTES, range.end - address));
			this.#pieceAt = address;
			if (this.#piece.byteLength < length_bytes) return undefined;
		}
		return new DataView(this.#piece.buffer, address - this.#pieceAt, length_bytes);
	}

	close(): void {
		if (this.#fd >= 0) closeSync(this.#fd);
		this.#fd = -1;
	}

	#readPiece(address: number, length_bytes: number): DataView {
		const bytes = new Uint8Array(length_bytes);
		try {
			const got = readSync(this.#fd, bytes, 0, length_bytes, address);
			return new DataView(bytes.buffer, 0, got);
		} catch {
			return NOTHING; // not mapped any more
		}
	}
}

interface Range {
	readonly start: number;
	readonly end: number;
}

/** man 5 proc_pid_maps: "start-end permissions offset device inode path". */
function anonymousRanges(maps: string): Range[] {
	const ranges: Range[] = [];
	for (const [, start = '', end = ''] of maps.matchAll(
		/^([0-9a-f]+)-([0-9a-f]+) rw.p \S+ \S+ 0 *(?:\[.*\])?$/gm,
	)) {
		if (ranges.length === MAX_MAPPINGS) break;
		ranges.push({ start: Number.parseInt(start, 16), end: Number.parseInt(end, 16) });
	}
	return ranges;
}
