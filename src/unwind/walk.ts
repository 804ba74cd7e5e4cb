/**
 * Walks the stack of a thread that does not run, from outside: by tables, and by frame pointers
 * where code has none. The kernel's side is bpf/lib/unwind/frame.h.
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
	SIGNAL_RETURN_BYTES,
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
	tableOf(mapping: M): Pick<RuleLookup, 'ruleAt'> | undefined;
	/** As ReadMemory. */
	read(address: number, length_bytes: number): DataView | undefined;
	/** Code of the mapping that an address is in; undefined when it cannot be read. */
	codeAt(mapping: M, address: number, length_bytes: number): DataView | undefined;
	/** Takes a frame that no rule leads on from; `number`: of its address. */
	takeFunction?(frame: Frame, mapping: M, number: number): void;
	/**
	 * Takes what a frame runs whose code is at an address, and whose place on the stack is from one address up to another;
	 * `number`: of its address. Returns how many frames that is.
	 */
	takeStepped?(frame: { from: number; to: number; code: number }, number: number): number;
}

/** What a thread had in its registers when it stopped. */
export interface StoppedRegisters {
	readonly ip: number;
	readonly sp: number;
	readonly fp: number;
	/** Of arm64 only. */
	readonly link?: number;
}

interface WalkedStack {
	/** Leaf first: where it stopped, then return addresses; for what a signal interrupted, one byte behind where it was. */
	readonly addresses: readonly number[];
	readonly end: WalkEnd;
	/**
	 * Frame pointers led on from a file's code that has no rules, where nobody knows whether it keeps them: callers may
	 * be left out, and the end may be none. Code that was made at run time keeps them; but where they end in it, it
	 * may have used the register for something else.
	 */
	readonly isGuessed: boolean;
}

/** Walks at most `depth` frames. */
export function walkOutside<M extends CodeMapping>(
	registers: StoppedRegisters,
	process: WalkedProcess<M>,
	depth: number,
): WalkedStack {
	const { ip, sp, fp, link } = registers;
	const addresses: number[] = [];
	let isGuessed = false;
	let taken = 0;
	let frame: Frame = { ip, sp, fp, link, isExact: true, isByPointer: false };
	for (;;) {
		if (addresses.length + taken >= depth) return { addresses, end: END.tooDeep, isGuessed };
		const at = frame.isExact ? frame.ip : frame.ip - 1;
		const mapping = process.mappingAt(at);
		const isFirst = addresses.length === 0;
		if (mapping || isFirst) addresses.push(at + Number(!isFirst));
		if (!mapping) return { addresses, end: frame.isByPointer ? END.gap : END.astray, isGuessed };
		const caller = callerOf(frame, at, mapping, process, addresses.length - 1);
		isGuessed ||= caller.isGuess;
		if (typeof caller.next === 'number') return { addresses, end: caller.next, isGuessed };
		taken += takenBetween(frame, caller.next, at, process, addresses.length - 1);
		frame = caller.next;
	}
}

/** How many frames what a frame runs is, apart from itself. */
function takenBetween(
	{ sp: from }: Frame,
	{ sp: to }: Frame,
	code: number,
	process: Pick<WalkedProcess, 'takeStepped'>,
	number: number,
): number {
	if (from === undefined || to === undefined) return 0;
	return process.takeStepped?.({ from, to, code }, number) ?? 0;
}

/** `at`: the address whose rule holds. `number`: of the frame, from 0 on. */
function callerOf<M extends CodeMapping>(
	frame: Frame,
	at: number,
	mapping: M,
	process: WalkedProcess<M>,
	number: number,
): { next: Frame | WalkEnd; isGuess: boolean } {
	const read: ReadMemory = (address, length_bytes) => process.read(address, length_bytes);
	const byRule = callerByRule(frame, at, mapping, process, read);
	if (byRule !== undefined) return { next: byRule, isGuess: false };
	process.takeFunction?.(frame, mapping, number);
	const next = pointerStep(frame, number === 0, read, process.processor);
	return { next, isGuess: next === END.guessed || (mapping.hasFile && next !== END.gap) };
}

/** Undefined where there is no rule. */
function callerByRule<M extends CodeMapping>(
	frame: Frame,
	at: number,
	mapping: M,
	process: WalkedProcess<M>,
	read: ReadMemory,
): Frame | WalkEnd | undefined {
	const { processor } = process;
	const table = mapping.hasFile ? process.tableOf(mapping) : undefined;
	const rule = table?.ruleAt(at - mapping.start + mapping.fileOffset);
	if (rule && rule.cfa !== CFA.gap) return step(rule, frame, read, processor);
	const code = process.codeAt(mapping, frame.ip, SIGNAL_RETURN_BYTES);
	if (code && isSignalReturn(code, processor)) return signalStep(frame, read, processor);
	return mapping.hasFile && !table ? END.noTable : undefined;
}
