/**
 * Where in a function a uprobe costs least. The kernel emulates a few instructions under a uprobe;
 * of all others it single-steps a copy, which takes a second exception: ten times as long in a
 * virtual machine. Every call passes through all of the function's first block, so that a probe
 * counts the same wherever it is in there, as long as nothing comes back to it.
 */
import { decode, type Instruction, registerMask } from './x86-decode.js';
import { readSigned } from './x86-encoding.js';
import type { REGISTERS } from './x86-opcodes.js';

export type Register = (typeof REGISTERS)[number];

export interface Placement {
	/** Of the probe, from the function's entry. */
	readonly offset: number;
	/** How far the stack pointer is below what it was at the entry: the return address is there. */
	readonly stackBytes: number;
	/** Whether the kernel emulates what is probed. */
	readonly emulated: boolean;
	/** For -v. */
	readonly why: string;
}

/** What the function's code was cut out of. */
export interface FileCode {
	/** All of the file's instructions (functionCode() has them); whatever could jump in there. */
	readonly text: Uint8Array;
	/** Where in it the function begins. */
	readonly start: number;
}

/** A first block with more instructions is no compiler's. */
const MAX_ENTRY_INSTRUCTIONS = 256;

interface ProbeCandidate {
	readonly at: number;
	/** Where the instructions behind the entry begin, up to this one. */
	readonly starts: readonly number[];
	readonly stackBytes: number;
	readonly instruction: Instruction;
}

/**
 * Chooses the place for a probe on the entry of the function that `code` is, from its first byte to
 * its last, which reads these registers as they were at the call. Only for probes on entries: a
 * uretprobe replaces the return address, and must be at offset 0. A function that jumps out of
 * itself (to another one, or to its own cold part) keeps its probe at the entry unless the
 * surroundings are given: it could come back from there to the first block. What cannot be seen in
 * code is whether another symbol names a place between entry and probe, to be called by itself.
 */
export function placeProbe(
	code: Uint8Array,
	argumentRegisters: readonly Register[],
	surroundings?: FileCode,
): Placement {
	const first = decode(code, 0);
	if (!first) return atEntry(false, 'tstrace does not know its first instruction');
	if (first.emulated) return atEntry(true, `the kernel emulates ${first.name}`);
	const stepped = `${first.name} is single-stepped`;
	const found = findEmulated(code, registerMask(argumentRegisters));
	if (typeof found === 'string') return atEntry(false, `${stepped}, and ${found}`);
	const doubt = doubtsAbout(code, found, surroundings);
	if (doubt) return atEntry(false, `${stepped}, and ${doubt}`);
	const { at, stackBytes, instruction } = found;
	const here = `at ${place(at)} (${instruction.name})`;
	const why = `${here}: the kernel emulates it; ${first.name} at +0 would be single-stepped`;
	return { offset: at, stackBytes, emulated: true, why };
}

/** Where a probe always is right. */
export function atEntry(emulated: boolean, because: string): Placement {
	return { offset: 0, stackBytes: 0, emulated, why: `at the entry: ${because}` };
}

function place(at: number): string {
	return `+${at.toString(16)}`;
}

/** The first one in the entry block with the arguments still in place; or why there is none. */
function findEmulated(code: Uint8Array, argumentMask: number): ProbeCandidate | string {
	let stackBytes = 0;
	const starts: number[] = [];
	for (let at = 0; ; starts.push(at)) {
		if (starts.length === MAX_ENTRY_INSTRUCTIONS) return 'the first block is too long';
		const instruction = decode(code, at);
		if (!instruction) return `tstrace does not know the instruction at ${place(at)}`;
		if (instruction.emulated) return { at, starts, stackBytes, instruction };
		const { flow, name, pushed_bytes } = instruction;
		if (flow !== 'next')
			return `the kernel single-steps all instructions before ${name} at ${place(at)}`;
		if ((instruction.writes & argumentMask) !== 0) {
			return `${name} at ${place(at)} overwrites an argument`;
		}
		if (pushed_bytes === undefined) return `${name} at ${place(at)} moves the stack`;
		stackBytes += pushed_bytes;
		// Above the return address nothing is the function's own.
		if (stackBytes < 0) return `${name} at ${place(at)} moves the stack`;
		at += instruction.length_bytes;
	}
}

