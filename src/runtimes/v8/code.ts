/** Code that V8 has compiled, found by an address in it. Source: V8's instruction-stream.h, code.h. */
import type { Heap } from './heap.js';

/** Where code begins. */
const CODE_ALIGNMENT = 32;
/** Of the code of a function. */
const MAX_CODE_BYTES = 1 << 18;
const CHUNK_BYTES = 4096;
/** What may be the header of code, in one search; searches in vain, of a process. */
const MAX_CANDIDATES = 8;
const MAX_FAILURES = 1000;
/** Where a stream of instructions says which code it is of. */
const CODE_AT = 8;

export interface Code {
	/** Its stream of instructions. */
	readonly stream: number;
	readonly object: number;
	/** Its instructions. */
	readonly start: number;
	readonly end: number;
}

export class Codes {
	readonly #heap: Heap;
	/** The map of all streams of instructions, once one was met. */
	#streamMap: number | undefined;
	/** The stream that was found last. */
	#stream: number | undefined;
	#failures = 0;

	constructor(heap: Heap) {
		this.#heap = heap;
	}

	/** The code that an address is in; undefined: it is in none, or that is not found. */
	at(address: number): Code | undefined {
		const isIn = (code: Code | undefined): code is Code =>
			code !== undefined && address >= code.start && address < code.end;
		// Most calls are in the code that the last one was in.
		const last = this.#stream === undefined ? undefined : this.#codeOf(this.#stream);
		if (isIn(last)) return last;
		if (this.#failures >= MAX_FAILURES) return undefined;
		const found = this.#codeBefore(address);
		if (!found) this.#failures++;
		this.#stream = found?.stream;
		return isIn(found) ? found : undefined;
	}

	/** The code of a stream of instructions, which are right behind its header; undefined: it is no stream. */
	#codeOf(stream: number): Code | undefined {
		const { streamStart, codeType, codeStart, codeSize } = this.#heap.layout;
		const object = this.#heap.pointer(stream, CODE_AT);
		if (object === undefined || this.#heap.typeOf(object) !== codeType) return undefined;
		const start = stream + streamStart;
		const size_bytes = this.#heap.int32(object, codeSize);
		if (size_bytes === undefined || this.#heap.address(object, codeStart) !== start)
			return undefined;
		return { stream, object, start, end: start + size_bytes };
	}

	#codeBefore(address: number): Code | undefined {
		let candidates = 0;
		for (const { stream, map } of this.#streamsBefore(address)) {
			const code = this.#isStreamMap(map) ? this.#codeOf(stream) : undefined;
			if (code) this.#streamMap = map;
			if (code || ++candidates === MAX_CANDIDATES) return code;
		}
		return undefined;
	}

	/** What may be one, by its first word; the nearest first. */
	*#streamsBefore(address: number): Generator<{ stream: number; map: number }> {
		let stream = address - (address % CODE_ALIGNMENT) - this.#heap.layout.streamStart;
		while (stream > address - MAX_CODE_BYTES) {
			const from = Math.floor(stream / CHUNK_BYTES) * CHUNK_BYTES;
			const view = this.#heap.memory.read(from, CHUNK_BYTES);
			if (!view) return;
			for (; stream >= from; stream -= CODE_ALIGNMENT) {
				const map = this.#heap.referredTo(view, stream - from);
				if (map !== undefined && map === (this.#streamMap ?? map)) yield { stream, map };
			}
		}
	}

	#isStreamMap(map: number): boolean {
		const { mapType, streamType } = this.#heap.layout;
		return map === this.#streamMap || this.#heap.uint16(map, mapType) === streamType;
	}
}
