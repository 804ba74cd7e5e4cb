/** Optimised code as V8 describes it: which functions were put into it, and where. */
import { Heap } from '../../../../src/runtimes/v8/heap.js';
import type { FakeMemory } from './memory.js';

/** A position in the source, within the function of this number, from 1 on; 0: in the code's own. */
export const position = (inlining: number, offset = 100): number =>
	inlining * 2 ** 31 + (offset + 1) * 2;

/** As V8 writes them: the sign first, seven bits at a time. */
const number = (value: number): number[] => unsigned(value < 0 ? -value * 2 - 1 : value * 2);

function unsigned(value: number): number[] {
	let rest = value;
	const bytes: number[] = [];
	for (; rest >= 128; rest = Math.floor(rest / 128)) bytes.push(128 + (rest % 128));
	return [...bytes, rest];
}

/** Where in the code, and in the source. */
export type Entry = readonly [code: number, position: number];

export function table(entries: readonly Entry[], hasUnsignedSteps: boolean): Uint8Array {
	let last: Entry = [-1, 0];
	const bytes = entries.flatMap((entry) => {
		const step = entry[0] - last[0];
		const written = hasUnsignedSteps ? unsigned(step * 4 + 1) : number(-step - 1);
		const both = [...written, ...number(entry[1] - last[1])];
		last = entry;
		return both;
	});
	return Uint8Array.from(bytes);
}

/** How functions are put into each other, as InliningPosition has it: where, and which. */
function inlinings(all: readonly (readonly [position: number, index: number])[]): Uint8Array {
	const bytes = Buffer.alloc(16 * all.length);
	for (const [i, [where, index]] of all.entries()) {
		bytes.writeBigUInt64LE(BigInt(where), 16 * i);
		bytes.writeInt32LE(index, 16 * i + 8);
	}
	return bytes;
}

/** `functions`: those that it refers to, of which the first `count` were put into it. Returns where its instructions begin. */
export function optimisedCode(
	memory: FakeMemory,
	of: {
		readonly outer: number;
		readonly functions: readonly number[];
		readonly count: number;
		readonly inlinings: readonly (readonly [position: number, index: number])[];
		readonly entries: readonly Entry[];
		readonly size_bytes: number;
	},
): number {
	const { layout } = memory;
	const elements: (number | undefined)[] = Array.from({ length: 12 });
	// From Node.js 24 on.
	const isWrapped = layout.ownFunctionIndex === 7;
	const wrapper = memory.object(195, 16);
	memory.point(wrapper, 8, of.outer);
	elements[layout.ownFunctionIndex] = isWrapped ? wrapper : of.outer;
	elements[layout.literalsIndex] = memory.array(of.functions);
	elements[layout.inliningPositionsIndex] = memory.bytes(inlinings(of.inlinings));
	const code = memory.object(layout.codeType, 96);
	const data = memory.array(elements);
	memory.smi(data, 16 + 8 * layout.inlinedCountIndex, of.count);
	// Its last byte is behind where it goes on that is not optimised any more.
	memory.smi(data, 16 + 8 * (layout.inliningPositionsIndex + 1), of.size_bytes - 1);
	memory.point(code, layout.codeDeoptimisation, data);
	const positions = memory.bytes(table(of.entries, layout.hasUnsignedSteps));
	memory.point(code, layout.codePositions, positions);
	return memory.instructions(code, of.size_bytes);
}

/** The object that says what the instructions that begin there are. */
export const codeOf = (memory: FakeMemory, start: number): number =>
	new Heap(memory, memory.layout).pointer(start - memory.layout.streamStart, 8) ?? 0;

/** Writes a call, whose last byte has this address. */
export function writeCall(memory: FakeMemory, address: number, opcode = 0xe8): void {
	memory.int32(address - 4, 0, opcode);
}
