/**
 * Memory of another process, as far as no file is behind it. To read what a stranger has mapped is to wait for
 * whoever provides it, which may be the stranger (FUSE), for as long as it pleases.
 */
import { closeSync, openSync, readSync } from 'node:fs';
import { firstAtLeast } from '../../ascending.js';
import { pageSizeBytes } from '../../loader/memory.js';
import { memoryAnswers } from '../../proc/memory-lock.js';
import { readMaps } from '../../proc/process-facts.js';
import { textOf } from '../../text-of.js';
import type { StoppedRegisters } from '../../unwind/walk.js';

/** Most stacks of threads that wait end within these, and the page that they end in: pages take most of the time. */
const FIRST_BYTES = 1 << 10;
/** What follows what was read last. */
const PIECE_BYTES = 16 << 10;
/** As many as maps.ts reads. */
const MAX_RANGES = 2 ** 20;
const NOTHING = new DataView(new ArrayBuffer(0));

/** What a process has in memory that no file is behind; one that ends, or executes a program, has nothing any more. */
export class ProcessMemory {
	#fd: number | undefined;
	/** Of its parts, ascending. */
	readonly #starts: Float64Array;
	readonly #ends: Float64Array;
	/** What was read last, and where it is. */
	#piece: DataView = NOTHING;
	#pieceAt = 0;

	constructor(readonly pid: number) {
		// The memory first: should the process execute a program in between, the parts are another's, and nothing is
		// read. The other way round, the new program's memory would be taken for the old one's.
		this.#fd = opened(`/proc/${pid}/mem`);
		const ranges = this.#fd === undefined ? [] : rangesIn(readMaps(pid) ?? '');
		this.#starts = Float64Array.from(ranges, ({ start }) => start);
		this.#ends = Float64Array.from(ranges, ({ end }) => end);
	}

	/** Undefined where it cannot be read, or a file is behind it. */
	read(address: number, length_bytes: number): DataView | undefined {
		const end = address + length_bytes;
		const isKept = address >= this.#pieceAt && end <= this.#pieceAt + this.#piece.byteLength;
		if (!isKept) {
			const range = firstAtLeast(this.#starts, address + 1) - 1;
			const rangeEnd = this.#ends[range] ?? 0;
			if (!(end <= rangeEnd)) return undefined;
			const pieceEnd = Math.min(this.#endOfPiece(address, end), rangeEnd);
			this.#piece = this.#readPiece(address, pieceEnd - address);
			this.#pieceAt = address;
			if (this.#piece.byteLength < length_bytes) return undefined;
		}
		return new DataView(this.#piece.buffer, address - this.#pieceAt, length_bytes);
	}

	/** Up to where is read what begins at an address, and is asked for up to `end`. */
	#endOfPiece(address: number, end: number): number {
		const beyond = address - (this.#pieceAt + this.#piece.byteLength);
		if (beyond >= -PIECE_BYTES && beyond < PIECE_BYTES) return Math.max(end, address + PIECE_BYTES);
		const page_bytes = pageSizeBytes();
		const first = Math.ceil((address + FIRST_BYTES) / page_bytes) * page_bytes;
		return Math.max(end, first);
	}

	/**
	 * The same where a file may be behind it, as behind variables, of pages that the process has written: these are its
	 * own then, and in memory. Should it give one up in this very moment, that is read as far as its file can be.
	 */
	readWritten(address: number, length_bytes: number): DataView | undefined {
		const own = this.read(address, length_bytes);
		if (own) return own;
		const page_bytes = pageSizeBytes();
		for (
			let page = Math.floor(address / page_bytes);
			page * page_bytes < address + length_bytes;
			page++
		)
			if (!this.#isOwnPage(page)) return undefined;
		const piece = this.#readPiece(address, length_bytes);
		return piece.byteLength === length_bytes ? piece : undefined;
	}

	/** Documentation/admin-guide/mm/pagemap.rst: 8 bytes for a page; bit 63: in memory, bit 61: a file's, or shared. */
	#isOwnPage(page: number): boolean {
		const fd = memoryAnswers(this.pid) ? opened(`/proc/${this.pid}/pagemap`) : undefined;
		if (fd === undefined) return false;
		try {
			const entry = new DataView(new ArrayBuffer(8));
			if (readSync(fd, entry, 0, 8, page * 8) < 8) return false;
			const flags = entry.getUint32(4, true) >>> 29;
			return (flags & 0b101) === 0b100;
		} catch {
			return false;
		} finally {
			closeSync(fd);
		}
	}

	/** Nothing can be read from then on but what was read last. */
	close(): void {
		if (this.#fd !== undefined) closeSync(this.#fd);
		this.#fd = undefined;
	}

	#readPiece(address: number, length_bytes: number): DataView {
		if (this.#fd === undefined || !memoryAnswers(this.pid)) return NOTHING;
		const bytes = new Uint8Array(length_bytes);
		try {
			const got = readSync(this.#fd, bytes, 0, length_bytes, address);
			return new DataView(bytes.buffer, 0, got);
		} catch {
			return NOTHING; // not mapped any more
		}
	}
}

/**
 * Whether a thread is off the CPU where it was with these registers. What was read before of its stack is the stack
 * of that moment then. `tid` as /proc knows it. Source: fs/proc/base.c, proc_pid_syscall.
 */
export function isStillAt(pid: number, tid: number, { ip, sp }: StoppedRegisters): boolean {
	// "running", or numbers, of which the last two are the stack pointer and the instruction pointer.
	const words = textOf(`/proc/${pid}/task/${tid}/syscall`)?.trim().split(' ') ?? [];
	return Number(words.at(-2)) === sp && Number(words.at(-1)) === ip;
}

/** Undefined: it has ended, or is not ours to read. */
function opened(path: string): number | undefined {
	try {
		return openSync(path, 'r');
	} catch {
		return undefined;
	}
}

interface Range {
	readonly start: number;
	readonly end: number;
}

/** man 5 proc_pid_maps: "start-end permissions offset device inode path", ascending. */
function rangesIn(maps: string): Range[] {
	const ranges: Range[] = [];
	for (const [, start = '', end = ''] of maps.matchAll(
		/^([0-9a-f]+)-([0-9a-f]+) rw.p \S+ \S+ 0 *(?:\[.*\])?$/gm,
	)) {
		if (ranges.length === MAX_RANGES) break;
		ranges.push({ start: Number.parseInt(start, 16), end: Number.parseInt(end, 16) });
	}
	return ranges;
}
