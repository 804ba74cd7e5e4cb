/**
 * The functions that allocate and free memory: one table, from which the programs of bpf/lib/memleak/heap_call.h
 * learn where each has its size, its old pointer and its result. Arguments count from 1.
 *
 * Sources: man 3 malloc, posix_memalign, reallocarray; man 2 mmap, mremap; the C++ standard,
 * [new.delete]; Itanium C++ ABI, 5.1.5 (mangled names).
 */
import { memleak } from '../../../generated/memleak.js';
import type { CodeRange } from '../machine-code/code.js';

export interface AllocatorFunction {
	readonly name: string;
	/** The argument that is the size; what has none only frees. */
	readonly size?: number;
	/** An argument to multiply it by. */
	readonly times?: number;
	/** The pointer that is freed, or that another one replaces. */
	readonly old?: number;
	/** How much of it is freed. */
	readonly oldSize?: number;
	/** What kind of mapping it is to be. */
	readonly flags?: number;
	/** Where the new pointer is put; else it is returned. */
	readonly resultAt?: number;
	/** It is a mapping, not a block of the heap. */
	readonly mapping?: true;
	/** Counts only where malloc is in the same file: libstdc++'s calls malloc, jemalloc's does not. */
	readonly ofAllocator?: true;
	/**
	 * Operator new. Where it calls malloc, walks from there miss its caller, as it has no frame
	 * pointer: so the caller is noted. And it throws: its return must not be probed by a uretprobe,
	 * which exceptions do not get past.
	 */
	readonly throws?: true;
}

const NEW = ['_Znwm', '_Znam'].flatMap((name) => [
	name,
	`${name}RKSt9nothrow_t`,
	`${name}St11align_val_t`,
	`${name}St11align_val_tRKSt9nothrow_t`,
]);
const DELETE = ['_ZdlPv', '_ZdaPv'].flatMap((name) => [
	name,
	`${name}m`,
	`${name}RKSt9nothrow_t`,
	`${name}St11align_val_t`,
	`${name}mSt11align_val_t`,
	`${name}St11align_val_tRKSt9nothrow_t`,
]);

/** Of bpf/lib/memleak/heap_call.h, which takes it from there. */
const MMAP_FLAGS = 4;

/** Heaps come first: that they were found is what makes a file an allocator's. */
export const ALLOCATOR_FUNCTIONS: readonly AllocatorFunction[] = [
	{ name: 'malloc', size: 1 },
	{ name: 'calloc', size: 2, times: 1 },
	{ name: 'realloc', old: 1, size: 2 },
	{ name: 'reallocarray', old: 1, size: 3, times: 2 },
	{ name: 'posix_memalign', size: 3, resultAt: 1 },
	{ name: 'aligned_alloc', size: 2 },
	{ name: 'memalign', size: 2 },
	{ name: 'valloc', size: 1 },
	{ name: 'pvalloc', size: 1 },
	{ name: 'free', old: 1 },
	{ name: 'cfree', old: 1 },
	...NEW.map((name) => ({ name, size: 1, ofAllocator: true as const, throws: true as const })),
	...DELETE.map((name) => ({ name, old: 1, ofAllocator: true as const })),
	{ name: 'mmap', size: 2, flags: MMAP_FLAGS, mapping: true },
	{ name: 'mmap64', size: 2, flags: MMAP_FLAGS, mapping: true },
	{ name: 'munmap', old: 1, oldSize: 2, mapping: true },
	{ name: 'mremap', old: 1, oldSize: 2, size: 3, mapping: true },
];

const { signature } = memleak.enums;

/** Of bpf/lib/memleak/heap_call.h. */
const CODE_UNIT_BYTES = 4096;

/** Words on the stack between a function's entry and its probe; more do not fit. */
export const MAX_STACK_WORDS = 255;

/** How a probe at a function is to be read. */
interface Signature {
	readonly of: AllocatorFunction;
	/** On the stack, since the entry. */
	readonly stackWords: number;
	/** Of what does not count itself, only the caller is noted. */
	readonly counts: boolean;
	/** Its return is probed. */
	readonly waits: boolean;
	/** Addresses, as they are linked: of the probe, and of the file's code, its end excluded. */
	readonly at: number;
	readonly code: CodeRange | undefined;
}

/** A signature as bpf/lib/memleak/heap_call.h reads it. */
export function packSignature({ of, stackWords, counts, waits, at, code }: Signature): bigint {
	const number = ALLOCATOR_FUNCTIONS.findIndex(({ name }) => name === of.name) + 1;
	const counted =
		((of.size ?? 0) << signature.SIGNATURE_SIZE) |
		((of.times ?? 0) << signature.SIGNATURE_TIMES) |
		((of.old ?? 0) << signature.SIGNATURE_OLD) |
		((of.oldSize ?? 0) << signature.SIGNATURE_OLD_SIZE) |
		((of.resultAt ?? 0) << signature.SIGNATURE_RESULT_AT) |
		((of.mapping ? 1 : 0) << signature.SIGNATURE_MAPPING);
	const around = onlyFrees(of) && !waits ? code : undefined;
	const before = around ? unitOf(at) - unitOf(around.start) : 0;
	const after = around ? unitOf(around.end - 1) + 1 - unitOf(at) : 0;
	return (
		BigInt((counts ? counted : 0) | (stackWords << signature.SIGNATURE_DEPTH)) |
		(BigInt(number) << BigInt(signature.SIGNATURE_FUNCTION)) |
		(BigInt(of.throws ? 1 : 0) << BigInt(signature.SIGNATURE_CALLER)) |
		(atMost(before) << BigInt(signature.SIGNATURE_CODE_BEFORE)) |
		(atMost(after) << BigInt(signature.SIGNATURE_CODE_AFTER)) |
		(BigInt(waits ? 1 : 0) << BigInt(signature.SIGNATURE_WAITS))
	);
}

function unitOf(address: number): number {
	return Math.floor(address / CODE_UNIT_BYTES);
}

/** What is further away than that, 128 MiB, is taken for another file's. */
function atMost(units: number): bigint {
	return BigInt(Math.min(units, 2 ** signature.SIGNATURE_CODE_BITS - 1));
}

/** It has a block of the heap to free, and nothing to return. */
export function onlyFrees({ size, mapping }: AllocatorFunction): boolean {
	return size === undefined && !mapping;
}

/** Whether a result has to be waited for. */
export function returnsMemory({ size }: AllocatorFunction): boolean {
	return size !== undefined;
}

/** The arguments that have to be in their registers still, ascending. */
export function argumentsOf(of: AllocatorFunction): number[] {
	const all = [of.size, of.times, of.old, of.oldSize, of.resultAt, of.flags];
	return [...new Set(all.filter((each) => each !== undefined))].sort((a, b) => a - b);
}
