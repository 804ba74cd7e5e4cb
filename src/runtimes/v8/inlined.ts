/**
 * Which functions V8 has inlined into the code of another one: TurboFan and Maglev do so. For each call, optimised code
 * says which function makes it; for the instructions in between it says nothing. Source: V8's code.tq,
 * source-position-table.cc, deoptimization-data.h.
 */
import type { FunctionWord } from '../runtime.js';
import { endsWithCall, MAX_CALL_BYTES } from './calls.js';
import { Codes } from './code.js';
import { printAt } from './frame.js';
import type { Heap } from './heap.js';

const MAX_POSITIONS_BYTES = 1 << 16;
/** V8 stops earlier: --max-inlined-bytecode-size-cumulative. */
const MAX_INLINED = 64;

/** In an array: how many elements it has, and the first of them. */
const LENGTH_AT = 8;
const ELEMENTS_AT = 16;
/** A function, within what wraps it. */
const WRAPPED_AT = 8;

/** A SourcePosition: the number of the function that was put in, and 1; 0: it is the code's own. */
const INLINING_SHIFT = 2 ** 31;
const INLINING_MASK = 0xffff;
/** InliningPosition: where it was put in, which of the functions it is. */
const INLINING_BYTES = 16;
const INLINED_FUNCTION_AT = 8;
/** Before the first position: kFunctionEntryBytecodeOffset. */
const BEFORE_CODE = -1;

export class InlinedFunctions {
	readonly #heap: Heap;
	readonly #codes: Codes;

	constructor(heap: Heap) {
		this.#heap = heap;
		this.#codes = new Codes(heap);
	}

	/**
	 * The functions between a call and the function whose frame it is in, innermost first. `address`: the last byte of
	 * the instruction that calls. None: it is a call of the function itself. Undefined: that is not known, or the code
	 * is not optimised.
	 */
	at(address: number, frame: FunctionWord): FunctionWord[] | undefined {
		if (!this.#isCall(address)) return undefined;
		const code = this.#codes.at(address);
		const data = code && this.#heap.pointer(code.object, this.#heap.layout.codeDeoptimisation);
		if (!code || data === undefined || !this.#isOf(data, frame)) return undefined;
		// Where a frame goes on that is not optimised any more, no position is of it.
		const exits = this.#smi(data, this.#heap.layout.inliningPositionsIndex + 1);
		if (exits === undefined || address + 1 - code.start >= exits) return undefined;
		const number = this.#numberAt(code.object, address - code.start);
		return number === undefined ? undefined : this.#chain(data, number);
	}

	#isCall(address: number): boolean {
		const before = this.#heap.memory.read(address + 1 - MAX_CALL_BYTES, MAX_CALL_BYTES);
		return before !== undefined && endsWithCall(before);
	}

	/** From this one on, each in the next one. */
	#chain(data: number, innermost: number): FunctionWord[] | undefined {
		const found: FunctionWord[] = [];
		for (let number = innermost; number > 0; ) {
			const inlining = this.#inlining(data, number - 1);
			const function_ = inlining && this.#function(data, inlining.index);
			// One is put into another that was there before.
			const isDamaged = !inlining || !function_ || inlining.number >= number;
			if (isDamaged || found.length === MAX_INLINED) return undefined;
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
		const { literalsIndex, inlinedCountIndex } = this.#heap.layout;
		const functions = this.#element(data, literalsIndex);
		const count = this.#smi(data, inlinedCountIndex);
		if (functions === undefined || count === undefined || index >= count) return undefined;
		const place = this.#element(functions, index);
		if (place === undefined || this.#functionIn(place) !== place) return undefined;
		const print = printAt(this.#heap, place);
		return print === undefined ? undefined : { place, print, isCallers: false };
	}

	#smi(array: number, index: number): number | undefined {
		const length = this.#heap.smi(array, LENGTH_AT);
		if (length === undefined || index >= length) return undefined;
		return this.#heap.smi(array, ELEMENTS_AT + index * 8);
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
	#numberAt(code: number, offset: number): number | undefined {
		const table = this.#heap.pointer(code, this.#heap.layout.codePositions);
		const length_bytes = table === undefined ? undefined : this.#heap.smi(table, LENGTH_AT);
		if (table === undefined || length_bytes === undefined) return undefined;
		if (length_bytes <= 0 || length_bytes > MAX_POSITIONS_BYTES) return undefined;
		const bytes = this.#heap.memory.read(table + ELEMENTS_AT, length_bytes);
		return bytes && inliningOf(positionAt(bytes, offset, this.#heap.layout.hasUnsignedSteps));
	}
}

/** The last position at or before an offset in the code, in a table of V8's; 0: there is none. */
export function positionAt(table: DataView, offset: number, hasUnsignedSteps: boolean): number {
	let at = 0;
	let code = BEFORE_CODE;
	let position = 0;
	let found = 0;
	/** 7 bits at a time, the lowest first. */
	const unsigned = (): number => {
		let value = 0;
		let scale = 1;
		for (let more = true; more && at < table.byteLength; scale *= 128) {
			const byte = table.getUint8(at++);
			value += (byte & 127) * scale;
			more = byte >= 128;
		}
		return value;
	};
	/** The lowest bit is the sign. */
	const signed = (): number => {
		const value = unsigned();
		return value % 2 === 0 ? value / 2 : -(value + 1) / 2;
	};
	while (at < table.byteLength) {
		// What kind of position it is are the two lowest bits, or the sign.
		const step = hasUnsignedSteps ? Math.floor(unsigned() / 4) : signed();
		code += step >= 0 ? step : -(step + 1);
		position += signed();
		if (code > offset) break;
		found = position;
	}
	return found;
}

const inliningOf = (position: number): number =>
	Math.floor(position / INLINING_SHIFT) & INLINING_MASK;
