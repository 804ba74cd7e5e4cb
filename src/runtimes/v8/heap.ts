/**
 * Objects in the memory of a process that runs V8. All of it may be forged, or be changed while it is read: every read
 * is bounded, and nothing follows more than a few pointers. Source: V8's string.tq, map.tq.
 */
import type { RuntimeMemory } from '../runtime.js';
import type { HeapLayout, LoadedPart } from './layout.js';

/** Pointers to objects have this in their lowest bits. */
const TAG = 1;
const TAG_MASK = 3;
/** Bits of a string's type: how it is kept, and in how many bytes each character is. */
const REPRESENTATION_MASK = 7;
const ONE_BYTE = 8;
const FIRST_OTHER_TYPE = 128;
const REPRESENTATION = { sequential: 0, cons: 1, external: 2, sliced: 3, thin: 5 } as const;
/** Behind the resource of a string whose characters lie outside of V8's memory: where they are. */
const RESOURCE_BYTES = 8;
/** Of a string that was put together. */
const MAX_PIECES = 64;
/** Strings that refer to others, one after the other. */
const MAX_REFERENCES = 8;
/** Smis have their value in the upper half. */
const SMI_AT = 4;

/** Where characters are. */
export interface Characters {
	readonly at: number;
	readonly length: number;
	readonly bytesEach: 1 | 2;
}

export class Heap {
	constructor(
		readonly memory: RuntimeMemory,
		readonly layout: HeapLayout,
	) {}

	/** What a field refers to, without its tag; undefined: to no object, or it cannot be read. */
	pointer(object: number, offset: number): number | undefined {
		const view = this.memory.read(object + offset, 8);
		return view && this.referredTo(view, 0);
	}

	/** Whether fields can be read, whatever they have. */
	has(object: number, offset: number, length_bytes = 8): boolean {
		return length_bytes === 0 || this.memory.read(object + offset, length_bytes) !== undefined;
	}

	/** As `pointer`, of a field that was read. */
	referredTo(view: DataView, at: number): number | undefined {
		const low = view.getUint32(at, true);
		return (low & TAG_MASK) === TAG
			? view.getUint32(at + 4, true) * 2 ** 32 + low - TAG
			: undefined;
	}

	/** An address that is no pointer to an object. */
	address(object: number, offset: number): number | undefined {
		const view = this.memory.read(object + offset, 8);
		return view && view.getUint32(4, true) * 2 ** 32 + view.getUint32(0, true);
	}

	/** A small number; undefined: it is none. */
	smi(object: number, offset: number): number | undefined {
		const view = this.memory.read(object + offset, 8);
		return view?.getUint32(0, true) === 0 ? view.getInt32(SMI_AT, true) : undefined;
	}

	uint16(object: number, offset: number): number | undefined {
		return this.memory.read(object + offset, 2)?.getUint16(0, true);
	}

	int32(object: number, offset: number): number | undefined {
		return this.memory.read(object + offset, 4)?.getInt32(0, true);
	}

	/** The number of an object's type. */
	typeOf(object: number): number | undefined {
		const map = this.pointer(object, 0);
		return map === undefined ? undefined : this.uint16(map, this.layout.mapType);
	}

	isString(object: number): boolean {
		const type = this.typeOf(object);
		return type !== undefined && type < FIRST_OTHER_TYPE;
	}

	/** Undefined: it is no string, or one that is in pieces. */
	characters(string: number): Characters | undefined {
		let object = string;
		let from = 0;
		let length: number | undefined;
		for (let steps = 0; steps < MAX_REFERENCES; steps++) {
			const type = this.typeOf(object);
			const own = this.int32(object, this.layout.stringLength);
			if (type === undefined || type >= FIRST_OTHER_TYPE || own === undefined || own < 0)
				return undefined;
			length ??= own;
			const bytesEach = (type & ONE_BYTE) === 0 ? 2 : 1;
			const start = this.#startOf(object, type & REPRESENTATION_MASK, bytesEach);
			if (start !== undefined) {
				if (from + length > own) return undefined;
				return { at: start + from * bytesEach, length, bytesEach };
			}
			const next = this.#partOf(object, type & REPRESENTATION_MASK);
			if (!next) return undefined;
			object = next.string;
			from += next.from;
		}
		return undefined;
	}

