/**
 * The bytes of a module of WebAssembly, which V8 keeps as they came: its address by them, and its functions' names. All
 * of them may be forged.
 */
import { boundedName } from '../../bounded-names.js';
import type { RuntimeMemory } from '../runtime.js';
import { MAX_HASHED_BYTES, type WireHash, wireHash } from './wire-hash.js';
import { HEADER_BYTES, type Wire, WireNames } from './wire-names.js';

/** "\0asm", and the version. */
const MAGIC = 0x6d_73_61_00;
/** V8 takes none that is longer. */
const MAX_WIRE_BYTES = 1 << 30;
/** What tells modules apart that were at the same place, one after the other: the last bytes. */
const TAIL_BYTES = 1024;

export class WireBytes {
	/** "wasm://wasm/name-0d2fab52", as V8 itself names it where the program did not. */
	readonly address: string;
	readonly #memory: RuntimeMemory;
	readonly #wire: Wire;
	readonly #tail: Buffer;
	readonly #names: WireNames;

	private constructor(
		memory: RuntimeMemory,
		wire: Wire,
		names: WireNames,
		tail: Buffer,
		hash: string,
	) {
		this.#memory = memory;
		this.#wire = wire;
		this.#tail = tail;
		this.#names = names;
		this.address = boundedName(`wasm://wasm/${names.module ? `${names.module}-` : ''}${hash}`);
	}

	/** Undefined: there is no module, or it could not be read. `by`: how this version hashes. */
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
		const names = WireNames.read(memory, wire);
		return names && new WireBytes(memory, wire, names, tail, wireHash(hashed, length, by));
	}

	/** Whether these are still there; a module that is freed may have others at the same place after it. */
	isAt(at: number, length: number): boolean {
		const isSame = at === this.#wire.at && length === this.#wire.length;
		return isSame && tailOf(this.#memory, this.#wire)?.equals(this.#tail) === true;
	}

	/** How many functions may have names. */
	get count(): number {
		return this.#names.count;
	}

	/** As WireNames. */
	nameOf(number: number): string | undefined {
		return this.#names.nameOf(number);
	}
}

function tailOf(memory: RuntimeMemory, { at, length }: Wire): Buffer | undefined {
	const tail_bytes = Math.min(TAIL_BYTES, length);
	const view = memory.read(at + length - tail_bytes, tail_bytes);
	return view && Buffer.from(new Uint8Array(view.buffer, view.byteOffset, view.byteLength));
}
