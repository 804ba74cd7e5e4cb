/** Writes Go programs as Go's linker does, as far as their table of functions is concerned: src/elf/go-table.ts says where that is from. */
import { elfOf, type SectionSpec } from '../hostile/elf-builder.js';
import { uleb } from '../unwind/frame-writer.js';

export interface WrittenGoFunction {
	readonly name: string;
	readonly size: number;
	readonly flags?: number;
	/** How deep its stack is, for so many bytes. */
	readonly depths?: readonly (readonly [depth: number, bytes: number])[];
	readonly code?: Buffer;
}

export interface GoSpec {
	readonly version?: 16 | 18 | 20;
	readonly machine?: number;
	readonly functions: readonly WrittenGoFunction[];
	/** What the header says of where code begins. */
	readonly headerText?: number;
	/** The section's name; none: it has no section of its own. */
	readonly section?: string | undefined;
	readonly further?: readonly SectionSpec[];
	/** Written over the header: offset, and 8 bytes. */
	readonly lies?: readonly (readonly [at: number, value: bigint])[];
}

export const TEXT = 0x401000;
export const TABLE = 0x500000;
const [LOAD, CODE, READ, EXECUTE] = [1, 4, 4, 5];
const MAGIC = { 16: 0xfffffffa, 18: 0xfffffff0, 20: 0xfffffff1 } as const;
const ARM64 = 183;

const word = (value: number | bigint) => {
	const out = Buffer.alloc(8);
	out.writeBigUInt64LE(BigInt(value));
	return out;
};

/** Changes of depth as Go writes them: zigzag, from -1 on, each with how far it holds. */
function stackOf(depths: readonly (readonly [number, number])[], quantum: number): number[] {
	let before = -1;
	const bytes = depths.flatMap(([depth, length]) => {
		const change = depth - before;
		before = depth;
		return [...uleb(change < 0 ? -change * 2 - 1 : change * 2), ...uleb(length / quantum)];
	});
	return [...bytes, 0];
}

/** The table by itself. */
export function goTableOf({ version = 20, machine = 62, functions, ...spec }: GoSpec): Buffer {
	const quantum = machine === ARM64 ? 4 : 1;
	const names = ['', ...functions.map(({ name }) => name)];
	const nameAt = names.map((_, i) => names.slice(0, i).join('\0').length + (i > 0 ? 1 : 0));
	const nameBytes = Buffer.from(`${names.join('\0')}\0`);
	// Offset 0 says nothing.
	const stacks: number[] = [0];
	const stackAt = functions.map(({ depths }) => {
		if (!depths) return 0;
		const at = stacks.length;
		stacks.push(...stackOf(depths, quantum));
		return at;
	});
	const field = version === 16 ? 8 : 4;
	const recordBytes = field + 36 + (version === 20 ? 4 : 0);
	const indexBytes = (functions.length * 2 + 1) * field;
	const records = Buffer.alloc(indexBytes + functions.length * recordBytes);
	const put = (at: number, value: number) =>
		field === 8 ? records.writeBigUInt64LE(BigInt(value), at) : records.writeUInt32LE(value, at);
	let start = version === 16 ? TEXT : 0;
	for (const [i, { size, flags = 0 }] of functions.entries()) {
		const at = indexBytes + i * recordBytes;
		put(i * 2 * field, start);
		put((i * 2 + 1) * field, at);
		put(at, start);
		records.writeUInt32LE(nameAt[i + 1] as number, at + field);
		records.writeUInt32LE(stackAt[i] as number, at + field + 12);
		records.writeUInt8(flags, at + field + (version === 20 ? 37 : 33));
		start += size;
	}
	put(functions.length * 2 * field, start);
	const headerBytes = version === 16 ? 64 : 72;
	const namesFrom = headerBytes;
	const unitsFrom = namesFrom + nameBytes.length;
	const [filesFrom, stacksFrom] = [unitsFrom + 4, unitsFrom + 8];
	const recordsFrom = (stacksFrom + stacks.length + 7) & ~7;
	const first = Buffer.alloc(8);
	first.writeUInt32LE(MAGIC[version]);
	first.writeUInt8(quantum, 6);
	first.writeUInt8(8, 7);
	const text = version === 16 ? [] : [spec.headerText ?? TEXT];
	const numbers = [
		functions.length,
		1,
		...text,
		namesFrom,
		unitsFrom,
		filesFrom,
		stacksFrom,
		recordsFrom,
	];
	const table = Buffer.alloc(recordsFrom + records.length);
	Buffer.concat([first, ...numbers.map(word)]).copy(table);
	nameBytes.copy(table, namesFrom);
	Buffer.from(stacks).copy(table, stacksFrom);
	records.copy(table, recordsFrom);
	for (const [at, value] of spec.lies ?? []) word(value).copy(table, at);
	return table;
}

/** A program with that table. */
export function goProgram(spec: GoSpec): Buffer {
	const { functions, machine = 62, further = [] } = spec;
	const code = functions.map(({ size, code }) => Buffer.concat([code ?? Buffer.alloc(0)], size));
	const named = 'section' in spec ? spec.section : '.gopclntab';
	return elfOf({
		machine,
		sections: [
			{ name: '.text', flags: CODE, address: TEXT, data: Buffer.concat(code) },
			{ name: named ?? '.rodata', address: TABLE, data: goTableOf(spec) },
			...further,
		],
		segments: [
			{ type: LOAD, flags: EXECUTE, address: TEXT, dataOf: 0 },
			{ type: LOAD, flags: READ, address: TABLE, dataOf: 1 },
		],
	});
}

/** Where the code of its first function is in the file. */
export const codeAt = (program: Buffer): number => Number(program.readBigUInt64LE(64 + 8));