	/** At most `limit` characters of a string, which may be in pieces. */
	text(string: number, limit: number): string | undefined {
		const pieces = [string];
		let text = '';
		for (let steps = 0; steps < MAX_PIECES && text.length < limit; steps++) {
			const piece = pieces.pop();
			if (piece === undefined) return text;
			const characters = this.characters(piece);
			const two = characters ? undefined : this.#piecesOf(piece);
			if (two) pieces.push(two.second, two.first);
			const whole = characters && this.#textAt(characters, limit - text.length);
			if (!two && whole === undefined) return undefined;
			text += whole ?? '';
		}
		return text;
	}

	#textAt(characters: Characters, limit: number): string | undefined {
		const bytes = this.bytes(characters, Math.min(limit, characters.length));
		return bytes?.toString(characters.bytesEach === 1 ? 'latin1' : 'utf16le');
	}

	#piecesOf(string: number): { readonly first: number; readonly second: number } | undefined {
		const type = this.typeOf(string);
		if (type === undefined || type >= FIRST_OTHER_TYPE) return undefined;
		if ((type & REPRESENTATION_MASK) !== REPRESENTATION.cons) return undefined;
		const first = this.pointer(string, this.layout.consFirst);
		const second = this.pointer(string, this.layout.consSecond);
		return first === undefined || second === undefined ? undefined : { first, second };
	}

	/** The first of these characters. */
	bytes({ at, bytesEach }: Characters, count: number): Buffer | undefined {
		if (count === 0) return Buffer.alloc(0);
		const view = this.memory.read(at, count * bytesEach);
		return view && Buffer.from(view.buffer, view.byteOffset, view.byteLength);
	}

	/** All of these characters, which may be in the program's file: those of sources that V8 did not make. */
	source(characters: Characters, loaded: readonly LoadedPart[]): Buffer | undefined {
		const own = this.bytes(characters, characters.length);
		if (own) return own;
		const { at, length, bytesEach } = characters;
		const end = at + length * bytesEach;
		const part = loaded.find((each) => at >= each.start && end <= each.end);
		return part && this.memory.readProgram?.(at - part.start + part.offset, end - at);
	}

	/** Where the characters are that a string has itself. */
	#startOf(string: number, representation: number, bytesEach: 1 | 2): number | undefined {
		const { charactersOneByte, charactersTwoByte, externalResource } = this.layout;
		if (representation === REPRESENTATION.sequential)
			return string + (bytesEach === 1 ? charactersOneByte : charactersTwoByte);
		if (representation !== REPRESENTATION.external) return undefined;
		return this.address(string, externalResource + RESOURCE_BYTES);
	}

	#partOf(
		string: number,
		representation: number,
	): { readonly string: number; readonly from: number } | undefined {
		const { consFirst, consSecond, thinActual, slicedParent, slicedOffset } = this.layout;
		const to = (offset: number, from: number | undefined) => {
			const next = this.pointer(string, offset);
			return next === undefined || from === undefined || from < 0
				? undefined
				: { string: next, from };
		};
		if (representation === REPRESENTATION.thin) return to(thinActual, 0);
		if (representation === REPRESENTATION.sliced)
			return to(slicedParent, this.smi(string, slicedOffset));
		if (representation !== REPRESENTATION.cons) return undefined;
		// Of two pieces, unless the second is empty.
		const second = this.pointer(string, consSecond);
		const isFlat = second !== undefined && this.int32(second, this.layout.stringLength) === 0;
		return isFlat ? to(consFirst, 0) : undefined;
	}
}
