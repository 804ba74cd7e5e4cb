/** Memory as a process has it that runs V8, object by object. */
import type { RuntimeMemory } from '../../../../src/runtimes/runtime.js';
import { V8Functions } from '../../../../src/runtimes/v8/functions.js';
import type { HeapLayout } from '../../../../src/runtimes/v8/layout.js';

/** What node 20.20 tells. */
export const LAYOUT: HeapLayout = {
	functionShared: 24,
	mapType: 12,
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
	sharedData: 8,
	scope: { isFlagsSmi: true, isPositionFirst: false, module: undefined },
	wasmDataType: 226,
	streamType: 252,
	streamStart: 16,
	codeType: 245,
	ownFunctionIndex: 6,
	inlinedCountIndex: 1,
	literalsIndex: 2,
	inliningPositionsIndex: 7,
	codeDeoptimisation: 16,
	codePositions: 24,
	codeStart: 40,
	codeSize: 56,
	hasUnsignedSteps: false,
};

const LATER = {
	...LAYOUT,
	functionShared: 32,
	sharedScope: 24,
	sharedScript: 40,
	sharedLength: 48,
	streamStart: 32,
	ownFunctionIndex: 7,
	literalsIndex: 3,
	inliningPositionsIndex: 8,
	codeDeoptimisation: 8,
	codePositions: 16,
};
/** Numbers of the types of streams, code, and data of functions that modules of WebAssembly export. */
const coded = (streamType: number, codeType: number, wasmDataType: number) => ({
	streamType,
	codeType,
	wasmDataType,
});
const LATE_SCOPE = { isFlagsSmi: false, isPositionFirst: true, module: 5 };
const typed = (
	[sharedType, scopeType, scriptType]: readonly [number, number, number],
	uncompiledFirstType: number,
) => ({
	sharedType,
	scopeType,
	scriptType,
	uncompiledFirstType,
	uncompiledLastType: uncompiledFirstType + 3,
});

/** What each Node.js tells, with what stands in our own table; all but the numbers of types stay as they are. */
export const LAYOUTS: Readonly<Record<string, HeapLayout>> = {
	20: LAYOUT,
	22: {
		...LAYOUT,
		...typed([274, 272, 167], 200),
		...coded(210, 206, 231),
		functionShared: 32,
		streamStart: 32,
		codeDeoptimisation: 8,
		codePositions: 16,
		codeSize: 52,
		scope: { isFlagsSmi: true, isPositionFirst: false, module: 3 },
	},
	24: { ...LATER, ...typed([282, 280, 167], 175), ...coded(192, 187, 181), scope: LATE_SCOPE },
	25: {
		...LATER,
		...typed([286, 284, 165], 173),
		...coded(191, 185, 179),
		hasUnsignedSteps: true,
		scope: LATE_SCOPE,
	},
	26: {
		...LATER,
		...typed([288, 286, 166], 174),
		...coded(192, 186, 180),
		hasUnsignedSteps: true,
		scope: LATE_SCOPE,
	},
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
	bytes: 190,
	array: 175,
} as const;

export class FakeMemory implements RuntimeMemory {
	static readonly BASE = 0x2000_0000_0000;
	readonly #bytes = Buffer.alloc(1 << 18);
	readonly #maps = new Map<number, number>();
	#used = 8;

	constructor(readonly layout: HeapLayout = LAYOUT) {}

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

	/** No pointer, and no Smi. */
	address(object: number, offset: number, value: number): void {
		this.#bytes.writeBigUInt64LE(BigInt(value), object - FakeMemory.BASE + offset);
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

	/** `words`: a number is a Smi; a string, a string. The first one are flags. */
	scope(words: readonly (number | string)[]): number {
		const at = this.object(this.layout.scopeType, 8 + 8 * words.length);
		for (const [i, word] of words.entries()) {
			// Flags of later versions.
			if (i === 0 && !this.layout.scope.isFlagsSmi) this.int32(at, 8, Number(word));
			else if (typeof word === 'number') this.smi(at, 8 + 8 * i, word);
			else this.point(at, 8 + 8 * i, this.string(word));
		}
		return at;
	}

	script(name: string | undefined, source: number): number {
		const at = this.object(this.layout.scriptType, 112);
		this.point(at, this.layout.scriptSource, source);
		const file = name === undefined ? this.object(TYPE.undefined, 16) : this.string(name);
		this.point(at, this.layout.scriptName, file);
		return at;
	}

	/** A SharedFunctionInfo. */
	shared(scope: number, script: number, literalId = 7): number {
		const at = this.object(this.layout.sharedType, 72);
		this.point(at, this.layout.sharedScope, scope);
		this.point(at, this.layout.sharedScript, script);
		this.uint16(at, this.layout.sharedLength + 2, 3);
		this.uint16(at, this.layout.sharedLength + 4, 22);
		this.int32(at, this.layout.sharedLength + 12, literalId);
		return at;
	}

	/** An array of bytes. */
	bytes(content: Uint8Array): number {
		const at = this.object(TYPE.bytes, 16 + content.length);
		this.smi(at, 8, content.length);
		this.#bytes.set(content, at - FakeMemory.BASE + 16);
		return at;
	}

	/** An array; a number is an object that it has. */
	array(elements: readonly (number | undefined)[]): number {
		const at = this.object(TYPE.array, 16 + 8 * elements.length);
		this.smi(at, 8, elements.length);
		for (const [i, element] of elements.entries())
			if (element !== undefined) this.point(at, 16 + 8 * i, element);
		return at;
	}

	/** Instructions, which begin where code can. Returns their address. */
	instructions(code: number, size_bytes: number): number {
		const { streamType, streamStart, codeStart, codeSize } = this.layout;
		this.#maps.get(streamType) ?? this.#maps.set(streamType, this.#map(streamType));
		// At a multiple of 32, which is none of 64.
		this.#used = Math.ceil((this.#used + streamStart) / 64) * 64 + 32 - streamStart;
		const stream = this.object(streamType, streamStart + size_bytes);
		this.point(stream, 8, code);
		this.address(code, codeStart, stream + streamStart);
		this.int32(code, codeSize, size_bytes);
		return stream + streamStart;
	}

	#map(type: number): number {
		const at = this.#take(80);
		this.uint16(at, this.layout.mapType, type);
		this.#maps.set(type, at);
		return at;
	}

	#take(size_bytes: number): number {
		const at = FakeMemory.BASE + this.#used;
		this.#used += (size_bytes + 7) & ~7;
		return at;
	}
}

/** Who reads the functions of such a process. */
export const functionsIn = (memory: RuntimeMemory, heap = LAYOUT): V8Functions =>
	new V8Functions(memory, { heap, wasm: undefined, loaded: [] });

/** FUNCTION_SCOPE, with a name and an inferred one. */
export const FUNCTION_FLAGS = 2 | (3 << 12) | (1 << 14);
