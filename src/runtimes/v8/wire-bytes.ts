/**
 * What the bytes of a module of WebAssembly say of its functions' names: its name section. V8 keeps these bytes as they
 * came. All of them may be forged. Source: the WebAssembly specification, binary format and appendix "custom sections".
 */
import { firstAtLeast } from '../../ascending.js';
import { boundedName } from '../../bounded-names.js';
import type { RuntimeMemory } from '../runtime.js';
import { MAX_HASHED_BYTES, type WireHash, wireHash } from './wire-hash.js';

/** "\0asm", and the version. */
const MAGIC = 0x6d_73_61_00;
const HEADER_BYTES = 8;
/** V8 takes none that is longer. */
const MAX_WIRE_BYTES = 1 << 30;
/** Of a module; V8 takes more only of custom ones. */
const MAX_SECTIONS = 1000;
const CUSTOM = 0;
const NAME_SECTION = 'name';
const PART = { module: 0, functions: 1 } as const;
const MAX_PARTS = 32;
/** A number of 32 bits, 7 at a time. */
const MAX_NUMBER_BYTES = 5;
/** The name section, and how many functions it names. */
const MAX_NAMES_BYTES = 4 << 20;
const MAX_FUNCTIONS = 500_000;
/** Characters, each of at most 4 bytes. */
const MAX_NAME = 512;
const MAX_MODULE_NAME = 256;
const CHARACTER_BYTES = 4;
/** What tells modules apart that were at the same place, one after the other: the last bytes. */
const TAIL_BYTES = 1024;

/** Bytes of another process's, from one address on. */
interface Wire {
	readonly at: number;
	readonly length: number;
}

/** Where names of functions are: by number, ascending; places count from the beginning of the module. */
interface Names {
	readonly numbers: Uint32Array;
	readonly places: Uint32Array;
}

const NO_NAMES: Names = { numbers: new Uint32Array(), places: new Uint32Array() };

/** Reads numbers of variable length, one after the other. */
class Numbers {
	constructor(
		readonly view: DataView,
		public at = 0,
	) {}

	/** Undefined: it is none, or the bytes end before. */
	next(): number | undefined {
		let value = 0;
		for (let i = 0; i < MAX_NUMBER_BYTES && this.at < this.view.byteLength; i++) {
			const byte = this.view.getUint8(this.at++);
			value += (byte & 127) * 128 ** i;
			if (byte < 128) return value < 2 ** 32 ? value : undefined;
		}
		return undefined;
	}
}

export class WireBytes {
	/** "wasm://wasm/name-0d2fab52", as V8 itself names it where the program did not. */
	readonly address: string;
	readonly #memory: RuntimeMemory;
	readonly #wire: Wire;
	readonly #tail: Buffer;
	readonly #names: Names;

	private constructor(
		memory: RuntimeMemory,
		wire: Wire,
		by: WireHash,
		tail: Buffer,
		hashed: DataView,
	) {
		this.#memory = memory;
		this.#wire = wire;
		this.#tail = tail;
		const section = nameSection(memory, wire);
		const module = section && partOf(section.view, PART.module);
		const name = module && textIn(module.view, 0, MAX_MODULE_NAME);
		const hash = wireHash(hashed, wire.length, by);
		this.address = boundedName(`wasm://wasm/${name ? `${name}-` : ''}${hash}`);
		const functions = section && partOf(section.view, PART.functions);
		this.#names = functions ? namesIn(functions.view, section.at + functions.at) : NO_NAMES;
	}

	/** Undefined: there is no module. `by`: how this version hashes. */
	static read(
		memory: RuntimeMemory,
		at: number,
		length: number,
		by: WireHash,
	): WireBytes | undefined {
		if (!(length > 2 * HEADER_BYTES && length <= MAX_WIRE_BYTES)) return undefined;
		const wire = { at, length };
		const hashed = memory.read(at, length > MAX_HASHED_BYTES ? HEADER_BYTES : length);
		const tail = tailOf(memory, wire);
		if (!tail || hashed?.getUint32(0, true) !== MAGIC) return undefined;
		return new WireBytes(memory, wire, by, tail, hashed);
	}

