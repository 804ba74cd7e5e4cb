/** Which runtime is in a file, and who names its functions. */
import { SymbolError } from '../elf/bytes.js';
import type { Elf } from '../elf/elf.js';
import type { FunctionReader, FunctionWord, RuntimeMemory, WalkedFrame } from './runtime.js';
import { v8FunctionOf } from './v8/frame.js';
import { V8Functions } from './v8/functions.js';
import { type V8File, v8In } from './v8/layout.js';

/** A file that a runtime is in, with what the file says of it: plain values, as threads pass them on. */
export type RuntimeFile = V8File;

/** Undefined: no runtime that is known is in this file. */
export function runtimeIn(elf: Elf): RuntimeFile | undefined {
	try {
		return v8In(elf);
	} catch (error) {
		if (!(error instanceof SymbolError)) throw error;
		return undefined;
	}
}

/** What tells the function of a frame, which no rule leads on from; undefined: it is no function's. */
export function functionOf(
	file: RuntimeFile,
	frame: WalkedFrame,
	memory: RuntimeMemory,
): FunctionWord | undefined {
	return file.layout && v8FunctionOf(frame, file.layout, memory);
}

/** Undefined: functions of this file are not named. */
export function functionReader(
	file: RuntimeFile,
	memory: RuntimeMemory,
): FunctionReader | undefined {
	return file.layout && new V8Functions(memory, file.layout.heap);
}