/** What could make a call pass the probe twice, or not at all; undefined when nothing can. */
function doubtsAbout(
	code: Uint8Array,
	{ at: probe, starts }: ProbeCandidate,
	surroundings: FileCode | undefined,
): string | undefined {
	for (let at = 0; at < code.length; ) {
		const instruction = decode(code, at);
		if (!instruction) return `tstrace does not know the instruction at ${place(at)}`;
		const doubt = doubtAbout(instruction, code.length, probe, surroundings !== undefined);
		if (doubt) return doubt;
		at += instruction.length_bytes;
	}
	const reached = surroundings && isReached(surroundings, code.length, starts);
	return reached ? 'code outside may jump behind the entry' : undefined;
}

function doubtAbout(
	{ flow, target, throughVariable }: Instruction,
	size_bytes: number,
	probe: number,
	outsideIsKnown: boolean,
): string | undefined {
	// A jump table's; or a call of the last thing (jmp *%rax), which looks the same.
	if (flow === 'indirect' && !throughVariable) return 'it jumps to an address in a register';
	if (target === undefined) return undefined;
	if (target > 0 && target <= probe) return `a branch goes back to ${place(target)}`;
	const leaves = flow !== 'call' && (target < 0 || target >= size_bytes);
	return leaves && !outsideIsKnown ? 'it jumps out of its known code' : undefined;
}

/**
 * Whether anything in the file may be a branch to one of these instructions. Compilers move what is
 * rarely needed to elsewhere (.text.unlikely), with jumps there and back. Code elsewhere is not
 * decoded: whatever looks like such a branch counts, wherever an instruction might begin. That has
 * all direct branches in it, and seldom a false one.
 */
function isReached(
	{ text, start }: FileCode,
	size_bytes: number,
	starts: readonly number[],
): boolean {
	const isBehind = (target: number) => starts.includes(target - start);
	const isOutside = (at: number) => at < start || at >= start + size_bytes;
	const targets = longTargets(text);
	// Who branches there is looked for where anybody does: it may be the function itself.
	const isTarget = starts.some((each) => targets[start + each] === 1);
	for (let at = 1; isTarget && at + 4 <= text.length; at++) {
		if (!isLongBranch(text[at - 1] as number, text[at - 2])) continue;
		if (isOutside(at - 1) && isBehind(at + 4 + readSigned(text, at, 4))) return true;
	}
	const last = Math.min(text.length - 1, start + (starts.at(-1) ?? 0) + 128);
	for (let at = Math.max(1, start - 128); at <= last; at++) {
		if (!isShortBranch(text[at - 1] as number)) continue;
		if (isOutside(at - 1) && isBehind(at + 1 + readSigned(text, at, 1))) return true;
	}
	return false;
}

/** Texts whose branches have been gone through: once for all functions of a file. */
const knownTargets = new WeakMap<Uint8Array, Uint8Array>();

/** Marks with 1 where in the text a long branch, or what looks like one, goes. */
function longTargets(text: Uint8Array): Uint8Array {
	const known = knownTargets.get(text);
	if (known) return known;
	const targets = new Uint8Array(text.length);
	for (let at = 1; at + 4 <= text.length; at++) {
		if (!isLongBranch(text[at - 1] as number, text[at - 2])) continue;
		// Outside the text it is ignored.
		targets[at + 4 + readSigned(text, at, 4)] = 1;
	}
	knownTargets.set(text, targets);
	return targets;
}

/** call, jmp, jcc, xbegin; by the opcode's last byte, and the one before. */
function isLongBranch(byte: number, before: number | undefined): boolean {
	if (byte === 0xe8 || byte === 0xe9) return true;
	return before === 0x0f ? (byte & 0xf0) === 0x80 : before === 0xc7 && byte === 0xf8;
}

/** jmp, jcc, loop. */
function isShortBranch(byte: number): boolean {
	return byte === 0xeb || (byte & 0xf0) === 0x70 || (byte & 0xfc) === 0xe0;
}
