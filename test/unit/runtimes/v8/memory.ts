/** Memory as a process has it that runs V8 11.3, object by object. */
import type { RuntimeMemory } from '../../../../src/runtimes/runtime.js';
import type { HeapLayout } from '../../../../src/runtimes/v8/layout.js';

/** What node 20.20 tells. */
export const LAYOUT: HeapLayout = {
	functionShared: 24,
	mapType: 12,
	sharedData: 8,
	sharedScope: 16,
	sharedScript: 32,
	sharedLength: 40,
	scriptName: 16,
	scriptSource: 8,
	uncompiledName: 8,
	uncompiledStart: 16,
	stringLength: 12,
	charactersOneByte: 16,
	charactersTwoByte: 16,
	consFirst: 16,
	consSecond: 24,
	thinActual: 16,
	slicedParent: 16,
	slicedOffset: 24,
	externalResource: 16,
	sharedType: 262,
	scopeType: 261,
	scriptType: 167,
	uncompiledFirstType: 220,
	uncompiledLastType: 223,
};

export const TYPE = {
	oneByte: 8,
	twoByte: 0,
	consOneByte: 33 + 8,
	slicedOneByte: 35 + 8,
	thinOneByte: 5 + 8,
	externalOneByte: 34 + 8,
	undefined: 131,
	jsFunction: 2066,
} as const;

export class FakeMemory implements RuntimeMemory {
	static readonly BASE = 0x2000_0000_0000;
	readonly #bytes = Buffer.alloc(1 << 18);
	readonly #maps = new Map<number, number>();
	#used = 8;

	read(address: number, length_bytes: number): DataView | undefined {
		const at = address - FakeMemory.BASE;
		if (!(at >= 0 && at + length_bytes <= this.#bytes.length)) return undefined;
		return new DataView(this.#bytes.buffer, this.#bytes.byteOffset + at, length_bytes);
	}

	/** Where an object of this type is from now on; its words are 0. */
	object(type: number, size_bytes: number): number {
		const map = this.#maps.get(type) ?? this.#map(type);
		const at = this.#take(size_bytes);
		this.point(at, 0, map);
		return at;
	}

	point(object: number, offset: number, to: number): void {
		this.#bytes.writeBigUInt64LE(BigInt(to + 1), object - FakeMemory.BASE + offset);
	}

	smi(object: number, offset: number, value: number): void {
		this.#bytes.writeInt32LE(0, object - FakeMemory.BASE + offset);
		this.#bytes.writeInt32LE(value, object - FakeMemory.BASE + offset + 4);
	}

	int32(object: number, offset: number, value: number): void {
		this.#bytes.writeInt32LE(value, object - FakeMemory.BASE + offset);
	}

	uint16(object: number, offset: number, value: number): void {
		this.#bytes.writeUInt16LE(value, object - FakeMemory.BASE + offset);
	}

	string(text: string): number {
		const isOneByte = !/[^\0-\xff]/.test(text);
		const bytes = Buffer.from(text, isOneByte ? 'latin1' : 'utf16le');
		const at = this.object(isOneByte ? TYPE.oneByte : TYPE.twoByte, 16 + bytes.length);
		this.int32(at, 12, text.length);
		bytes.copy(this.#bytes, at - FakeMemory.BASE + 16);
		return at;
	}

	/** Two strings that were put together, and not copied. */
	cons(first: number, second: number, length: number): number {
		const at = this.object(TYPE.consOneByte, 32);
		this.int32(at, 12, length);
		this.point(at, 16, first);
		this.point(at, 24, second);
		return at;
	}

	/** `words`: a number is a Smi; a string, a string. */
	scope(words: readonly (number | string)[]): number {
		const at = this.object(LAYOUT.scopeType, 8 + 8 * words.length);
		for (const [i, word] of words.entries()) {
			if (typeof word === 'number') this.smi(at, 8 + 8 * i, word);
			else this.point(at, 8 + 8 * i, this.string(word));
		}
		return at;
	}

	script(name: string | undefined, source: number): number {
		const at = this.object(LAYOUT.scriptType, 112);
		this.point(at, LAYOUT.scriptSource, source);
		const file = name === undefined ? this.object(TYPE.undefined, 16) : this.string(name);
		this.point(at, LAYOUT.scriptName, file);
		return at;
	}

	/** A SharedFunctionInfo. */
	shared(scope: number, script: number, literalId = 7): number {
		const at = this.object(LAYOUT.sharedType, 56);
		this.point(at, LAYOUT.sharedScope, scope);
		this.point(at, LAYOUT.sharedScript, script);
		this.uint16(at, LAYOUT.sharedLength + 2, 3);
		this.uint16(at, LAYOUT.sharedLength + 4, 22);
		this.int32(at, LAYOUT.sharedLength + 12, literalId);
		return at;
	}

	#map(type: number): number {
		const at = this.#take(80);
		this.uint16(at, LAYOUT.mapType, type);
		this.#maps.set(type, at);
		return at;
	}

	#take(size_bytes: number): number {
		const at = FakeMemory.BASE + this.#used;
		this.#used += (size_bytes + 7) & ~7;
		return at;
	}
}

/** FUNCTION_SCOPE, with a name and an inferred one. */
export const FUNCTION_FLAGS = 2 | (3 << 12) | (1 << 14);
