/**
 * Pages of another process's memory that are its own and in memory: no file is behind them, and no one provides them
 * (FUSE, userfaultfd), so that to read them is not to wait. Should the process give one up in the very moment, that is
 * read as far as it can be.
 */
import { closeSync, openSync, readSync } from 'node:fs';
import { pageSizeBytes } from '../../loader/memory.js';
import { memoryAnswers } from '../../proc/memory-lock.js';

/** Documentation/admin-guide/mm/pagemap.rst: 8 bytes for a page; bit 63: in memory, bit 61: a file's, or shared. */
const ENTRY_BYTES = 8;
const STATE_SHIFT = 29;
const STATE_MASK = 0b101;
const OWN = 0b100;
/** Of those that were read, which are kept. */
const MAX_KEPT_BYTES = 4 << 20;
/** What is longer is read by itself. */
const MAX_SMALL_BYTES = 1024;
const MAX_LARGE_BYTES = 64 << 20;
const PIECE_BYTES = 1 << 16;
/** In user space. */
const LIMIT = 2 ** 48;

export class OwnPages {
	#memory: number | undefined;
	#map: number | undefined;
	/** By number; undefined: it is not the process's own. */
	readonly #pages = new Map<number, Buffer | undefined>();
	readonly #page_bytes = pageSizeBytes();

	constructor(readonly pid: number) {}

	/** Undefined where it cannot be read. */
	read(address: number, length_bytes: number): DataView | undefined {
		const end = address + length_bytes;
		if (!(address > 0 && end < LIMIT && length_bytes <= MAX_LARGE_BYTES)) return undefined;
		const first = Math.floor(address / this.#page_bytes);
		const isInOne = end <= (first + 1) * this.#page_bytes;
		if (!isInOne || length_bytes > MAX_SMALL_BYTES) return this.#readLarge(address, length_bytes);
		const page = this.#page(first);
		return (
			page &&
			new DataView(
				page.buffer,
				page.byteOffset + (address - first * this.#page_bytes),
				length_bytes,
			)
		);
	}

	/** What was read may be different by now. */
	forget(): void {
		this.#pages.clear();
	}

	/** Holds nothing, until it is read again. */
	rest(): void {
		this.forget();
		for (const fd of [this.#memory, this.#map]) if (fd !== undefined) closeSync(fd);
		this.#memory = undefined;
		this.#map = undefined;
	}

	#page(number: number): Buffer | undefined {
		if (this.#pages.has(number)) return this.#pages.get(number);
		const at = number * this.#page_bytes;
		const page = this.#areOwn(number, 1) ? this.#readNow(at, this.#page_bytes) : undefined;
		if (this.#pages.size * this.#page_bytes >= MAX_KEPT_BYTES) this.#pages.clear();
		this.#pages.set(number, page);
		return page;
	}

	/** A piece at a time, so that little time lies between looking and reading. */
	#readLarge(address: number, length_bytes: number): DataView | undefined {
		const bytes = Buffer.allocUnsafeSlow(length_bytes);
		for (let from = 0; from < length_bytes; from += PIECE_BYTES) {
			const piece = bytes.subarray(from, Math.min(length_bytes, from + PIECE_BYTES));
			const first = Math.floor((address + from) / this.#page_bytes);
			const last = Math.floor((address + from + piece.length - 1) / this.#page_bytes);
			if (!this.#areOwn(first, last - first + 1)) return undefined;
			if (!isRead(this.#memory, piece, address + from)) return undefined;
		}
		return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
	}

	#areOwn(first: number, count: number): boolean {
		if (!memoryAnswers(this.pid)) return false;
		this.#map ??= opened(`/proc/${this.pid}/pagemap`);
		this.#memory ??= opened(`/proc/${this.pid}/mem`);
		const entries = Buffer.allocUnsafeSlow(count * ENTRY_BYTES);
		if (!isRead(this.#map, entries, first * ENTRY_BYTES)) return false;
		for (let at = 4; at < entries.length; at += ENTRY_BYTES)
			if (((entries.readUInt32LE(at) >>> STATE_SHIFT) & STATE_MASK) !== OWN) return false;
		return true;
	}

	#readNow(address: number, length_bytes: number): Buffer | undefined {
		const bytes = Buffer.allocUnsafeSlow(length_bytes);
		return isRead(this.#memory, bytes, address) ? bytes : undefined;
	}
}

/** Whether all of it was. */
function isRead(fd: number | undefined, into: Buffer, at: number): boolean {
	if (fd === undefined) return false;
	try {
		return readSync(fd, into, 0, into.length, at) === into.length;
	} catch {
		return false; // not mapped any more
	}
}

/** Undefined: it has ended, or is not ours to read. */
function opened(path: string): number | undefined {
	try {
		return openSync(path, 'r');
	} catch {
		return undefined;
	}
}
