/** Memory as a process has it that runs CPython 3.11, object by object. */
import type { PythonLayout } from '../../../../src/runtimes/python/layout.js';
import type { RuntimeMemory } from '../../../../src/runtimes/runtime.js';

/** As Debian's 3.11 has it. */
export const LAYOUT: PythonLayout = {
	interpreters: 40,
	interpreterNext: 0,
	interpreterThreads: 16,
	threadPrevious: 0,
	threadNext: 8,
	threadIdentity: 152,
	threadNumber: 160,
	threadInterpreter: 16,
	gil: { in: 'runtime', at: 360 },
	threadFrame: undefined,
	threadRecord: 56,
	recordFrame: 8,
	recordPrevious: 16,
	frameCode: 32,
	framePrevious: 48,
	segments: 'marks',
	frameOwner: 68,
	codePrint: 56,
	codeFile: 112,
	codeName: 128,
	asciiBytes: 48,
	compactBytes: 72,
	lines: { frameInstruction: 56, codeInstructions: 184, codeTable: 136, format: 'locations' },
	runtime: 0x100,
	codeType: 0x800,
	stringType: 0x900,
	bytesType: 0xa00,
	evalStart: 0x10_0000,
	evalEnd: 0x11_0000,
};

/** As 3.13 has it, without records: an entry in the list of frames for each C frame. */
export const LAYOUT_WITH_ENTRIES: PythonLayout = {
	...LAYOUT,
	threadFrame: 56,
	threadRecord: undefined,
	segments: 'entries',
	recordFrame: undefined,
	recordPrevious: undefined,
	frameCode: 0,
	framePrevious: 8,
	frameOwner: 70,
};

/** As 3.9 has it: frames are objects, each run by a C frame of its own, and nothing on the stack says which. */
export const LAYOUT_3_9: PythonLayout = {
	...LAYOUT,
	threadIdentity: 176,
	threadNumber: undefined,
	gil: { in: 'runtime', at: 352 },
	threadFrame: 24,
	threadRecord: undefined,
	recordFrame: undefined,
	recordPrevious: undefined,
	frameCode: 32,
	framePrevious: 24,
	segments: 'one frame each',
	frameOwner: undefined,
	codePrint: 24,
	codeFile: 104,
	codeName: 112,
	lines: {
		...{ frameInstruction: 104, codeInstructions: undefined },
		...{ codeTable: 120, format: 'lnotab' },
	},
};

/** As 3.10 has it: each of these C frames has a record on its stack. */
export const LAYOUT_3_10: PythonLayout = {
	...LAYOUT_3_9,
	threadRecord: 48,
	recordPrevious: 8,
	lines: {
		...{ frameInstruction: 96, codeInstructions: undefined },
		...{ codeTable: 120, format: 'pairs' },
	},
};

export const BASE = 0x40_0000;
const MEMORY_BYTES = 1 << 18;
/** Where objects are; the file's variables are before. */
const FIRST_OBJECT = 0x2000;

export class FakeMemory implements RuntimeMemory {
	readonly #bytes = Buffer.alloc(MEMORY_BYTES);
	#used = FIRST_OBJECT;

	constructor(readonly layout: PythonLayout = LAYOUT) {}

	read(address: number, length_bytes: number): DataView | undefined {
		const at = address - BASE;
		if (!(at >= 0 && at + length_bytes <= MEMORY_BYTES)) return undefined;
		return new DataView(this.#bytes.buffer, this.#bytes.byteOffset + at, length_bytes);
	}

	/** Where an object of this size is from now on; its words are 0. */
	take(size_bytes: number): number {
		const at = BASE + this.#used;
		this.#used += (size_bytes + 15) & ~15;
		return at;
	}

	word(at: number, value: number): void {
		this.#bytes.writeBigUInt64LE(BigInt(value), at - BASE);
	}

	int(at: number, value: number): void {
		this.#bytes.writeUInt32LE(value, at - BASE);
	}

	byte(at: number, value: number): void {
		this.#bytes.writeUInt8(value, at - BASE);
	}

	/** Its characters as CPython keeps them: in as few bytes each as the widest one needs. */
	string(text: string): number {
		const points = Array.from(text, (character) => character.codePointAt(0) as number);
		const widest = Math.max(0, ...points);
		const kind = widest < 0x100 ? 1 : widest < 0x1_0000 ? 2 : 4;
		const isAscii = widest < 0x80;
		const header = isAscii ? this.layout.asciiBytes : this.layout.compactBytes;
		const at = this.take(header + points.length * kind);
		this.word(at + 8, BASE + this.layout.stringType);
		this.word(at + 16, points.length);
		this.int(at + 32, (kind << 2) | (1 << 5) | (isAscii ? 1 << 6 : 0));
		for (const [i, point] of points.entries())
			this.#bytes.writeUIntLE(point, at - BASE + header + i * kind, kind);
		return at;
	}

	code(name: string, file: string, firstLine: number): number {
		const at = this.take(224);
		this.word(at + 8, BASE + this.layout.codeType);
		this.int(at + this.layout.codePrint, 2);
		this.int(at + this.layout.codePrint + 12, 7);
		this.int(at + this.layout.codePrint + 16, firstLine);
		this.word(at + this.layout.codeFile, this.string(file));
		this.word(at + this.layout.codeName, this.string(name));
		return at;
	}

	/** Gives a code object its table of lines. */
	lines(code: number, table: Uint8Array): number {
		const at = this.take(33 + table.length);
		this.word(at + 8, BASE + this.layout.bytesType);
		this.word(at + 16, table.length);
		for (const [i, byte] of table.entries()) this.byte(at + 32 + i, byte);
		this.word(code + (this.layout.lines?.codeTable ?? 0), at);
		return at;
	}

	frame(code: number, previous: number, owner: number): number {
		const at = this.take(112);
		this.word(at + this.layout.frameCode, code);
		this.word(at + this.layout.framePrevious, previous);
		if (this.layout.frameOwner !== undefined) this.byte(at + this.layout.frameOwner, owner);
		return at;
	}

	/**
	 * The only thread of a new interpreter, which is first in the list. `first`: its innermost frame, or the record that says
	 * which it is.
	 */
	thread(first: number, number: number): number {
		const { threadNumber, threadFrame, threadRecord } = this.layout;
		const at = this.take(256);
		this.#interpreter(at);
		if (threadNumber !== undefined) this.word(at + threadNumber, number);
		this.word(at + (threadFrame ?? threadRecord ?? 0), first);
		return at;
	}

	#interpreter(thread: number): void {
		const { runtime, interpreters, interpreterNext, interpreterThreads } = this.layout;
		const at = this.take(256);
		const list = BASE + runtime + interpreters;
		this.word(at + interpreterNext, this.#wordAt(list));
		this.word(at + interpreterThreads, thread);
		this.word(list, at);
	}

	#wordAt(at: number): number {
		return Number(this.#bytes.readBigUInt64LE(at - BASE));
	}

	/** One more thread, further on in the list. */
	threadBehind(thread: number, frame: number, identity: number): number {
		const { threadNext, threadFrame, threadIdentity } = this.layout;
		const at = this.take(256);
		this.word(thread + threadNext, at);
		this.word(at + (threadFrame ?? 0), frame);
		this.word(at + threadIdentity, identity);
		return at;
	}
}
