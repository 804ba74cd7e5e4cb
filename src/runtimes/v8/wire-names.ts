/**
 * The names in a module of WebAssembly, in its name section: they are looked for a little at a time, as all of it may be
 * forged to take long. Source: the WebAssembly specification, binary format and appendix "custom sections".
 */
import { firstAtLeast } from '../../ascending.js';
import { boundedName } from '../../bounded-names.js';
import type { RuntimeMemory } from '../runtime.js';

/** "\0asm", and the version. */
export const HEADER_BYTES = 8;
/** Before the name section; each head may lie across two pages, and takes four calls to read. */
const MAX_SECTIONS = 64;
const CUSTOM = 0;
const NAME_SECTION = 'name';
/** The specification has 12 kinds. */
const PART = { module: 0, functions: 1 } as const;
const MAX_PARTS = 12;
/** A number of 32 bits, 7 at a time. */
const MAX_NUMBER_BYTES = 5;
const PART_HEAD_BYTES = 1 + MAX_NUMBER_BYTES;
const SECTION_HEAD_BYTES = 1 + 2 * MAX_NUMBER_BYTES + NAME_SECTION.length;
/** Of a function: its number, and how long its name is. */
const NAME_HEAD_BYTES = 2 * MAX_NUMBER_BYTES;
/** The name section, and how many functions it names. */
const MAX_NAMES_BYTES = 4 << 20;
const MAX_FUNCTIONS = 500_000;
/** What is looked through for one address. */
const SOME_BYTES = 512 << 10;
const SOME_FUNCTIONS = 20_000;
/** Characters, each of at most 4 bytes. */
const MAX_NAME = 512;
const MAX_MODULE_NAME = 256;
const CHARACTER_BYTES = 4;

/** Bytes of another process's, from one address on. */
export interface Wire {
	readonly at: number;
	readonly length: number;
}

/** A part of it, counted from its beginning. */
interface Span {
	readonly from: number;
	readonly end: number;
}

const NOTHING: Span = { from: 0, end: 0 };

/** Reads numbers of variable length, one after the other. */
class Numbers {
	constructor(
		readonly view: DataView,
		public at = 0,
	) {}

	/** Undefined: it is none, or the bytes end before. */
	next(): number | undefined {
		let value = 0;
		let scale = 1;
		for (let i = 0; i < MAX_NUMBER_BYTES && this.at < this.view.byteLength; i++) {
			const byte = this.view.getUint8(this.at++);
			value += (byte & 127) * scale;
			if (byte < 128) return value < 2 ** 32 ? value : undefined;
			scale *= 128;
		}
		return undefined;
	}
}

export class WireNames {
	/** How many functions may have names. */
	readonly count: number;
	/** By number, ascending: where the names are in the module, of those that were found so far. */
	readonly #numbers: number[] = [];
	readonly #places: number[] = [];
	#next: Span;
	#left: number;

	private constructor(
		readonly memory: RuntimeMemory,
		readonly wire: Wire,
		/** The name of the module; empty: it has none. */
		readonly module: string,
		functions: Span,
		head: DataView,
	) {
		const numbers = new Numbers(head);
		const { from, end } = functions;
		this.count = Math.min(numbers.next() ?? 0, MAX_FUNCTIONS, Math.floor((end - from) / 2));
		this.#next = { from: from + numbers.at, end };
		this.#left = this.count;
	}

	/** Undefined: some of it could not be read. */
	static read(memory: RuntimeMemory, wire: Wire): WireNames | undefined {
		const section = nameSection(memory, wire);
		const module = section && partOf(memory, wire, section, PART.module);
		const functions = section && partOf(memory, wire, section, PART.functions);
		const most = MAX_NUMBER_BYTES + MAX_MODULE_NAME * CHARACTER_BYTES;
		const name = module && viewOf(memory, wire, module, most);
		const head = functions && viewOf(memory, wire, functions, MAX_NUMBER_BYTES);
		if (!name || !functions || !head) return undefined;
		return new WireNames(memory, wire, textIn(name, 0, MAX_MODULE_NAME), functions, head);
	}

