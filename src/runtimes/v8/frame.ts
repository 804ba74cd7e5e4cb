/** Which function a frame is of, outside the kernel: the same as bpf/lib/runtimes/v8.h. */
import type { FunctionWord, RuntimeMemory, WalkedFrame } from '../runtime.js';
import { Heap } from './heap.js';
import type { V8Layout } from './layout.js';

/** Right below where the frame pointer points: the function, and its context or what kind of frame it is. */
const FUNCTION_AT = -16;
const CONTEXT_AT = -8;
/** From the SharedFunctionInfo's `length` on. */
const PRINT = { bytes: 16, parameters: 2, tokenOffset: 4, literalId: 12 } as const;
/** FUNCTION_PRINT_BITS. */
const PRINT_MASK = 0x1_ffff;

/** Undefined: it is no function's. */
export function v8FunctionOf(
	{ fp, sp, isExact, offset }: WalkedFrame,
	{ heap: layout, builtins, interpreter, resumes }: V8Layout,
	memory: RuntimeMemory,
): FunctionWord | undefined {
	const isIn = ({ start, end }: V8Layout['builtins']) =>
		offset !== undefined && offset >= start && offset < end;
	const isResumed = offset !== undefined && !isExact && resumes.includes(offset + 1);
	const isCallers = offset !== undefined && !isIn(interpreter) && !isResumed;
	if (offset !== undefined && !isIn(builtins)) return undefined;
	// A builtin has a frame of its own, unless it is where the thread is.
	if (isCallers && !isExact) return undefined;
	// Its frame is only half made.
	if (isExact && sp !== undefined && sp > fp + FUNCTION_AT) return undefined;
	const heap = new Heap(memory, layout);
	const context = heap.pointer(fp, CONTEXT_AT);
	const closure = heap.pointer(fp, FUNCTION_AT);
	if (context === undefined || closure === undefined) return undefined;
	const place = heap.pointer(closure, layout.functionShared);
	const print = place === undefined ? undefined : printAt(heap, place);
	return place === undefined || print === undefined ? undefined : { place, print, isCallers };
}

/** What tells the functions apart that have been at the same place; print_of(). */
export function printAt({ memory, layout }: Heap, shared: number): number | undefined {
	const view = memory.read(shared + layout.sharedLength, PRINT.bytes);
	if (!view) return undefined;
	const parameters = view.getUint16(PRINT.parameters, true);
	const tokenOffset = view.getUint16(PRINT.tokenOffset, true);
	const all =
		(view.getUint32(PRINT.literalId, true) ^ (parameters << 7) ^ (tokenOffset << 10)) >>> 0;
	return (all ^ (all >>> 17)) & PRINT_MASK;
}
