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
}

export type FrameKind = 'user' | 'kernel' | 'jit' | 'inlined';

export interface Frame {
	readonly name: string;
	readonly kind: FrameKind;
}

/** The same stack with names, leaf first. */
export interface NamedStack {
	readonly kernel: readonly Frame[];
	readonly user: readonly Frame[];
}
