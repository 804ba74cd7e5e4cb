/** Stacks before and after they have names. Pure values: no I/O, no kernel. */
import type { Address } from '../loader/signed-address.js';
import type { FunctionWord, LanguageFunction } from '../runtimes/runtime.js';
import type { Key } from './row-key.js';
import type { Uncertain } from './variance.js';
import type { WaitObject } from './wait-object.js';

/** What was counted at addresses, and whose they are: before they have names. */
export interface CapturedStack extends Uncertain {
	/** In our PID namespace; 0 of an interrupt. */
	readonly pid: number;
	/** 0: those of a process are together. */
	readonly tid: number;
	readonly comm: string;
	/** What it is apart by besides whose it is: see `apartOf`. */
	readonly apart?: Key;
	/** Leaf first. */
	readonly kernel: ArrayLike<Address>;
	/** Leaf first: where it was, then return addresses; for what a signal interrupted, one byte behind where it was. */
	readonly user: ArrayLike<Address>;
	/** Functions of a runtime's language, by the number of the frame in `user` that they are of; innermost first. */
	readonly functions?: ReadonlyMap<number, readonly FunctionWord[]> | undefined;
	/**
	 * How the walk of the user frames ended, if it went by unwind tables: at the thread's first function; where frame
	 * pointers ended that led through code without rules, which do not tell; at a return address of 0, which the
	 * first functions of some threads have; in a file whose table was not there yet; with as many frames as were asked
	 * for; or where no way led on.
	 * Undefined: it went by frame pointers alone.
	 */
	readonly userEnd?:
		| 'whole'
		| 'guessed'
		| 'at zero'
		| 'no table'
		| 'too deep'
		| 'no way on'
		| undefined;
	/** Whether there was a stack that could not be kept. */
	readonly lost: boolean;
	/** CLOCK_MONOTONIC, when it was seen first: which process of that number, which mappings. */
	readonly at_ns: number;
	/** They add up to its value. */
	readonly parts: readonly number[];
	/** Fractions when sampled. */
	readonly count: number;
	/** Of a wait: who ended it. */
	readonly waker?: CapturedWaker | undefined;
	/** Of a wait: what it was for, where that is known. */
	readonly object?: WaitObject | undefined;
}

/** What a waker did while another thread waited for it. */
export type Did = 'was blocked' | 'ran' | 'waited for a CPU' | 'did not exist yet';

/** Who woke threads, and where; what of its stacks is not recorded is empty. */
export interface CapturedWaker extends CapturedStack {
	/** Undefined: that is not told. Where it was blocked, its stack is that of then; who ended that is its waker. */
	readonly did?: Did | undefined;
	/** What it was: a thread, or which interrupt. Undefined: nobody knows, or the thread waits still. */
	readonly context?: Key | undefined;
}

/** Who ended a wait, who ended the wait that this one was in meanwhile, and so on. */
export function* wakersOf({ waker }: CapturedStack): Generator<CapturedWaker> {
	for (let each = waker; each; each = each.waker) yield each;
}

/** How much of the result a stack makes up. */
export function stackValue({ parts }: Pick<CapturedStack, 'parts'>): number {
	return parts.reduce((sum, part) => sum + part, 0);
}

/** 'jit': a function of a runtime whose language is not told, or is none of these. */
export const FRAME_KINDS = ['user', 'kernel', 'jit', 'inlined', 'javascript', 'python'] as const;
export type FrameKind = (typeof FRAME_KINDS)[number];

/** Functions of a runtime's language. */
export const LANGUAGE_KINDS: readonly FrameKind[] = ['jit', 'javascript', 'python'];

export function isOfLanguage({ kind }: { readonly kind: FrameKind }): boolean {
	return LANGUAGE_KINDS.includes(kind);
}

export interface Frame {
	readonly name: string;
	readonly kind: FrameKind;
	/** It is the C library's: see c-library.ts. */
	readonly inCLibrary?: boolean;
	/** The function of a runtime's language that it is; undefined: it is none, or a perf map has its name. */
	readonly source?: LanguageFunction;
}

/** Why a user stack does not reach its thread's first function. */
export type Cut = 'no frame pointers' | 'no table' | 'no way on' | 'too deep';

/** The frames of a stack with their names, leaf first. */
export interface NamedStack {
	readonly kernel: readonly Frame[];
	readonly user: readonly Frame[];
	/** Undefined: the user frames are whole, or there are none. */
	readonly cut?: Cut | undefined;
	/** Whether the leaf of the user's was called by a function that was not found. */
	readonly callerMissing?: boolean;
}
