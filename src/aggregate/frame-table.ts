/** Names of frames, each kept once and known by a number. Pure values: no I/O. */
import { TstraceError } from '../errors.js';
import { grown } from './growable.js';
import { FRAME_KINDS, type Frame, type FrameKind } from './stack.js';

const FIRST_SLOTS = 1 << 12;
const FIRST_BYTES = 1 << 16;
/** Of all names together: a browser's recordings have some MB; a small file made to do harm has no end. */
const MAX_BYTES = 1 << 28;
/** FNV-1a, 32 bits. http://www.isthe.com/chongo/tech/comp/fnv/ */
export const HASH_START = 0x811c9dc5 | 0;
export const HASH_PRIME = 0x01000193;

export function hashOf(bytes: Uint8Array, from: number, to: number): number {
	let hash = HASH_START;
	for (let i = from; i < to; i++) hash = Math.imul(hash ^ (bytes[i] as number), HASH_PRIME);
	return hash;
}

/**
 * Frames by number, in the order they were met. Names are kept as bytes, as files have them, and
 * become strings when they are asked for: a large file's lines never do.
 */
export class FrameTable {
	#bytes = new Uint8Array(FIRST_BYTES);
	/** Where each name ends; it starts where the one before it ends. */
	#ends: Uint32Array = new Uint32Array(FIRST_SLOTS);
	#kinds: Uint8Array = new Uint8Array(FIRST_SLOTS);
	#hashes: Int32Array = new Int32Array(FIRST_SLOTS);
	/** Numbers + 1, by hash, open addressing; never more than half full. */
	#slots = new Int32Array(2 * FIRST_SLOTS);
	#size = 0;
	readonly #names: (string | undefined)[] = [];
	readonly #maxBytes: number;

	/** `maxBytes`: how long all names together may be. */
	constructor(maxBytes = MAX_BYTES) {
		this.#maxBytes = maxBytes;
	}

	get size(): number {
		return this.#size;
	}

	/** The number of the frame with this name and kind. Throws TstraceError for one too many. */
	intern(name: string, kind: FrameKind = 'user'): number {
		const bytes = Buffer.from(name);
		return this.internBytes(bytes, 0, bytes.length, hashOf(bytes, 0, bytes.length), kind);
	}

	/** The same for a name in UTF-8, with its FNV-1a hash. */
	internBytes(
		source: Uint8Array,
		from: number,
		to: number,
		hash: number,
		kind: FrameKind = 'user',
	): number {
		const kindNumber = FRAME_KINDS.indexOf(kind);
		const mask = this.#slots.length - 1;
		// FNV's low bits are its weaker ones.
		let slot = (hash ^ (hash >>> 15)) & mask;
		for (; ; slot = (slot + 1) & mask) {
			const number = (this.#slots[slot] as number) - 1;
			if (number < 0) break;
			if (this.#hashes[number] !== hash || this.#kinds[number] !== kindNumber) continue;
			if (this.#equals(number, source, from, to)) return number;
		}
		const number = this.#append(source.subarray(from, to), hash, kindNumber);
		this.#slots[slot] = number + 1;
		if (2 * this.#size > this.#slots.length) this.#rehash();
		return number;
	}

	name(number: number): string {
		let name = this.#names[number];
		if (name === undefined) {
			const from = this.#start(number);
			name = Buffer.from(
				this.#bytes.buffer,
				from,
				(this.#ends[number] as number) - from,
			).toString();
			this.#names[number] = name;
		}
		return name;
	}

	kind(number: number): FrameKind {
		return FRAME_KINDS[this.#kinds[number] as number] as FrameKind;
	}

	frame(number: number): Frame {
		return { name: this.name(number), kind: this.kind(number) };
	}

	#start(number: number): number {
		return number === 0 ? 0 : (this.#ends[number - 1] as number);
	}

	#equals(number: number, source: Uint8Array, from: number, to: number): boolean {
		const start = this.#start(number);
		if ((this.#ends[number] as number) - start !== to - from) return false;
		for (let i = from; i < to; i++) {
			if (this.#bytes[start + i - from] !== source[i]) return false;
		}
		return true;
	}

	#append(name: Uint8Array, hash: number, kind: number): number {
		const start = this.#start(this.#size);
		if (start + name.length > this.#maxBytes) {
			throw new TstraceError(
				`the names of its frames take more than ${this.#maxBytes} bytes; record a shorter time, or filter`,
			);
		}
		const number = this.#size++;
		this.#bytes = grown(this.#bytes, start + name.length);
		this.#bytes.set(name, start);
		this.#ends = grown(this.#ends, number + 1);
		this.#ends[number] = start + name.length;
		this.#kinds = grown(this.#kinds, number + 1);
		this.#kinds[number] = kind;
		this.#hashes = grown(this.#hashes, number + 1);
		this.#hashes[number] = hash;
		return number;
	}

	#rehash(): void {
		const slots = new Int32Array(2 * this.#slots.length);
		const mask = slots.length - 1;
		for (let number = 0; number < this.#size; number++) {
			const hash = this.#hashes[number] as number;
			let slot = (hash ^ (hash >>> 15)) & mask;
			while (slots[slot] !== 0) slot = (slot + 1) & mask;
			slots[slot] = number + 1;
		}
		this.#slots = slots;
	}
}
