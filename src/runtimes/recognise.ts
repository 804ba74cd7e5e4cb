/** Which runtime is in a file, and who names its functions. */
import { SymbolError } from '../elf/bytes.js';
import type { Elf } from '../elf/elf.js';
import { goesByLoop, inTheirFrames } from './python/alignment.js';
import { PythonFunctions } from './python/code.js';
import { type PythonFile, pythonIn } from './python/layout.js';
import { PythonStacks } from './python/stack.js';
import type { FunctionReader, FunctionWord, RuntimeMemory, WalkedFrame } from './runtime.js';
import { v8FunctionOf } from './v8/frame.js';
import { V8Functions } from './v8/functions.js';
import { type V8File, v8In } from './v8/layout.js';

/** A file that a runtime is in, with what the file says of it: plain values, as threads pass them on. */
export type RuntimeFile = V8File | PythonFile;

/** Undefined: no runtime that is known is in this file. */
export function runtimeIn(elf: Elf): RuntimeFile | undefined {
	try {
		return v8In(elf) ?? pythonIn(elf);
	} catch (error) {
		if (!(error instanceof SymbolError)) throw error;
		return undefined;
	}
}

/** Code of a runtime's, from the beginning of its file on: its mapping tells where the file is. Undefined: no matter. */
export function codeOffsetOf(file: RuntimeFile): number | undefined {
	return file.runtime === 'python' ? file.layout?.evalStart : undefined;
}

/** What tells the function of a frame, which no rule leads on from; undefined: it is no function's. */
export function functionOf(
	file: RuntimeFile,
	frame: WalkedFrame,
	memory: RuntimeMemory,
): FunctionWord | undefined {
	return file.runtime === 'v8' && file.layout
		? v8FunctionOf(frame, file.layout, memory)
		: undefined;
}

/** Of a process whose runtime keeps functions elsewhere than on the stack; undefined: it does not. */
export function functionStacks(
	file: RuntimeFile,
	memory: RuntimeMemory,
	base: number,
): PythonStacks | undefined {
	return file.runtime === 'python' && file.layout
		? new PythonStacks(memory, file.layout, base)
		: undefined;
}

/** Whether the runtime puts functions into the code of others, and says which. */
export const hasInlined = (file: RuntimeFile): boolean => file.runtime === 'v8';

/** Whether the runtime makes code of which walks take no functions, and says whose it is. */
export const namesMadeCode = (file: RuntimeFile): boolean =>
	file.runtime === 'v8' && file.layout?.wasm !== undefined;

/** Whether `placedFunctions` may change anything. */
export const mayMisplace = (file: RuntimeFile): boolean =>
	file.runtime === 'python' && file.layout !== undefined && goesByLoop(file.layout);

/**
 * The functions of a stack's frames, each with the frame that runs it: walks may not know. `offsets`: of the frames, where
 * their code is in the runtime's file; leaf first. `functions`: by the number of the frame that the walk gave them to.
 */
export function placedFunctions<T>(
	file: RuntimeFile,
	offsets: readonly number[],
	functions: ReadonlyMap<number, T>,
): ReadonlyMap<number, T> {
	return file.runtime === 'python' && file.layout
		? inTheirFrames(file.layout, offsets, functions)
		: functions;
}

/** Undefined: functions of this file are not named. `base`: where it would be mapped at offset 0. */
export function functionReader(
	file: RuntimeFile,
	memory: RuntimeMemory,
	base: number,
): FunctionReader | undefined {
	if (file.runtime === 'python')
		return file.layout && new PythonFunctions(memory, file.layout, base);
	return file.layout && new V8Functions(memory, file.layout);
}
