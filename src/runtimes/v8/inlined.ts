/**
 * Which functions V8 has put into the code of another one: TurboFan and Maglev do so. Optimised code says of each call
 * in it of which function it is. Of instructions in between it says nothing. Source: V8's code.tq, source-position-table.cc,
 * deoptimization-data.h.
 */
import type { FunctionWord } from '../runtime.js';
import { printAt } from './frame.js';
import type { Heap } from './heap.js';

/** Where code begins. */
const CODE_ALIGNMENT = 32;
/** Of the code of a function. */
const MAX_CODE_BYTES = 1 << 18;
const CHUNK_BYTES = 4096;
const MAX_POSITIONS_BYTES = 1 << 18;
/** V8 stops earlier: --max-inlined-bytecode-size-cumulative. */
const MAX_INLINED = 64;

/** In an array: how many elements it has, and the first of them. */
const LENGTH_AT = 8;
const ELEMENTS_AT = 16;
/** Where the code of a stream of instructions is, and a function within what wraps it. */
const CODE_AT = 8;
const WRAPPED_AT = 8;

/** A SourcePosition: the number of the function that was put in, and 1; 0: it is the code's own. */
const INLINING_SHIFT = 2 ** 31;
const INLINING_MASK = 0xffff;
/** InliningPosition: where it was put in, which of the functions it is. */
const INLINING_BYTES = 16;
const INLINED_FUNCTION_AT = 8;

interface OptimisedCode {
	readonly start: number;
	readonly code: number;
}

export class InlinedFunctions {
	readonly #heap: Heap;
	/** The map of all streams of instructions, once one was met. */
	#streamMap: number | undefined;

	constructor(heap: Heap) {
		this.#heap = heap;
	}

	/**
	 * The functions between a call and the function whose frame it is in, innermost first. `address`: within the
	 * instruction that calls. None: it is a call of the function itself, or the code is not optimised.
	 */
	at(address: number, frame: FunctionWord): FunctionWord[] {
		const optimised = this.#codeAt(address);
		const data =
			optimised && this.#heap.pointer(optimised.code, this.#heap.layout.codeDeoptimisation);
		if (!optimised || data === undefined || !this.#isOf(data, frame)) return [];
		const found: FunctionWord[] = [];
		let number = this.#numberAt(optimised.code, address - optimised.start);
		while (number > 0 && found.length < MAX_INLINED) {
			const inlining = this.#inlining(data, number - 1);
			const function_ = inlining && this.#function(data, inlining.index);
			if (!inlining || !function_) return [];
			found.push(function_);
			number = inlining.number;
		}
		return found;
	}

	/** Other code may lie where the function's code was. */
	#isOf(data: number, { place }: FunctionWord): boolean {
		const own = this.#element(data, this.#heap.layout.ownFunctionIndex);
		return own !== undefined && this.#functionIn(own) === place;
	}