	/** Whether these are still there; a module that is freed may have others at the same place after it. */
	isAt(at: number, length: number): boolean {
		const isSame = at === this.#wire.at && length === this.#wire.length;
		return isSame && tailOf(this.#memory, this.#wire)?.equals(this.#tail) === true;
	}

	/** How many functions have names. */
	get count(): number {
		return this.#names.numbers.length;
	}

	/** Of the function with this number; undefined: it has none. */
	nameOf(number: number): string | undefined {
		const { numbers, places } = this.#names;
		const i = firstAtLeast(numbers, number);
		if (numbers[i] !== number) return undefined;
		const place = places[i] as number;
		const most = MAX_NUMBER_BYTES + MAX_NAME * CHARACTER_BYTES;
		const view = this.#memory.read(
			this.#wire.at + place,
			Math.min(most, this.#wire.length - place),
		);
		const text = view && textIn(view, 0, MAX_NAME);
		return text ? boundedName(text) : undefined;
	}
}

function tailOf(memory: RuntimeMemory, { at, length }: Wire): Buffer | undefined {
	const tail_bytes = Math.min(TAIL_BYTES, length);
	const view = memory.read(at + length - tail_bytes, tail_bytes);
	return view && Buffer.from(new Uint8Array(view.buffer, view.byteOffset, view.byteLength));
}

/** `at`: from the beginning of the module on. */
interface Part {
	readonly view: DataView;
	readonly at: number;
}

/** What is in the name section, behind what it is called; undefined: there is none, or it is too long. */
function nameSection(memory: RuntimeMemory, wire: Wire): Part | undefined {
	let at = HEADER_BYTES;
	for (let i = 0; i < MAX_SECTIONS && at + 2 <= wire.length; i++) {
		const most = 1 + 2 * MAX_NUMBER_BYTES + NAME_SECTION.length;
		const head = memory.read(wire.at + at, Math.min(most, wire.length - at));
		if (!head) return undefined;
		const numbers = new Numbers(head, 1);
		const length = numbers.next();
		if (length === undefined) return undefined;
		const from = at + numbers.at;
		at = from + length;
		if (at > wire.length) return undefined;
		if (head.getUint8(0) !== CUSTOM || textIn(head, numbers.at, MAX_NAME) !== NAME_SECTION)
			continue;
		const inside = from + 1 + NAME_SECTION.length;
		if (at <= inside || at - inside > MAX_NAMES_BYTES) return undefined;
		const view = memory.read(wire.at + inside, at - inside);
		return view && { view, at: inside };
	}
	return undefined;
}

/** A part of the name section; undefined: it has none. */
function partOf(section: DataView, wanted: number): Part | undefined {
	const numbers = new Numbers(section);
	for (let i = 0; i < MAX_PARTS && numbers.at < section.byteLength; i++) {
		const id = section.getUint8(numbers.at++);
		const length = numbers.next();
		if (length === undefined || numbers.at + length > section.byteLength) return undefined;
		const view = new DataView(section.buffer, section.byteOffset + numbers.at, length);
		if (id === wanted) return { view, at: numbers.at };
		numbers.at += length;
	}
	return undefined;
}

/** `from`: where the part is in the module. */
function namesIn(part: DataView, from: number): Names {
	const bytes = new Numbers(part);
	const count = Math.min(bytes.next() ?? 0, MAX_FUNCTIONS, Math.floor(part.byteLength / 2));
	const numbers = new Uint32Array(count);
	const places = new Uint32Array(count);
	let found = 0;
	while (found < count) {
		const number = bytes.next();
		const place = from + bytes.at;
		const length = bytes.next();
		if (number === undefined || length === undefined) break;
		bytes.at += length;
		numbers[found] = number;
		places[found] = place;
		found++;
	}
	return { numbers: numbers.subarray(0, found), places: places.subarray(0, found) };
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