	/**
	 * Of the function with this number, as V8 names it if the module does not. Undefined: it could not be read, or was
	 * not come to yet; each call goes a little further.
	 */
	nameOf(number: number): string | undefined {
		if (!this.#hasCome(number)) this.#findSome();
		if (!this.#hasCome(number)) return undefined;
		const i = firstAtLeast(this.#numbers, number);
		const place = this.#numbers[i] === number ? this.#places[i] : undefined;
		if (place === undefined) return nameless(number);
		const most = MAX_NUMBER_BYTES + MAX_NAME * CHARACTER_BYTES;
		const span = { from: place, end: this.wire.length };
		const view = viewOf(this.memory, this.wire, span, most);
		if (!view) return undefined;
		const text = textIn(view, 0, MAX_NAME);
		return text ? boundedName(text) : nameless(number);
	}

	#hasCome(number: number): boolean {
		return this.#left === 0 || (this.#numbers.at(-1) ?? -1) >= number;
	}

	#findSome(): void {
		const { from, end } = this.#next;
		const view = viewOf(this.memory, this.wire, this.#next, SOME_BYTES);
		if (!view) return;
		// Behind it may be the rest of a number.
		const last = from + view.byteLength === end ? end - from : view.byteLength - NAME_HEAD_BYTES;
		const bytes = new Numbers(view);
		for (let i = 0; i < SOME_FUNCTIONS && this.#left > 0 && bytes.at <= last; i++) {
			const number = bytes.next();
			const place = from + bytes.at;
			const length = bytes.next();
			if (number === undefined || length === undefined) {
				this.#left = 0;
				return;
			}
			bytes.at += length;
			this.#numbers.push(number);
			this.#places.push(place);
			this.#left--;
		}
		this.#next = { from: from + bytes.at, end };
		if (from + bytes.at >= end) this.#left = 0;
	}
}

const nameless = (number: number): string => `wasm-function[${number}]`;

/** Its first bytes. Undefined: they could not be read. */
function viewOf(
	memory: RuntimeMemory,
	wire: Wire,
	{ from, end }: Span,
	most: number,
): DataView | undefined {
	const length = Math.min(most, end - from);
	return length > 0 ? memory.read(wire.at + from, length) : new DataView(new ArrayBuffer(0));
}

/** What is in the name section, behind what it is called; nothing: there is none, or it is too long. */
function nameSection(memory: RuntimeMemory, wire: Wire): Span | undefined {
	let at = HEADER_BYTES;
	for (let i = 0; i < MAX_SECTIONS && at + 2 <= wire.length; i++) {
		const head = viewOf(memory, wire, { from: at, end: wire.length }, SECTION_HEAD_BYTES);
		if (!head) return undefined;
		const numbers = new Numbers(head, 1);
		const length = numbers.next();
		const from = at + numbers.at;
		if (length === undefined || from + length > wire.length) return NOTHING;
		at = from + length;
		if (head.getUint8(0) !== CUSTOM || textIn(head, numbers.at, MAX_NAME) !== NAME_SECTION)
			continue;
		const inside = from + 1 + NAME_SECTION.length;
		const isTaken = at > inside && at - inside <= MAX_NAMES_BYTES;
		return isTaken ? { from: inside, end: at } : NOTHING;
	}
	return NOTHING;
}

/** A part of the name section; nothing: it has none. */
function partOf(
	memory: RuntimeMemory,
	wire: Wire,
	section: Span,
	wanted: number,
): Span | undefined {
	let at = section.from;
	for (let i = 0; i < MAX_PARTS && at < section.end; i++) {
		const head = viewOf(memory, wire, { from: at, end: section.end }, PART_HEAD_BYTES);
		if (!head) return undefined;
		const numbers = new Numbers(head, 1);
		const length = numbers.next();
		const from = at + numbers.at;
		if (length === undefined || from + length > section.end) return NOTHING;
		at = from + length;
		if (head.getUint8(0) === wanted) return { from, end: at };
	}
	return NOTHING;
}

/** At most `limit` characters of a text that stands behind its length. */
function textIn(view: DataView, at: number, limit: number): string {
	const numbers = new Numbers(view, at);
	const length = Math.min(
		numbers.next() ?? 0,
		limit * CHARACTER_BYTES,
		view.byteLength - numbers.at,
	);
	const text = Buffer.from(
		view.buffer,
		view.byteOffset + numbers.at,
		Math.max(length, 0),
	).toString();
	return text.length > limit ? text.slice(0, limit) : text;
}
