/** Stacks before and after they have names. */
import type { Address } from '../loader/address.js';

/** Addresses as they were captured, leaf first. */
export interface RawStack {
	/** The process whose user frames these are, in our PID namespace. */
	readonly pid: number;
	/** CLOCK_MONOTONIC, when it was seen first: which process of that number, which mappings. */
	readonly at_ns: number;
	readonly kernel: ArrayLike<Address>;
	readonly user: ArrayLike<Address>;
	/** How much of the result it makes up; what shares in notices are of. */
	readonly value: number;
	/** How many frames there may be, of which there are no more; undefined: no matter. */
	readonly maxDepth?: number;
}

export type FrameKind = 'user' | 'kernel' | 'jit' | 'inlined';

export interface Frame {
	readonly name: string;
	readonly kind: FrameKind;
	/** It is the C library's: see c-library.ts. */
	readonly inCLibrary?: boolean;
}

/** Why a user stack does not reach its thread's first function. */
export type Cut = 'no frame pointers' | 'too deep';

/** The same stack with names, leaf first. */
export interface NamedStack {
	readonly kernel: readonly Frame[];
	readonly user: readonly Frame[];
	/** Undefined: the user frames are whole, or there are none. */
	readonly cut?: Cut | undefined;
	/** Whether the leaf of the user's was called by a function that was not found. */
	readonly callerMissing?: boolean;
}
