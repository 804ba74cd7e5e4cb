/**
 * Walks the stack of a thread that does not run, from outside: by tables, and by frame pointers
 * where code has none. The kernel's side is bpf/lib/unwind_frame.h.
 */

import type { RuleLookup } from './lookup.js';
import { CFA } from './rule.js';
import {
	END,
	type Frame,
	isSignalReturn,
	type Processor,
	pointerStep,
	type ReadMemory,
	signalStep,
	step,
	type WalkEnd,
} from './step.js';

/** Code in the memory of a process. */
export interface CodeMapping {
	readonly start: number;
	readonly end: number;
	/** Where in the file `start` is. */
	readonly fileOffset: number;
	/** A file is behind it, or it is the vdso. */
	readonly hasFile: boolean;
}

/** What a walk needs to know of a process. */
export interface WalkedProcess<M extends CodeMapping = CodeMapping> {
	readonly processor: Processor;
	/** The code that an address is in; undefined when no code is there. */
	mappingAt(address: number): M | undefined;
	/** Undefined: it has none. Asked only of mappings that have a file. */
	tableOf(mapping: M): RuleLookup | undefined;
	/** As ReadMemory. */
	read(address: number, length_bytes: number): DataView | undefined;
}

/** What a thread had in its registers when it stopped. */
export interface StoppedRegisters {
	readonly ip: number;
	readonly sp: number;
	readonly fp: number;
	/** Of arm64 only. */
	readonly link?: number;
}

export interface WalkedStack {
	/** Leaf first: where it stopped, then return addresses. */
	readonly addresses: readonly number[];
	readonly end: WalkEnd;
}

/** Walks at most `depth` frames. */
export function walkOutside<M extends CodeMapping>(
	registers: StoppedRegisters,
	process: WalkedProcess<M>,
	depth: number,
): WalkedStack {
	const { ip, sp, fp, link } = registers;
	const addresses: number[] = [];
	let frame: Frame = { ip, sp, fp, link, isExact: true, isByPointer: false };
	for (;;) {
		if (addresses.length >= depth) return { addresses, end: END.tooDeep };
		const at = frame.isExact ? frame.ip : frame.ip - 1;
		const mapping = process.mappingAt(at);
		const isFirst = addresses.length === 0;
		if (mapping || isFirst) addresses.push(frame.ip);
		if (!mapping) return { addresses, end: frame.isByPointer ? END.gap : END.astray };
		const next = callerOf(frame, at, mapping, process, isFirst);
		if (typeof next === 'number') return { addresses, end: next };
		frame = next;
	}
}

/** `at`: the address whose rule holds. */
function callerOf<M extends CodeMapping>(
	frame: Frame,
	at: number,
	mapping: M,
	process: WalkedProcess<M>,
	isFirst: boolean,
): Frame | WalkEnd {
	const { processor } = process;
	const read: ReadMemory = (address, length_bytes) => process.read(address, length_bytes);
	const table = mapping.hasFile ? process.tableOf(mapping) : undefined;
	const rule = table?.ruleAt(at - mapping.start + mapping.fileOffset);
	if (rule && rule.cfa !== CFA.gap) return step(rule, frame, read, processor);
	if (isSignalReturn(frame.ip, read, processor)) return signalStep(frame, read, processor);
	if (mapping.hasFile && !table) return END.noTable;
	return pointerStep(frame, isFirst, read, processor);
}
