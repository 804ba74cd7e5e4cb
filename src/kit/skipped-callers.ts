/**
 * Stacks that lack the function which called their leaf. A walk by frame pointers goes from the leaf to the
 * frame that was set up last. In a library that has no frame pointers, as C libraries are built as a rule,
 * that is the frame of whoever called the library: its own return address is not in it, and is passed over.
 */
import type { StackRow } from '../aggregate/stacks.js';
import type { Frame } from '../symbolize/stack.js';
import type { OwnedStack } from './stacks.js';

/** Stands where a function may be missing. */
export const SKIPPED: Frame = { name: '[a caller may be missing here]', kind: 'user' };

const LIBRARY = /\.so(\.[^/]*)?$/;

/** `pathAt`: what is mapped at an address. */
export function mayLackCaller(
	{ user }: Pick<OwnedStack, 'user'>,
	pathAt: (address: number) => string | undefined,
): boolean {
	const [leaf, caller] = [user[0], user[1]];
	const path = leaf === undefined ? undefined : pathAt(leaf);
	if (path === undefined || !LIBRARY.test(path)) return false;
	// Of two that are in the library one has set up a frame; then the others have, too.
	return caller === undefined || pathAt(caller - 1) !== path;
}

/** Shows where the function is missing: in front of the leaf. */
export function withSkipped(row: StackRow): StackRow {
	return { ...row, frames: row.frames.toSpliced(-1, 0, SKIPPED) };
}
