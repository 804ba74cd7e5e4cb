/** Which of the files a process has mapped have an allocator, and where probes go in them. */
import { basename } from 'node:path';
import type { SymbolError } from '../../../elf/bytes.js';
import { Elf, MACHINE, OtherElf } from '../../../elf/elf.js';
import { openRegular, readFile } from '../../../proc/open.js';
import {
	type FoundFunction,
	findFunctions,
	hasSymbolTable,
} from '../../../symbolize/symbols/functions.js';
import { pltNames } from '../../../symbolize/symbols/plt.js';
import { placeProbeArm64 } from '../machine-code/arm64.js';
import { type CodeRange, codeRange, functionCode, readText } from '../machine-code/code.js';
import { atEntry, type Placement, placeProbe, type Register } from '../machine-code/placement.js';
import { findReturns } from '../machine-code/returns.js';
import {
	ALLOCATOR_FUNCTIONS,
	type AllocatorFunction,
	argumentsOf,
	MAX_STACK_WORDS,
	onlyFrees,
	returnsMemory,
} from './allocators.js';

/** The System V ABI's argument registers. */
const ARGUMENT_REGISTERS: readonly Register[] = ['rdi', 'rsi', 'rdx', 'rcx', 'r8', 'r9'];
const WORD_BYTES = 8;

/** A function of the table, found in a file. */
export interface HeapFunction {
	readonly of: AllocatorFunction;
	/** Of its entry, in the file. */
	readonly offset: number;
	readonly placement: Placement;
	/** Whether it counts; else it is probed so that its caller is known. */
	readonly counts: boolean;
	/** Of its last instructions, in the file, where it must not have a uretprobe. */
	readonly returns: readonly number[] | undefined;
	/**
	 * Its return has to be probed: it returns memory; or it frees, in a file that has the program's code
	 * as well, so that what it maps itself looks like what the program maps.
	 */
	readonly waits: boolean;
	/** Of its entry, as it is linked, like the range of all the file's code. */
	readonly address: number;
	readonly code: CodeRange | undefined;
}

/** What a file has of an allocator. */
export interface HeapFile {
	readonly functions: readonly HeapFunction[];
	/** It has malloc and free, not only mmap. */
	readonly isAllocator: boolean;
	/** Names of its own functions were not stripped. */
	readonly hasSymbols: boolean;
	/** Why it could not be read: it is not ours to open, of 32 bits, or malformed. */
	readonly problem?: 'not opened' | 'other ELF' | 'damaged';
}

const NOTHING: HeapFile = { functions: [], isAllocator: false, hasSymbols: false };

/** Looks for the functions of the table, their names with `prefix` in front, in a file. */
export function readHeapFile(path: string, prefix: string): HeapFile {
	return readFile(
		openRegular(path),
		(bytes) => heapFileOf(new Elf(bytes), prefix),
		(error) => ({ ...NOTHING, problem: problemOf(error) }),
	);
}

function problemOf(error: SymbolError | undefined): Required<HeapFile>['problem'] {
	if (!error) return 'not opened';
	return error instanceof OtherElf ? 'other ELF' : 'damaged';
}

function heapFileOf(elf: Elf, prefix: string): HeapFile {
	const byName = new Map(ALLOCATOR_FUNCTIONS.map((of) => [prefix + of.name, of]));
	const found = findFunctions(elf, new Set(byName.keys()));
	// Its code, tens of megabytes perhaps, need not be read.
	if (found.length === 0) return { ...NOTHING, hasSymbols: hasSymbolTable(elf) };
	const has = (name: string) => found.some((each) => each.name === prefix + name);
	const isAllocator = has('malloc') && has('free');
	const text = readText(elf);
	const place = placer(elf, text);
	const returnsOf = returnsFinder(elf, text);
	const code = codeRange(elf);
	const taken = new Set<number>();
	const functions: HeapFunction[] = [];
	for (const [name, of] of byName) {
		const each = found.find((candidate) => candidate.name === name);
		// Several names of one function are one function.
		if (!each || taken.has(each.offset)) continue;
		if (of.ofAllocator && !isAllocator && !of.throws) continue;
		taken.add(each.offset);
		const returns = of.throws && isAllocator ? returnsOf(each) : undefined;
		const counts = !of.throws || returns !== undefined;
		const placement = place(each, of);
		const waits = counts && isWaitedFor(of, elf);
		const { offset, address } = each;
		functions.push({ of, offset, address, placement, counts, waits, code, returns });
	}
	return { functions, isAllocator, hasSymbols: hasSymbolTable(elf) };
}

function isWaitedFor(of: AllocatorFunction, { isProgram }: Elf): boolean {
	return returnsMemory(of) || (isProgram && onlyFrees(of));
}

type Text = ReturnType<typeof readText>;
type Placer = (found: FoundFunction, of: AllocatorFunction) => Placement;

function placer(elf: Elf, text: Text): Placer {
	return ({ address, size_bytes }, of) => {
		const code = text && functionCode(text, address, size_bytes);
		if (!code) return atEntry(false, 'tstrace cannot read its code');
		if (elf.machine !== MACHINE.x64) return placeProbeArm64(code.code);
		return placementOf(placeProbe(code.code, registersOf(of), code.surroundings), of);
	};
}

/** Finds a function's last instructions, as offsets in the file; undefined where they are not known. */
function returnsFinder(elf: Elf, text: Text): (found: FoundFunction) => number[] | undefined {
	if (!text || elf.machine !== MACHINE.x64) return () => undefined;
	const { bytes, address } = text;
	const resolve = (at: number) => {
		const [name] = pltNames(elf, [address + at]).values();
		const [to] = name ? findFunctions(elf, new Set([name.replace(/@plt$/, '')])) : [];
		return to && to.address - address;
	};
	return (found) => {
		const returns = findReturns(bytes, found.address - address, resolve);
		return returns?.map((at) => at + address - found.address + found.offset);
	};
}

/** Where the result is waited for, the return address has to lie on top of the stack still. */
function placementOf(placement: Placement, of: AllocatorFunction): Placement {
	const words = placement.stackBytes / WORD_BYTES;
	if (!Number.isInteger(words) || words > MAX_STACK_WORDS) {
		return atEntry(false, 'after the entry, the function has put too much on the stack');
	}
	if (returnsMemory(of) && words > 0) {
		return atEntry(false, 'only at the entry is the return address on top of the stack');
	}
	return placement;
}

function registersOf(of: AllocatorFunction): Register[] {
	return argumentsOf(of).map((number) => ARGUMENT_REGISTERS[number - 1] as Register);
}

/** For -v: a line for each function. */
export function explainHeapFile(path: string, { functions }: HeapFile): string[] {
	return functions.map(({ of, placement }) => `${basename(path)}: ${of.name} ${placement.why}`);
}
