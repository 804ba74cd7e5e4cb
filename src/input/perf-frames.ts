/** Frames of `perf script` text: which they are and how their names are tidied, as stackcollapse-perf.pl does. */
import type { Frame, FrameKind } from '../aggregate/stack.js';

/** A frame's line, without what is before the address. */
export interface FrameText {
	/** Hexadecimal, as it is printed. */
	readonly address: string;
	/** With its offset: "main+0x1f"; "[unknown]" without a name. */
	readonly symbol: string;
	/** A path, or in brackets what is no file; undefined: not printed. */
	readonly module: string | undefined;
}

export interface FrameNameOptions {
	/** Frames without a name get their address: "[libc.so.6 <27249>]". */
	readonly addresses: boolean;
	/** Names of inlined frames after "->" end with _[i]. */
	readonly arrowMarks: boolean;
	/** The thread is a JVM's, whose names of classes are as class files have them. */
	readonly java: boolean;
}

const UNKNOWN = '[unknown]';
const OFFSET = /\+0x[\da-f]+$/;
const INLINED_MARK = '_[i]';
const ANONYMOUS = '(anonymous namespace)';

/** Takes the address, the symbol and the module apart: "152623 memcmp+0x303 (/usr/lib/libc.so.6)". */
export function parseFrame(text: string): FrameText {
	const blank = text.search(/\s/);
	const address = blank < 0 ? text : text.slice(0, blank);
	const rest = blank < 0 ? '' : text.slice(blank).trimStart();
	const end = rest.lastIndexOf(')');
	const start = rest.lastIndexOf(' (', end - 2);
	if (end > 0 && start > 0) {
		return { address, symbol: rest.slice(0, start), module: rest.slice(start + 2, end) };
	}
	// perf script -F without sym, or without dso.
	if (rest.startsWith('(') && end === rest.length - 1) {
		return { address, symbol: UNKNOWN, module: rest.slice(1, end) };
	}
	return { address, symbol: rest.trimEnd() || UNKNOWN, module: undefined };
}

/** Root first; more than one where a compiler inlined: "caller->callee". Empty: it is to be left out. */
export function namedFrames(
	{ address, symbol, module = UNKNOWN }: FrameText,
	options: FrameNameOptions,
): Frame[] {
	const name = symbol.replace(OFFSET, '');
	// Old perf's name of a process. Names of C++ functions in a namespace without a name begin like that, too.
	if (name.startsWith('(') && !name.startsWith(ANONYMOUS)) return [];
	const parts = name.split('->');
	while (parts.at(-1) === '') parts.pop();
	return parts.map((part, index) => {
		const known = part === UNKNOWN ? placeName(address, module, options.addresses) : part;
		const tidied = tidy(known, options.java);
		if (index === 0) return { name: tidied, kind: kindOf(module) };
		const marked = options.arrowMarks && !tidied.includes(INLINED_MARK);
		return { name: marked ? tidied + INLINED_MARK : tidied, kind: 'inlined' };
	});
}

function placeName(address: string, module: string, withAddress: boolean): string {
	const place = module === UNKNOWN ? 'unknown' : module.slice(module.lastIndexOf('/') + 1);
	return withAddress ? `[${place} <${address}>]` : `[${place}]`;
}

/**
 * Without what would part frames, arguments, and quotes. Parentheses stay where they are not
 * arguments: "net/http.(*Client).Do" of Go, "(anonymous namespace)" of C++.
 */
function tidy(name: string, java: boolean): string {
	let tidied = name.replaceAll(';', ':');
	if (!isGoMethod(tidied)) tidied = withoutArguments(tidied);
	tidied = tidied.replace(/["']/g, '');
	return java && tidied.startsWith('L') && tidied.includes('/') ? tidied.slice(1) : tidied;
}

/** It has ".(…)." in it. Without a regular expression, whose time would go with the square of a name's length. */
function isGoMethod(name: string): boolean {
	const start = name.indexOf('.(');
	return start >= 0 && name.indexOf(').', start + 2) >= 0;
}

function withoutArguments(name: string): string {
	const start = name.search(/\((?!anonymous namespace\))/);
	return start < 0 ? name : name.slice(0, start);
}

/** By the module, which is all that perf says of it; what is in brackets is mapped by the kernel: [vdso]. */
export function kindOf(module: string): FrameKind {
	if (module === 'inlined') return 'inlined';
	if (/\/tmp\/perf-\d+\.map/.test(module) || module.startsWith('[JIT] ')) return 'jit';
	const kernel = module.startsWith('[') || module.endsWith('vmlinux');
	return kernel && !module.includes('unknown') ? 'kernel' : 'user';
}