	#function(data: number, index: number): FunctionWord | undefined {
		const functions = this.#element(data, this.#heap.layout.literalsIndex);
		const place = functions === undefined ? undefined : this.#element(functions, index);
		if (place === undefined || this.#functionIn(place) !== place) return undefined;
		const print = printAt(this.#heap, place);
		return print === undefined ? undefined : { place, print, isCallers: false };
	}

	/** Code is made of streams of instructions, each right behind its header. */
	#codeAt(address: number): OptimisedCode | undefined {
		const { streamStart, codeType, codeStart, codeSize } = this.#heap.layout;
		const stream = this.#streamBefore(address);
		const code = stream === undefined ? undefined : this.#heap.pointer(stream, CODE_AT);
		if (stream === undefined || code === undefined || this.#heap.typeOf(code) !== codeType)
			return undefined;
		const start = stream + streamStart;
		const size_bytes = this.#heap.int32(code, codeSize);
		if (this.#heap.address(code, codeStart) !== start) return undefined;
		return size_bytes !== undefined && address < start + size_bytes ? { start, code } : undefined;
	}

	#streamBefore(address: number): number | undefined {
		const { streamStart } = this.#heap.layout;
		const least = address - MAX_CODE_BYTES;
		let start = address - (address % CODE_ALIGNMENT);
		while (start > least) {
			const from = Math.floor((start - streamStart) / CHUNK_BYTES) * CHUNK_BYTES;
			const view = this.#heap.memory.read(from, CHUNK_BYTES);
			if (!view) return undefined;
			for (; start - streamStart >= from; start -= CODE_ALIGNMENT)
				if (this.#isStream(view, start - streamStart - from)) return start - streamStart;
		}
		return undefined;
	}

	#isStream(view: DataView, at: number): boolean {
		const map = this.#heap.referredTo(view, at);
		if (map === undefined) return false;
		if (this.#streamMap !== undefined) return map === this.#streamMap;
		const { mapType, streamType } = this.#heap.layout;
		if (this.#heap.uint16(map, mapType) !== streamType) return false;
		this.#streamMap = map;
		return true;
	}

	/** What an array has at this place. */
	#element(array: number, index: number): number | undefined {
		const length = this.#heap.smi(array, LENGTH_AT);
		if (length === undefined || index < 0 || index >= length) return undefined;
		return this.#heap.pointer(array, ELEMENTS_AT + index * 8);
	}

	/** The SharedFunctionInfo that this is, or that it wraps. */
	#functionIn(object: number): number | undefined {
		const { sharedType } = this.#heap.layout;
		if (this.#heap.typeOf(object) === sharedType) return object;
		const inside = this.#heap.pointer(object, WRAPPED_AT);
		return inside !== undefined && this.#heap.typeOf(inside) === sharedType ? inside : undefined;
	}

	/** `index`: of the function. `number`: of the function that it was put into, and 1. */
	#inlining(data: number, at: number): { index: number; number: number } | undefined {
		const array = this.#element(data, this.#heap.layout.inliningPositionsIndex);
		if (array === undefined) return undefined;
		const length_bytes = this.#heap.smi(array, LENGTH_AT);
		if (length_bytes === undefined || (at + 1) * INLINING_BYTES > length_bytes) return undefined;
		const view = this.#heap.memory.read(array + ELEMENTS_AT + at * INLINING_BYTES, INLINING_BYTES);
		if (!view) return undefined;
		const position = view.getUint32(4, true) * 2 ** 32 + view.getUint32(0, true);
		return { index: view.getInt32(INLINED_FUNCTION_AT, true), number: inliningOf(position) };
	}

	/** The number of the function that was put in, and 1, of the last position at or before an offset in the code. */
	#numberAt(code: number, offset: number): number {
		const table = this.#heap.pointer(code, this.#heap.layout.codePositions);
		if (table === undefined) return 0;
		const length_bytes = this.#heap.smi(table, LENGTH_AT) ?? 0;
		if (length_bytes <= 0 || length_bytes > MAX_POSITIONS_BYTES) return 0;
		const bytes = this.#heap.memory.read(table + ELEMENTS_AT, length_bytes);
		return bytes ? inliningOf(positionAt(bytes, offset, this.#heap.layout.isStatementBit)) : 0;
	}
}

/** The last position at or before an offset in the code, in a table of V8's; 0: there is none. */
export function positionAt(table: DataView, offset: number, isStatementBit: boolean): number {
	let at = 0;
	let code = 0;
	let position = 0;
	let found = 0;
	/** 7 bits at a time, the lowest first; the lowest of all is the sign. */
	const next = (): number => {
		let value = 0;
		let scale = 1;
		for (let more = true; more && at < table.byteLength; scale *= 128) {
			const byte = table.getUint8(at++);
			value += (byte & 127) * scale;
			more = byte >= 128;
		}
		return value % 2 === 0 ? value / 2 : -(value + 1) / 2;
	};
	while (at < table.byteLength) {
		const step = next();
		if (isStatementBit) code += Math.floor(step / 2);
		else code += step >= 0 ? step : -(step + 1);
		position += next();
		if (code > offset) break;
		found = position;
	}
	return found;
}

const inliningOf = (position: number): number =>
	Math.floor(position / INLINING_SHIFT) & INLINING_MASK;
